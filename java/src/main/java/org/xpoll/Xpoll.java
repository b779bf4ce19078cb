package org.xpoll;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * The constants of the event level, and what can be asked or done without a queue.
 *
 * <p>Names and values are those of {@code xpoll.h} without the prefix, which are FreeBSD's where it
 * has them; xpoll_event(3) is the reference. All methods may be called by any thread.
 */
public final class Xpoll {
    /** Create or modify a registration; never makes a second one. */
    public static final int ADD = 0x0001;
    /** Remove a registration. */
    public static final int DELETE = 0x0002;
    /** Deliver its events again. */
    public static final int ENABLE = 0x0004;
    /** Deliver nothing until {@link #ENABLE}. */
    public static final int DISABLE = 0x0008;
    /** Deliver once, then delete. */
    public static final int ONESHOT = 0x0010;
    /** Edge: once per new activity. */
    public static final int CLEAR = 0x0020;
    /** Return the status of this change. */
    public static final int RECEIPT = 0x0040;
    /** Deliver once, then disable. */
    public static final int DISPATCH = 0x0080;
    /** {@link #ADD} leaves the udata of an existing registration. */
    public static final int KEEPUDATA = 0x0200;
    /** A change other than {@link #ADD} writes the udata, too. */
    public static final int SETUDATA = 0x0400;
    /** At the poll-like level: ONESHOT and DISPATCH act on all directions of the descriptor. */
    public static final int WHOLE = 0x0800;
    /** In an event: data is the error number of a change, or 0. */
    public static final int ERROR = 0x4000;
    /** In an event: end of file, or the peer is gone. */
    public static final int EOF = 0x8000;

    /** Readable; ident is a descriptor. */
    public static final short FILT_READ = -1;
    /** Writable; ident is a descriptor. */
    public static final short FILT_WRITE = -2;
    /** An {@link Aio} is over; ident is {@link Aio#ident()}. */
    public static final short FILT_AIO = -3;
    /** What happens to a file; ident is its descriptor. */
    public static final short FILT_VNODE = -4;
    /** What a process does; ident is its number. */
    public static final short FILT_PROC = -5;
    /** Deliveries of a signal, whose action is taken as well; ident is its number. */
    public static final short FILT_SIGNAL = -6;
    /** Time; ident is any number. */
    public static final short FILT_TIMER = -7;
    /** The program's own event; ident is any number. */
    public static final short FILT_USER = -11;
    /** Everything written has left; ident is a descriptor. */
    public static final short FILT_EMPTY = -13;
    /** Urgent data; ident is a descriptor. */
    public static final short FILT_EXCEPT = -15;

    /** The operation of {@link EventQueue#read}. */
    public static final int AIO_READ = 1;
    /** The operation of {@link EventQueue#write}. */
    public static final int AIO_WRITE = 2;
    /** A sync of a file and of all its metadata; see {@link EventQueue#sync}. */
    public static final int AIO_FSYNC = 3;
    /** A sync of a file and of what it takes to read it; see {@link EventQueue#sync}. */
    public static final int AIO_FDATASYNC = 4;

