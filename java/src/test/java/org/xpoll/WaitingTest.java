package org.xpoll;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.Semaphore;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.MethodSource;

/** Waits that another thread changes or ends; by platform threads and by virtual ones. */
@ParameterizedClass
@MethodSource("kinds")
@Timeout(60)
class WaitingTest {
    private final String backend;
    private final boolean virtual;
    private final int[] pipe = Posix.pipe();
    private Poller poller;

    record Kind(String backend, boolean virtual) {}

    WaitingTest(Kind kind) {
        backend = kind.backend();
        virtual = kind.virtual();
    }

    static Stream<Kind> kinds() {
        return Stream.of(Xpoll.backends()).flatMap(name ->
                Stream.of(new Kind(name, false), new Kind(name, true)));
    }

    @BeforeEach
    void open() throws IOException {
        poller = Poller.open(backend, 1000);
    }

    @AfterEach
    void close() {
        poller.close();
        Posix.close(pipe);
    }

    /** A thread, and what it returned or threw. */
    private final class Waiter {
        final FutureTask<Integer> task;
        final Thread thread;

        Waiter(Callable<Integer> body) {
            task = new FutureTask<>(body);
            thread = virtual ? Thread.startVirtualThread(task) : Thread.ofPlatform().start(task);
        }

        int result() throws Exception {
            return task.get();
        }

        Throwable failure() {
            return assertThrows(ExecutionException.class, task::get).getCause();
        }
    }

    private Waiter waiter(long timeout) {
        Events events = new Events(4);
        return new Waiter(() -> poller.pollMillis(events, timeout));
    }

    /** Until it is parked or in line; a platform thread may also wait in C. */
    private static void untilWaiting(Waiter waiter) throws Exception {
        Until.yes(() -> isWaiting(waiter.thread));
    }

    private static boolean isWaiting(Thread thread) {
        Thread.State state = thread.getState();
        if (state == Thread.State.WAITING || state == Thread.State.TIMED_WAITING) {
            return true;
        }
        return isInC(thread);
    }

    /** A virtual thread never is; a platform thread that is about to be counts as well. */
    private static boolean isInC(Thread thread) {
        if (thread.isVirtual()) {
            return false;
        }
        for (StackTraceElement frame : thread.getStackTrace()) {
            if (frame.getMethodName().equals("nativeWait")) {
                return true;
            }
        }
        return false;
    }

    @Test
    void add_whileWaiting_isSeen() throws Exception {
        Posix.write(pipe[1], 1);
        Waiter waiter = waiter(-1);
        untilWaiting(waiter);
        poller.addFd(pipe[0], Poller.POLLIN, null);
        assertEquals(1, waiter.result());
    }

    @Test
    void enable_whileWaiting_isSeen() throws Exception {
        Posix.write(pipe[1], 1);
        poller.addFd(pipe[0], Poller.POLLIN, null);
        poller.disable(pipe[0]);
        Waiter waiter = waiter(-1);
        untilWaiting(waiter);
        poller.enable(pipe[0]);
        assertEquals(1, waiter.result());
    }

    @Test
    void remove_whileWaiting_isKept() throws Exception {
        poller.addFd(pipe[0], Poller.POLLIN, null);
        Waiter waiter = waiter(-1);
        untilWaiting(waiter);
        poller.removeFd(pipe[0]);
        Posix.write(pipe[1], 1);
        poller.wakeup();
        assertEquals(0, waiter.result());
    }

    @Test
    void wakeup_whileWaiting_returnsZero() throws Exception {
        Waiter waiter = waiter(-1);
        untilWaiting(waiter);
        poller.wakeup();
        assertEquals(0, waiter.result());
    }

    @Test
    void wakeup_before_endsOneWait() throws Exception {
        poller.wakeup().wakeup();
        assertEquals(0, waiter(-1).result());
        Waiter second = waiter(-1);
        untilWaiting(second);
        assertFalse(second.task.isDone());
        poller.wakeup();
        assertEquals(0, second.result());
    }

