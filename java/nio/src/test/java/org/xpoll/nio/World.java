package org.xpoll.nio;

import java.io.IOException;
import java.nio.channels.SelectableChannel;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import java.nio.channels.spi.SelectorProvider;
import java.util.Random;

/**
 * A selector with some channels, on which a step of a random program is done. The same steps in two
 * worlds have to give the same answers, which are texts.
 */
final class World implements AutoCloseable {
    private static final int SLOTS = 6;
    private static final int[] OPS = {0, SelectionKey.OP_READ, SelectionKey.OP_WRITE,
        SelectionKey.OP_READ | SelectionKey.OP_WRITE};

    private final SelectorProvider provider;
    private final Ends[] ends = new Ends[SLOTS];
    private final SelectionKey[] keys = new SelectionKey[SLOTS];
    private Selector selector;

    World(SelectorProvider provider) throws IOException {
        this.provider = provider;
        selector = provider.openSelector();
        for (int i = 0; i < SLOTS; i++) {
            ends[i] = Ends.open(provider);
        }
    }

    /** One step, chosen by the numbers; what it returned or threw, and how all stands then. */
    String step(Random random) throws IOException {
        int slot = random.nextInt(SLOTS);
        int what = random.nextInt(24);
        int ops = OPS[random.nextInt(OPS.length)];
        String answer;
        try {
            answer = what < 12 ? change(what, slot, ops) : select(what);
        } catch (RuntimeException | IOException e) {
            answer = e.getClass().getSimpleName();
        }
        return what + " at " + slot + ": " + answer + state();
    }

    private String change(int what, int slot, int ops) throws IOException {
        SocketChannel near = ends[slot].near();
        SocketChannel far = ends[slot].far();
        switch (what) {
            case 0, 1, 2 -> keys[slot] = near.register(selector, ops, slot);
            case 3, 4 -> key(slot).interestOps(ops);
            case 5 -> key(slot).cancel();
            case 6 -> Ends.write(far);
            case 7 -> Ends.fill(near);
            case 8 -> {
                return Ends.drain(near) + " " + Ends.drain(far);
            }
            case 9 -> near.close();
            case 10 -> end(slot, ops);
            default -> reopen(slot);
        }
        return "done";
    }

    private SelectionKey key(int slot) {
        if (keys[slot] == null) {
            throw new IllegalStateException("no key");
        }
        return keys[slot];
    }

    private void end(int slot, int ops) throws IOException {
        if (ops == 0) {
            ends[slot].far().close();
        } else {
            ends[slot].far().shutdownOutput();
        }
    }

    /** Those of a channel that is still registered are with the selector until it has seen it. */
    private void reopen(int slot) throws IOException {
        ends[slot].close();
        ends[slot] = Ends.open(provider);
    }

    private String select(int what) throws IOException {
        switch (what) {
            case 12, 13, 14 -> {
                return "now " + selector.selectNow();
            }
            case 15, 16 -> {
                return "wait " + selector.wakeup().select();
            }
            case 17 -> {
                return "time " + selector.select(1);
            }
            case 18 -> {
                return consume();
            }
            case 19, 20 -> selector.selectedKeys().clear();
            case 21 -> selector.wakeup();
            case 22 -> {
                Thread.currentThread().interrupt();
                int n = selector.select();
                return "interrupted " + n + Thread.interrupted();
            }
            default -> {
                selector.close();
                selector = provider.openSelector();
            }
        }
        return "done";
    }

    /** The order of the keys is free. */
    private String consume() throws IOException {
        int[] ready = new int[SLOTS];
        int n = selector.selectNow(key -> ready[(Integer) key.attachment()] += key.readyOps());
        StringBuilder text = new StringBuilder("consumed " + n);
        for (int ops : ready) {
            text.append(' ').append(ops);
        }
        return text.toString();
    }

    private String state() {
        StringBuilder text = new StringBuilder("; keys ").append(selector.keys().size())
                .append(" selected ").append(selector.selectedKeys().size());
        for (int i = 0; i < SLOTS; i++) {
            text.append(", ").append(state(ends[i].near(), keys[i]));
        }
        return text.toString();
    }

    private String state(SelectableChannel channel, SelectionKey key) {
        String open = (channel.isOpen() ? "open" : "closed")
                + (channel.isRegistered() ? " registered" : "");
        if (key == null || !key.isValid()) {
            return open + (key == null ? "" : " cancelled")
                    + (selector.selectedKeys().contains(key) ? " selected" : "");
        }
        return open + " " + key.interestOps() + "/" + key.readyOps()
                + (selector.selectedKeys().contains(key) ? " selected" : "");
    }

    @Override
    public void close() throws IOException {
        selector.close();
        for (Ends each : ends) {
            each.close();
        }
    }
}
