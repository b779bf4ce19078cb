package org.xpoll;

import java.io.IOException;
import java.lang.ref.Cleaner;
import java.lang.ref.Reference;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicReference;
import javax.net.ssl.SSLSocket;

/**
 * A set of descriptors on which threads wait. It has the methods and constants of Sun's demo class
 * of 1999, and the additions that its README proposed.
 *
 * <p>{@snippet :
 * try (Poller poller = new Poller()) {
 *     poller.add(serverSocket, Poller.POLLIN);
 *     poller.add(channel, Poller.POLLIN | Poller.POLLOUT, session);
 *     Events events = new Events(256);
 *     while (poller.pollMillis(events, -1) > 0) {
 *         for (int i = 0; i < events.size(); i++) {
 *             handle(events.fd(i), events.events(i), events.attachment(i));
 *         }
 *     }
 * }
 * }
 *
 * <p>It is level-triggered: a descriptor is reported as long as it is ready, with the bits of
 * poll(2), the same on every back end. Read from a plain {@code Socket} once for each event: a
 * second read may block.
 *
 * <h2>Threads</h2>
 *
 * <p>Every method may be called by any thread at any time. Changes never wait for a thread that
 * waits, and take effect in the wait in progress. Any number of threads may wait at the same time,
 * each with {@code Events} of its own. A descriptor that is still ready, since it was not read yet,
 * may go to several of them, unless it was added with {@link #ONESHOT}: then an event disables both
 * directions, and the thread that got it owns the connection until it calls {@link #enable(int)}.
 * Virtual threads wait in turns: one that finds nothing ready parks, so no carrier is blocked.
 *
 * <p>After {@code remove} no later wait reports the descriptor, also when its number is used
 * again; a batch that was returned before is not taken back. Remove before closing. Closing first
 * is tolerated: no wait reports the member any more, and it is dropped by {@code remove}, by {@code
 * add} of the same number, or by {@link #close()}. If a raw descriptor is closed first, the poller
 * cannot know it: on back ends other than epoll, a file that gets the same number may be reported
 * in its place.
 *
 * <h2>Errors</h2>
 *
 * <p>After {@link #close()} every method throws {@link QueueClosedException}, except {@link
 * #isOpen()}, {@link #wakeup()} and {@code close} itself. {@link XpollException} is thrown when the
 * system refuses, and {@link UnsupportedOperationException} when the JDK hides an object's
 * descriptor; its message names the flag to add to the command line. A call that fails has changed
 * nothing, unless its description says otherwise.
 */
public final class Poller implements AutoCloseable {
    /** Readable, at end of file, or a connection waits to be accepted. */
    public static final short POLLIN = 0x001;
    /** Urgent data. */
    public static final short POLLPRI = 0x002;
    /** Writable, or connected. */
    public static final short POLLOUT = 0x004;
    /** Only reported: an error. */
    public static final short POLLERR = 0x008;
    /** Only reported: the other end is gone. */
    public static final short POLLHUP = 0x010;
    /** In poll(2), a descriptor that is not open. Never reported here. */
    public static final short POLLNVAL = 0x020;
    /** Means {@link #POLLIN}. */
    public static final short POLLRDNORM = 0x040;
    /** The same as {@link #POLLOUT}. */
    public static final short POLLWRNORM = POLLOUT;
    /** Means {@link #POLLPRI}. */
    public static final short POLLRDBAND = 0x080;
    /** Means {@link #POLLOUT}. */
    public static final short POLLWRBAND = 0x100;
    /** The same as {@link #POLLRDNORM}. */
    public static final short POLLNORM = POLLRDNORM;

    /** ORed to the bits: an event disables the descriptor until {@link #enable(int)}. */
    public static final int ONESHOT = 0x1_0000;

    private static final int INPUT = POLLIN | POLLPRI | POLLOUT | POLLERR | POLLHUP | POLLNVAL
            | POLLRDNORM | POLLRDBAND | POLLWRBAND | ONESHOT;
    private static final int OUTPUT_ONLY = POLLERR | POLLHUP | POLLNVAL;
    private static final int SPARE_BATCH = 256;
    private static final Cleaner CLEANER = Cleaner.create();

