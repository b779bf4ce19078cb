package org.xpoll.nio;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.lang.ref.WeakReference;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.spi.SelectorProvider;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import org.xpoll.EventList;
import org.xpoll.EventQueue;
import org.xpoll.Events;
import org.xpoll.Poller;
import org.xpoll.Xpoll;
import org.xpoll.XpollException;
import sun.nio.ch.Net;
import sun.nio.ch.SelChImpl;
import sun.nio.ch.SelectionKeyImpl;
import sun.nio.ch.SelectorImpl;

/**
 * A selector over an {@link EventQueue}: a selection is one call of the library, whatever is ready.
 *
 * <p>The superclass has the sets of keys, and holds this selector's monitor around each of
 * doSelect, implDereg and implClose. Only {@link #wakeup} and {@link #setEventOps} are called by
 * threads that do not hold it.
 *
 * <p>A key whose interest is empty stays in the queue: that makes its next change free. So does the
 * descriptor of a channel that is deregistered and open, since many programs register it again for
 * the next request. If it is closed meanwhile, the number's next channel is another object, and
 * what the queue has of the number is deleted first.
 */
final class XpollSelector extends SelectorImpl {
    private static final int MOST_EVENTS = 1024;
    private static final int FIRST_EVENTS = 16;
    /** A key has one for reading and one for writing at most. */
    private static final int MOST_CHANGES = 2;

    private final EventQueue queue = EventQueue.openAllReady();
    /** Room for two events of each key, up to the most: a selection returns all that are ready. */
    private EventList events = new EventList(FIRST_EVENTS);
    private final EventList changes = new EventList(MOST_CHANGES);

    /** Of the superclass; asking for it is refused once the selector is closed. */
    private final Set<SelectionKey> selected = selectedKeys();

    /** How many descriptors have a key. */
    private int present;
    /** The keys by descriptor, and the channel of the last key of each. */
    private SelectionKeyImpl[] keys = new SelectionKeyImpl[64];
    private WeakReference<?>[] channels = new WeakReference<?>[64];
    /** What the queue has of each, as POLLIN and POLLOUT. */
    private byte[] registered = new byte[64];
    private byte[] enabled = new byte[64];
    /** What a selection has found, until it is handed to the key. */
    private byte[] found = new byte[64];

    /**
     * Keys whose interest may have changed. A selection in progress must not see a change, so they
     * wait for the next one; it takes all of them, in exchange for the empty queue.
     */
    private final Object updateLock = new Object();
    private ArrayDeque<SelectionKeyImpl> changed = new ArrayDeque<>();
    private ArrayDeque<SelectionKeyImpl> taken = new ArrayDeque<>();
    /** Whether there are any; read without the lock, which most selections then do not need. */
    private volatile boolean anyChanged;

    /**
     * A wakeup that no selection has answered. The queue's own outlives a wait that returns
     * events, so what it returns without this is no reason to end a selection.
     */
    private final AtomicBoolean woken = new AtomicBoolean();

    XpollSelector(SelectorProvider provider) throws IOException {
        super(provider);
    }

    @Override
    protected int doSelect(Consumer<SelectionKey> action, long timeout) throws IOException {
        applyChanges();
        processDeregisterQueue();
        makeRoom();
        try {
            await(timeout);
        } finally {
            // Whoever called wakeup before this finds its work done when the selection returns.
            if (woken.get()) {
                woken.set(false);
            }
        }
        processDeregisterQueue();
        return handOut(action);
    }

    private void makeRoom() {
        int wanted = Math.min(MOST_EVENTS, MOST_CHANGES * present);
        if (wanted > events.capacity()) {
            events = new EventList(Math.min(MOST_EVENTS, 2 * wanted));
        }
    }

    /** Reading and writing are two events, and one call of the action. */
    private int handOut(Consumer<SelectionKey> action) throws IOException {
        int size = events.size();
        for (int i = 0; i < size; i++) {
            found[(int) events.ident(i)] |= (byte) bit(events.filter(i));
        }
        int updated = 0;
        int next = 0;
        try {
            while (next < size) {
                int fd = (int) events.ident(next++);
                int bits = found[fd];
                SelectionKeyImpl key = keys[fd];
                found[fd] = 0;
                if (bits != 0 && key != null) {
                    updated += processReadyEvents(action != null ? bits : exact(bits, fd, key),
                            key, action);
                }
            }
        } finally {
            while (next < size) {
                found[(int) events.ident(next++)] = 0;
            }
        }
        return updated;
    }

    /**
     * An error or a hang-up makes all of the interest ready, which both events say as well. But of
     * a key that is still selected it also takes back what is no longer of interest: of such a key
     * it has to be known which it was.
     */
    private int exact(int bits, int fd, SelectionKeyImpl key) throws IOException {
        if ((key.nioReadyOps() & ~key.nioInterestOps()) == 0 || !selected.contains(key)) {
            return bits;
        }
        try (Poller poller = new Poller(1)) {
            Events now = new Events(1);
            poller.addFd(fd, bits, null);
            return poller.pollMillis(now, 0) > 0 ? bits | now.events(0) : bits;
        }
    }

    // --- Waiting -----------------------------------------------------------------

