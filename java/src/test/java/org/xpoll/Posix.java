package org.xpoll;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;

/** The system's own calls, for descriptors that no object owns, and as oracles. */
final class Posix {
    private static final MethodHandle PIPE = link("pipe", JAVA_INT, ADDRESS);
    private static final MethodHandle READ = link("read", JAVA_LONG, JAVA_INT, ADDRESS, JAVA_LONG);
    private static final MethodHandle WRITE =
            link("write", JAVA_LONG, JAVA_INT, ADDRESS, JAVA_LONG);
    private static final MethodHandle CLOSE = link("close", JAVA_INT, JAVA_INT);
    private static final MethodHandle DUP2 = link("dup2", JAVA_INT, JAVA_INT, JAVA_INT);
    private static final MethodHandle KILL = link("kill", JAVA_INT, JAVA_INT, JAVA_INT);
    private static final MethodHandle FORK = link("fork", JAVA_INT);
    private static final MethodHandle EXIT = linkVoid("_exit", JAVA_INT);
    private static final MethodHandle WAITPID =
            link("waitpid", JAVA_INT, JAVA_INT, ADDRESS, JAVA_INT);
    private static final MethodHandle POLL = link("poll", JAVA_INT, ADDRESS, JAVA_LONG, JAVA_INT);

    private Posix() {}

    private static MethodHandle link(String name, MemoryLayout result, MemoryLayout... arguments) {
        return link(name, FunctionDescriptor.of(result, arguments));
    }

    private static MethodHandle linkVoid(String name, MemoryLayout... arguments) {
        return link(name, FunctionDescriptor.ofVoid(arguments));
    }

    private static MethodHandle link(String name, FunctionDescriptor type) {
        Linker linker = Linker.nativeLinker();
        return linker.downcallHandle(linker.defaultLookup().find(name).orElseThrow(), type);
    }

    private static long call(MethodHandle handle, Object... arguments) {
        try {
            return ((Number) handle.invokeWithArguments(arguments)).longValue();
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    /** A counter of xpoll_stats(3). */
    static long changesInTheKernel(Poller poller) throws IOException {
        MethodHandle stats = Linker.nativeLinker().downcallHandle(
                MemorySegment.ofAddress(Native.find("xpoll_stats")),
                FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS, JAVA_LONG));
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment counters = arena.allocate(JAVA_LONG, 16);
            if (call(stats, poller.queue.address(), counters, counters.byteSize()) < 0) {
                throw new AssertionError("xpoll_stats");
            }
            return counters.getAtIndex(JAVA_LONG, 8);
        }
    }

    /** The reading end, the writing end. */
    static int[] pipe() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment ends = arena.allocate(JAVA_INT, 2);
            if (call(PIPE, ends) != 0) {
                throw new AssertionError("pipe");
            }
            return ends.toArray(JAVA_INT);
        }
    }

    static void write(int fd, int bytes) {
        try (Arena arena = Arena.ofConfined()) {
            if (call(WRITE, fd, arena.allocate(bytes), (long) bytes) != bytes) {
                throw new AssertionError("write");
            }
        }
    }

    /** How many bytes there were, at most 4096. */
    static int read(int fd) {
        try (Arena arena = Arena.ofConfined()) {
            return (int) call(READ, fd, arena.allocate(4096), 4096L);
        }
    }

    static void close(int... fds) {
        for (int fd : fds) {
            call(CLOSE, fd);
        }
    }

    static void dup2(int from, int to) {
        if (call(DUP2, from, to) != to) {
            throw new AssertionError("dup2");
        }
    }

    static void kill(long pid, int signal) {
        if (call(KILL, (int) pid, signal) != 0) {
            throw new AssertionError("kill");
        }
    }

    /** 0 in the child. */
    static int fork() {
        try {
            return (int) FORK.invokeExact();
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    /** Ends the process, and nothing of Java is asked. */
    static void exitNow(int code) {
        try {
            EXIT.invokeExact(code);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    /** Of a child that has ended, 99 if a signal ended it; -1 if it has not. */
    static int exitCode(int child) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment status = arena.allocate(JAVA_INT);
            long ended = call(WAITPID, child, status, 1);
            int bits = status.get(JAVA_INT, 0);
            return ended != child ? -1 : (bits & 0x7f) != 0 ? 99 : bits >> 8 & 0xff;
        }
    }

    /** What poll(2) says now. */
    static int revents(int fd, int events) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment entry = arena.allocate(8, 4);
            entry.set(JAVA_INT, 0, fd);
            entry.set(ValueLayout.JAVA_SHORT, 4, (short) events);
            call(POLL, entry, 1L, 0);
            return entry.get(ValueLayout.JAVA_SHORT, 6);
        }
    }
}
