package org.xpoll;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * A wait of the program's may be several in C. What is to end it, exactly before each of these,
 * and between two of them, ends it: by platform threads and by virtual ones.
 */
@ParameterizedClass
@MethodSource("kinds")
@Timeout(30)
class SeamTest {
    private static final long FOREVER = -1;
    private static final long LONG = 3_600_000_000_000L;

    private final boolean virtual;

    SeamTest(boolean virtual) {
        this.virtual = virtual;
    }

    static Stream<Boolean> kinds() {
        return Stream.of(false, true);
    }

    /**
     * Calls back before each sleep, in C or of a virtual thread that parks, and makes some of these
     * no sleep at all.
     */
    private static final class Queue extends NativeQueue {
        final Runnable atSeam;
        final int seam;
        final int cutResult;
        /** Once, after the first look. */
        Runnable afterLook;
        int sleeps;
        long before = Long.MAX_VALUE;
        boolean less = true;

        final Waiter waiter = new Waiter() {
            @Override
            int nativeWait(long address, long nanos) {
                if (nanos == 0) {
                    int n = Native.await(errno, address, 0);
                    Runnable next = afterLook;
                    afterLook = null;
                    if (next != null) {
                        next.run();
                    }
                    return n;
                }
                return sleeps(nanos)
                        ? Native.await(errno, address, nanos < 0 ? -1 : (int) (nanos / 1_000_000))
                        : cutResult;
            }
        };

        /** The seam is before the sleep of that number; those before it are cut off. */
        Queue(int seam, int cutResult, Runnable atSeam) throws IOException {
            super(new QueueOptions());
            this.seam = seam;
            this.cutResult = cutResult;
            this.atSeam = atSeam;
        }

        @Override
        void park(long nanos) {
            if (sleeps(nanos)) {
                super.park(nanos);
            }
        }

        private boolean sleeps(long nanos) {
            less &= nanos < 0 || nanos < before;
            before = nanos;
            if (sleeps++ < seam) {
                return false;
            }
            atSeam.run();
            return true;
        }
    }

    private Queue queue;
    private Thread waiter;

    /** What await returned, or threw. */
    private FutureTask<Integer> started(long nanos) {
        Callable<Integer> wait = () -> {
            long deadline = NativeQueue.deadline(nanos);
            assertTrue(queue.takeTurn(nanos, deadline));
            try {
                return queue.await(queue.waiter, nanos, deadline);
            } finally {
                queue.turn = false;
                queue.turnGiven();
            }
        };
        FutureTask<Integer> task = new FutureTask<>(wait);
        waiter = virtual ? Thread.ofVirtual().unstarted(task) : Thread.ofPlatform().unstarted(task);
        waiter.start();
        return task;
    }

    /** By another thread: who interrupts itself is not asleep. */
    private void interrupt() {
        Thread other = Thread.ofPlatform().start(waiter::interrupt);
        while (other.isAlive()) {
            Thread.onSpinWait();
        }
    }

    private static Throwable failure(FutureTask<Integer> task) {
        return assertThrows(ExecutionException.class, task::get).getCause();
    }

    private void register(int fd) throws IOException {
        synchronized (queue.changes) {
            assertEquals(0, Native.ctl(queue.changeErrno, queue.address(), Xpoll.ADD,
                    Poller.POLLIN, fd, 0));
        }
    }

    /** The event of the queue's callbacks ends the wait. */
    private void assertFound(int[] pipe, Queue opened, long nanos) throws Exception {
        queue = opened;
        register(pipe[0]);
        assertEquals(1, started(nanos).get());
        assertEquals(1, Posix.read(pipe[0]));
        queue.close();
    }

    @Test
    void event_justBeforeASleep_endsIt() throws Exception {
        int[] pipe = Posix.pipe();
        for (long nanos : new long[] {FOREVER, LONG}) {
            assertFound(pipe, new Queue(0, 0, () -> Posix.write(pipe[1], 1)), nanos);
        }
        // Each sleep of a queue, not only its first.
        queue = new Queue(0, 0, () -> Posix.write(pipe[1], 1));
        register(pipe[0]);
        for (int i = 0; i < 3; i++) {
            assertEquals(1, started(FOREVER).get());
            assertEquals(1, Posix.read(pipe[0]));
        }
        queue.close();
        Posix.close(pipe);
    }

    /** What a look has not seen, the sleep after it does. */
    @Test
    void event_justAfterALook_endsTheSleep() throws Exception {
        int[] pipe = Posix.pipe();
        for (long nanos : new long[] {FOREVER, LONG}) {
            Queue opened = new Queue(0, 0, () -> {});
            opened.afterLook = () -> Posix.write(pipe[1], 1);
            assertFound(pipe, opened, nanos);
        }
        Posix.close(pipe);
    }

    @Test
    void wakeup_justAfterALook_endsTheWait() throws Exception {
        queue = new Queue(0, 0, () -> {});
        queue.afterLook = () -> queue.wakeup();
        assertEquals(0, started(FOREVER).get());
        queue.close();
    }

    @Test
    void close_justAfterALook_endsTheWait() throws Exception {
        queue = new Queue(0, 0, () -> {});
        queue.afterLook = () -> queue.close();
        assertInstanceOf(QueueClosedException.class, failure(started(FOREVER)));
    }

    /** A wakeup for a thread that comes out just then is for the next wait, of any thread. */
    @Test
    void wakeup_besideAnEvent_endsTheNextWaitOfAPlatformThread() throws Exception {
        int[] pipe = Posix.pipe();
        queue = new Queue(0, 0, () -> {
            Posix.write(pipe[1], 1);
            queue.wakeup();
        });
        register(pipe[0]);
        assertEquals(1, started(FOREVER).get());
        assertEquals(1, Posix.read(pipe[0]));
        assertTrue(queue.tryTurn());
        assertEquals(0, queue.await(queue.waiter, FOREVER, 0));
        queue.turn = false;
        queue.close();
        Posix.close(pipe);
    }

    @Test
    void interrupt_justBeforeASleep_endsIt() throws Exception {
        for (int cut : new int[] {0, -Errno.EINTR}) {
            for (int seam = 0; seam < 3; seam++) {
                for (long nanos : new long[] {FOREVER, LONG}) {
                    queue = new Queue(seam, cut, this::interrupt);
                    assertInstanceOf(InterruptedIOException.class, failure(started(nanos)));
                    queue.close();
                }
            }
        }
    }

    @Test
    void wakeup_justBeforeASleep_endsIt() throws Exception {
        for (int seam = 0; seam < 3; seam++) {
            queue = new Queue(seam, -Errno.EINTR, () -> queue.wakeup());
            assertEquals(0, started(FOREVER).get());
            assertEquals(seam + 1, queue.sleeps);
            queue.close();
        }
    }

    @Test
    void close_justBeforeASleep_endsIt() throws Exception {
        for (int seam = 0; seam < 3; seam++) {
            queue = new Queue(seam, -Errno.EINTR, () -> queue.close());
            assertInstanceOf(QueueClosedException.class, failure(started(FOREVER)));
        }
    }

    @Test
    void timeout_afterASleepThatWasCut_isWhatIsLeft() throws Exception {
        queue = new Queue(3, -Errno.EINTR, () -> queue.wakeup());
        assertEquals(0, started(LONG).get());
        assertEquals(4, queue.sleeps);
        assertTrue(queue.less, "the time began anew");
        queue.close();
    }
}