    /** READ, WRITE: ready when there are at least {@code data} bytes. */
    public static final int NOTE_LOWAT = 0x00000001;
    /** READ, WRITE: fill {@code data} with a count of bytes. */
    public static final int NOTE_COUNT = 0x00010000;
    /** READ, WRITE: with EOF, take the socket's error into {@code fflags}. */
    public static final int NOTE_SOERR = 0x00020000;
    /** READ, WRITE: a shared listener; wake few. A hint. */
    public static final int NOTE_EXCLUSIVE = 0x00040000;
    /** EXCEPT: out-of-band data. */
    public static final int NOTE_OOB = 0x00000002;
    /** USER: leave the flags. */
    public static final int NOTE_FFNOP = 0x00000000;
    /** USER: and the flags. */
    public static final int NOTE_FFAND = 0x40000000;
    /** USER: or the flags. */
    public static final int NOTE_FFOR = 0x80000000;
    /** USER: copy the flags. */
    public static final int NOTE_FFCOPY = 0xc0000000;
    /** USER: the bits of the four above. */
    public static final int NOTE_FFCTRLMASK = 0xc0000000;
    /** USER: the bits that are the program's. */
    public static final int NOTE_FFLAGSMASK = 0x00ffffff;
    /** USER: make it ready. */
    public static final int NOTE_TRIGGER = 0x01000000;
    /** TIMER: {@code data} is in seconds. */
    public static final int NOTE_SECONDS = 0x00000001;
    /** TIMER: {@code data} is in milliseconds, as it is without a unit. */
    public static final int NOTE_MSECONDS = 0x00000002;
    /** TIMER: {@code data} is in microseconds. */
    public static final int NOTE_USECONDS = 0x00000004;
    /** TIMER: {@code data} is in nanoseconds. */
    public static final int NOTE_NSECONDS = 0x00000008;
    /** TIMER: {@code data} is a moment of the real-time clock; the timer expires once. */
    public static final int NOTE_ABSTIME = 0x00000010;
    /** TIMER, with ABSTIME: a moment of the monotonic clock; {@link System#nanoTime} may differ. */
    public static final int NOTE_MONOTONIC = 0x00000020;
    /** SIGNAL: accept the signal if all threads block it. */
    public static final int NOTE_ACCEPT = 0x00000001;
    /** PROC: it ended; {@code data} is its wait status. */
    public static final int NOTE_EXIT = 0x80000000;
    /** PROC: it forked. */
    public static final int NOTE_FORK = 0x40000000;
    /** PROC: it executed a program. */
    public static final int NOTE_EXEC = 0x20000000;
    /** PROC: follow its children. */
    public static final int NOTE_TRACK = 0x00000001;
    /** PROC, in an event: a child was missed. */
    public static final int NOTE_TRACKERR = 0x00000002;
    /** PROC, in an event: a new child; {@code data} is its parent. */
    public static final int NOTE_CHILD = 0x00000004;
    /** PROC, in an event: the system does not report the wait status. */
    public static final int NOTE_STATUS_UNKNOWN = 0x00000008;
    /** VNODE: its last name was removed. */
    public static final int NOTE_DELETE = 0x00000001;
    /** VNODE: written to. */
    public static final int NOTE_WRITE = 0x00000002;
    /** VNODE: it grew. */
    public static final int NOTE_EXTEND = 0x00000004;
    /** VNODE: its attributes changed. */
    public static final int NOTE_ATTRIB = 0x00000008;
    /** VNODE: its number of links changed. */
    public static final int NOTE_LINK = 0x00000010;
    /** VNODE: renamed. */
    public static final int NOTE_RENAME = 0x00000020;
    /** VNODE: its file system was unmounted. */
    public static final int NOTE_REVOKE = 0x00000040;
    /** VNODE: opened. */
    public static final int NOTE_OPEN = 0x00000080;
    /** VNODE: closed; was open for reading only. */
    public static final int NOTE_CLOSE = 0x00000100;
    /** VNODE: closed; was open for writing. */
    public static final int NOTE_CLOSE_WRITE = 0x00000200;
    /** VNODE: read from. */
    public static final int NOTE_READ = 0x00000400;
    /** VNODE: it shrank. */
    public static final int NOTE_TRUNCATE = 0x00001000;

    private Xpoll() {}

    /**
     * The version of the library that runs.
     *
     * @return such as {@code "1.0.0"}
     */
    public static String version() {
        NativeLibrary.load();
        return NativeLibrary.text(Native.version());
    }

    /**
     * The back ends that work here.
     *
     * @return their names, best first: on Linux some of "epoll", "poll", "select"
     */
    public static String[] backends() {
        NativeLibrary.load();
        return Native.backends();
    }

    /**
     * Whether a queue on the default back end can register this filter with these notes.
     *
     * @param filter one of {@code FILT_...}
     * @param fflags all the notes that it has to support, or 0
     * @return whether {@link EventQueue} would accept it
     */
    public static boolean supports(short filter, int fflags) {
        NativeLibrary.load();
        return Native.supports(0, filter, fflags);
    }

    /**
     * Removes a descriptor from every queue of this process and closes it. This is exact, even if
     * another thread meanwhile opens a file that gets the same number.
     *
     * <p>"Every queue" includes those of other class loaders, and of C code that uses the shared
     * library, unless they use another library file or another version.
     *
     * <p>Use this only for descriptors that no object of the JDK owns: that object would later
     * close the number again, which may then be another file. In a {@link Poller} the descriptor
     * stays a member, which no wait reports, until it is removed or added again.
     *
     * @param fd the descriptor
     * @throws XpollException EBADF, or what close(2) gives
     * @throws IllegalArgumentException for a file of the Java installation, from which the virtual
     *     machine reads its classes; nothing was closed
     */
    public static void closeFd(int fd) throws IOException {
        if (isMachines(fd)) {
            throw new IllegalArgumentException("descriptor " + fd
                    + " is used by the virtual machine");
        }
        NativeLibrary.load();
        int rc = Native.closeFd(fd);
        if (rc < 0) {
            throw new XpollException("close descriptor " + fd, -rc);
        }
    }

    /**
     * Removes a descriptor from every queue of this process, as {@link #closeFd} does. Call this
     * before an object that owns the descriptor is closed, if it is not known who registered it. In
     * a {@link Poller} the descriptor stays a member, which no wait reports, until it is removed or
     * added again.
     *
     * @param fd the descriptor
     * @throws XpollException EBADF for a negative number
     */
    public static void forgetFd(int fd) throws IOException {
        NativeLibrary.load();
        int rc = Native.forgetFd(fd);
        if (rc < 0) {
            throw new XpollException("forget descriptor " + fd, -rc);
        }
    }

    private static boolean isMachines(int fd) {
        try {
            return Files.readSymbolicLink(Path.of("/proc/self/fd", Integer.toString(fd)))
                    .startsWith(Path.of(System.getProperty("java.home")).toRealPath());
        } catch (IOException e) {
            return false; // It is not open, or this system does not report it.
        }
    }
}
