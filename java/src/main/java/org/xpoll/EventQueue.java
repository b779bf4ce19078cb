package org.xpoll;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.ref.Cleaner;
import java.lang.ref.Reference;
import java.time.Duration;
import java.util.Objects;

/**
 * A queue of events of every kind: descriptors, timers, signals, processes, files, and the
 * program's own. It is xpoll_event(3), which is in the style of kevent(2): one call takes
 * changes and returns events.
 *
 * <p>{@snippet :
 * try (EventQueue queue = new EventQueue()) {
 *     EventList changes = new EventList(4);
 *     changes.put(1, Xpoll.FILT_TIMER, Xpoll.ADD, Xpoll.NOTE_MSECONDS, 500, 0);
 *     changes.put(process.pid(), Xpoll.FILT_PROC, Xpoll.ADD, Xpoll.NOTE_EXIT, 0, 0);
 *     queue.apply(changes);
 *     EventList events = new EventList(16);
 *     while (queue.awaitNanos(null, events, -1) > 0) {
 *         for (int i = 0; i < events.size(); i++) {
 *             System.out.println(events.describe(i));
 *         }
 *     }
 * }
 * }
 *
 * <p>After {@link #close()} every method throws {@link QueueClosedException}, except {@link
 * #isOpen()}, {@link #wakeup()} and {@code close} itself.
 *
 * <p>Threads: as {@link Poller}. Every method may be called by any thread; several may wait, in
 * turns; changes never wait for them.
 *
 * <p>Java reaps the processes that it starts. Whether the event of such a process has its wait
 * status depends on which is first, Java or the queue.
 *
 * <p>To observe a signal is not to handle it: {@link Xpoll#FILT_SIGNAL} counts deliveries, and the
 * action of the signal is taken as well. A signal whose default action ends or stops the process
 * still does so: SIGUSR1 and SIGALRM end it; SIGHUP, SIGINT and SIGTERM have Java's own handlers,
 * which begin its shutdown. Give the signal a handler first ({@code sun.misc.Signal.handle}), or
 * have the program started with the signal ignored. The number of a signal is {@code new
 * sun.misc.Signal("USR1").getNumber()}. Signals that the Java virtual machine lives by, such as
 * SIGSEGV, cannot be observed.
 */
public final class EventQueue implements AutoCloseable {
    private static final Cleaner CLEANER = Cleaner.create();

    private final EventNativeQueue queue;
    /** The change of trigger, under the lock for changes. */
    private final EventList one;
    private final Cleaner.Cleanable cleanable;

    /**
     * Makes an empty queue on the best back end.
     *
     * @throws IOException if the system refuses
     */
    public EventQueue() throws IOException {
        this(new QueueOptions());
    }

    private EventQueue(QueueOptions options) throws IOException {
        EventNativeQueue opened = new EventNativeQueue(options);
        queue = opened;
        one = new EventList(1); // Not before: the library of Foreign is loaded now.
        cleanable = CLEANER.register(this, opened::close);
    }

    /**
     * Makes an empty queue on a back end of choice.
     *
     * @param backend one of {@link Xpoll#backends()}
     * @return the queue
     * @throws UnsupportedOperationException if there is no such back end here
     * @throws NullPointerException if backend is null
     * @throws IOException if the system refuses
     */
    public static EventQueue open(String backend) throws IOException {
        return new EventQueue(new QueueOptions().backend(backend));
    }

    /**
     * Makes an empty queue with these options.
     *
     * @param options are read, and not kept
     * @return the queue
     * @throws UnsupportedOperationException if there is no such back end here, or no busy polling
     * @throws NullPointerException if options is null
     * @throws IOException if the system refuses
     */
    public static EventQueue open(QueueOptions options) throws IOException {
        return new EventQueue(Objects.requireNonNull(options, "options"));
    }

    /**
     * Makes an empty queue in which each wait returns everything that is ready, if there is room.
     * In other queues a wait may return only what is known to be ready; the rest, for which it
     * would have to ask the system, is returned within 16 waits. That saves system calls.
     *
     * @return the queue
     * @throws IOException if the system refuses
     */
    public static EventQueue openAllReady() throws IOException {
        return new EventQueue(new QueueOptions().allReady());
    }

