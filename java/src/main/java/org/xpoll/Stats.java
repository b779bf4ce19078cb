package org.xpoll;

import java.nio.ByteBuffer;

/**
 * The counters of a queue since it was made, as xpoll_stats(3) explains them. All of them only
 * grow, except {@code registered}.
 *
 * @param waits calls that waited, or looked without waiting
 * @param events events that were returned
 * @param wakes waits that a wakeup made return
 * @param emptyReturns waits without an event
 * @param changes changes that were requested
 * @param changesFree of these: without a system call
 * @param changeErrors of these: refused
 * @param syscallsWait system calls to wait
 * @param syscallsChange system calls to change the kernel's set
 * @param syscallsCheck system calls to check whether a descriptor is ready
 * @param syscallsWake system calls to wake a thread
 * @param staleDropped reports of registrations that had ended
 * @param fruitless reports of registrations that were disabled
 * @param rebuilds how often the kernel's set was made anew
 * @param registered registrations now; a descriptor has one for each direction
 * @param signalsUnobserved handlers that the program replaced
 * @param idleNanos time that threads slept in waits; 0 without {@link QueueOptions#countIdle()}
 */
public record Stats(long waits, long events, long wakes, long emptyReturns, long changes,
        long changesFree, long changeErrors, long syscallsWait, long syscallsChange,
        long syscallsCheck, long syscallsWake, long staleDropped, long fruitless, long rebuilds,
        long registered, long signalsUnobserved, long idleNanos) {
    /** The size of struct xpoll_stats. */
    static final int BYTES = 17 * 8;

    /** From a struct xpoll_stats. */
    static Stats of(ByteBuffer from) {
        return new Stats(at(from, 0), at(from, 1), at(from, 2), at(from, 3), at(from, 4),
                at(from, 5), at(from, 6), at(from, 7), at(from, 8), at(from, 9), at(from, 10),
                at(from, 11), at(from, 12), at(from, 13), at(from, 14), at(from, 15),
                at(from, 16));
    }

    private static long at(ByteBuffer from, int index) {
        return from.getLong(index * 8);
    }
}
