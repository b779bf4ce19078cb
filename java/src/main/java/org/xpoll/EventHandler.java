package org.xpoll;

import java.io.IOException;

/**
 * What {@link Poller#poll(long, EventHandler)} calls for each event. If several threads poll
 * with one handler, all of them call it, also at the same time.
 */
@FunctionalInterface
public interface EventHandler {
    /**
     * A descriptor is ready. This is called by the thread that polls, which may change the poller,
     * wait on it and close it here.
     *
     * @param fd the descriptor
     * @param events the {@code POLL*} bits, as {@link Poller} defines them
     * @param attachment what was given to {@code add}, or null
     * @throws IOException whatever the handler likes; it ends the call of {@code poll}
     */
    void ready(int fd, int events, @Nullable Object attachment) throws IOException;
}
