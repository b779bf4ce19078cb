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
import java.lang.ref.Reference;

/**
 * The calls of xpoll.h, one static method each.
 *
 * <p>Calls that can fail return a negative error number instead of setting errno. They are given a
 * cell for it, {@link #errnoCell()}, because nothing may be allocated on these paths: whoever owns
 * the cell has to see to it that no two threads use it at once. A queue is passed by its address;
 * NativeQueue knows how long that stands.
 *
 * <p>All but two are called by one handle, which takes seven numbers: linking one for each type of
 * function took most of the time in which a first queue was made. The calling conventions of 64-bit
 * Linux pass integers and addresses alike, in registers and then on the stack. A function leaves
 * alone what it has no parameters for, and of an int it uses the low half.
 *
 * <p>A call that may sleep leaves the virtual machine's hands, which costs time both ways. Those
 * that take a queue's lock, and a system call that does not sleep at most, are critical and do
 * not leave them: what the garbage collector has to wait for then is no longer than if the thread
 * was about to run Java. They come without errno.
 */
final class Native {
    static final SymbolLookup LIBRARY = NativeLibrary.load();
    /** One for all functions, because linking a handle is slow. */
    private static final MethodHandle CALL = NativeLibrary.anyCall();
    /** For calls whose errno nobody reads; any number of threads write to it. */
    private static final MemorySegment NO_ERRNO = errnoCell();

    private static final MemorySegment OPEN = find("xpoll_open");
    private static final MemorySegment DESTROY = find("xpoll_destroy");
    private static final MemorySegment CTL = find("xpoll_ctl");
    private static final MemorySegment WAIT = find("xpoll_wait");
    private static final MemorySegment EVENT = find("xpoll_event");
    private static final MemorySegment WAKE = find("xpoll_wake");
    private static final MemorySegment LOOKUP = find("xpoll_lookup");
    private static final MemorySegment CLOSE_FD = find("xpoll_close_fd");
    private static final MemorySegment FORGET_FD = find("xpoll_forget_fd");
    private static final MemorySegment QUEUE_FD = find("xpoll_fd");
    private static final MemorySegment BACKEND = find("xpoll_backend");
    private static final MemorySegment BACKENDS = find("xpoll_backends");
    private static final MemorySegment SUPPORTS = find("xpoll_supports");
    private static final MemorySegment STATS = find("xpoll_stats");
    private static final MemorySegment DESCRIBE = find("xpoll_describe");
    private static final MemorySegment SET = find("xpoll_set");
    private static final MemorySegment AIO_SUBMIT = find("xpoll_aio_submit");
    private static final MemorySegment AIO_CANCEL = find("xpoll_aio_cancel");
    private static final MemorySegment GET_VERSION = find("xpoll_version");

