package org.xpoll;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Collections;
import java.util.Map;
import java.util.WeakHashMap;

/**
 * An asynchronous read, write or sync of a file, which {@link EventQueue#read}, {@link
 * EventQueue#write} or {@link EventQueue#sync} has started. It ends as one event of the queue with
 * the filter {@link Xpoll#FILT_AIO}.
 *
 * <p>{@snippet :
 * MemorySegment buffer = Aio.allocate(4096);
 * Aio read = queue.read(fd, buffer, 0, 0);
 * queue.awaitNanos(null, events, -1);   // FILT_AIO, ident read.ident()
 * long bytes = read.result();
 * }
 *
 * <p>Buffers: the system works on memory that nothing can free meanwhile. That is memory of {@link
 * #allocate}, which is used in place and has to be left alone until the event. Any other segment,
 * of the heap or of an arena that may be closed or belongs to one thread, is copied: for a write
 * when it starts, for a read by the first {@link #result()}.
 *
 * <p>Threads: every method may be called by any thread, except {@link #result()} of a read into a
 * segment that belongs to one thread, which only that thread may call.
 */
public final class Aio {
    /** C's struct xpoll_aio. */
    private static final int BYTES = 72;
    private static final int SIZE = 0;
    private static final int OP = 8;
    private static final int FD = 12;
    private static final int BUFFER = 16;
    private static final int LENGTH = 24;
    private static final int OFFSET = 32;
    private static final int UDATA = 40;
    private static final int RESULT = 48;

    /** The scopes of what allocate has made: the garbage collector alone frees it. */
    private static final Map<MemorySegment.Scope, Boolean> SAFE =
            Collections.synchronizedMap(new WeakHashMap<>());

    /** Not the EventQueue: that could not be collected while operations are in flight. */
    private final EventNativeQueue queue;
    private final MemorySegment memory;
    /** What the system works on; reachable from here as long as it does. */
    private final MemorySegment inPlace;
    /** Where a read's bytes are still to go, or null. */
    private MemorySegment target;
    private volatile boolean done;
    private long result;

    Aio(EventNativeQueue queue, int op, int fd, MemorySegment buffer, long offset, long udata) {
        this.queue = queue;
        inPlace = buffer == null ? MemorySegment.NULL : safe(op, buffer);
        memory = Arena.ofAuto().allocate(BYTES, 8);
        memory.set(JAVA_LONG, SIZE, BYTES);
        memory.set(JAVA_INT, OP, op);
        memory.set(JAVA_INT, FD, fd);
        memory.set(JAVA_LONG, BUFFER, inPlace.address());
        memory.set(JAVA_LONG, LENGTH, inPlace.byteSize());
        memory.set(JAVA_LONG, OFFSET, offset);
        memory.set(JAVA_LONG, UDATA, udata);
    }

    private MemorySegment safe(int op, MemorySegment buffer) {
        boolean reads = op == Xpoll.AIO_READ;
        if (reads && buffer.isReadOnly()) {
            throw new IllegalArgumentException("a read needs a buffer that is not read-only");
        }
        if (buffer.isNative() && SAFE.containsKey(buffer.scope())) {
            return buffer;
        }
        MemorySegment copy = allocate(buffer.byteSize());
        if (!reads) {
            return copy.copyFrom(buffer);
        }
        checkUsable(buffer);
        target = buffer;
        return copy;
    }

    /** What the first access would say is said at once. */
    private static void checkUsable(MemorySegment buffer) {
        if (!buffer.scope().isAlive()) {
            throw new IllegalStateException("the arena of the buffer is closed");
        }
        if (!buffer.isAccessibleBy(Thread.currentThread())) {
            throw new WrongThreadException("the buffer belongs to another thread");
        }
    }

    /**
     * Memory that operations use in place. The garbage collector frees it when neither the program
     * nor an operation has a use for it.
     *
     * @param bytes its size, not negative
     * @return a segment that any thread may use, filled with zeros
     * @throws IllegalArgumentException if bytes is negative
     */
    public static MemorySegment allocate(long bytes) {
        MemorySegment segment = Arena.ofAuto().allocate(bytes, 16);
        SAFE.put(segment.scope(), Boolean.TRUE);
        return segment;
    }

    /**
     * The operation in its event.
     *
     * @return the ident of that event; another operation may have it later
     */
    public long ident() {
        return memory.address();
    }

    /**
     * Whether it is over: its event was returned, or its queue is closed and released.
     *
     * @return whether {@link #result()} has a result
     */
    public boolean isDone() {
        return done;
    }

    /**
     * The result of the operation. The first call for a read puts the bytes into the buffer, unless
     * that is memory of {@link #allocate}, where they are already.
     *
     * @return bytes read, 0 at the end of the file, or written; 0 for a sync
     * @throws IllegalStateException if it is not over, or the buffer's arena is closed
     * @throws WrongThreadException if the buffer belongs to another thread
     * @throws XpollException the error of the operation: ECANCELED, EIO, ENOSPC and others
     */
    public long result() throws XpollException {
        if (!done) {
            throw new IllegalStateException("the operation is still in progress");
        }
        if (result < 0) {
            throw new XpollException("asynchronous I/O", (int) -result);
        }
        synchronized (this) {
            if (target != null) {
                MemorySegment.copy(inPlace, 0, target, 0, result);
                target = null;
            }
        }
        return result;
    }

    /**
     * Tries to cancel the operation. Its event is still delivered: with the error ECANCELED, or
     * with the result if it was too late for that.
     *
     * @return false if its event was returned already
     * @throws QueueClosedException if the queue is closed, which ends it, too
     * @throws IOException if the system refuses
     */
    public boolean cancel() throws IOException {
        return queue.cancel(this);
    }

    /** Its event was returned, or the queue destroyed: C has written the result. */
    void finish() {
        result = memory.get(JAVA_LONG, RESULT);
        done = true;
    }
}
