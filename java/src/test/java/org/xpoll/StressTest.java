package org.xpoll;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.random.RandomGenerator;
import java.util.random.RandomGeneratorFactory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.Parameter;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Many threads do everything at once, right and wrong, for XPOLL_STRESS_SECONDS (else one) on each
 * back end. What they are thrown must be an exception of ours; the virtual machine, all threads,
 * and a queue made afterwards must be well.
 */
@ParameterizedClass
@MethodSource("org.xpoll.Xpoll#backends")
@Timeout(3600)
class StressTest {
    private static final int QUEUES = 3;
    private static final int PLATFORM = 4;
    private static final int VIRTUAL = 3;

    @Parameter String backend;
    private final AtomicReferenceArray<Poller> pollers = new AtomicReferenceArray<>(QUEUES);
    private final AtomicReferenceArray<EventQueue> queues = new AtomicReferenceArray<>(QUEUES);
    private final AtomicReferenceArray<int[]> pipes = new AtomicReferenceArray<>(16);
    private final List<Thread> threads = new ArrayList<>();
    /** Of a file that nobody else has; each operation is of some thread that forgets it. */
    private int file;
    private volatile boolean over;

    private static long seconds() {
        String text = System.getenv("XPOLL_STRESS_SECONDS");
        return text == null ? 1 : Long.parseLong(text);
    }

    @Test
    void everythingAtOnce_endsWell(@TempDir Path folder) throws Exception {
        try (RandomAccessFile opened =
                new RandomAccessFile(folder.resolve("file").toFile(), "rw")) {
            file = Poller.fdOf(opened.getFD());
            doEverything();
        }
    }

    private void doEverything() throws Exception {
        for (int i = 0; i < QUEUES; i++) {
            pollers.set(i, Poller.open(backend, 1000));
            queues.set(i, EventQueue.open(backend));
        }
        for (int i = 0; i < pipes.length(); i++) {
            pipes.set(i, Posix.pipe());
        }
        List<FutureTask<Integer>> tasks = new ArrayList<>();
        for (int i = 0; i < PLATFORM + VIRTUAL; i++) {
            int seed = i;
            FutureTask<Integer> task = new FutureTask<>(() -> misuse(seed));
            tasks.add(task);
            threads.add(i < PLATFORM ? Thread.ofPlatform().unstarted(task)
                    : Thread.ofVirtual().unstarted(task));
        }
        threads.forEach(Thread::start);

        long end = System.nanoTime() + seconds() * 1_000_000_000;
        RandomGenerator random = random(99);
        while (System.nanoTime() < end) {
            threads.get(random.nextInt(threads.size())).interrupt();
            pollers.get(random.nextInt(QUEUES)).wakeup();
            if (random.nextInt(100) == 0) {
                System.gc(); // It has to stop all of them, wherever they are.
            }
            Thread.sleep(1);
        }
        over = true;
        finish(tasks);
    }

    private void finish(List<FutureTask<Integer>> tasks) throws Exception {
        int done = 0;
        for (FutureTask<Integer> task : tasks) {
            // Any that waits for ever is woken: not by time, by its queue's end.
            while (!task.isDone()) {
                for (int i = 0; i < QUEUES; i++) {
                    pollers.get(i).close();
                    queues.get(i).close();
                }
                Thread.sleep(1);
            }
            try {
                done += task.get();
            } catch (ExecutionException e) {
                throw new AssertionError("a thread was thrown what is none of ours", e.getCause());
            }
        }
        assertTrue(done > 0);
        for (int i = 0; i < pipes.length(); i++) {
            Posix.close(pipes.get(i));
        }
        int[] pipe = Posix.pipe();
        try (Poller poller = Poller.open(backend, 1)) {
            poller.addFd(pipe[1], Poller.POLLOUT, null);
            assertEquals(1, poller.pollMillis(new Events(1), -1));
        }
        Posix.close(pipe);
    }

    private static RandomGenerator random(long seed) {
        return RandomGeneratorFactory.of("L64X128MixRandom").create(seed);
    }

    /** How many things it did. */
    private int misuse(int seed) throws Exception {
        RandomGenerator random = random(seed);
        Events events = new Events(4);
        EventList changes = new EventList(4);
        EventList found = new EventList(4);
        int done = 0;
        while (!over) {
            if (random.nextInt(50) == 0) {
                Thread.interrupted();
            }
            try {
                if (random.nextBoolean()) {
                    usePoller(random, events);
                } else {
                    useQueue(random, changes, found);
                }
            } catch (IOException | IllegalStateException | IllegalArgumentException e) {
                // Refused.
            }
            done++;
        }
        return done;
    }

    private int someFd(RandomGenerator random) {
        int[] pipe = pipes.get(random.nextInt(pipes.length()));
        return pipe == null || random.nextInt(20) == 0 ? random.nextInt(-2, 1 << 20)
                : pipe[random.nextInt(2)];
    }