    /**
     * Applies changes in order, and does not wait.
     *
     * @param changes is left as it is; {@link Xpoll#RECEIPT} has no use here
     * @throws XpollException with the first error of a change; all others were applied
     * @throws IllegalArgumentException for {@link Xpoll#FILT_AIO}, and for a signal that
     *     cannot be observed; nothing was applied
     * @throws IllegalStateException if another call uses the list; nothing was applied
     * @throws IOException if the queue is closed
     */
    public void apply(EventList changes) throws IOException {
        changes.acquire();
        try {
            EventNativeQueue.check(changes);
            change(changes, null, 0);
        } finally {
            changes.release();
            Reference.reachabilityFence(this);
        }
    }

    private int change(EventList changes, @Nullable Memory into, int slots) throws IOException {
        synchronized (queue.changes) {
            int n = Native.event(queue.changeErrno, queue.address(), changes.memory(),
                    changes.size(), into, slots, 0);
            if (n < 0) {
                throw new XpollException(changes.describeChanges(), -n);
            }
            return n;
        }
    }

    /**
     * Applies changes, then waits for events.
     *
     * <p>A change that fails, or has {@link Xpoll#RECEIPT}, comes back in events with {@link
     * Xpoll#ERROR} and its error number (0: none) in data; then the call returns these at once. A
     * failed change stops no other.
     *
     * @param changes is left as it is; null for none
     * @param events is overwritten, even if there are no events; another list than changes
     * @param nanos nanoseconds; 0 does not wait, negative waits for ever
     * @return {@code events.size()}; 0 when the time is up, or after {@link #wakeup()}
     * @throws IllegalArgumentException for {@link Xpoll#FILT_AIO}, and for a signal that
     *     cannot be observed; nothing was applied
     * @throws IllegalStateException if another call uses one of the lists, or both are the same;
     *     nothing was applied
     * @throws NullPointerException if events is null; nothing was applied
     * @throws java.io.InterruptedIOException if the thread was interrupted, before or meanwhile; it
     *     stays interrupted, and the changes are applied. With a timeout of 0 it is not thrown.
     * @throws QueueClosedException if the queue was closed, before or meanwhile
     * @throws IOException if the system refuses
     */
    public int awaitNanos(@Nullable EventList changes, EventList events, long nanos)
            throws IOException {
        if (changes != null && changes == events) {
            throw new IllegalStateException("changes and events are the same list");
        }
        events.acquire();
        try {
            if (changes == null) {
                return await(events, nanos);
            }
            changes.acquire();
            try {
                EventNativeQueue.check(changes);
                return awaitAfter(changes, events, nanos);
            } finally {
                changes.release();
            }
        } finally {
            events.release();
            Reference.reachabilityFence(this);
        }
    }

    /**
     * Applies changes, then waits for events, as {@link #awaitNanos(EventList, EventList, long)}
     * does.
     *
     * @param changes is left as it is; null for none
     * @param events is overwritten, even if there are no events; another list than changes
     * @param nanos nanoseconds, where {@code Poller.poll} takes milliseconds
     * @return {@code events.size()}
     * @throws IOException as {@link #awaitNanos(EventList, EventList, long)}
     * @deprecated its name does not say the unit: call {@link #awaitNanos(EventList, EventList,
     *     long)} or {@link #await(EventList, EventList, Duration)}
     */
    @Deprecated
    public int await(@Nullable EventList changes, EventList events, long nanos)
            throws IOException {
        return awaitNanos(changes, events, nanos);
    }

    /**
     * Applies changes, then waits for events, as {@link #awaitNanos(EventList, EventList, long)}
     * does.
     *
     * @param changes is left as it is; null for none
     * @param events is overwritten, even if there are no events; another list than changes
     * @param timeout how long at most; zero does not wait, negative waits for ever
     * @return {@code events.size()}; 0 when the time is up, or after {@link #wakeup()}
     * @throws NullPointerException if events or timeout is null; nothing was applied
     * @throws java.io.InterruptedIOException if the thread was interrupted, before or meanwhile; it
     *     stays interrupted, and the changes are applied. With a timeout of 0 it is not thrown.
     * @throws QueueClosedException if the queue was closed, before or meanwhile
     * @throws IOException if the system refuses
     */
    public int await(@Nullable EventList changes, EventList events, Duration timeout)
            throws IOException {
        return awaitNanos(changes, events, NativeQueue.nanos(timeout));
    }

