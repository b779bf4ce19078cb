package org.xpoll;

import java.time.Duration;
import java.util.Objects;

/**
 * The options of xpoll_open(3) that matter to Java. Each method changes the object
 * and returns it.
 *
 * <p>{@snippet :
 * EventQueue queue = EventQueue.open(new QueueOptions().countIdle());
 * }
 */
public final class QueueOptions {
    /** Bits of struct xpoll_options. */
    static final int ALL_READY = 4;
    static final int COUNT_IDLE = 8;
    static final int RESTART = 16;

    @Nullable String backend;
    /** Always RESTART: Java's signal handlers end no wait, and Thread.interrupt wakes the queue. */
    int flags = RESTART;
    int busyPollMicros;

    /** The defaults. */
    public QueueOptions() {
        // The fields have them.
    }

    /**
     * Uses this back end; the default is the best one.
     *
     * @param name one of {@link Xpoll#backends()}
     * @return this
     * @throws NullPointerException if name is null
     */
    public QueueOptions backend(String name) {
        backend = Objects.requireNonNull(name, "name");
        return this;
    }

    /**
     * Each wait returns everything that is ready, if there is room, at the price of some system
     * calls. In other queues a wait may return only what is known to be ready, and the rest within
     * 16 waits.
     *
     * @return this
     */
    public QueueOptions allReady() {
        flags |= ALL_READY;
        return this;
    }

    /**
     * Counts the time that threads sleep in waits: {@link Stats#idleNanos()}. Each sleep then reads
     * a clock twice.
     *
     * @return this
     */
    public QueueOptions countIdle() {
        flags |= COUNT_IDLE;
        return this;
    }

    /**
     * Before a wait sleeps, the kernel polls the network device for up to this time: Linux 6.9 and
     * the back end epoll. Elsewhere the queue cannot be made.
     *
     * @param time in whole microseconds; less than one is none
     * @return this
     * @throws IllegalArgumentException if the time is negative, or longer than 35 minutes
     */
    public QueueOptions busyPoll(Duration time) {
        if (time.isNegative() || time.compareTo(Duration.ofMinutes(35)) > 0) {
            throw new IllegalArgumentException("busyPoll is from 0 to 35 minutes: " + time);
        }
        busyPollMicros = (int) (time.toNanos() / 1000);
        return this;
    }
}