    /** Fills events; milliseconds, 0 only looks, negative is for ever. */
    private void await(long timeout) throws IOException {
        long nanos = timeout <= 0 ? timeout : Math.min(timeout, Integer.MAX_VALUE) * 1_000_000;
        long deadline = timeout > 0 ? System.nanoTime() + nanos : 0;
        while (nanos != 0 && !woken.get() && !Thread.currentThread().isInterrupted()) {
            try {
                if (queue.awaitNanos(null, events, nanos) > 0 || woken.get()) {
                    return; // A wait that a wakeup ends has polled the kernel.
                }
            } catch (InterruptedIOException e) {
                break; // The thread's status says so, too.
            }
            if (timeout > 0) {
                nanos = Math.max(deadline - System.nanoTime(), 0);
            }
        }
        queue.awaitNanos(null, events, 0);
    }

    @Override
    public Selector wakeup() {
        if (!woken.getAndSet(true)) {
            queue.wakeup();
        }
        return this;
    }

    // --- Keys ----------------------------------------------------------------------

    @Override
    protected void setEventOps(SelectionKeyImpl key) {
        synchronized (updateLock) {
            changed.addLast(key);
            anyChanged = true;
        }
    }

    /**
     * Applies all changes. A key that the system refuses is reported by one exception, after the
     * changes of all other keys, and is tried again when its interest changes.
     */
    private void applyChanges() throws IOException {
        if (taken.isEmpty() && anyChanged) {
            synchronized (updateLock) {
                ArrayDeque<SelectionKeyImpl> empty = taken;
                taken = changed;
                changed = empty;
                anyChanged = false;
            }
        }
        IOException refused = null;
        SelectionKeyImpl key;
        while ((key = taken.pollFirst()) != null) {
            try {
                if (key.isValid()) {
                    apply(key);
                }
            } catch (IOException e) {
                IOException next = new IOException("the key of " + key.channel()
                        + " is not selected until its interest changes: "
                        + e.getMessage(), e);
                if (refused == null) {
                    refused = next;
                } else {
                    refused.addSuppressed(next);
                }
            }
        }
        if (refused != null) {
            throw refused;
        }
    }

    private void apply(SelectionKeyImpl key) throws IOException {
        SelChImpl channel = (SelChImpl) key.channel();
        int fd = channel.getFDVal();
        int bits = channel.translateInterestOps(key.nioInterestOps()) & (Net.POLLIN | Net.POLLOUT);
        enter(fd, key);
        int add = bits & ~registered[fd];
        int enable = bits & registered[fd] & ~enabled[fd];
        int disable = enabled[fd] & ~bits;
        if ((add | enable | disable) == 0) {
            return;
        }
        changes.clear();
        put(fd, add, Xpoll.ADD);
        put(fd, enable, Xpoll.ENABLE);
        put(fd, disable, Xpoll.DISABLE);
        try {
            queue.apply(changes);
            registered[fd] |= (byte) add;
            enabled[fd] = (byte) bits;
        } catch (IOException e) {
            // A channel that was made blocking after its key was cancelled may be closed by now.
            if (key.isValid()) {
                throw e;
            }
        }
    }

    private void put(int fd, int bits, int flags) {
        if ((bits & Net.POLLIN) != 0) {
            changes.put(fd, Xpoll.FILT_READ, flags, 0, 0, 0);
        }
        if ((bits & Net.POLLOUT) != 0) {
            changes.put(fd, Xpoll.FILT_WRITE, flags, 0, 0, 0);
        }
    }

    private static int bit(short filter) {
        return filter == Xpoll.FILT_READ ? Net.POLLIN : Net.POLLOUT;
    }

    /** The key of a descriptor; one before it was cancelled, and its channel is closed. */
    private void enter(int fd, SelectionKeyImpl key) throws IOException {
        if (fd >= keys.length) {
            int length = Math.max(keys.length * 2, fd + 1);
            keys = Arrays.copyOf(keys, length);
            channels = Arrays.copyOf(channels, length);
            registered = Arrays.copyOf(registered, length);
            enabled = Arrays.copyOf(enabled, length);
            found = Arrays.copyOf(found, length);
        }
        if (keys[fd] == key) {
            return;
        }
        if (channels[fd] == null || channels[fd].get() != key.channel()) {
            update(fd, registered[fd], Xpoll.DELETE);
            registered[fd] = 0;
            enabled[fd] = 0;
            channels[fd] = new WeakReference<>(key.channel());
        }
        present += keys[fd] == null ? 1 : 0;
        keys[fd] = key;
    }

    @Override
    protected void implDereg(SelectionKeyImpl key) throws IOException {
        int fd = ((SelChImpl) key.channel()).getFDVal();
        if (fd >= keys.length || keys[fd] != key) {
            return;
        }
        keys[fd] = null;
        present--;
        if (key.channel().isOpen()) {
            update(fd, enabled[fd], Xpoll.DISABLE);
        } else {
            update(fd, registered[fd], Xpoll.DELETE);
            registered[fd] = 0;
            channels[fd] = null;
        }
        enabled[fd] = 0;
    }

    /** Of what is gone already, since its descriptor was closed, nothing is left to do. */
    private void update(int fd, int bits, int flags) throws IOException {
        if (bits == 0) {
            return;
        }
        changes.clear();
        put(fd, bits, flags);
        try {
            queue.apply(changes);
        } catch (XpollException e) {
            if (!e.errorName().equals("ENOENT") && !e.errorName().equals("EBADF")) {
                throw e;
            }
        }
    }

    @Override
    protected void implClose() {
        queue.close();
    }
}
