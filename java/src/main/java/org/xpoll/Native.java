package org.xpoll;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;

/**
 * The calls of xpoll.h, one static method each.
 *
 * <p>Calls that can fail return a negative error number instead of setting errno. They are given a
 * cell for it, {@link #errnoCell()}, because nothing may be allocated on these paths: whoever owns
 * the cell has to see to it that no two threads use it at once. A queue is passed by its address;
 * NativeQueue knows how long that stands.
 *
 * <p>A call that may sleep leaves the virtual machine's hands, which costs some 4 ns both ways.
 * Those that take a queue's lock, and a system call that does not sleep at most, are critical and
 * go without: what the garbage collector has to wait for then is no longer than if the thread
 * was about to run Java. They come without errno.
 */
final class Native {
    private static final Linker LINKER = Linker.nativeLinker();
    static final SymbolLookup LIBRARY = NativeLibrary.load();
    private static final Linker.Option ERRNO = Linker.Option.captureCallState("errno");
    private static final Linker.Option CRITICAL = Linker.Option.critical(false);
    private static final FunctionDescriptor CTL_TYPE =
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_INT, JAVA_INT, JAVA_INT, JAVA_LONG);

    private static final MethodHandle OPEN = link("xpoll_open",
            FunctionDescriptor.of(JAVA_LONG, ADDRESS), ERRNO);
    private static final MethodHandle DESTROY = link("xpoll_destroy",
            FunctionDescriptor.ofVoid(JAVA_LONG));
    private static final MethodHandle CTL = link("xpoll_ctl", CTL_TYPE, ERRNO);
    private static final MethodHandle QUICK_CTL = link("xpoll_ctl", CTL_TYPE, CRITICAL);
    private static final MethodHandle WAIT = link("xpoll_wait",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_INT), ERRNO);
    private static final MethodHandle REVENTS = link("xpoll_revents",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS), CRITICAL);
    private static final MethodHandle EVENT = link("xpoll_event",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS, JAVA_INT, ADDRESS, JAVA_INT,
                    JAVA_LONG), ERRNO);
    private static final MethodHandle WAKE = link("xpoll_wake",
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG));

    /** Linking takes a millisecond or so for each; these are linked when one is first called. */
    private static final class Seldom {
        static final MethodHandle LOOKUP = link("xpoll_lookup",
                FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_INT, ADDRESS), ERRNO);
        static final MethodHandle CLOSE_FD = link("xpoll_close_fd",
                FunctionDescriptor.of(JAVA_INT, JAVA_INT), ERRNO);
        static final MethodHandle FORGET_FD = link("xpoll_forget_fd",
                FunctionDescriptor.of(JAVA_INT, JAVA_INT), ERRNO);
        static final MethodHandle QUEUE_FD = link("xpoll_fd",
                FunctionDescriptor.of(JAVA_INT, JAVA_LONG), ERRNO);
        static final MethodHandle BACKEND = link("xpoll_backend",
                FunctionDescriptor.of(ADDRESS, JAVA_LONG));
        static final MethodHandle BACKENDS = link("xpoll_backends",
                FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_INT));
        static final MethodHandle SUPPORTS = link("xpoll_supports",
                FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_INT, JAVA_INT));
        static final MethodHandle DESCRIBE = link("xpoll_describe",
                FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS, JAVA_LONG), ERRNO);
        static final MethodHandle SET = link("xpoll_set",
                FunctionDescriptor.of(JAVA_LONG, ADDRESS, JAVA_LONG, JAVA_INT, JAVA_INT, JAVA_INT,
                        JAVA_LONG, JAVA_LONG));
        static final MethodHandle AIO_SUBMIT = link("xpoll_aio_submit",
                FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS), ERRNO);
        static final MethodHandle AIO_CANCEL = link("xpoll_aio_cancel",
                FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS), ERRNO);
        static final MethodHandle GET_VERSION = link("xpoll_version",
                FunctionDescriptor.of(JAVA_INT));
    }

    private Native() {}

    private static MethodHandle link(String name, FunctionDescriptor type,
            Linker.Option... options) {
        MemorySegment address = LIBRARY.find(name).orElseThrow(() ->
                new UnsatisfiedLinkError("this libxpoll has no " + name));
        return LINKER.downcallHandle(address, type, options);
    }

    /** Room for errno, freed by the garbage collector. */
    static MemorySegment errnoCell() {
        return Arena.ofAuto().allocate(Linker.Option.captureStateLayout());
    }

    private static int result(int rc, MemorySegment cell) {
        return rc >= 0 ? rc : -cell.get(JAVA_INT, 0);
    }

    /** Nothing of what is called throws, but for the machine itself: no stack is left, say. */
    static AssertionError impossible(Throwable e) {
        if (e instanceof Error error) {
            throw error;
        }
        return new AssertionError(e);
    }

    /** The queue's address, or a negative error number. */
    static long open(String backend, int flags) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment options = arena.allocate(32, 8);
            options.set(JAVA_LONG, 0, 32);
            options.set(ADDRESS, 8, backend == null ? MemorySegment.NULL
                    : arena.allocateFrom(backend));
            options.set(JAVA_INT, 16, flags);
            MemorySegment cell = arena.allocate(Linker.Option.captureStateLayout());
            long queue = (long) OPEN.invokeExact(cell, options);
            return queue != 0 ? queue : -cell.get(JAVA_INT, 0);
        } catch (Throwable e) {
            throw impossible(e);
        }
    }

    static void destroy(long queue) {
        try {
            DESTROY.invokeExact(queue);
        } catch (Throwable e) {
            throw impossible(e);
        }
    }

    static int ctl(MemorySegment cell, long queue, int op, int events, int fd, long data) {
        try {
            return result((int) CTL.invokeExact(cell, queue, op, events, fd, data), cell);
        } catch (Throwable e) {
            throw impossible(e);
        }
    }

    /**
     * ENABLE or DISABLE while nobody waits in C, which would have to come out for some of them.
     *
     * @return whether it was done; if not, {@link #ctl} throws and says why
     */
    static boolean quickCtl(long queue, int op, int events, int fd) {
        try {
            return (int) QUICK_CTL.invokeExact(queue, op, events, fd, 0L) == 0;
        } catch (Throwable e) {
            throw impossible(e);
        }
    }

    static int await(MemorySegment cell, long queue, int millis) {
        try {
            return result((int) WAIT.invokeExact(cell, queue, millis), cell);
        } catch (Throwable e) {
            throw impossible(e);
        }
    }

    static int revents(long queue, MemorySegment data) {
        try {
            return (int) REVENTS.invokeExact(queue, data);
        } catch (Throwable e) {
            throw impossible(e);
        }
    }

    static int event(MemorySegment cell, long queue, MemorySegment changes, int nchanges,
            MemorySegment events, int nevents, long nanos) {
        try {
            return result((int) EVENT.invokeExact(cell, queue, changes, nchanges, events, nevents,
                    nanos), cell);
        } catch (Throwable e) {
            throw impossible(e);
        }
    }

    static void wake(long queue) {
        try {
            int unused = (int) WAKE.invokeExact(queue);
        } catch (Throwable e) {
            throw impossible(e);
        }
    }

    static int lookup(MemorySegment cell, long queue, long ident, int filter, MemorySegment into) {
        try {
            return result((int) Seldom.LOOKUP.invokeExact(cell, queue, ident, filter, into), cell);
        } catch (Throwable e) {
            throw impossible(e);
        }
    }

    static int closeFd(int fd) {
        MemorySegment cell = errnoCell();
        try {
            return result((int) Seldom.CLOSE_FD.invokeExact(cell, fd), cell);
        } catch (Throwable e) {
            throw impossible(e);
        }
    }

    static int forgetFd(int fd) {
        MemorySegment cell = errnoCell();
        try {
            return result((int) Seldom.FORGET_FD.invokeExact(cell, fd), cell);
        } catch (Throwable e) {
            throw impossible(e);
        }
    }

    static int queueFd(MemorySegment cell, long queue) {
        try {
            return result((int) Seldom.QUEUE_FD.invokeExact(cell, queue), cell);
        } catch (Throwable e) {
            throw impossible(e);
        }
    }

    static String backend(long queue) {
        try {
            return text((MemorySegment) Seldom.BACKEND.invokeExact(queue));
        } catch (Throwable e) {
            throw impossible(e);
        }
    }

    static String[] backends() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment names = arena.allocate(ADDRESS, 16);
            int count = Math.min((int) Seldom.BACKENDS.invokeExact(names, 16), 16);
            String[] result = new String[count];
            for (int i = 0; i < count; i++) {
                result[i] = text(names.getAtIndex(ADDRESS, i));
            }
            return result;
        } catch (Throwable e) {
            throw impossible(e);
        }
    }

    private static String text(MemorySegment address) {
        return address.reinterpret(Long.MAX_VALUE).getString(0);
    }

    static boolean supports(long queue, int filter, int fflags) {
        try {
            return (int) Seldom.SUPPORTS.invokeExact(queue, filter, fflags) == 1;
        } catch (Throwable e) {
            throw impossible(e);
        }
    }

    static String describe(MemorySegment event) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment text = arena.allocate(256);
            MemorySegment cell = arena.allocate(Linker.Option.captureStateLayout());
            int length = (int) Seldom.DESCRIBE.invokeExact(cell, event, text,
                    text.byteSize());
            return length < 0 ? "?" : text.getString(0);
        } catch (Throwable e) {
            throw impossible(e);
        }
    }

    static void set(MemorySegment event, long ident, short filter, int flags, int fflags,
            long data, long udata) {
        try {
            long unused = (long) Seldom.SET.invokeExact(event, ident, (int) filter, flags, fflags,
                    data, udata);
        } catch (Throwable e) {
            throw impossible(e);
        }
    }

    static int aioSubmit(MemorySegment cell, long queue, MemorySegment aio) {
        try {
            return result((int) Seldom.AIO_SUBMIT.invokeExact(cell, queue, aio), cell);
        } catch (Throwable e) {
            throw impossible(e);
        }
    }

    static int aioCancel(MemorySegment cell, long queue, MemorySegment aio) {
        try {
            return result((int) Seldom.AIO_CANCEL.invokeExact(cell, queue, aio), cell);
        } catch (Throwable e) {
            throw impossible(e);
        }
    }

    static int version() {
        try {
            return (int) Seldom.GET_VERSION.invokeExact();
        } catch (Throwable e) {
            throw impossible(e);
        }
    }
}