    final PollQueue queue;
    private final Cleaner.Cleanable cleanable;
    /** The batch for handlers and arrays, while no thread uses it. */
    private final AtomicReference<Events> spare = new AtomicReference<>();

    /**
     * Makes an empty set that takes as many descriptors as the process may have.
     *
     * @throws IOException if the system refuses
     */
    public Poller() throws IOException {
        this(new QueueOptions(), Integer.MAX_VALUE);
    }

    /**
     * Makes an empty set.
     *
     * @param maxFd how many descriptors it may hold at a time, at least 1
     * @throws IllegalArgumentException if maxFd is less than 1
     * @throws IOException if the system refuses
     */
    public Poller(int maxFd) throws IOException {
        this(new QueueOptions(), maxFd);
    }

    private Poller(QueueOptions options, int maxFd) throws IOException {
        PollQueue opened = new PollQueue(options, checkCapacity(maxFd));
        queue = opened;
        cleanable = CLEANER.register(this, opened::close);
    }

    /**
     * Makes an empty set on a back end of choice.
     *
     * @param backend one of {@link Xpoll#backends()}
     * @param maxFd how many descriptors it may hold at a time, at least 1
     * @return the set
     * @throws UnsupportedOperationException if there is no such back end here
     * @throws IllegalArgumentException if maxFd is less than 1
     * @throws NullPointerException if backend is null
     * @throws IOException if the system refuses
     */
    public static Poller open(String backend, int maxFd) throws IOException {
        return new Poller(new QueueOptions().backend(backend), maxFd);
    }

    /**
     * Makes an empty set with these options.
     *
     * @param options are read, and not kept
     * @param maxFd how many descriptors it may hold at a time, at least 1
     * @return the set
     * @throws UnsupportedOperationException if there is no such back end here, or no busy polling
     * @throws IllegalArgumentException if maxFd is less than 1
     * @throws NullPointerException if options is null
     * @throws IOException if the system refuses
     */
    public static Poller open(QueueOptions options, int maxFd) throws IOException {
        return new Poller(Objects.requireNonNull(options, "options"), maxFd);
    }

    /**
     * Makes an empty set in which each wait returns everything that is ready, if there is room.
     * In other sets a wait may return only what is known to be ready; the rest, for which it would
     * have to ask the system, is returned within 16 waits. That saves system calls.
     *
     * @param maxFd how many descriptors it may hold at a time, at least 1
     * @return the set
     * @throws IllegalArgumentException if maxFd is less than 1
     * @throws IOException if the system refuses
     */
    public static Poller openAllReady(int maxFd) throws IOException {
        return new Poller(new QueueOptions().allReady(), maxFd);
    }

    private static int checkCapacity(int maxFd) {
        if (maxFd < 1) {
            throw new IllegalArgumentException("the capacity must be at least 1: " + maxFd);
        }
        return maxFd;
    }

    // --- Membership --------------------------------------------------------------

    /**
     * Adds an object. If it is a member already, its events are replaced by these.
     *
     * @param io a Socket, ServerSocket, DatagramSocket, SelectableChannel, FileDescriptor, or an
     *     Integer for a raw descriptor; kept until it is removed
     * @param events {@code POLL*} bits, 0 to report nothing, with {@link #ONESHOT} or without
     * @return the number of its descriptor
     * @throws IllegalArgumentException for an object of another kind, an SSLSocket among them, or
     *     unknown bits
     * @throws IllegalStateException if the set is full
     * @throws UnsupportedOperationException if the JDK hides the descriptor; names the flag to add
     * @throws IOException if the object is closed or has no descriptor yet, or the system refuses
     */
    public int add(Object io, int events) throws IOException {
        return add(io, events, null);
    }

