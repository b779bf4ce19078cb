package org.xpoll;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

/**
 * One queue of the C library, and the rules by which threads share it.
 *
 * <p>Waiting: a thread waits with a {@link Waiter} of its own, or it takes the turn, which one
 * thread at a time has. Others stand in line; the first of the line is unparked when the turn is
 * given back. Taking the turn is one atomic instruction. Virtual threads always take it.
 *
 * <p>Changing: under the monitor {@link #changes}, which nobody holds while waiting. C makes a
 * change known to a thread that waits at that moment.
 *
 * <p>Closing: {@link #closed} is set and one waiting thread woken, which wakes the next. The queue
 * is released by the thread that finds it closed, the turn free and no other thread inside; the
 * turn is then never given back, so nobody gets in again.
 *
 * <p>Waking: C wakes one thread, for three reasons that it does not distinguish: {@link #wakeup},
 * an interrupt, and close. The thread that returns checks which it was. If another thread was
 * interrupted, it wakes the next one and lets that thread leave first. If there is no reason,
 * because the interrupt came when its thread had just left, it goes on waiting.
 */
abstract class NativeQueue {
    /** Guards the queue's address and whatever a subclass changes. */
    final Object changes = new Object();
    /** Held while xpoll_wake is called, so that the queue is not destroyed meanwhile. */
    private final Object waking = new Object();
    /** For calls under {@link #changes}. */
    final Memory changeErrno;
    /** So that a moment so long from now is a number as well. */
    private static final Duration LONGEST = Duration.ofNanos(Long.MAX_VALUE / 2);

    /** How many waits follow a look that found nothing. */
    private static final int WAITS_BEFORE_A_LOOK = 8;

    private static final VarHandle TURN;
    private static final VarHandle INSIDE;
    private static final VarHandle WAKEUP;

    private final ReentrantLock line = new ReentrantLock();
    /** Written before the queue is published, cleared under changes, waking and the turn. */
    private volatile long address;
    volatile boolean turn;
    /** How many threads wait without the turn. */
    private volatile int inside;
    private final Object gate = new Object();
    /** How many waiters were interrupted in C and have not left it; changed with gate held. */
    private volatile int interrupted;
    /** The thread at the head of the line, or null. */
    private volatile Thread first;
    private volatile boolean closed;
    /** A wakeup that no wait has answered yet. */
    private volatile boolean wakeup;
    /** The virtual thread that parks or is about to: unparking it is enough to wake the queue. */
    private volatile Thread parked;
    /** Where the queue is watched for virtual threads; refused, they have a substitute. */
    private QueueWatch.Place place;
    private boolean placeRefused;
    private Substitute substitute;

