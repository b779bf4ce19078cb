package org.xpoll.demo;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.Pipe;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.spi.SelectorProvider;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.IntToDoubleFunction;
import java.util.stream.IntStream;
import org.xpoll.Events;
import org.xpoll.Poller;

/**
 * The benchmark of the original xpoll, from Java: N pipes in a ring, of which both ends are
 * registered. A readable one is read and the next one's writing end enabled; a writable one is
 * disabled and written to. With one-shot writing ends the report disables them, which is how a
 * program for Poller would do it. In the steady form, of selectors alone, who reads also writes,
 * and no interest changes. All variants run in turns, in an order that rotates, and the
 * median of the rounds counts: also of the ratios, whose two runs were close together in time.
 */
final class LoopTest {
    private static final int BATCH = 64;
    /** What the ratios are to. */
    private static final String RIVAL = "nio-selectedKeys";

    /** One way to do it; made once, so that it is compiled when it counts. */
    private abstract static class Variant {
        final int pipes;
        long reads;

        Variant(int pipes) {
            this.pipes = pipes;
        }

        int after(int pipe) {
            return pipe + 1 == pipes ? 0 : pipe + 1;
        }

        /** Waits once and does what there is to do. */
        abstract void turn() throws IOException;

        /** Reads per second, and nanoseconds of processor time for each. */
        final double[] run(double seconds) throws IOException {
            long cpu = ThisThread.cpuNanos();
            long start = System.nanoTime();
            long end = start + (long) (seconds * 1e9);
            long before = reads;
            long now = start;
            while (now < end) {
                for (int i = 0; i < 1000; i++) {
                    turn();
                }
                now = System.nanoTime();
            }
            double done = reads - before;
            return new double[] {done * 1e9 / (now - start), (ThisThread.cpuNanos() - cpu) / done};
        }
    }

    /** Poller on descriptors of pipe(2), or on the JDK's pipes: the rest is the same. */
    private abstract static class PollerLoop extends Variant {
        final Poller poller = new Poller();
        final Events events = new Events(BATCH);
        final int[] writers;
        /** Of the writing ends. */
        final boolean oneShot;

        PollerLoop(int pipes, boolean oneShot) throws IOException {
            super(pipes);
            this.oneShot = oneShot;
            writers = new int[pipes];
        }

        final int writing() {
            return Poller.POLLOUT | (oneShot ? Poller.ONESHOT : 0);
        }

        abstract void read(int pipe) throws IOException;

        abstract void write(int pipe) throws IOException;

        @Override
        final void turn() throws IOException {
            int n = poller.pollMillis(events, -1);
            for (int i = 0; i < n; i++) {
                int pipe = (Integer) events.attachment(i);
                if ((events.events(i) & Poller.POLLIN) != 0) {
                    read(pipe);
                    poller.enable(writers[after(pipe)]);
                    reads++;
                } else {
                    if (!oneShot) {
                        poller.disable(events.fd(i));
                    }
                    write(pipe);
                }
            }
        }
    }

    private static final class PollerRaw extends PollerLoop {
        private final int[] readers;

        PollerRaw(int pipes, boolean oneShot) throws IOException {
            super(pipes, oneShot);
            readers = new int[pipes];
            for (int i = 0; i < pipes; i++) {
                int[] ends = Libc.pipe();
                readers[i] = ends[0];
                writers[i] = ends[1];
                poller.addFd(ends[0], Poller.POLLIN, i);
                poller.addFd(ends[1], writing(), i);
                poller.disable(ends[1]);
            }
            Libc.write(writers[0]);
        }

        @Override
        void read(int pipe) {
            Libc.read(readers[pipe]);
        }

        @Override
        void write(int pipe) {
            Libc.write(writers[pipe]);
        }
    }

    private static Pipe[] open(int count) throws IOException {
        Pipe[] pipes = new Pipe[count];
        for (int i = 0; i < count; i++) {
            pipes[i] = Pipe.open();
            pipes[i].source().configureBlocking(false);
            pipes[i].sink().configureBlocking(false);
        }
        pipes[0].sink().write(ByteBuffer.allocate(1));
        return pipes;
    }

    private static final class PollerChannels extends PollerLoop {
        private final ByteBuffer buffer = ByteBuffer.allocateDirect(1);
        private final Pipe[] ends;

        PollerChannels(int pipes) throws IOException {
            super(pipes, false);
            ends = open(pipes);
            for (int i = 0; i < pipes; i++) {
                poller.add(ends[i].source(), Poller.POLLIN, i);
                writers[i] = poller.add(ends[i].sink(), writing(), i);
                poller.disable(writers[i]);
            }
        }

        @Override
        void read(int pipe) throws IOException {
            ends[pipe].source().read(buffer.clear());
        }

        @Override
        void write(int pipe) throws IOException {
            ends[pipe].sink().write(buffer.clear());
        }
    }