    /**
     * As {@link #add(Object, int)}, with an object that each event returns.
     *
     * @param io a Socket, ServerSocket, DatagramSocket, SelectableChannel, FileDescriptor, or an
     *     Integer for a raw descriptor; kept until it is removed
     * @param events {@code POLL*} bits, 0 to report nothing, with {@link #ONESHOT} or without
     * @param attachment any object, or null; kept until the descriptor is removed or added again
     * @return the number of its descriptor
     * @throws IllegalArgumentException for an object of another kind, an SSLSocket among them, or
     *     unknown bits
     * @throws IllegalStateException if the set is full
     * @throws UnsupportedOperationException if the JDK hides the descriptor; names the flag to add
     * @throws IOException if the object is closed or has no descriptor yet, or the system refuses
     */
    public int add(Object io, int events, @Nullable Object attachment) throws IOException {
        if (io instanceof SSLSocket) {
            throw new IllegalArgumentException("an SSLSocket may have read data that its"
                    + " descriptor no longer reports: use an SSLEngine on a SocketChannel, or add"
                    + " the descriptor's number, fdOf(socket)");
        }
        int fd = FdAccess.of(io);
        queue.add(fd, io, checkEvents(events), attachment);
        Reference.reachabilityFence(this);
        return fd;
    }

    /**
     * Adds an object in {@link #ONESHOT} mode: an event disables it until {@link #enable(int)}, so
     * exactly one thread gets it, and no other thread does until then.
     *
     * @param io as for {@link #add(Object, int, Object)}
     * @param events {@code POLL*} bits; the report of one disables all of them
     * @param attachment any object, or null
     * @return the number of its descriptor
     * @throws IllegalArgumentException for an object of another kind, an SSLSocket among them, or
     *     unknown bits
     * @throws IllegalStateException if the set is full
     * @throws UnsupportedOperationException if the JDK hides the descriptor; names the flag to add
     * @throws IOException if the object is closed or has no descriptor yet, or the system refuses
     */
    public int addOneShot(Object io, int events, @Nullable Object attachment) throws IOException {
        return add(io, events | ONESHOT, attachment);
    }

    /**
     * Adds a raw descriptor: a pipe's, a terminal's, one that C code opened. It takes no flags.
     *
     * @param fd the descriptor
     * @param events {@code POLL*} bits, 0 to report nothing, with {@link #ONESHOT} or without
     * @param attachment any object, or null; kept until the descriptor is removed or added again
     * @throws IllegalArgumentException for unknown bits
     * @throws IllegalStateException if the set is full
     * @throws IOException if it is not open, or the system refuses
     */
    public void addFd(int fd, int events, @Nullable Object attachment) throws IOException {
        queue.add(fd, null, checkEvents(events), attachment);
        Reference.reachabilityFence(this);
    }

    private static int checkEvents(int events) {
        if ((events & ~INPUT) != 0) {
            throw new IllegalArgumentException("unknown bits 0x" + Integer.toHexString(events));
        }
        return events & ~OUTPUT_ONLY;
    }

    /**
     * Removes an object. Call this before closing it. The object is found by identity, so a call
     * after closing still removes it, or by its descriptor, so the socket of a channel removes the
     * channel.
     *
     * @param io what was added
     * @return true; false if it is no longer a member, because it was closed and its number was
     *     added again since
     * @throws IllegalStateException if it is open and not a member
     * @throws IOException if the system refuses
     */
    public boolean remove(Object io) throws IOException {
        Member member = find(io);
        if (member == null && FdAccess.isClosed(io)) {
            return false;
        }
        if (member == null) {
            throw new IllegalStateException("not a member: " + io);
        }
        queue.remove(member);
        Reference.reachabilityFence(this);
        return true;
    }

    /**
     * Removes a raw descriptor. Call this before closing it.
     *
     * @param fd the descriptor
     * @return true
     * @throws IllegalStateException if it is not a member
     * @throws IOException if the system refuses
     */
    public boolean removeFd(int fd) throws IOException {
        queue.remove(require(fd));
        Reference.reachabilityFence(this);
        return true;
    }

    /**
     * Whether an object, or another one with its descriptor, was added and not removed since.
     *
     * @param io the object
     * @return whether it is a member
     * @throws QueueClosedException after {@link #close()}
     */
    public boolean isMember(Object io) throws IOException {
        boolean found = find(io) != null;
        Reference.reachabilityFence(this);
        return found;
    }

    /**
     * Whether a descriptor was added, by itself or as an object's, and not removed since.
     *
     * @param fd the descriptor
     * @return whether it is a member
     * @throws QueueClosedException after {@link #close()}
     */
    public boolean isMemberFd(int fd) throws IOException {
        queue.checkOpen();
        boolean found = queue.find(fd) != null;
        Reference.reachabilityFence(this);
        return found;
    }

