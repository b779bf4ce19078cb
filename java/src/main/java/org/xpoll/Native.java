package org.xpoll;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
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
 * <p>A call that may sleep leaves the virtual machine's hands, which costs time both ways. Those
 * that take a queue's lock, and a system call that does not sleep at most, are critical and do
 * not leave them: what the garbage collector has to wait for then is no longer than if the thread
 * was about to run Java. They come without errno.
 */
final class Native {
    private static final long LIBRARY = NativeLibrary.load();
    /** For calls whose errno nobody reads; any number of threads write to it. */
    private static final Memory NO_ERRNO = new Memory(Foreign.ERRNO);

    private static final long OPEN = find("xpoll_open");
    private static final long DESTROY = find("xpoll_destroy");
    private static final long CTL = find("xpoll_ctl");
    private static final long WAIT = find("xpoll_wait");
    private static final long PWAIT = find("xpoll_pwait");
    private static final long EVENT = find("xpoll_event");
    private static final long WAKE = find("xpoll_wake");
    private static final long LOOKUP = find("xpoll_lookup");
    private static final long CLOSE_FD = find("xpoll_close_fd");
    private static final long FORGET_FD = find("xpoll_forget_fd");
    private static final long QUEUE_FD = find("xpoll_fd");
    private static final long BACKEND = find("xpoll_backend");
    private static final long BACKENDS = find("xpoll_backends");
    private static final long SUPPORTS = find("xpoll_supports");
    private static final long STATS = find("xpoll_stats");
    private static final long DESCRIBE = find("xpoll_describe");
    private static final long SET = find("xpoll_set");
    private static final long AIO_SUBMIT = find("xpoll_aio_submit");
    private static final long AIO_CANCEL = find("xpoll_aio_cancel");
    private static final long GET_VERSION = find("xpoll_version");

