package org.xpoll;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;

/**
 * One epoll set of Linux, for {@link QueueWatch}: each member is reported once and is then silent
 * until it is armed again. That costs one system call, and a thread that waits is not disturbed.
 */
final class Epoll {
    private static final Linker LINKER = Linker.nativeLinker();
    private static final Linker.Option ERRNO = Linker.Option.captureCallState("errno");
    private static final FunctionDescriptor CTL_TYPE =
            FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT, ADDRESS);

    private static final MethodHandle CREATE = link("epoll_create1",
            FunctionDescriptor.of(JAVA_INT, JAVA_INT));
    private static final MethodHandle ADD = link("epoll_ctl", CTL_TYPE);
    /** It does not sleep: see {@link Native} about critical calls. */
    private static final MethodHandle REARM = link("epoll_ctl", CTL_TYPE,
            Linker.Option.critical(false));
    private static final MethodHandle WAIT = link("epoll_wait",
            FunctionDescriptor.of(JAVA_INT, JAVA_INT, ADDRESS, JAVA_INT, JAVA_INT), ERRNO);
    private static final MethodHandle CLOSE = link("close",
            FunctionDescriptor.of(JAVA_INT, JAVA_INT));

    private static final int CLOEXEC = 0x80000;
    private static final int CTL_ADD = 1;
    private static final int CTL_MOD = 3;
    private static final int IN_ONCE = 1 | 1 << 30;
    private static final int MOST = 256;
    /** struct epoll_event is packed on x86-64. */
    private static final int DATA = System.getProperty("os.arch").equals("amd64") ? 4 : 8;
    private static final int BYTES = DATA + 8;

    private final int set;
    /** For the thread that waits. */
    private final MemorySegment errno = Arena.ofAuto().allocate(JAVA_INT);
    private final MemorySegment events = Arena.ofAuto().allocate((long) BYTES * MOST, 8);

    private Epoll(int set) {
        this.set = set;
    }

    private static MethodHandle link(String name, FunctionDescriptor type,
            Linker.Option... options) {
        return LINKER.defaultLookup().find(name)
                .map(address -> LINKER.downcallHandle(address, type, options)).orElse(null);
    }

    /** A new set, or null where there can be none. */
    static Epoll open() {
        if (CREATE == null) {
            return null;
        }
        try {
            int set = (int) CREATE.invokeExact(CLOEXEC);
            return set < 0 ? null : new Epoll(set);
        } catch (Throwable e) {
            throw Native.impossible(e);
        }
    }

    /** What {@link #add} and {@link #rearm} need of a member. */
    static MemorySegment member(int fd) {
        MemorySegment member = Arena.ofAuto().allocate(BYTES, 8);
        member.set(JAVA_INT, 0, IN_ONCE);
        member.set(JAVA_INT, DATA, fd);
        return member;
    }

    /** Adds a descriptor, armed; false if the system refuses. */
    boolean add(int fd, MemorySegment member) {
        try {
            return (int) ADD.invokeExact(set, CTL_ADD, fd, member) == 0;
        } catch (Throwable e) {
            throw Native.impossible(e);
        }
    }

    /** It is reported once more, at once if it is readable already. */
    boolean rearm(int fd, MemorySegment member) {
        try {
            return (int) REARM.invokeExact(set, CTL_MOD, fd, member) == 0;
        } catch (Throwable e) {
            throw Native.impossible(e);
        }
    }

    /** How many are readable; 0 after so many milliseconds or a signal; negative: it is broken. */
    int await(int millis) {
        try {
            int n = (int) WAIT.invokeExact(errno, set, events, MOST, millis);
            return n < 0 && errno.get(JAVA_INT, 0) == Errno.EINTR ? 0 : n;
        } catch (Throwable e) {
            throw Native.impossible(e);
        }
    }

    /** The descriptor of what the last wait found. */
    int fd(int i) {
        return events.get(JAVA_INT, (long) BYTES * i + DATA);
    }

    void close() {
        try {
            int unused = (int) CLOSE.invokeExact(set);
        } catch (Throwable e) {
            throw Native.impossible(e);
        }
    }
}