    private Member find(Object io) throws IOException {
        queue.checkOpen();
        if (io instanceof Integer fd) {
            return queue.find((int) fd);
        }
        Member member = queue.find(io);
        return member != null ? member : sameDescriptor(io);
    }

    /** Not one that was closed: its descriptor was another file. */
    private Member sameDescriptor(Object io) {
        int fd = FdAccess.find(io);
        Member member = fd < 0 ? null : queue.find(fd);
        return member == null || FdAccess.isClosed(member.io) ? null : member;
    }

    private Member require(int fd) throws IOException {
        queue.checkOpen();
        Member member = queue.find(fd);
        if (member == null) {
            throw new IllegalStateException("descriptor " + fd + " is not a member");
        }
        return member;
    }

    /**
     * What was attached to a descriptor.
     *
     * @param fd the descriptor of a member
     * @return the object, or null
     * @throws IllegalStateException if it is not a member
     * @throws IOException if the poller is closed
     */
    public @Nullable Object attachment(int fd) throws IOException {
        Object attachment = require(fd).attachment;
        Reference.reachabilityFence(this);
        return attachment;
    }

    /**
     * The number of members.
     *
     * @return 0 or more
     * @throws QueueClosedException after {@link #close()}
     */
    public int size() throws IOException {
        queue.checkOpen();
        int size = queue.size();
        Reference.reachabilityFence(this);
        return size;
    }

    /**
     * Changes the requested bits of a member, and enables it.
     *
     * @param fd its descriptor
     * @param events {@code POLL*} bits, 0 to report nothing, with {@link #ONESHOT} or without
     * @throws IllegalArgumentException for unknown bits
     * @throws IllegalStateException if it is not a member
     * @throws IOException if the system refuses
     */
    public void modify(int fd, int events) throws IOException {
        queue.modify(fd, checkEvents(events));
        Reference.reachabilityFence(this);
    }

    /**
     * Disables a member: no wait reports it, not even for errors and hang-ups. Usually this needs
     * no system call.
     *
     * @param fd its descriptor
     * @throws IllegalStateException if it is not a member
     * @throws IOException if the system refuses
     */
    public void disable(int fd) throws IOException {
        queue.toggle(Xpoll.DISABLE, fd);
        Reference.reachabilityFence(this);
    }

    /**
     * Disables several members in one call of the library.
     *
     * @param fds their descriptors
     * @param count how many of the array, from its start
     * @throws IllegalStateException if one is not a member; nothing is changed then
     * @throws IndexOutOfBoundsException if count is negative or more than the array holds
     * @throws IOException if the system refuses one; the others are disabled
     */
    public void disable(int[] fds, int count) throws IOException {
        queue.toggle(Xpoll.DISABLE, fds, count);
        Reference.reachabilityFence(this);
    }

    /**
     * Enables a member again, with the bits last given to {@code add} or {@code modify}, after
     * {@link #disable(int)} or after an event in {@link #ONESHOT} mode. If it is ready already, the
     * next wait returns it. Usually this needs no system call.
     *
     * @param fd its descriptor
     * @throws IllegalStateException if it is not a member
     * @throws IOException if the system refuses
     */
    public void enable(int fd) throws IOException {
        queue.toggle(Xpoll.ENABLE, fd);
        Reference.reachabilityFence(this);
    }

    /**
     * Enables several members in one call of the library, for example a batch of {@link #ONESHOT}
     * events when all of them are handled.
     *
     * @param fds their descriptors
     * @param count how many of the array, from its start
     * @throws IllegalStateException if one is not a member; nothing is changed then
     * @throws IndexOutOfBoundsException if count is negative or more than the array holds
     * @throws IOException if the system refuses one; the others are enabled
     */
    public void enable(int[] fds, int count) throws IOException {
        queue.toggle(Xpoll.ENABLE, fds, count);
        Reference.reachabilityFence(this);
    }

    /**
     * Removes all members.
     *
     * @throws IOException if the system refuses
     */
    public void reset() throws IOException {
        queue.removeAll();
        Reference.reachabilityFence(this);
    }

