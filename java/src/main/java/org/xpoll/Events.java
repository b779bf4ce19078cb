package org.xpoll;

import java.util.Arrays;
import java.util.Iterator;
import java.util.NoSuchElementException;
import java.util.Objects;

/**
 * Ready descriptors, as {@link Poller#poll(Events, java.time.Duration)} found them: a batch that is
 * filled again and again, so that waiting makes no garbage.
 *
 * <p>Iterating makes an object for each event; {@link #fd(int)}, {@link #events(int)} and
 * {@link #attachment(int)} make none.
 *
 * <p>Threads: it belongs to one thread at a time; give each thread that waits its own. An event
 * stays in it when its descriptor is removed later.
 */
public final class Events implements Iterable<Event> {
    private final boolean grows;
    private int[] fds;
    private short[] bits;
    private Member[] members;
    /** Where C stores events; made by the first wait, which has loaded the library. */
    private @Nullable Ready ready;
    private int size;
    /** Members up to here may be of an earlier batch. */
    private int filled;

    /**
     * Makes an empty batch.
     *
     * @param capacity how many descriptors one wait may return, at least 1; what finds no room is
     *     returned by the next wait
     * @throws IllegalArgumentException if capacity is less than 1
     */
    public Events(int capacity) {
        this(capacity, false);
    }

    /** One that grows has room for all that are ready. */
    Events(int capacity, boolean grows) {
        this.grows = grows;
        if (capacity < 1) {
            throw new IllegalArgumentException("the capacity must be at least 1: " + capacity);
        }
        fds = new int[capacity];
        bits = new short[capacity];
        members = new Member[capacity];
    }

    /**
     * How many descriptors one wait may return.
     *
     * @return the number given to the constructor
     */
    public int capacity() {
        return fds.length;
    }

    /**
     * How many descriptors the last wait returned.
     *
     * @return 0 to {@link #capacity()}
     */
    public int size() {
        return size;
    }

    /**
     * The descriptor of an event.
     *
     * @param i 0 to {@link #size()} - 1
     * @return the number of the descriptor
     * @throws IndexOutOfBoundsException if there is no such event
     */
    public int fd(int i) {
        return fds[Objects.checkIndex(i, size)];
    }

    /**
     * What is ready: {@code POLLIN} and its like, as {@link Poller} defines them.
     *
     * @param i 0 to {@link #size()} - 1
     * @return bits of those that were asked for, and {@code POLLERR}, {@code POLLHUP}
     * @throws IndexOutOfBoundsException if there is no such event
     */
    public int events(int i) {
        return bits[Objects.checkIndex(i, size)];
    }

    /**
     * What was attached to the descriptor when it was added.
     *
     * @param i 0 to {@link #size()} - 1
     * @return the object, or null
     * @throws IndexOutOfBoundsException if there is no such event
     */
    public @Nullable Object attachment(int i) {
        return members[Objects.checkIndex(i, size)].attachment;
    }

    /**
     * What was attached to the descriptor when it was added, as an object of this type.
     *
     * @param <A> the type
     * @param i 0 to {@link #size()} - 1
     * @param type its class
     * @return the object, or null
     * @throws ClassCastException if it is of another type
     * @throws IndexOutOfBoundsException if there is no such event
     */
    public <A> @Nullable A attachment(int i, Class<A> type) {
        return type.cast(attachment(i));
    }

    /**
     * The events in the order of {@link #fd}; do not use it after the batch was filled again.
     *
     * @return an iterator that removes nothing
     */
    @Override
    public Iterator<Event> iterator() {
        return new Iterator<>() {
            private int i;

            @Override
            public boolean hasNext() {
                return i < size;
            }

            @Override
            public Event next() {
                if (i >= size) {
                    throw new NoSuchElementException();
                }
                Event event = new Event(fd(i), events(i), attachment(i));
                i++;
                return event;
            }
        };
    }

    /** For the thread that fills it: where to write from now on. {@link #trim} is to follow. */
    void clear() {
        filled = Math.max(filled, size);
        size = 0;
    }

    /** The memory for a wait, in which so many events, or as many as this holds, find room. */
    Ready ready(int wanted) {
        Ready found = ready;
        int room = grows ? Math.max(wanted, fds.length) : fds.length;
        if (found == null || found.capacity() < room) {
            found = new Ready(room);
            ready = found;
        }
        return found;
    }

    void put(Member member, short events) {
        int i = size;
        if (i == fds.length) {
            fds = Arrays.copyOf(fds, i * 2);
            bits = Arrays.copyOf(bits, i * 2);
            members = Arrays.copyOf(members, i * 2);
        }
        fds[i] = member.fd;
        bits[i] = events;
        members[i] = member;
        size = i + 1;
    }

    /** Copies the events to the beginning of these arrays. */
    void copy(int[] toFds, short[] toBits) {
        System.arraycopy(fds, 0, toFds, 0, size);
        System.arraycopy(bits, 0, toBits, 0, size);
    }

    /** Lets go of everything. */
    void drop() {
        clear();
        trim();
    }

    /** Drops what earlier batches had more of: a removed member shall not live on here. */
    void trim() {
        for (int i = size; i < filled; i++) {
            members[i] = null;
        }
        filled = size;
    }
}
