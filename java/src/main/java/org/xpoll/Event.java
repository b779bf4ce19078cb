package org.xpoll;

/**
 * One ready descriptor, as the iterator of {@link Events} gives it.
 *
 * @param fd the descriptor
 * @param events the {@code POLL*} bits, as {@link Poller} defines them
 * @param attachment what was attached to the descriptor when it was added, or null
 */
public record Event(int fd, int events, @Nullable Object attachment) {
    /**
     * Whether one of these bits is ready.
     *
     * @param bits {@code POLL*} bits
     * @return whether the event has any of them
     */
    public boolean is(int bits) {
        return (events & bits) != 0;
    }

    /**
     * What was attached, as an object of this type.
     *
     * @param <A> the type
     * @param type its class
     * @return the object, or null
     * @throws ClassCastException if it is of another type
     */
    public <A> @Nullable A attachment(Class<A> type) {
        return type.cast(attachment);
    }
}