    /**
     * Removes all members, and sets how many there may be.
     *
     * @param maxFd at least 1
     * @throws IllegalArgumentException if maxFd is less than 1
     * @throws IOException if the system refuses
     */
    public void reset(int maxFd) throws IOException {
        queue.removeAll(checkCapacity(maxFd));
        Reference.reachabilityFence(this);
    }

    // --- Waiting -------------------------------------------------------------------

    /**
     * Waits for events, with the arrays of the original class. The next call returns events for
     * which there was no room.
     *
     * @param maxRet how many events to return at most; with 0 the call returns 0 when there are
     *     events
     * @param fds receives the descriptors, from index 0 on
     * @param revents receives what is ready of each
     * @param timeout milliseconds; 0 does not wait, negative waits for ever
     * @return how many events were stored; 0 when the time is up, or after {@link #wakeup()}
     * @throws IllegalArgumentException if maxRet is negative or more than an array holds
     * @throws NullPointerException if an array is null and maxRet is not 0
     * @throws java.io.InterruptedIOException if the thread was interrupted, before or meanwhile; it
     *     stays interrupted. With a timeout of 0 it is not thrown.
     * @throws QueueClosedException if the poller was closed, before or meanwhile
     * @throws IOException if the system refuses
     */
    public int waitMultiple(int maxRet, int @Nullable [] fds, short @Nullable [] revents,
            long timeout)
            throws IOException {
        if (maxRet < 0 || (maxRet > 0 && (maxRet > fds.length || maxRet > revents.length))) {
            throw new IllegalArgumentException("maxRet must be from 0 to the length of the arrays: "
                    + maxRet);
        }
        long nanos = nanos(timeout);
        if (maxRet == 0) {
            queue.observe(nanos, NativeQueue.deadline(nanos));
            Reference.reachabilityFence(this);
            return 0;
        }
        Events batch = takeSpare();
        try {
            int count = pollNanos(batch, maxRet, nanos);
            batch.copy(fds, revents);
            return count;
        } finally {
            giveSpare(batch);
        }
    }

    /**
     * Waits for events for ever, as {@link #waitMultiple(int, int[], short[], long)} does with a
     * negative timeout.
     *
     * @param maxRet how many events to return at most; with 0 the call returns 0 when there are
     *     events
     * @param fds receives the descriptors, from index 0 on
     * @param revents receives what is ready of each
     * @return how many events were stored; 0 after {@link #wakeup()}
     * @throws IllegalArgumentException if maxRet is negative or more than an array holds
     * @throws NullPointerException if an array is null and maxRet is not 0
     * @throws java.io.InterruptedIOException if the thread was interrupted; it stays interrupted
     * @throws QueueClosedException if the poller was closed, before or meanwhile
     * @throws IOException if the system refuses
     */
    public int waitMultiple(int maxRet, int @Nullable [] fds, short @Nullable [] revents)
            throws IOException {
        return waitMultiple(maxRet, fds, revents, -1);
    }

    /**
     * Waits for as many events as the arrays hold. Without arrays the call sleeps until there are
     * events or the timeout has passed; no event is lost.
     *
     * @param fds receives the descriptors, from index 0 on; null, if revents is, for none
     * @param revents receives what is ready of each; as long as fds
     * @param timeout milliseconds; 0 does not wait, negative waits for ever
     * @return how many events were stored; 0 when the time is up, or after {@link #wakeup()}
     * @throws IllegalArgumentException if the arrays are not of one length
     * @throws NullPointerException if one of them is null
     * @throws java.io.InterruptedIOException if the thread was interrupted; it stays interrupted
     * @throws QueueClosedException if the poller was closed, before or meanwhile
     * @throws IOException if the system refuses
     */
    public int waitMultiple(int @Nullable [] fds, short @Nullable [] revents, long timeout)
            throws IOException {
        if (fds == null && revents == null) {
            return waitMultiple(0, null, null, timeout);
        }
        if (fds.length != revents.length) {
            throw new IllegalArgumentException("arrays of " + fds.length + " and "
                    + revents.length);
        }
        return waitMultiple(fds.length, fds, revents, timeout);
    }