    private void usePoller(RandomGenerator random, Events events) throws IOException {
        int at = random.nextInt(QUEUES);
        Poller poller = pollers.get(at);
        int fd = someFd(random);
        switch (random.nextInt(17)) {
            case 0, 1, 2 -> poller.addFd(fd, random.nextInt(8)
                    | (random.nextBoolean() ? Poller.ONESHOT : 0), fd);
            case 3 -> poller.removeFd(fd);
            case 4 -> poller.modify(fd, random.nextInt(8)
                    | (random.nextBoolean() ? Poller.ONESHOT : 0));
            case 5 -> poller.disable(fd);
            case 6, 7 -> poller.enable(fd);
            case 8 -> poller.wakeup();
            case 9 -> replacePipe(random);
            case 10 -> {
                if (random.nextInt(20) == 0) {
                    poller.close();
                    pollers.compareAndSet(at, poller, Poller.open(backend, 1000));
                }
            }
            case 11 -> poller.pollMillis(1, (f, bits, attachment) -> poller.disable(f));
            case 12 -> poller.reset();
            case 13 -> poller.enable(new int[] {fd, someFd(random)}, 2);
            case 14 -> poller.disable(new int[] {someFd(random), fd}, 2);
            default -> check(poller, events, random.nextInt(10) == 0 ? -1 : random.nextInt(2));
        }
    }

    private static void check(Poller poller, Events events, long timeout) throws IOException {
        int n = poller.pollMillis(events, timeout);
        for (int i = 0; i < n; i++) {
            if (events.attachment(i) instanceof Integer fd && fd != events.fd(i)) {
                throw new AssertionError("another's event");
            }
        }
    }

    /** A number that is used again is what hurts.  The new one may be readable. */
    private void replacePipe(RandomGenerator random) {
        int at = random.nextInt(pipes.length());
        int[] before = pipes.getAndSet(at, null);
        if (before != null) {
            Posix.close(before);
            int[] pipe = Posix.pipe();
            if (random.nextBoolean()) {
                Posix.write(pipe[1], 1);
            }
            pipes.set(at, pipe);
        }
    }

    private void useQueue(RandomGenerator random, EventList changes, EventList found)
            throws IOException {
        int at = random.nextInt(QUEUES);
        EventQueue queue = queues.get(at);
        switch (random.nextInt(9)) {
            case 8 -> startOperation(random, queue);
            case 0 -> queue.trigger(random.nextInt(4));
            case 1 -> queue.wakeup();
            case 2 -> queue.lookup(someFd(random), (short) -random.nextInt(17), found);
            case 3 -> {
                if (random.nextInt(20) == 0) {
                    queue.close();
                    queues.compareAndSet(at, queue, EventQueue.open(backend));
                }
            }
            case 4 -> queue.apply(fill(random, changes));
            default -> queue.awaitNanos(random.nextBoolean() ? fill(random, changes) : null, found,
                    random.nextInt(10) == 0 ? -1 : random.nextInt(1000));
        }
    }

    private void startOperation(RandomGenerator random, EventQueue queue) throws IOException {
        long offset = random.nextInt(-1, 1 << 16);
        int fd = random.nextInt(4) == 0 ? someFd(random) : file;
        Aio aio;
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment buffer = random.nextBoolean() ? arena.allocate(random.nextInt(5000))
                    : Aio.allocate(random.nextInt(5000));
            aio = switch (random.nextInt(3)) {
                case 0 -> queue.read(fd, buffer, offset, 1);
                case 1 -> queue.write(file, buffer, offset, 1);
                default -> queue.sync(Xpoll.AIO_FDATASYNC, fd, 1);
            };
            if (random.nextBoolean()) {
                aio.cancel();
            }
        }
        aio.result();
    }

    /**
     * Anything at all, but for processes: what is traced is not ours alone. Of operations little:
     * they are refused with all that comes along.
     */
    private EventList fill(RandomGenerator random, EventList changes) {
        changes.clear();
        while (changes.size() < changes.capacity()) {
            short filter = (short) -random.nextInt(17);
            if (filter == Xpoll.FILT_PROC
                    || (filter == Xpoll.FILT_AIO && random.nextInt(20) > 0)) {
                continue;
            }
            long ident = switch (random.nextInt(3)) {
                case 0 -> random.nextLong();
                case 1 -> random.nextInt(40);
                default -> someFd(random);
            };
            int flags = random.nextBoolean() ? Xpoll.ADD : random.nextInt(1 << 16);
            int notes = random.nextBoolean() ? 0 : random.nextInt();
            changes.put(ident, filter, flags, notes, random.nextInt(1000), random.nextLong());
        }
        return changes;
    }
}
