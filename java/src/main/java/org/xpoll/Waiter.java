package org.xpoll;

/**
 * The part of a wait that belongs to one thread at a time: the call of C, and how an interrupt ends
 * it.
 */
abstract class Waiter {
    final Memory errno = Native.errnoCell();
    /** Not negative: poll once before sleeping. */
    int credit;
    /** The queue in which the thread sleeps or is about to. */
    private NativeQueue queue;
    /** The queue counts this waiter as interrupted; changed by the queue. */
    boolean isInterrupted;
    private final InterruptGuard guard = new InterruptGuard(() -> queue.interrupt(this));

    /**
     * Waits in C; no results are lost if it is not called again.
     *
     * @return how many events there are; 0; or a negative error number
     */
    abstract int nativeWait(long address, long nanos);

    /** Waits in C until there is an event, the time is up or the thread is interrupted. */
    final int guardedWait(NativeQueue from, long address, long nanos) {
        credit++;
        queue = from;
        guard.enter();
        try {
            return nativeWait(address, nanos);
        } finally {
            guard.leave();
            from.left(this);
        }
    }
}
