package org.xpoll.demo;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.Pipe;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.util.Arrays;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;
import org.xpoll.Events;
import org.xpoll.Poller;

/**
 * The benchmark of the original xpoll, from Java: N pipes in a ring, of which both ends are
 * registered. A readable one is read and the next one's writing end enabled; a writable one is
 * disabled and written to. All variants run in turns, and the median of the rounds counts.
 */
final class LoopTest {
    private static final int BATCH = 64;

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

        PollerLoop(int pipes) throws IOException {
            super(pipes);
            writers = new int[pipes];
        }

        abstract void read(int pipe) throws IOException;

        abstract void write(int pipe) throws IOException;

        @Override
        final void turn() throws IOException {
            int n = poller.poll(events, -1);
            for (int i = 0; i < n; i++) {
                int pipe = (Integer) events.attachment(i);
                if ((events.events(i) & Poller.POLLIN) != 0) {
                    read(pipe);
                    poller.enable(writers[after(pipe)]);
                    reads++;
                } else {
                    poller.disable(events.fd(i));
                    write(pipe);
                }
            }
        }
    }

    private static final class PollerRaw extends PollerLoop {
        private final int[] readers;

        PollerRaw(int pipes) throws IOException {
            super(pipes);
            readers = new int[pipes];
            for (int i = 0; i < pipes; i++) {
                int[] ends = Libc.pipe();
                readers[i] = ends[0];
                writers[i] = ends[1];
                poller.addFd(ends[0], Poller.POLLIN, i);
                poller.addFd(ends[1], Poller.POLLOUT, i);
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
            super(pipes);
            ends = open(pipes);
            for (int i = 0; i < pipes; i++) {
                poller.add(ends[i].source(), Poller.POLLIN, i);
                writers[i] = poller.add(ends[i].sink(), Poller.POLLOUT, i);
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
        private final Selector selector = Selector.open();
        private final ByteBuffer buffer = ByteBuffer.allocateDirect(1);
        private final Pipe[] ends;
        private final SelectionKey[] writers;
        private final boolean consumer;

        Nio(int pipes, boolean consumer) throws IOException {
            super(pipes);
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
                writers[after(pipe)].interestOps(SelectionKey.OP_WRITE);
                reads++;
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
        options.end();

        Map<String, Variant> variants = new LinkedHashMap<>();
        variants.put("xpoll-descriptors", new PollerRaw(pipes));
        variants.put("xpoll-channels", new PollerChannels(pipes));
        variants.put("nio-selectedKeys", new Nio(pipes, false));
        variants.put("nio-consumer", new Nio(pipes, true));
        measure(variants, seconds, rounds, warmUp);
    }

    private static void measure(Map<String, Variant> variants, int seconds, int rounds,
            double warmUp) throws IOException {
        Map<String, double[][]> results = new LinkedHashMap<>();
        for (Variant variant : variants.values()) {
            variant.run(warmUp); // Until it is compiled.
        }
        for (int round = 0; round < rounds; round++) {
            for (Map.Entry<String, Variant> entry : variants.entrySet()) {
                results.computeIfAbsent(entry.getKey(), name -> new double[rounds][])[round] =
                        entry.getValue().run(seconds);
            }
        }
        for (Map.Entry<String, double[][]> entry : results.entrySet()) {
            report(entry.getKey(), variants.get(entry.getKey()), entry.getValue());
        }
    }

    private static void report(String name, Variant variant, double[][] rounds)
            throws IOException {
        double[] speed = Arrays.stream(rounds).mapToDouble(round -> round[0]).sorted().toArray();
        double[] cpu = Arrays.stream(rounds).mapToDouble(round -> round[1]).sorted().toArray();
        long reads = variant.reads;
        long bytes = ThisThread.allocatedBytes();
        variant.run(0.2);
        bytes = ThisThread.allocatedBytes() - bytes;
        System.out.printf("variant=%s pipes=%d reads_per_s=%.0f least=%.0f most=%.0f"
                        + " cpu_ns_per_read=%.0f bytes_per_read=%.2f%n",
                name, variant.pipes, speed[speed.length / 2], speed[0], speed[speed.length - 1],
                cpu[cpu.length / 2], (double) bytes / (variant.reads - reads));
    }
}