    /** Calls of Poller that do not sleep; linked when one is first made. */
    private static final class Quick {
        private static final Linker.Option CRITICAL = Linker.Option.critical(false);
        static final MethodHandle CTL = Linker.nativeLinker().downcallHandle(
                MemorySegment.ofAddress(Native.CTL),
                FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_INT, JAVA_INT, JAVA_INT, JAVA_LONG),
                CRITICAL);
    }

    private Native() {}

    /** The address of a function of the library. */
    static long find(String name) {
        long function = Foreign.find(LIBRARY, name);
        if (function == 0) {
            throw new UnsatisfiedLinkError("this libxpoll has no " + name);
        }
        return function;
    }

    private static long call(long function, Memory cell, long a, long b, long c,
            long d, long e, long f) throws Throwable {
        return Foreign.call(function, cell, a, b, c, d, e, f, 0L);
    }

    /** The same for functions that set no errno, or whose error is of no interest. */
    private static long call(long function, long a, long b, long c) throws Throwable {
        return Foreign.call(function, NO_ERRNO, a, b, c, 0L, 0L, 0L, 0L);
    }

    /** Room for errno, freed by the garbage collector. */
    static Memory errnoCell() {
        return new Memory(Foreign.ERRNO);
    }

    private static int result(int rc, Memory cell) {
        return rc >= 0 ? rc : -cell.bytes.getInt(0);
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
        Memory options = new Memory(32);
        Memory backend = from.backend == null ? null : Memory.of(from.backend);
        Memory cell = errnoCell();
        options.bytes.putLong(0, 32);
        options.bytes.putLong(8, backend == null ? 0 : backend.address);
        options.bytes.putInt(16, from.flags);
        options.bytes.putInt(24, from.busyPollMicros);
        try {
            long queue = call(OPEN, cell, options.address, 0, 0, 0, 0, 0);
            return queue != 0 ? queue : -cell.bytes.getInt(0);
        } catch (Throwable e) {
            throw impossible(e);
        } finally {
            Reference.reachabilityFence(options);
            Reference.reachabilityFence(backend);
        }
    }

    static void destroy(long queue) {
        try {
            call(DESTROY, queue, 0, 0);
        } catch (Throwable e) {
            throw impossible(e);
        }
    }

    static int ctl(Memory cell, long queue, int op, int events, int fd, long data) {
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

    static int await(Memory cell, long queue, int millis) {
        try {
            return result((int) call(WAIT, cell, queue, millis, 0, 0, 0, 0), cell);
        } catch (Throwable e) {
            throw impossible(e);
        }
    }

    static int pwait(Memory cell, long queue, Memory ready, int most, long nanos) {
        try {
            return result((int) call(PWAIT, cell, queue, ready.address, most, nanos, 0, 0), cell);
        } catch (Throwable e) {
            throw impossible(e);
        } finally {
            Reference.reachabilityFence(ready);
        }
    }

    /** events: null with room for none. */
    static int event(Memory cell, long queue, Memory changes, int nchanges,
            @Nullable Memory events, int nevents, long nanos) {
        try {
            return result((int) call(EVENT, cell, queue, changes.address, nchanges,
                    events == null ? 0 : events.address, nevents, nanos), cell);
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

    static int lookup(Memory cell, long queue, long ident, int filter, Memory into) {
        try {
            return result((int) call(LOOKUP, cell, queue, ident, filter, into.address, 0, 0),
                    cell);
        } catch (Throwable e) {
            throw impossible(e);
        } finally {
            Reference.reachabilityFence(into);
        }
    }

    static int closeFd(int fd) {
        Memory cell = errnoCell();
        try {
            return result((int) call(CLOSE_FD, cell, fd, 0, 0, 0, 0, 0), cell);
        } catch (Throwable e) {
            throw impossible(e);
        }
    }

    static int forgetFd(int fd) {
        Memory cell = errnoCell();
        try {
            return result((int) call(FORGET_FD, cell, fd, 0, 0, 0, 0, 0), cell);
        } catch (Throwable e) {
            throw impossible(e);
        }
    }

    static int queueFd(Memory cell, long queue) {
        try {
            return result((int) call(QUEUE_FD, cell, queue, 0, 0, 0, 0, 0), cell);
        } catch (Throwable e) {
            throw impossible(e);
        }
    }

    static String backend(long queue) {
        try {
            return Foreign.text(call(BACKEND, queue, 0, 0));
        } catch (Throwable e) {
            throw impossible(e);
        }
    }

    static String[] backends() {
        Memory names = new Memory(16 * 8);
        try {
            int count = Math.min((int) call(BACKENDS, names.address, 16, 0), 16);
            String[] result = new String[count];
            for (int i = 0; i < count; i++) {
                result[i] = Foreign.text(names.bytes.getLong(i * 8));
            }
            return result;
        } catch (Throwable e) {
            throw impossible(e);
        }
    }

    static boolean supports(long queue, int filter, int fflags) {
        try {
            return (int) call(SUPPORTS, queue, filter, fflags) == 1;
        } catch (Throwable e) {
            throw impossible(e);
        }
    }

    static Stats stats(long queue) {
        Memory stats = new Memory(Stats.BYTES);
        try {
            // Does not fail but in a forked child, where no thread of Java's runs.
            call(STATS, queue, stats.address, Stats.BYTES);
            return Stats.of(stats.bytes);
        } catch (Throwable e) {
            throw impossible(e);
        }
    }

    /** The event at an offset. */
    static String describe(Memory event, int at) {
        Memory text = new Memory(256);
        try {
            int length = (int) call(DESCRIBE, errnoCell(), event.address + at, text.address,
                    text.bytes.capacity(), 0, 0, 0);
            return length < 0 ? "?" : Foreign.text(text.address);
        } catch (Throwable e) {
            throw impossible(e);
        } finally {
            Reference.reachabilityFence(event);
            Reference.reachabilityFence(text);
        }
    }

    static void set(Memory event, long ident, short filter, int flags, int fflags,
            long data, long udata) {
        try {
            Foreign.call(SET, NO_ERRNO, event.address, ident, filter, flags, fflags, data,
                    udata);
        } catch (Throwable e) {
            throw impossible(e);
        } finally {
            Reference.reachabilityFence(event);
        }
    }

    static int aioSubmit(Memory cell, long queue, long aio) {
        try {
            return result((int) call(AIO_SUBMIT, cell, queue, aio, 0, 0, 0, 0), cell);
        } catch (Throwable e) {
            throw impossible(e);
        }
    }

    static int aioCancel(Memory cell, long queue, long aio) {
        try {
            return result((int) call(AIO_CANCEL, cell, queue, aio, 0, 0, 0, 0), cell);
        } catch (Throwable e) {
            throw impossible(e);
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