    /**
     * Waits for ever for as many events as the arrays hold, as {@link #waitMultiple(int[], short[],
     * long)} does with a negative timeout.
     *
     * @param fds receives the descriptors, from index 0 on; null, if revents is, for none
     * @param revents receives what is ready of each; as long as fds
     * @return how many events were stored; 0 after {@link #wakeup()}
     * @throws IllegalArgumentException if the arrays are not of one length
     * @throws NullPointerException if one of them is null
     * @throws java.io.InterruptedIOException if the thread was interrupted; it stays interrupted
     * @throws QueueClosedException if the poller was closed, before or meanwhile
     * @throws IOException if the system refuses
     */
    public int waitMultiple(int @Nullable [] fds, short @Nullable [] revents) throws IOException {
        return waitMultiple(fds, revents, -1);
    }

    /**
     * Waits for events, without garbage and with attachments.
     *
     * @param into is overwritten, even if there are no events; what does not fit is returned by the
     *     next call
     * @param timeout milliseconds; 0 does not wait, negative waits for ever
     * @return {@code into.size()}; 0 when the time is up, or after {@link #wakeup()}
     * @throws NullPointerException if into is null
     * @throws java.io.InterruptedIOException if the thread was interrupted, before or meanwhile; it
     *     stays interrupted. With a timeout of 0 it is not thrown.
     * @throws QueueClosedException if the poller was closed, before or meanwhile
     * @throws IOException if the system refuses
     */
    public int pollMillis(Events into, long timeout) throws IOException {
        return pollNanos(into, nanos(timeout));
    }

    /**
     * Waits for events, as {@link #pollMillis(Events, long)} does.
     *
     * @param into is overwritten, even if there are no events
     * @param timeout milliseconds, where {@code EventQueue.await} takes nanoseconds
     * @return {@code into.size()}
     * @throws IOException as {@link #pollMillis(Events, long)}
     * @deprecated its name does not say the unit: call {@link #pollMillis(Events, long)} or {@link
     *     #poll(Events, Duration)}
     */
    @Deprecated
    public int poll(Events into, long timeout) throws IOException {
        return pollMillis(into, timeout);
    }

    /**
     * Waits for events, as {@link #pollMillis(Events, long)} does.
     *
     * @param into is overwritten, even if there are no events; what does not fit is returned by the
     *     next call
     * @param timeout how long at most, rounded up to milliseconds; zero does not wait, negative
     *     waits for ever
     * @return {@code into.size()}; 0 when the time is up, or after {@link #wakeup()}
     * @throws NullPointerException if one is null
     * @throws java.io.InterruptedIOException if the thread was interrupted, before or meanwhile; it
     *     stays interrupted. With a timeout of 0 it is not thrown.
     * @throws QueueClosedException if the poller was closed, before or meanwhile
     * @throws IOException if the system refuses
     */
    public int poll(Events into, Duration timeout) throws IOException {
        return pollNanos(into, NativeQueue.nanos(timeout));
    }

    private int pollNanos(Events into, long nanos) throws IOException {
        return pollNanos(into, Integer.MAX_VALUE, nanos);
    }

    private int pollNanos(Events into, int most, long nanos) throws IOException {
        into.clear();
        try {
            queue.await(into, most, nanos, NativeQueue.deadline(nanos));
        } finally {
            Reference.reachabilityFence(this);
        }
        into.trim();
        return into.size();
    }

    /**
     * Waits for events and calls the handler for each that is ready, on this thread. The handler
     * may change the poller, wait on it, and close it. An event whose descriptor it has removed or
     * disabled meanwhile is still reported.
     *
     * @param timeout milliseconds; 0 does not wait, negative waits for ever
     * @param handler is called for each event; if it throws, the call ends, and the next one
     *     reports what was not reported by then, except for what was added with {@link #ONESHOT}
     * @return how many events there were; 0 when the time is up, or after {@link #wakeup()}
     * @throws java.io.InterruptedIOException if the thread was interrupted, before or meanwhile; it
     *     stays interrupted. With a timeout of 0 it is not thrown.
     * @throws NullPointerException if handler is null; no event is lost
     * @throws QueueClosedException if the poller was closed, before or meanwhile
     * @throws IOException if the system refuses, or the handler throws one
     */
    public int pollMillis(long timeout, EventHandler handler) throws IOException {
        return pollNanos(nanos(timeout), handler);
    }