    private int await(EventList events, long nanos) throws IOException {
        events.setSize(0);
        long deadline = NativeQueue.deadline(nanos);
        queue.checkOpen();
        if (queue.takeTurn(nanos, deadline)) {
            try {
                finish(events, nanos, deadline);
            } finally {
                queue.turn = false;
                queue.turnGiven();
            }
        }
        return events.size();
    }

    /** Statuses, and events that are there already, do not wait for the turn. */
    private int awaitAfter(EventList changes, EventList events, long nanos) throws IOException {
        events.setSize(0);
        long deadline = NativeQueue.deadline(nanos);
        queue.checkOpen();
        boolean turn = queue.tryTurn();
        try {
            int n = change(changes, events.memory(), events.capacity());
            if (n > 0) {
                queue.finish(events, n);
                events.setSize(n);
                return n;
            }
            if (!turn) {
                // That was a look, which may have answered a wake for the thread that waits.
                queue.wake();
                turn = queue.takeTurn(nanos, deadline);
                if (!turn) {
                    return 0;
                }
            } else if (queue.isOver(0)) {
                return 0;
            }
            finish(events, nanos, deadline);
            return events.size();
        } finally {
            if (turn) {
                queue.turn = false;
                queue.turnGiven();
            }
        }
    }

    private void finish(EventList events, long nanos, long deadline) throws IOException {
        queue.events = events;
        try {
            int n = queue.await(queue.waiter, nanos, deadline);
            queue.finish(events, n);
            events.setSize(n);
        } finally {
            queue.events = null;
        }
    }

    /**
     * Makes a user event ready: a message to a thread that waits.
     *
     * @param ident the number with which it was added, with {@link Xpoll#FILT_USER}
     * @throws XpollException ENOENT if there is none
     * @throws IOException if the queue is closed
     */
    public void trigger(long ident) throws IOException {
        synchronized (queue.changes) {
            one.setSize(0);
            one.append(ident, Xpoll.FILT_USER, 0, Xpoll.NOTE_TRIGGER, 0, 0);
            change(one, null, 0);
        }
        Reference.reachabilityFence(this);
    }

    /**
     * Starts to read from a file. What the system has in memory is read at once; for the rest the
     * call does not wait.
     *
     * @param fd a regular file's or a block device's; open until the event
     * @param buffer where to read to; its size is the most that is read; see {@link Aio}
     * @param offset where in the file, in bytes; the descriptor's own is neither used nor moved
     * @param udata comes back with the event
     * @return the operation
     * @throws XpollException ENOTSUP for a pipe, socket or terminal, or where there is no
     *     asynchronous I/O; EBADF, EINVAL, EISDIR, EAGAIN, EMFILE, ENFILE, ENOMEM
     * @throws IllegalArgumentException if buffer is read-only
     * @throws IllegalStateException if the arena of buffer is closed
     * @throws WrongThreadException if buffer belongs to another thread
     * @throws IOException if the queue is closed
     */
    public Aio read(int fd, MemorySegment buffer, long offset, long udata) throws IOException {
        return start(Xpoll.AIO_READ, fd, Objects.requireNonNull(buffer, "buffer"), offset, udata);
    }

    /**
     * Starts to write to a file. Operations in flight have no order.
     *
     * @param fd as for {@link #read}
     * @param buffer what is to be written
     * @param offset as for {@link #read}
     * @param udata comes back with the event
     * @return the operation
     * @throws XpollException as {@link #read}
     * @throws IllegalStateException if the arena of buffer is closed
     * @throws WrongThreadException if buffer belongs to another thread
     * @throws IOException if the queue is closed
     */
    public Aio write(int fd, MemorySegment buffer, long offset, long udata) throws IOException {
        return start(Xpoll.AIO_WRITE, fd, Objects.requireNonNull(buffer, "buffer"), offset, udata);
    }

