package org.xpoll.demo;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;

/** Pipes without objects around them: what a C library would hand to a Java program. */
final class Libc {
    private static final Linker LINKER = Linker.nativeLinker();
    private static final FunctionDescriptor TRANSFER =
            FunctionDescriptor.of(JAVA_LONG, JAVA_INT, ADDRESS, JAVA_LONG);
    private static final MethodHandle READ = link("read", TRANSFER);
    private static final MethodHandle WRITE = link("write", TRANSFER);
    private static final MethodHandle PIPE = link("pipe", FunctionDescriptor.of(JAVA_INT, ADDRESS));

    private static final MemorySegment BYTE = Arena.global().allocate(16);

    private Libc() {}

    private static MethodHandle link(String name, FunctionDescriptor type) {
        return LINKER.downcallHandle(LINKER.defaultLookup().find(name).orElseThrow(), type);
    }

    /** The end to read from, the end to write to. */
    static int[] pipe() throws IOException {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment ends = arena.allocate(JAVA_INT, 2);
            if (pipe(ends) != 0) {
                throw new IOException("no pipe: too many open files?");
            }
            return ends.toArray(JAVA_INT);
        }
    }

    private static int pipe(MemorySegment ends) {
        try {
            return (int) PIPE.invokeExact(ends);
        } catch (Throwable e) {
            throw new IllegalStateException(e);
        }
    }

    /** One byte.  The handle is named here: only a constant one is inlined. */
    static void read(int fd) {
        try {
            check((long) READ.invokeExact(fd, BYTE, 1L));
        } catch (Throwable e) {
            throw new IllegalStateException(e);
        }
    }

    static void write(int fd) {
        try {
            check((long) WRITE.invokeExact(fd, BYTE, 1L));
        } catch (Throwable e) {
            throw new IllegalStateException(e);
        }
    }

    private static void check(long bytes) {
        if (bytes != 1) {
            throw new IllegalStateException("not ready");
        }
    }
}
