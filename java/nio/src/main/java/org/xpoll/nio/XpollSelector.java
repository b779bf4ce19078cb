package org.xpoll.nio;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.spi.SelectorProvider;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import org.xpoll.Events;
import org.xpoll.Poller;
import sun.nio.ch.SelChImpl;
import sun.nio.ch.SelectionKeyImpl;
import sun.nio.ch.SelectorImpl;

/**
 * A selector over a {@link Poller}.
 *
 * <p>The superclass has the sets of keys, and holds this selector's monitor around each of
 * doSelect, implDereg and implClose. Only {@link #wakeup} and {@link #setEventOps} are called by
 * threads that do not hold it.
 *
 * <p>A key whose interest is empty stays in the poller: that makes its next change free. It is
 * there until it is deregistered, which is before its descriptor is closed.
 */
final class XpollSelector extends SelectorImpl {
    private static final int MOST_EVENTS = 1024;
    /** In place of poll(2)'s bits: the poller does not know the descriptor. */
    private static final int ABSENT = -1;

    private final Poller poller = Poller.openAllReady(Integer.MAX_VALUE);
    private final Events events = new Events(MOST_EVENTS);

    /** The keys by descriptor, and the bits that the poller knows of each. */
    private SelectionKeyImpl[] keys = new SelectionKeyImpl[64];
    private int[] known = new int[64];

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
     * A wakeup that no selection has answered. The poller's own outlives a wait that returns
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
        try {
            await(timeout);
        } finally {
            // Whoever called wakeup before this finds its work done when the selection returns.
            if (woken.get()) {
                woken.set(false);
            }
        }
        processDeregisterQueue();
        int updated = 0;
        for (int i = 0; i < events.size(); i++) {
            SelectionKeyImpl key = (SelectionKeyImpl) events.attachment(i);
            if (keys[events.fd(i)] == key) {
                updated += processReadyEvents(events.events(i), key, action);
            }
        }
        return updated;
    }

    // --- Waiting -----------------------------------------------------------------

    /** Fills events; milliseconds, 0 only looks, negative is for ever. */
    private void await(long timeout) throws IOException {
        long millis = Math.min(timeout, Integer.MAX_VALUE);
        long deadline = timeout > 0 ? System.nanoTime() + millis * 1_000_000 : 0;
        while (millis != 0 && !woken.get() && !Thread.currentThread().isInterrupted()) {
            try {
                if (poller.poll(events, millis) > 0) {
                    return;
                }
            } catch (InterruptedIOException e) {
                break; // The thread's status says so, too.
            }
            if (timeout > 0) {
                millis = Math.max(deadline - System.nanoTime() + 999_999, 0) / 1_000_000;
            }
        }
        poller.poll(events, 0);
    }

    @Override
    public Selector wakeup() {
        if (!woken.getAndSet(true)) {
            poller.wakeup();
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

    /** One that is refused stays, and is tried again by the next selection. */
    private void applyChanges() throws IOException {
        if (taken.isEmpty() && anyChanged) {
            synchronized (updateLock) {
                ArrayDeque<SelectionKeyImpl> empty = taken;
                taken = changed;
                changed = empty;
                anyChanged = false;
            }
        }
        SelectionKeyImpl key;
        while ((key = taken.peekFirst()) != null) {
            if (key.isValid()) {
                apply(key);
            }
            taken.removeFirst();
        }
    }

    private void apply(SelectionKeyImpl key) throws IOException {
        SelChImpl channel = (SelChImpl) key.channel();
        int fd = channel.getFDVal();
        int bits = channel.translateInterestOps(key.nioInterestOps());
        try {
            enter(fd, key);
            if (known[fd] == ABSENT && bits != 0) {
                poller.addFd(fd, bits, key);
                known[fd] = bits;
            } else if (known[fd] != ABSENT && known[fd] != bits) {
                poller.modify(fd, bits);
                known[fd] = bits;
            }
        } catch (IOException e) {
            // A channel that was made blocking after its key was cancelled may be closed by now.
            if (key.isValid()) {
                throw e;
            }
        }
    }

    /** The key of a descriptor; one before it was cancelled, and its channel is closed. */
    private void enter(int fd, SelectionKeyImpl key) throws IOException {
        if (fd >= keys.length) {
            int length = Math.max(keys.length * 2, fd + 1);
            keys = Arrays.copyOf(keys, length);
            known = Arrays.copyOf(known, length);
        }
        if (keys[fd] != key) {
            leave(fd);
            keys[fd] = key;
        }
    }

    private void leave(int fd) throws IOException {
        if (keys[fd] != null && known[fd] != ABSENT) {
            poller.removeFd(fd);
        }
        keys[fd] = null;
        known[fd] = ABSENT;
    }

    @Override
    protected void implDereg(SelectionKeyImpl key) throws IOException {
        int fd = ((SelChImpl) key.channel()).getFDVal();
        if (fd < keys.length && keys[fd] == key) {
            leave(fd);
        }
    }

    @Override
    protected void implClose() {
        poller.close();
    }
}
