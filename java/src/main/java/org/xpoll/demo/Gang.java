package org.xpoll.demo;

import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * A batch of ready connections, and the threads that help the one that found it to read it.
 *
 * <p>All of them take a piece at a time, so nobody waits for a thread that is slow to wake. Waking
 * one costs as much as some ten reads; where it comes too late for a piece, as on a machine that
 * has no processor to spare, it is left to sleep for more and more batches.
 */
final class Gang {
    /** So many connections a thread takes at a time. */
    static final int PIECE = 16;
    /** A batch of no more is read sooner than shared. */
    static final int WORTH_SHARING = 3 * PIECE;

    private static final int REST_MOST = 1023;

    private final ReentrantLock lock = new ReentrantLock();
    private final Condition work = lock.newCondition();
    private final Condition done = lock.newCondition();
    private final Connection[] ready;
    private int count;
    private int taken;
    /** Helpers that read a piece. */
    private int reading;
    /** A helper was woken for this batch; one has had a piece of it. */
    private boolean woken;
    private boolean helped;
    /** For how many batches nobody is woken after one at which nobody helped; how many are left. */
    private int rest;
    private int restLeft;

    /** @param ready where the finder puts what it has found */
    Gang(Connection[] ready) {
        this.ready = ready;
    }

    /** The finder: there are so many in the array. All of the batch before is taken. */
    void share(int count) {
        lock.lock();
        try {
            if (woken) {
                rest = helped ? 0 : Math.min(2 * rest + 1, REST_MOST);
                restLeft = rest;
            }
            helped = false;
            this.count = count;
            taken = 0;
            woken = restLeft == 0;
            if (woken) {
                work.signal();
            } else {
                restLeft--;
            }
        } finally {
            lock.unlock();
        }
    }

    /** The finder: moves a piece into an array of its own; 0 if all is taken. */
    int take(Connection[] piece) {
        lock.lock();
        try {
            return move(piece);
        } finally {
            lock.unlock();
        }
    }

    private int move(Connection[] piece) {
        int length = Math.min(count - taken, PIECE);
        System.arraycopy(ready, taken, piece, 0, length);
        taken += length;
        return length;
    }

    /** The finder: waits until all is read, too. */
    void finish() throws InterruptedException {
        lock.lock();
        try {
            while (reading > 0) {
                done.await();
            }
        } finally {
            lock.unlock();
        }
    }

    /** A helper: waits for a piece. {@link #read} is to follow. */
    int awaitPiece(Connection[] piece) throws InterruptedException {
        lock.lock();
        try {
            while (taken == count) {
                work.await();
            }
            helped = true;
            reading++;
            int length = move(piece);
            if (count - taken > PIECE) {
                work.signal(); // It is worth one more.
            }
            return length;
        } finally {
            lock.unlock();
        }
    }

    /** A helper: has read its piece. */
    void read() {
        lock.lock();
        try {
            if (--reading == 0) {
                done.signal();
            }
        } finally {
            lock.unlock();
        }
    }
}