    /** java.nio, as it is written most often. */
    private static final class Nio extends Variant {
        private final Selector selector;
        private final ByteBuffer buffer = ByteBuffer.allocateDirect(1);
        private final Pipe[] ends;
        private final SelectionKey[] writers;
        private final boolean consumer;
        private final boolean steady;

        Nio(int pipes, SelectorProvider provider, boolean consumer, boolean steady)
                throws IOException {
            super(pipes);
            this.steady = steady;
            selector = provider.openSelector();
            this.consumer = consumer;
            ends = open(pipes);
            writers = new SelectionKey[pipes];
            for (int i = 0; i < pipes; i++) {
                ends[i].source().register(selector, SelectionKey.OP_READ, i);
                writers[i] = ends[i].sink().register(selector, 0, i);
            }
        }

        @Override
        void turn() throws IOException {
            if (consumer) {
                selector.select(this::consume);
                return;
            }
            selector.select();
            Iterator<SelectionKey> keys = selector.selectedKeys().iterator();
            while (keys.hasNext()) {
                SelectionKey key = keys.next();
                keys.remove();
                handle(key);
            }
        }

        private void consume(SelectionKey key) {
            try {
                handle(key);
            } catch (IOException e) {
                throw new IllegalStateException(e);
            }
        }

        private void handle(SelectionKey key) throws IOException {
            int pipe = (Integer) key.attachment();
            if (key.isReadable()) {
                ends[pipe].source().read(buffer.clear());
                reads++;
                if (steady) {
                    ends[after(pipe)].sink().write(buffer.clear());
                } else {
                    writers[after(pipe)].interestOps(SelectionKey.OP_WRITE);
                }
            } else {
                key.interestOps(0);
                ends[pipe].sink().write(buffer.clear());
            }
        }
    }

    private LoopTest() {}

    static void main(String[] arguments) throws IOException {
        Options options = new Options(arguments);
        int pipes = options.count("--pipes", 8);
        int seconds = options.count("--seconds", 1);
        int rounds = options.count("--rounds", 5);
        double warmUp = options.number("--warm-up", 1500) / 1e3;
        boolean steady = options.flag("--steady");
        String name = options.text("--provider");
        options.end();

        Map<String, Variant> variants = new LinkedHashMap<>();
        if (!steady) {
            variants.put("xpoll-oneshot", new PollerRaw(pipes, true));
            variants.put("xpoll-descriptors", new PollerRaw(pipes, false));
            variants.put("xpoll-channels", new PollerChannels(pipes));
        }
        SelectorProvider own = SelectorProvider.provider();
        variants.put(RIVAL, new Nio(pipes, own, false, steady));
        variants.put("nio-consumer", new Nio(pipes, own, true, steady));
        if (name != null) {
            SelectorProvider other = provider(name);
            variants.put("provider-selectedKeys", new Nio(pipes, other, false, steady));
            variants.put("provider-consumer", new Nio(pipes, other, true, steady));
        }
        measure(variants, seconds, rounds, warmUp);
    }

    private static SelectorProvider provider(String name) {
        try {
            return (SelectorProvider) Class.forName(name).getConstructor().newInstance();
        } catch (ReflectiveOperationException | ClassCastException e) {
            throw new IllegalArgumentException("no selector provider " + name, e);
        }
    }

    private static void measure(Map<String, Variant> variants, int seconds, int rounds,
            double warmUp) throws IOException {
        Map<String, double[][]> results = new LinkedHashMap<>();
        for (Map.Entry<String, Variant> entry : variants.entrySet()) {
            entry.getValue().run(warmUp); // Until it is compiled.
            results.put(entry.getKey(), new double[rounds][]);
        }
        List<String> names = List.copyOf(variants.keySet());
        for (int round = 0; round < rounds; round++) {
            for (int i = 0; i < names.size(); i++) {
                String name = names.get((i + round) % names.size());
                results.get(name)[round] = variants.get(name).run(seconds);
            }
        }
        for (String name : names) {
            report(name, variants.get(name), results.get(name), results.get(RIVAL));
        }
    }

    private static double[] sorted(int rounds, IntToDoubleFunction value) {
        return IntStream.range(0, rounds).mapToDouble(value).sorted().toArray();
    }

    private static double median(int rounds, IntToDoubleFunction value) {
        return sorted(rounds, value)[rounds / 2];
    }

    private static void report(String name, Variant variant, double[][] rounds, double[][] rival)
            throws IOException {
        int count = rounds.length;
        double[] speed = sorted(count, i -> rounds[i][0]);
        long reads = variant.reads;
        long bytes = ThisThread.allocatedBytes();
        variant.run(0.2);
        bytes = ThisThread.allocatedBytes() - bytes;
        System.out.printf("variant=%s pipes=%d reads_per_s=%.0f least=%.0f most=%.0f"
                        + " cpu_ns_per_read=%.0f ratio=%.3f bytes_per_read=%.2f%n",
                name, variant.pipes, speed[count / 2], speed[0], speed[count - 1],
                median(count, i -> rounds[i][1]), median(count, i -> rival[i][1] / rounds[i][1]),
                (double) bytes / (variant.reads - reads));
    }
}