    /** Calls of Poller that do not sleep; linked when one is first made. */
    private static final class Quick {
        private static final Linker.Option CRITICAL = Linker.Option.critical(false);
        static final MethodHandle CTL = Linker.nativeLinker().downcallHandle(Native.CTL,
                FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_INT, JAVA_INT, JAVA_INT, JAVA_LONG),
                CRITICAL);
        static final MethodHandle REVENTS = Linker.nativeLinker().downcallHandle(
                find("xpoll_revents"), FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS),
                CRITICAL);
    }

    private Native() {}

    private static MemorySegment find(String name) {
        return LIBRARY.find(name).orElseThrow(() ->
                new UnsatisfiedLinkError("this libxpoll has no " + name));
    }

    private static long call(MemorySegment function, MemorySegment cell, long a, long b, long c,
            long d, long e, long f) throws Throwable {
        return (long) CALL.invokeExact(function, cell, a, b, c, d, e, f, 0L);
    }

    /** The same for functions that set no errno, or whose error is of no interest. */
    private static long call(MemorySegment function, long a, long b, long c) throws Throwable {
        return (long) CALL.invokeExact(function, NO_ERRNO, a, b, c, 0L, 0L, 0L, 0L);
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
    static long open(QueueOptions from) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment options = arena.allocate(32, 8);
            options.set(JAVA_LONG, 0, 32);
            options.set(ADDRESS, 8, from.backend == null ? MemorySegment.NULL
                    : arena.allocateFrom(from.backend));
            options.set(JAVA_INT, 16, from.flags);
            options.set(JAVA_INT, 24, from.busyPollMicros);
            MemorySegment cell = arena.allocate(Linker.Option.captureStateLayout());
            long queue = call(OPEN, cell, options.address(), 0, 0, 0, 0, 0);
            return queue != 0 ? queue : -cell.get(JAVA_INT, 0);
        } catch (Throwable e) {
            throw impossible(e);
        }
    }

    static void destroy(long queue) {
        try {
            call(DESTROY, queue, 0, 0);
        } catch (Throwable e) {
            throw impossible(e);
        }
    }

    static int ctl(MemorySegment cell, long queue, int op, int events, int fd, long data) {
        try {
            return result((int) call(CTL, cell, queue, op, events, fd, data, 0), cell);
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
            return (int) Quick.CTL.invokeExact(queue, op, events, fd, 0L) == 0;
        } catch (Throwable e) {
            throw impossible(e);
        }
    }

    static int await(MemorySegment cell, long queue, int millis) {
        try {
            return result((int) call(WAIT, cell, queue, millis, 0, 0, 0, 0), cell);
        } catch (Throwable e) {
            throw impossible(e);
        }
    }

    static int revents(long queue, MemorySegment data) {
        try {
            return (int) Quick.REVENTS.invokeExact(queue, data);
        } catch (Throwable e) {
            throw impossible(e);
        }
    }

    static int event(MemorySegment cell, long queue, MemorySegment changes, int nchanges,
            MemorySegment events, int nevents, long nanos) {
        try {
            return result((int) call(EVENT, cell, queue, changes.address(), nchanges,
                    events.address(), nevents, nanos), cell);
        } catch (Throwable e) {
            throw impossible(e);
        } finally {
            // An address does not keep the memory.
            Reference.reachabilityFence(changes);
            Reference.reachabilityFence(events);
        }
    }

    static void wake(long queue) {
        try {
            call(WAKE, queue, 0, 0);
        } catch (Throwable e) {
            throw impossible(e);
        }
    }

    static int lookup(MemorySegment cell, long queue, long ident, int filter, MemorySegment into) {
        try {
            return result((int) call(LOOKUP, cell, queue, ident, filter, into.address(), 0, 0),
                    cell);
        } catch (Throwable e) {
            throw impossible(e);
        } finally {
            Reference.reachabilityFence(into);
        }
    }

    static int closeFd(int fd) {
        MemorySegment cell = errnoCell();
        try {
            return result((int) call(CLOSE_FD, cell, fd, 0, 0, 0, 0, 0), cell);
        } catch (Throwable e) {
            throw impossible(e);
        }
    }

    static int forgetFd(int fd) {
        MemorySegment cell = errnoCell();
        try {
            return result((int) call(FORGET_FD, cell, fd, 0, 0, 0, 0, 0), cell);
        } catch (Throwable e) {
            throw impossible(e);
        }
    }

    static int queueFd(MemorySegment cell, long queue) {
        try {
            return result((int) call(QUEUE_FD, cell, queue, 0, 0, 0, 0, 0), cell);
        } catch (Throwable e) {
            throw impossible(e);
        }
    }

    static String backend(long queue) {
        try {
            return text(MemorySegment.ofAddress(call(BACKEND, queue, 0, 0)));
        } catch (Throwable e) {
            throw impossible(e);
        }
    }

    static String[] backends() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment names = arena.allocate(ADDRESS, 16);
            int count = Math.min((int) call(BACKENDS, names.address(), 16, 0), 16);
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
            return (int) call(SUPPORTS, queue, filter, fflags) == 1;
        } catch (Throwable e) {
            throw impossible(e);
        }
    }

    static Stats stats(long queue) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment stats = arena.allocate(Stats.BYTES, 8);
            // Does not fail but in a forked child, where no thread of Java's runs.
            call(STATS, queue, stats.address(), Stats.BYTES);
            return Stats.of(stats);
        } catch (Throwable e) {
            throw impossible(e);
        }
    }

    static String describe(MemorySegment event) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment text = arena.allocate(256);
            MemorySegment cell = arena.allocate(Linker.Option.captureStateLayout());
            int length = (int) call(DESCRIBE, cell, event.address(), text.address(),
                    text.byteSize(), 0, 0, 0);
            return length < 0 ? "?" : text.getString(0);
        } catch (Throwable e) {
            throw impossible(e);
        } finally {
            Reference.reachabilityFence(event);
        }
    }

    static void set(MemorySegment event, long ident, short filter, int flags, int fflags,
            long data, long udata) {
        try {
            long unused = (long) CALL.invokeExact(SET, NO_ERRNO, event.address(), ident,
                    (long) filter, (long) flags, (long) fflags, data, udata);
        } catch (Throwable e) {
            throw impossible(e);
        } finally {
            Reference.reachabilityFence(event);
        }
    }

    static int aioSubmit(MemorySegment cell, long queue, MemorySegment aio) {
        try {
            return result((int) call(AIO_SUBMIT, cell, queue, aio.address(), 0, 0, 0, 0),
                    cell);
        } catch (Throwable e) {
            throw impossible(e);
        } finally {
            Reference.reachabilityFence(aio);
        }
    }

    static int aioCancel(MemorySegment cell, long queue, MemorySegment aio) {
        try {
            return result((int) call(AIO_CANCEL, cell, queue, aio.address(), 0, 0, 0, 0),
                    cell);
        } catch (Throwable e) {
            throw impossible(e);
        } finally {
            Reference.reachabilityFence(aio);
        }
    }

    static int version() {
        try {
            return (int) call(GET_VERSION, 0, 0, 0);
        } catch (Throwable e) {
            throw impossible(e);
        }
    }
}
