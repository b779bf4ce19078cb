package org.xpoll;

import java.io.IOException;
import java.lang.ref.Reference;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.EnumSet;
import java.util.Set;

/**
 * A directory and all below it as one thing to watch.
 *
 * <p>Directories that are made, moved, removed or replaced are followed, and what is in a new
 * directory is reported even if it was made before that directory was watched. The reference is the
 * manual page xpoll_tree_open(3).
 *
 * <p>One thread at a time may wait; {@link #wake} and {@link #close} are for any thread. Names that
 * are not UTF-8 are reported with replacement characters.
 */
public final class Tree implements AutoCloseable {
    private static final int OPTIONS_BYTES = 32;
    private static final int CHANGE_BYTES = 32;

    /** What a tree is to do that it does not do by itself. */
    public enum Option {
        /** Leave the directories below it alone. */
        FLAT,
        /** Enter directories that symbolic links lead to. */
        LINKS
    }

    /** What has happened. */
    public enum Kind {
        /** The entry is new. */
        CREATE,
        /** The entry is gone; what was below a directory is reported before it. */
        DELETE,
        /** The entry has another path now, and all below it as well. */
        RENAME,
        /** The notes have happened to the file, or to the attributes of a directory. */
        CHANGE,
        /** Reports were dropped: anything below the path may have changed. */
        LOOK,
        /** The directory cannot be watched now, because of the error. */
        UNWATCHED,
        /** The directory of the tree is gone or has another name; no change follows. */
        END
    }

    /**
     * A change.
     *
     * @param kind what has happened
     * @param path below the directory of the tree; empty for the directory itself
     * @param to the new path of a RENAME, otherwise null
     * @param notes of CHANGE and END: {@code Xpoll.NOTE_WRITE} and the like
     * @param errno of UNWATCHED: the error number
     */
    public record Change(Kind kind, String path, @Nullable String to, int notes, int errno) {}

    /** The calls of xpoll_tree.h. */
    private static final class Calls {
        static final long OPEN = Native.find("xpoll_tree_open");
        static final long NEXT = Native.find("xpoll_tree_next");
        static final long WAKE = Native.find("xpoll_tree_wake");
        static final long CLOSE = Native.find("xpoll_tree_close");
    }

    private static final Kind[] KINDS = Kind.values();

    private final Memory errno = Native.errnoCell();
    private final Memory change = new Memory(CHANGE_BYTES);
    private long tree; // 0: closed; with the lock of this object, like the next two
    private boolean waiting;
    private boolean closing;

    private Tree(long tree) {
        this.tree = tree;
    }

    /**
     * Watches the names in a directory and all below it.
     *
     * @param directory the directory
     * @return the tree, to be closed
     * @throws IOException if it cannot be watched
     */
    public static Tree open(Path directory) throws IOException {
        return open(directory, 0, EnumSet.noneOf(Option.class));
    }

    /**
     * Watches a directory and all below it.
     *
     * @param directory the directory
     * @param notes what to report about the contents of files: {@code Xpoll.NOTE_WRITE} and the
     *     like, or 0
     * @param wanted more that the tree is to do
     * @return the tree, to be closed
     * @throws IOException if it cannot be watched
     */
    public static Tree open(Path directory, int notes, Set<Option> wanted) throws IOException {
        Memory options = new Memory(OPTIONS_BYTES);
        Memory path = Memory.of(directory.toString());
        Memory errno = Native.errnoCell();
        options.bytes.putLong(0, OPTIONS_BYTES);
        options.bytes.putInt(8, (wanted.contains(Option.FLAT) ? 1 : 0)
                | (wanted.contains(Option.LINKS) ? 2 : 0));
        options.bytes.putInt(12, notes);
        long tree = call(Calls.OPEN, errno, path.address, options.address, 0);
        Reference.reachabilityFence(options);
        Reference.reachabilityFence(path);
        if (tree == 0) {
            throw refusal(directory, errno.bytes.getInt(0));
        }
        return new Tree(tree);
    }

    private static IOException refusal(Path directory, int error) {
        return switch (Errno.name(error)) {
            case "ENOENT" -> new NoSuchFileException(directory.toString());
            case "ENOTDIR" -> new NotDirectoryException(directory.toString());
            default -> new XpollException(directory.toString(), error);
        };
    }

    /**
     * Waits for the next change.
     *
     * @param timeout how long to wait; negative: for ever
     * @return the change, or null at the timeout and after {@link #wake}
     * @throws IOException with ESTALE after END
     * @throws QueueClosedException if the tree is closed, also by another thread meanwhile
     * @throws IllegalStateException if another thread waits
     */
    public @Nullable Change next(Duration timeout) throws IOException {
        long left = timeout.isNegative() ? -1 : nanos(timeout);
        long end = System.nanoTime() + left;
        int rc;
        long address = begin();
        try {
            while ((rc = waitOnce(address, left)) == -Errno.EINTR) {
                left = left < 0 ? -1 : Math.max(end - System.nanoTime(), 0);
            }
            if (rc < 0) {
                throw new XpollException("tree", -rc);
            }
            return rc == 0 ? null : found();
        } finally {
            end();
        }
    }

    private static long nanos(Duration timeout) {
        return timeout.compareTo(Duration.ofNanos(Long.MAX_VALUE)) < 0 ? timeout.toNanos()
                : Long.MAX_VALUE;
    }

    private int waitOnce(long address, long nanos) {
        int rc = (int) call(Calls.NEXT, errno, address, change.address, nanos);
        return rc >= 0 ? rc : -errno.bytes.getInt(0);
    }

    /** C's strings stay until the next call, which begins after this thread has ended its own. */
    private Change found() {
        int kind = change.bytes.getInt(0) - 1;
        long to = change.bytes.getLong(24);
        return new Change(kind < KINDS.length ? KINDS[kind] : Kind.LOOK,
                Foreign.text(change.bytes.getLong(16)), to == 0 ? null : Foreign.text(to),
                change.bytes.getInt(8), change.bytes.getInt(4));
    }

    private synchronized long begin() throws IOException {
        if (tree == 0 || closing) {
            throw new QueueClosedException();
        }
        if (waiting) {
            throw new IllegalStateException("another thread waits for this tree");
        }
        waiting = true;
        return tree;
    }

    private synchronized void end() throws IOException {
        waiting = false;
        if (closing) {
            release();
            throw new QueueClosedException();
        }
    }

    private void release() {
        long address = tree;
        tree = 0;
        closing = false;
        if (address != 0) {
            call(Calls.CLOSE, errno, address, 0, 0);
        }
    }

    /** Makes the wait of another thread return null, or else the next wait. */
    public synchronized void wake() {
        if (tree != 0) {
            call(Calls.WAKE, Native.errnoCell(), tree, 0, 0);
        }
    }

    /** Releases the tree; a wait of another thread ends. */
    @Override
    public synchronized void close() {
        if (waiting) {
            closing = true;
            wake();
        } else {
            release();
        }
    }

    private static long call(long function, Memory errno, long a, long b, long c) {
        try {
            return Foreign.call(function, errno, a, b, c, 0, 0, 0, 0);
        } catch (Throwable e) {
            throw Native.impossible(e);
        }
    }
}
