package org.xpoll;

/** Memory for the events of one thread's waits: an array of C's {@code struct xpoll_ready}. */
final class Ready extends Waiter {
    private static final int BYTES = 16;
    private static final int EVENTS = 12;
    /** More than a process has descriptors, mostly; the next wait returns the others. */
    private static final int MOST = 1 << 20;

    private final Memory memory;
    private final int capacity;
    /** The next wait returns at most so many. */
    int most;

    Ready(int capacity) {
        this.capacity = capacity;
        memory = new Memory(BYTES * Math.min(capacity, MOST));
    }

    int capacity() {
        return capacity;
    }

    @Override
    int nativeWait(long address, long nanos) {
        return Native.pwait(errno, address, memory, Math.min(most, memory.bytes.capacity() / BYTES),
                nanos);
    }

    /** The data with which the member was registered. */
    long token(int i) {
        return memory.bytes.getLong(i * BYTES);
    }

    /** The bits of poll(2). */
    int events(int i) {
        return memory.bytes.getInt(i * BYTES + EVENTS);
    }
}