    static {
        try {
            MethodHandles.Lookup lookup = MethodHandles.lookup();
            TURN = lookup.findVarHandle(NativeQueue.class, "turn", boolean.class);
            INSIDE = lookup.findVarHandle(NativeQueue.class, "inside", int.class);
            WAKEUP = lookup.findVarHandle(NativeQueue.class, "wakeup", boolean.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    NativeQueue(QueueOptions options) throws IOException {
        NativeLibrary.load();
        changeErrno = Native.errnoCell();
        long opened = Native.open(options);
        if (opened == -Errno.ENOTSUP) {
            throw new UnsupportedOperationException(unsupported(options));
        }
        if (opened < 0 && opened > -4096) {
            throw new XpollException("open a queue", (int) -opened);
        }
        address = opened;
    }

    private static String unsupported(QueueOptions options) {
        List<String> usable = List.of(Native.backends());
        String name = options.backend != null ? options.backend : System.getenv("XPOLL_BACKEND");
        return options.busyPollMicros > 0 && (name == null || usable.contains(name))
                ? "no busy polling on this back end or kernel"
                : "no back end \"" + name + "\"; usable here: " + String.join(", ", usable);
    }

    /** The counters. */
    final Stats stats() throws QueueClosedException {
        synchronized (changes) {
            return Native.stats(address());
        }
    }

    /** The queue is no more; with changes held. */
    void destroyed() {
        // Most have nothing to do then.
    }

    /** The queue; call it with changes held, with the turn, or between enter and leave. */
    final long address() throws QueueClosedException {
        long queue = address;
        if (closed || queue == 0) {
            throw new QueueClosedException();
        }
        return queue;
    }

    final void checkOpen() throws QueueClosedException {
        if (closed) {
            throw new QueueClosedException();
        }
    }

    final boolean isClosed() {
        return closed;
    }

    // --- Turns ---------------------------------------------------------------

    final boolean tryTurn() {
        return TURN.compareAndSet(this, false, true);
    }

    /** Whether nobody waits in C, nor is about to; a moment later that may be otherwise. */
    final boolean isIdle() {
        return !turn && inside == 0;
    }

    /** Before a wait without the turn; {@link #leave} is to follow. */
    final void enter() throws QueueClosedException {
        INSIDE.getAndAdd(this, 1);
        if (closed) {
            leave();
            throw new QueueClosedException();
        }
    }

    final void leave() {
        INSIDE.getAndAdd(this, -1);
        if (closed) {
            wake();
            release();
        }
    }

    /** When a wait of so many nanoseconds is over; means nothing unless they are positive. */
    static long deadline(long nanos) {
        return nanos > 0 ? System.nanoTime() + nanos : 0;
    }

    /** At most what a long holds, which is 292 years. */
    static long nanos(Duration timeout) {
        if (timeout.isNegative()) {
            return -1;
        }
        return timeout.compareTo(LONGEST) < 0 ? timeout.toNanos() : LONGEST.toNanos();
    }

    /** What is left of such a wait; like nanos, negative for ever. */
    static long left(long nanos, long deadline) {
        return nanos > 0 ? Math.max(deadline - System.nanoTime(), 0) : nanos;
    }

    /** Takes the turn; false when the time was up first. */
    final boolean takeTurn(long nanos, long deadline) throws IOException {
        return tryTurn() || (nanos != 0 && standInLine(nanos, deadline));
    }

    private boolean standInLine(long nanos, long deadline) throws IOException {
        try {
            if (nanos < 0) {
                line.lockInterruptibly();
            } else if (!line.tryLock(nanos, TimeUnit.NANOSECONDS)) {
                return false;
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw interrupted();
        }
        try {
            return parkForTurn(nanos < 0, deadline);
        } finally {
            line.unlock();
        }
    }

    private boolean parkForTurn(boolean forever, long deadline) throws IOException {
        first = Thread.currentThread();
        try {
            while (!tryTurn()) {
                if (closed) {
                    throw new QueueClosedException();
                }
                if (Thread.currentThread().isInterrupted()) {
                    throw interrupted();
                }
                if (forever) {
                    // Not for ever: who gave the turn back may have had no stack left to say so.
                    LockSupport.parkNanos(this, 1_000_000_000L);
                    continue;
                }
                long left = left(1, deadline);
                if (left == 0) {
                    return false;
                }
                LockSupport.parkNanos(this, left);
            }
            return true;
        } finally {
            first = null;
        }
    }

    /**
     * The turn was given back, which who has it does by itself, "turn = false": where the stack is
     * at its end no method could be called for that, and all would wait for ever.
     */
    final void turnGiven() {
        // A volatile store and loads: who stands in line has set first before trying the turn.
        Thread next = first;
        if (next != null) {
            LockSupport.unpark(next);
        }
        if (closed) {
            wake();
            release();
        }
    }

    // --- Waiting -------------------------------------------------------------

    /**
     * Waits, with the turn or between enter and leave; virtual threads with the turn.
     *
     * @return what nativeWait returned, if positive; 0 when the time is up or after a wakeup
     */
    final int await(Waiter waiter, long nanos, long deadline) throws IOException {
        for (;;) {
            long left = left(nanos, deadline);
            if (left == 0) {
                return look(waiter);
            }
            long queue = address();
            if (Thread.currentThread().isInterrupted()) {
                throw interrupted();
            }
            int n = Thread.currentThread().isVirtual() || waiter.credit >= 0 || wakeup
                    ? lookFirst(waiter, queue, left) : waiter.guardedWait(this, queue, left);
            if (n > 0) {
                return n;
            }
            if (isOver(n)) {
                return 0;
            }
        }
    }

    private int look(Waiter waiter) throws IOException {
        int n = waiter.nativeWait(address(), 0);
        if (n <= 0) {
            isOver(n);
            return 0;
        }
        return n;
    }

    /** After a wait without events: is there a reason to return? */
    final boolean isOver(int n) throws IOException {
        if (n < 0 && n != -Errno.EINTR) {
            throw new XpollException("wait", -n);
        }
        if (closed) {
            throw new QueueClosedException();
        }
        if (Thread.currentThread().isInterrupted()) {
            if (wakeup || interrupted > 0) {
                // C has answered it with this wait; the next one shall have it.
                wake();
            }
            return false; // The caller's next look at it throws.
        }
        boolean over = n == 0 && wakeup && (boolean) WAKEUP.getAndSet(this, false);
        if (interrupted > 0) {
            wake();
            if (!over) {
                letInterruptedLeave();
            }
        }
        return over;
    }

    /** Called by a waiter's guard: the waiter's thread was interrupted in C, or shortly before. */
    final void interrupt(Waiter waiter) {
        synchronized (gate) {
            if (!waiter.isInterrupted) {
                waiter.isInterrupted = true;
                interrupted++;
            }
        }
        wake();
    }

    /** The waiter's thread has left C. */
    final void left(Waiter waiter) {
        if (waiter.isInterrupted) {
            synchronized (gate) {
                waiter.isInterrupted = false;
                interrupted--;
                gate.notifyAll();
            }
        }
    }

    /** Keeps this thread from taking the wake of an interrupted one again. */
    private void letInterruptedLeave() {
        synchronized (gate) {
            try {
                if (interrupted > 0) {
                    gate.wait(100); // Not for ever: its thread may have had no stack to notify.
                }
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }
    }

    /**
     * A look needs no guard, and does not keep a carrier; but where it finds nothing it was one
     * system call too many. So on platform threads it is tried as long as it finds something.
     */
    private int lookFirst(Waiter waiter, long queue, long nanos) {
        int n = waiter.nativeWait(queue, 0);
        if (n != 0) {
            waiter.credit = 0;
            return n;
        }
        waiter.credit = -WAITS_BEFORE_A_LOOK;
        if (wakeup || closed || interrupted > 0) {
            return n; // It may have taken a wake, as any wait does.
        }
        return Thread.currentThread().isVirtual() ? virtualWait(waiter, queue, nanos)
                : waiter.guardedWait(this, queue, nanos);
    }

    /** A carrier must not be kept in native code; see {@link QueueWatch}. */
    private int virtualWait(Waiter waiter, long queue, long nanos) {
        parked = Thread.currentThread();
        try {
            if (isWatched(queue)) {
                park(nanos);
                return -Errno.EINTR; // The next look says why it came out.
            }
        } finally {
            parked = null;
        }
        if (wakeup) {
            return -Errno.EINTR; // It may have been for the thread that was to be parked.
        }
        if (substitute == null) {
            substitute = new Substitute(this);
        }
        return substitute.await(waiter, queue, nanos);
    }

    /** Whether the thread will be unparked when there is an event. */
    private boolean isWatched(long queue) {
        if (place == null && !placeRefused) {
            int fd;
            synchronized (changes) {
                fd = Native.queueFd(changeErrno, queue);
            }
            place = fd < 0 ? null : QueueWatch.enter(this, fd);
            placeRefused = place == null;
        }
        return place != null && place.arm();
    }

    /** Until there may be an event, or another reason to look. */
    void park(long nanos) {
        if (nanos < 0) {
            LockSupport.park(this);
        } else {
            LockSupport.parkNanos(this, nanos);
        }
    }

    /** The virtual thread that waits, if there is one, has to look. */
    final boolean unpark() {
        Thread waiting = parked;
        LockSupport.unpark(waiting);
        return waiting != null;
    }

    private static InterruptedIOException interrupted() {
        return new InterruptedIOException("interrupted while waiting");
    }

    // --- Waking and closing ----------------------------------------------------

    final void wakeup() {
        // A virtual thread that is unparked may return for an event: then another thread is woken.
        if (!(boolean) WAKEUP.getAndSet(this, true) && (!unpark() || inside > 0)) {
            wake();
        }
    }

    /** Makes the thread in C return, or the next one that goes there. */
    final void wake() {
        // Not under changes: the thread that this wakes makes changes next, and would find it held.
        synchronized (waking) {
            long queue = address;
            if (queue != 0) {
                Native.wake(queue);
            }
        }
        unpark();
    }

    final void close() {
        synchronized (changes) {
            if (closed) {
                return;
            }
            closed = true;
        }
        wake();
        release();
        Thread waiting = first;
        if (waiting != null) {
            LockSupport.unpark(waiting);
        }
    }

    /** Frees the queue if nobody is in it; whoever is does it on leaving. */
    private void release() {
        while (inside == 0 && tryTurn()) {
            if (inside == 0) {
                free();
                return;
            }
            turn = false;
        }
    }

    private void free() {
        synchronized (changes) {
            long queue;
            synchronized (waking) {
                queue = address;
                address = 0;
            }
            if (queue != 0) {
                if (place != null) {
                    place.leave();
                }
                Native.destroy(queue);
                destroyed();
            }
        }
    }
}