    @Test
    void wakeup_eventsReady_goFirst() throws Exception {
        poller.addFd(pipe[1], Poller.POLLOUT | Poller.ONESHOT, null);
        poller.wakeup();
        assertEquals(1, waiter(-1).result());
        assertEquals(0, waiter(-1).result());
    }

    @Test
    void interrupt_whileWaiting_throwsAndKeepsTheStatus() throws Exception {
        boolean[] status = new boolean[1];
        Waiter waiter = new Waiter(() -> {
            try {
                return poller.pollMillis(new Events(1), -1);
            } finally {
                status[0] = Thread.currentThread().isInterrupted();
            }
        });
        untilWaiting(waiter);
        waiter.thread.interrupt();
        assertInstanceOf(InterruptedIOException.class, waiter.failure());
        assertTrue(status[0]);
    }

    @Test
    void interrupt_before_throwsAtOnce() {
        Waiter waiter = new Waiter(() -> {
            Thread.currentThread().interrupt();
            return poller.pollMillis(new Events(1), -1);
        });
        assertInstanceOf(InterruptedIOException.class, waiter.failure());
    }

    @Test
    void interrupt_ofOne_leavesTheOthersWaiting() throws Exception {
        List<Waiter> waiters = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            waiters.add(waiter(-1));
            untilWaiting(waiters.get(i));
        }
        for (Waiter waiter : waiters) {
            waiter.thread.interrupt();
            assertInstanceOf(InterruptedIOException.class, waiter.failure());
        }
        // What the interrupts left behind ends no wait.
        Waiter last = waiter(-1);
        untilWaiting(last);
        poller.wakeup();
        assertEquals(0, last.result());
    }

    @Test
    void close_whileManyWait_endsAll() throws Exception {
        List<Waiter> waiters = new ArrayList<>();
        for (int i = 0; i < 5; i++) {
            waiters.add(waiter(i % 2 == 0 ? -1 : 1_000_000));
            untilWaiting(waiters.get(i));
        }
        poller.close();
        for (Waiter waiter : waiters) {
            assertInstanceOf(QueueClosedException.class, waiter.failure());
        }
    }

    @Test
    void severalWaiters_oneShot_eachEventToOne() throws Exception {
        int total = 200;
        List<Waiter> waiters = new ArrayList<>();
        poller.addFd(pipe[0], Poller.POLLIN | Poller.ONESHOT, null);
        for (int i = 0; i < 3; i++) {
            waiters.add(new Waiter(() -> {
                Events events = new Events(4);
                int read = 0;
                try {
                    for (;;) {
                        int n = poller.pollMillis(events, -1);
                        for (int k = 0; k < n; k++) {
                            read += Posix.read(events.fd(k));
                            poller.enable(events.fd(k));
                        }
                    }
                } catch (InterruptedIOException e) {
                    return read;
                }
            }));
        }
        for (int i = 0; i < total; i++) {
            Posix.write(pipe[1], 1);
        }
        Until.yes(() -> (Posix.revents(pipe[0], Poller.POLLIN) & Poller.POLLIN) == 0);
        int read = 0;
        for (Waiter waiter : waiters) {
            untilWaiting(waiter);
            waiter.thread.interrupt();
            read += waiter.result();
        }
        assertEquals(total, read);
    }

    /** Platform threads sleep in C at the same time, so none is woken to take another's place. */
    @Test
    void severalWaiters_eachInC_shareTheDescriptors() throws Exception {
        int[] other = Posix.pipe();
        for (int fd : new int[] {pipe[0], other[0]}) {
            poller.addOneShot(fd, Poller.POLLIN, null);
        }
        List<Waiter> waiters = new ArrayList<>(List.of(waiter(-1), waiter(-1)));
        Until.yes(() -> waiters.stream().filter(one -> isInC(one.thread)).count()
                == (virtual ? 0 : 2));
        for (int[] next : List.of(pipe, other)) {
            Posix.write(next[1], 1);
            Until.yes(() -> waiters.stream().anyMatch(one -> one.task.isDone()));
            // The first descriptor, which is still readable, does not end the second wait.
            Waiter done = waiters.stream().filter(one -> one.task.isDone()).findAny().get();
            assertEquals(1, done.result());
            waiters.remove(done);
        }
        Posix.close(other);
    }

    /** C wakes any thread: each wake has to reach the thread, and the reason, that it is for. */
    @Test
    void wakeupsAndInterrupts_ofSeveralWaiters_allArrive() throws Exception {
        Semaphore ends = new Semaphore(0);
        List<Waiter> waiters = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            waiters.add(new Waiter(() -> {
                Events events = new Events(1);
                for (;;) {
                    try {
                        poller.pollMillis(events, -1);
                    } catch (QueueClosedException e) {
                        return 0;
                    } catch (InterruptedIOException e) {
                        Thread.interrupted();
                    }
                    ends.release();
                }
            }));
        }
        for (int i = 0; i < 300; i++) {
            waiters.get(i % 4).thread.interrupt();
            poller.wakeup();
            waiters.get((i + 1 + i % 3) % 4).thread.interrupt();
            ends.acquire(3);
        }
        poller.close();
        for (Waiter waiter : waiters) {
            assertEquals(0, waiter.result());
        }
        assertEquals(0, ends.availablePermits());
    }

    @Test
    void timeout_isNeverEarly() throws Exception {
        Waiter waiter = new Waiter(() -> {
            Events events = new Events(1);
            for (int i = 1; i < 6; i++) {
                long start = System.nanoTime();
                assertEquals(0, poller.pollMillis(events, i));
                assertTrue(System.nanoTime() - start >= i * 1_000_000L, "early");
            }
            return 0;
        });
        assertEquals(0, waiter.result());
    }

    @Test
    void timeout_inLine_isKept() throws Exception {
        Waiter first = waiter(-1);
        untilWaiting(first);
        assertEquals(0, waiter(0).result());
        assertEquals(0, waiter(5).result());
        poller.wakeup();
        assertEquals(0, first.result());
    }

    @Test
    void garbageCollection_whileWaiting_isNotHeldUp() throws Exception {
        Waiter waiter = waiter(-1);
        untilWaiting(waiter);
        System.gc();
        poller.wakeup();
        assertEquals(0, waiter.result());
    }

    /**
     * Who is woken often makes a change at once: where the waker held that lock, it would sleep
     * again. A thread that holds the lock keeps no waker, so no waker holds it.
     */
    @Test
    void wakeup_whileChangesAreMade_needsNotTheirLock() throws Exception {
        synchronized (poller.queue.changes) {
            Thread waker = Thread.ofPlatform().start(poller::wakeup);
            waker.join();
        }
        assertEquals(0, poller.pollMillis(new Events(1), -1));
    }

    @Test
    void virtualThread_whileAnotherWaits_runs() throws Exception {
        // There is one carrier.  A wait that kept it would keep this thread from running.
        Waiter waiter = new Waiter(() -> poller.pollMillis(new Events(1), -1));
        untilWaiting(waiter);
        Thread other = Thread.startVirtualThread(poller::wakeup);
        other.join();
        assertEquals(0, waiter.result());
    }

    @Test
    void unreachable_poller_isReleased() throws Exception {
        int before = abandon();
        Until.yes(() -> {
            System.gc();
            return openDescriptors() < before;
        });
    }

    /** How many descriptors are open with fifty queues that nobody knows any more. */
    private int abandon() throws IOException {
        EventList signal = new EventList(1).put(1, Xpoll.FILT_SIGNAL, Xpoll.ADD, 0, 0, 0);
        for (int i = 0; i < 50; i++) {
            EventQueue.open(backend).apply(signal);
        }
        return openDescriptors();
    }

    private static int openDescriptors() {
        return new java.io.File("/proc/self/fd").list().length;
    }
}
