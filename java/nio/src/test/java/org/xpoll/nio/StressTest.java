package org.xpoll.nio;

import static java.nio.channels.SelectionKey.OP_READ;
import static java.nio.channels.SelectionKey.OP_WRITE;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.nio.channels.CancelledKeyException;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.DatagramChannel;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.MethodSource;

/** Threads that do all at once to the keys of a selector that another thread waits on. */
@ParameterizedClass
@MethodSource("org.xpoll.nio.Kind#all")
@Timeout(120)
class StressTest {
    private static final int THREADS = 3;
    private static final int ROUNDS = 400;

    private final Kind kind;
    /** For threads that never park: they would keep the only carrier. */
    private final Kind platform;

    StressTest(Kind kind) {
        this.kind = kind;
        platform = new Kind(kind.jdk(), false);
    }

    /** What it selects it silences, so that all the threads' work is to be seen. */
    private static int selectUntil(Selector selector, AtomicInteger left) throws IOException {
        int selected = 0;
        while (left.get() > 0) {
            selector.select();
            for (SelectionKey key : selector.selectedKeys()) {
                try {
                    selected += key.readyOps() & OP_WRITE;
                    key.interestOps(0);
                } catch (CancelledKeyException e) {
                    // Another thread was quicker.
                }
            }
            selector.selectedKeys().clear();
        }
        return selected;
    }

    /** Keys come, change and go; in the end there is none, and each descriptor is closed. */
    @Test
    void keysComeAndGoUnderAWait() throws Exception {
        try (Selector selector = kind.open()) {
            AtomicInteger left = new AtomicInteger(THREADS);
            List<Kind.Other<Object>> others = new ArrayList<>();
            Kind.Other<Integer> waiting = kind.start(() -> selectUntil(selector, left));
            for (int i = 0; i < THREADS; i++) {
                Random random = new Random(i);
                others.add(kind.start(() -> {
                    for (int round = 0; round < ROUNDS; round++) {
                        liveOneLife(selector, random);
                    }
                    left.decrementAndGet();
                    selector.wakeup();
                    return null;
                }));
            }
            for (Kind.Other<Object> other : others) {
                other.result();
            }
            waiting.result();
            assertEquals(0, selector.selectNow());
            assertEquals(0, selector.keys().size());
        }
    }

    private void liveOneLife(Selector selector, Random random) throws IOException {
        DatagramChannel channel = Ends.nonBlocking(kind.provider().openDatagramChannel());
        SelectionKey key = channel.register(selector, random.nextBoolean() ? OP_WRITE : 0);
        for (int i = random.nextInt(6); i > 0; i--) {
            key.interestOps(random.nextInt(4) & (OP_READ | OP_WRITE));
            if (random.nextBoolean()) {
                selector.wakeup();
            }
        }
        if (random.nextBoolean()) {
            key.cancel();
        }
        if (random.nextInt(4) == 0) {
            try {
                // No key is valid then, so the channel may block, and closes at once.
                key.cancel();
                channel.configureBlocking(true);
            } catch (ClosedChannelException e) {
                throw new AssertionError(e);
            }
        }
        channel.close();
        selector.wakeup();
    }

    /** Each time another thread enables a key it is selected once. */
    @Test
    void noChangeOfInterestIsLost() throws Exception {
        int count = 3000;
        try (Selector selector = kind.open();
                DatagramChannel channel = kind.provider().openDatagramChannel()) {
            SelectionKey key = Ends.nonBlocking(channel).register(selector, 0);
            AtomicInteger seen = new AtomicInteger();
            Kind.Other<Integer> waiting = kind.start(() -> {
                while (seen.get() < count) {
                    selector.select(ready -> {
                        ready.interestOps(0);
                        seen.incrementAndGet();
                    });
                }
                return seen.get();
            });
            for (int i = 0; i < count; i++) {
                int before = i;
                key.interestOps(OP_WRITE);
                selector.wakeup();
                Until.yes(() -> seen.get() > before);
            }
            assertEquals(count, waiting.result());
        }
    }

    @Test
    void selectorsAreClosedWhileOthersUseThem() throws Exception {
        for (int i = 0; i < 50; i++) {
            Selector selector = kind.open();
            try (DatagramChannel channel = kind.provider().openDatagramChannel()) {
                SelectionKey key = Ends.nonBlocking(channel).register(selector, 0);
                Kind.Other<Object> waiting = kind.start(() -> selector.select());
                Kind.Other<Object> changing = platform.start(() -> {
                    try {
                        for (;;) {
                            key.interestOpsOr(OP_READ);
                            key.interestOpsAnd(0);
                            selector.wakeup();
                        }
                    } catch (CancelledKeyException e) {
                        return null;
                    }
                });
                Until.yes(() -> waiting.task().isDone());
                selector.close();
                changing.result();
                waiting.result();
                assertEquals(false, channel.isRegistered());
            }
        }
    }
}
