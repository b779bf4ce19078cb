package org.xpoll;

import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * Waits in native code for a virtual thread, which parks meanwhile, where the queue cannot be
 * watched by {@link QueueWatch}.
 *
 * <p>A virtual thread in native code keeps its carrier, and with it the others that were to run
 * there. So a platform thread goes in its place; it is a daemon and ends after a second without
 * work. All fields belong to the thread that has the queue's turn, or are handed over by
 * {@link #done}.
 */
final class Substitute implements Runnable {
    private static final int IDLE_SECONDS = 1;

    private final NativeQueue queue;
    private final ThreadPoolExecutor threads;
    private Thread client;
    private Waiter waiter;
    private long address;
    private long nanos;
    private int result;
    private volatile boolean done;

    Substitute(NativeQueue queue) {
        this.queue = queue;
        // One works; those of earlier waits may not have come back for work yet.
        threads = new ThreadPoolExecutor(0, Integer.MAX_VALUE, IDLE_SECONDS, TimeUnit.SECONDS,
                new SynchronousQueue<>(), task -> Thread.ofPlatform().daemon()
                        .name("xpoll-wait").unstarted(task));
    }

    /** Called by the virtual thread; it waits as long as its substitute, also when interrupted. */
    int await(Waiter waiter, long address, long nanos) {
        this.client = Thread.currentThread();
        this.waiter = waiter;
        this.address = address;
        this.nanos = nanos;
        done = false;
        threads.execute(this);

        boolean interrupted = false;
        while (!done) {
            LockSupport.park(this);
            if (Thread.interrupted()) {
                interrupted = true;
                queue.interrupt(waiter);
            }
        }
        client = null;
        queue.left(waiter);
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
        return result;
    }

    @Override
    public void run() {
        Thread waiting = client;
        result = -Errno.EINTR;
        try {
            result = waiter.nativeWait(address, nanos);
        } finally {
            done = true;
            LockSupport.unpark(waiting);
        }
    }
}
