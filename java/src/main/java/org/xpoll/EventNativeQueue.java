package org.xpoll;

import java.io.IOException;
import java.util.HashMap;
import java.util.Map;

/** The queue, with the list that the thread that has the turn waits for. */
final class EventNativeQueue extends NativeQueue {
    /** SIGILL, SIGTRAP, SIGBUS, SIGFPE, SIGSEGV: the virtual machine's own. */
    private static final long MACHINE_SIGNALS = 1L << 4 | 1L << 5 | 1L << 7 | 1L << 8 | 1L << 11;

    EventList events;
    /** For the thread that has the turn. */
    final Waiter waiter = new Waiter() {
        @Override
        int nativeWait(long address, long nanos) {
            return Native.event(errno, address, events.memory(), 0, events.memory(),
                    events.capacity(), nanos);
        }
    };
    /** Operations in flight, by the address of their memory; under changes. */
    private final Map<Long, Aio> operations = new HashMap<>();
    /** How many; not less than there are. */
    private volatile int inFlight;

    EventNativeQueue(QueueOptions options) throws IOException {
        super(options);
        try {
            EventList.checkLayout();
        } catch (Throwable e) {
            close();
            throw e;
        }
    }

    /** Throws if one of these changes cannot be made. */
    static void check(EventList changes) {
        for (int i = 0; i < changes.size(); i++) {
            long number = changes.rawIdent(i);
            if (changes.rawFilter(i) == Xpoll.FILT_AIO) {
                throw new IllegalArgumentException("AIO cannot be registered: call read,"
                        + " write or sync to start an operation, and cancel to end it");
            }
            if (changes.rawFilter(i) == Xpoll.FILT_SIGNAL && number >= 0 && number < 64
                    && (MACHINE_SIGNALS >> number & 1) != 0) {
                throw new IllegalArgumentException("signal " + number
                        + " is used by the virtual machine");
            }
        }
    }

    /** Started, or refused: a negative error number. */
    int start(Aio aio) throws IOException {
        synchronized (changes) {
            long queue = address();
            operations.put(aio.ident(), aio);
            inFlight = operations.size();
            int rc = Native.aioSubmit(changeErrno, queue, aio.ident());
            if (rc < 0) {
                operations.remove(aio.ident());
                inFlight = operations.size();
            }
            return rc;
        }
    }

    boolean cancel(Aio aio) throws IOException {
        synchronized (changes) {
            long queue = address();
            if (operations.get(aio.ident()) != aio) {
                return false;
            }
            int rc = Native.aioCancel(changeErrno, queue, aio.ident());
            if (rc < 0 && rc != -Errno.ENOENT) {
                throw new XpollException("cancel", -rc);
            }
            return rc >= 0;
        }
    }

    /** Operations that these events end are let go of. */
    void finish(EventList events, int count) {
        if (inFlight == 0) {
            return;
        }
        synchronized (changes) {
            for (int i = 0; i < count; i++) {
                Aio aio = events.isEventOf(Xpoll.FILT_AIO, i)
                        ? operations.remove(events.rawIdent(i)) : null;
                if (aio != null) {
                    aio.finish();
                }
            }
            inFlight = operations.size();
        }
    }

    @Override
    void destroyed() {
        operations.values().forEach(Aio::finish);
        operations.clear();
    }
}
