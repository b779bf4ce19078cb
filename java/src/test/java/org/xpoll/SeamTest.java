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

    /** Calls back before each wait in C that may sleep, and makes some of these no wait at all. */
    private static final class Queue extends NativeQueue {
        final Runnable atSeam;
        final int seam;
        final int cutResult;
        int sleeps;
        long before = Long.MAX_VALUE;
        boolean less = true;

        /** The seam is before the sleep of that number; those before it are cut off. */
        Queue(int seam, int cutResult, Runnable atSeam) throws IOException {
            super(null, 0);
            this.seam = seam;
            this.cutResult = cutResult;
            this.atSeam = atSeam;
        }

        @Override
        int nativeWait(long queue, long nanos) {
            if (nanos == 0) {
                return Native.await(waitErrno, queue, 0);
            }
            less &= nanos < 0 || nanos < before;
            before = nanos;
            if (sleeps++ < seam) {
                return cutResult;
            }
            atSeam.run();
            return Native.await(waitErrno, queue, nanos < 0 ? -1 : (int) (nanos / 1_000_000));
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
                return queue.await(nanos, deadline);
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