    /**
     * Starts to write to the device what the system has of a file in memory. This covers the writes
     * that have ended before the call.
     *
     * @param op {@link Xpoll#AIO_FSYNC} or {@link Xpoll#AIO_FDATASYNC}
     * @param fd a file's or a directory's; open until the event
     * @param udata comes back with the event
     * @return the operation
     * @throws XpollException as {@link #read}
     * @throws IllegalArgumentException for another op
     * @throws IOException if the queue is closed
     */
    public Aio sync(int op, int fd, long udata) throws IOException {
        if (op != Xpoll.AIO_FSYNC && op != Xpoll.AIO_FDATASYNC) {
            throw new IllegalArgumentException("unknown operation " + op);
        }
        return start(op, fd, null, 0, udata);
    }

    private Aio start(int op, int fd, MemorySegment buffer, long offset, long udata)
            throws IOException {
        Aio aio = new Aio(queue, op, fd, buffer, offset, udata);
        int rc = queue.start(aio);
        Reference.reachabilityFence(this);
        if (rc < 0) {
            throw new XpollException("asynchronous I/O", -rc);
        }
        return aio;
    }

    /**
     * Returns a registration in its present state.
     *
     * @param ident the ident of the registration
     * @param filter one of {@code Xpoll.FILT_...}
     * @param into receives one record, or none
     * @return whether there is one
     * @throws XpollException EINVAL for an unknown filter
     * @throws IllegalStateException if another call uses the list
     * @throws IOException if the queue is closed
     */
    public boolean lookup(long ident, short filter, EventList into) throws IOException {
        into.acquire();
        try {
            synchronized (queue.changes) {
                int rc = Native.lookup(queue.changeErrno, queue.address(), ident, filter,
                        into.memory());
                if (rc < 0 && rc != -Errno.ENOENT) {
                    throw new XpollException("look up", -rc);
                }
                into.setSize(rc < 0 ? 0 : 1);
                return rc >= 0;
            }
        } finally {
            into.release();
            Reference.reachabilityFence(this);
        }
    }

    /**
     * Makes one wait return 0: one in progress, otherwise the next one. Several wakeups before that
     * wait returns count as one. Events that are ready are returned first. On a closed queue the
     * call does nothing.
     *
     * <p>A wait is any call of {@link #await}, also with changes or with a timeout of 0. {@link
     * #apply} is not.
     *
     * @return this
     */
    public EventQueue wakeup() {
        queue.wakeup();
        return this;
    }

    /**
     * A descriptor that is readable whenever an event is pending or due, for another event loop to
     * watch. Never read or close it.
     *
     * @return its number
     * @throws XpollException ENOTSUP where the kernel has no queue; EMFILE and others
     * @throws IOException if the queue is closed
     */
    public int fd() throws IOException {
        synchronized (queue.changes) {
            int fd = Native.queueFd(queue.changeErrno, queue.address());
            if (fd < 0) {
                throw new XpollException("descriptor of the queue", -fd);
            }
            Reference.reachabilityFence(this);
            return fd;
        }
    }

    /**
     * Whether the queue can register this filter with these notes.
     *
     * @param filter one of {@code Xpoll.FILT_...}
     * @param fflags all the notes that it has to know, or 0
     * @return whether it would be accepted
     * @throws IOException if the queue is closed
     */
    public boolean supports(short filter, int fflags) throws IOException {
        synchronized (queue.changes) {
            boolean supported = Native.supports(queue.address(), filter, fflags);
            Reference.reachabilityFence(this);
            return supported;
        }
    }

    /**
     * The kernel's mechanism in use.
     *
     * @return one of {@link Xpoll#backends()}
     * @throws IOException if the queue is closed
     */
    public String backend() throws IOException {
        synchronized (queue.changes) {
            String name = Native.backend(queue.address());
            Reference.reachabilityFence(this);
            return name;
        }
    }

    /**
     * The counters of the queue.
     *
     * @return their values now
     * @throws IOException if the queue is closed
     */
    public Stats stats() throws IOException {
        Stats now = queue.stats();
        Reference.reachabilityFence(this);
        return now;
    }

    /**
     * Whether the queue is open.
     *
     * @return false after {@link #close()}
     */
    public boolean isOpen() {
        return !queue.isClosed();
    }

    /**
     * Closes the queue. Threads that wait are woken and throw {@link QueueClosedException}; the
     * system's objects are released when the last has left. A second call does nothing.
     */
    @Override
    public void close() {
        cleanable.clean();
    }
}
