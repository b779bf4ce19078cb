package org.xpoll;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.Objects;

/**
 * Changes for an {@link EventQueue}, or events from it: an array of C's {@code struct xpoll_event}.
 *
 * <p>The memory is the garbage collector's. The list belongs to one thread at a time; while a call
 * of the queue uses it, or another thread changes it, methods throw {@link IllegalStateException}.
 */
public final class EventList {
    static final int BYTES = 32;
    /** How many a buffer has room for. */
    private static final int MOST = Integer.MAX_VALUE / BYTES;
    private static final int IDENT = 0;
    private static final int FILTER = 8;
    private static final int FLAGS = 10;
    private static final int FFLAGS = 12;
    private static final int DATA = 16;
    private static final int UDATA = 24;

    private static final VarHandle BUSY;

    private final Memory memory;
    private final int capacity;
    private int size;
    private volatile boolean busy;

    static {
        try {
            BUSY = MethodHandles.lookup().findVarHandle(EventList.class, "busy", boolean.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    /**
     * Makes an empty list.
     *
     * @param capacity how many records of 32 bytes it has room for, at least 1
     * @throws IllegalArgumentException if capacity is less than 1
     */
    public EventList(int capacity) {
        if (capacity < 1) {
            throw new IllegalArgumentException("the capacity must be at least 1: " + capacity);
        }
        this.capacity = capacity;
        if (capacity > MOST) {
            throw new OutOfMemoryError(capacity + " records are more than " + MOST);
        }
        memory = new Memory(BYTES * capacity);
    }

    /** Holds the offsets above against the library. */
    static void checkLayout() {
        EventList one = new EventList(1);
        Native.set(one.memory, 0x1122334455667788L, (short) -7, 0x8003, 0x80000001, -42L,
                0x99aabbccddeeff00L);
        one.size = 1;
        if (one.ident(0) != 0x1122334455667788L || one.filter(0) != -7 || one.flags(0) != 0x8003
                || one.fflags(0) != 0x80000001 || one.data(0) != -42L
                || one.udata(0) != 0x99aabbccddeeff00L) {
            throw new UnsatisfiedLinkError("this libxpoll has another struct xpoll_event");
        }
    }

    /**
     * How many records there is room for.
     *
     * @return the number given to the constructor
     */
    public int capacity() {
        return capacity;
    }

    /**
     * How many records there are.
     *
     * @return 0 to {@link #capacity()}
     */
    public int size() {
        return size;
    }

    /**
     * Removes all records.
     *
     * @return this
     * @throws IllegalStateException if another thread changes the list, or a call uses it
     */
    public EventList clear() {
        acquire();
        size = 0;
        release();
        return this;
    }

    /**
     * Appends a change; xpoll_event(3) describes the fields.
     *
     * @param ident descriptor, process, signal, or any number for a timer or user event
     * @param filter one of {@code Xpoll.FILT_...}
     * @param flags {@link Xpoll#ADD} and its like
     * @param fflags {@code Xpoll.NOTE_...} of the filter
     * @param data as the filter defines it: for a timer its time
     * @param udata comes back with each event
     * @return this
     * @throws IndexOutOfBoundsException if the list is full
     * @throws IllegalStateException if another thread changes the list, or a call uses it
     */
    public EventList put(long ident, short filter, int flags, int fflags, long data, long udata) {
        acquire(); // Else a change could be made after the queue has looked at it.
        try {
            append(ident, filter, flags, fflags, data, udata);
        } finally {
            release();
        }
        return this;
    }

    /** For lists of which no other thread knows, or that are acquired. */
    void append(long ident, short filter, int flags, int fflags, long data, long udata) {
        if (size >= capacity) {
            throw new IndexOutOfBoundsException("the list is full: " + capacity + " records");
        }
        int at = size * BYTES;
        memory.bytes.putLong(at + IDENT, ident);
        memory.bytes.putShort(at + FILTER, filter);
        memory.bytes.putShort(at + FLAGS, (short) flags);
        memory.bytes.putInt(at + FFLAGS, fflags);
        memory.bytes.putLong(at + DATA, data);
        memory.bytes.putLong(at + UDATA, udata);
        size++;
    }

    private int at(int i) {
        checkIdle();
        return Objects.checkIndex(i, size) * BYTES;
    }

    /**
     * What the event is about.
     *
     * @param i 0 to {@link #size()} - 1
     * @return descriptor, process, signal, or the number of a timer or user event
     * @throws IndexOutOfBoundsException if there is no such record
     */
    public long ident(int i) {
        return memory.bytes.getLong(at(i) + IDENT);
    }

    /**
     * The kind of event.
     *
     * @param i 0 to {@link #size()} - 1
     * @return one of {@code Xpoll.FILT_...}
     * @throws IndexOutOfBoundsException if there is no such record
     */
    public short filter(int i) {
        return memory.bytes.getShort(at(i) + FILTER);
    }

    /**
     * The flags.
     *
     * @param i 0 to {@link #size()} - 1
     * @return {@link Xpoll#EOF}, {@link Xpoll#ERROR} or 0 in an event
     * @throws IndexOutOfBoundsException if there is no such record
     */
    public int flags(int i) {
        return memory.bytes.getShort(at(i) + FLAGS) & 0xffff;
    }

    /**
     * The filter's flags.
     *
     * @param i 0 to {@link #size()} - 1
     * @return {@code Xpoll.NOTE_...} of the filter
     * @throws IndexOutOfBoundsException if there is no such record
     */
    public int fflags(int i) {
        return memory.bytes.getInt(at(i) + FFLAGS);
    }

    /**
     * The data of the filter: bytes, expirations, deliveries, a wait status; or with {@link
     * Xpoll#ERROR} the system's error number.
     *
     * @param i 0 to {@link #size()} - 1
     * @return the number
     * @throws IndexOutOfBoundsException if there is no such record
     */
    public long data(int i) {
        return memory.bytes.getLong(at(i) + DATA);
    }

    /**
     * The udata that was given with the registration.
     *
     * @param i 0 to {@link #size()} - 1
     * @return the number, unchanged
     * @throws IndexOutOfBoundsException if there is no such record
     */
    public long udata(int i) {
        return memory.bytes.getLong(at(i) + UDATA);
    }

    /**
     * An event in words, for logs: {@code "READ ident=5 data=12 EOF"}.
     *
     * @param i 0 to {@link #size()} - 1
     * @return the text
     * @throws IndexOutOfBoundsException if there is no such record
     */
    public String describe(int i) {
        NativeLibrary.load();
        return Native.describe(memory, at(i));
    }

    /** What was refused, for an error; of several the system does not say which it was. */
    String describeChanges() {
        return size == 1 ? "change " + Native.describe(memory, 0)
                : "one of " + size + " changes";
    }

    // --- For the queue ---------------------------------------------------------------

    private void checkIdle() {
        if (busy) {
            throw inUse();
        }
    }

    private static IllegalStateException inUse() {
        return new IllegalStateException("another call is using this list");
    }

    void acquire() {
        if (!BUSY.compareAndSet(this, false, true)) {
            throw inUse();
        }
    }

    void release() {
        busy = false;
    }

    long rawIdent(int i) {
        return memory.bytes.getLong(i * BYTES + IDENT);
    }

    short rawFilter(int i) {
        return memory.bytes.getShort(i * BYTES + FILTER);
    }

    /** Whether this is an event of the filter, and not the status of a change. */
    boolean isEventOf(short filter, int i) {
        return rawFilter(i) == filter
                && (memory.bytes.getShort(i * BYTES + FLAGS) & Xpoll.ERROR) == 0;
    }

    Memory memory() {
        return memory;
    }

    void setSize(int size) {
        this.size = size;
    }
}