    /**
     * Waits for events and calls the handler for each, as {@link #pollMillis(long, EventHandler)}
     * does.
     *
     * @param timeout milliseconds, where {@code EventQueue.await} takes nanoseconds
     * @param handler is called for each event
     * @return how many events there were
     * @throws IOException as {@link #pollMillis(long, EventHandler)}
     * @deprecated its name does not say the unit: call {@link #pollMillis(long, EventHandler)} or
     *     {@link #poll(Duration, EventHandler)}
     */
    @Deprecated
    public int poll(long timeout, EventHandler handler) throws IOException {
        return pollMillis(timeout, handler);
    }

    /**
     * Waits for events and calls the handler for each, as {@link #pollMillis(long, EventHandler)}
     * does.
     *
     * @param timeout how long at most, rounded up to milliseconds; zero does not wait, negative
     *     waits for ever
     * @param handler is called for each event
     * @return how many events there were; 0 when the time is up, or after {@link #wakeup()}
     * @throws NullPointerException if one is null
     * @throws java.io.InterruptedIOException if the thread was interrupted, before or meanwhile; it
     *     stays interrupted. With a timeout of 0 it is not thrown.
     * @throws QueueClosedException if the poller was closed, before or meanwhile
     * @throws IOException if the system refuses, or the handler throws one
     */
    public int poll(Duration timeout, EventHandler handler) throws IOException {
        return pollNanos(NativeQueue.nanos(timeout), handler);
    }

    private int pollNanos(long nanos, EventHandler handler) throws IOException {
        Objects.requireNonNull(handler, "handler");
        Events batch = takeSpare();
        try {
            int count = pollNanos(batch, nanos);
            for (int i = 0; i < count; i++) {
                handler.ready(batch.fd(i), batch.events(i), batch.attachment(i));
            }
            return count;
        } finally {
            giveSpare(batch);
        }
    }

    private Events takeSpare() {
        Events batch = spare.getAndSet(null);
        return batch != null ? batch : new Events(SPARE_BATCH, true);
    }

    private void giveSpare(Events batch) {
        batch.drop();
        spare.set(batch);
    }

    private static long nanos(long millis) {
        return millis <= 0 ? millis : Math.min(millis, Long.MAX_VALUE / 2_000_000) * 1_000_000;
    }

    /**
     * Makes one wait return 0: one in progress, otherwise the next one, even with a timeout of 0.
     * Several wakeups before that wait returns count as one. Events that are ready are returned
     * first. On a closed poller the call does nothing.
     *
     * @return this
     */
    public Poller wakeup() {
        queue.wakeup();
        return this;
    }

    // --- Around it -------------------------------------------------------------------

    /**
     * The counters of the set.
     *
     * @return their values now
     * @throws IOException if the poller is closed
     */
    public Stats stats() throws IOException {
        Stats now = queue.stats();
        Reference.reachabilityFence(this);
        return now;
    }

    /**
     * Whether the poller is open.
     *
     * @return false after {@link #close()}
     */
    public boolean isOpen() {
        return !queue.isClosed();
    }

    /**
     * Closes the poller, not its members. Threads that wait are woken and throw {@link
     * QueueClosedException}; the system's objects are released when the last has left. A second
     * call does nothing.
     */
    @Override
    public void close() {
        cleanable.clean();
    }

    /**
     * The number of processors, as the original returned it.
     *
     * @return at least 1
     */
    public static int getNumCPUs() {
        return Runtime.getRuntime().availableProcessors();
    }

    /**
     * The kernel's mechanism in use.
     *
     * @return one of {@link Xpoll#backends()}
     * @throws IOException if the poller is closed
     */
    public String backend() throws IOException {
        String name = queue.backend();
        Reference.reachabilityFence(this);
        return name;
    }

    /**
     * The descriptor of an object of the JDK.
     *
     * @param io a Socket, ServerSocket, DatagramSocket, SelectableChannel, FileDescriptor or
     *     Integer
     * @return its number
     * @throws IllegalArgumentException for an object of another kind
     * @throws UnsupportedOperationException if the JDK hides it; names the flag to add
     * @throws IOException if it is closed, or has no descriptor yet
     */
    public static int fdOf(Object io) throws IOException {
        return FdAccess.of(io);
    }
}
