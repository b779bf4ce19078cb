package org.xpoll;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.sun.management.ThreadMXBean;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * In its steady state waiting makes no garbage, nor does what goes with it: not a byte in three
 * rounds of calls. The steady state is reached when everything is compiled; these tests run with
 * -Xbatch, by which that is a matter of how many calls there were, not of how busy the machine is.
 */
@Timeout(600)
class AllocationTest {
    private static final int CALLS = 10_000;
    private static final int SLOW_CALLS = 100;
    private static final int ROUNDS_IN_A_ROW = 3;
    private static final int ROUNDS_MOST = 150;

    private final ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    private final int[] pipe = Posix.pipe();
    private final Events events = new Events(8);
    private final int[] fds = new int[8];
    private final short[] revents = new short[8];
    private Poller poller;

    private interface Body {
        void run() throws IOException;
    }

    @BeforeEach
    void open() throws IOException {
        poller = new Poller();
        poller.addFd(pipe[0], Poller.POLLIN, "attachment");
        poller.addFd(pipe[1], Poller.POLLOUT, "attachment");
    }

    @AfterEach
    void close() {
        poller.close();
        Posix.close(pipe);
    }

    private long bytesOf(int calls, Body body) throws IOException {
        long before = threads.getCurrentThreadAllocatedBytes();
        for (int i = 0; i < calls; i++) {
            body.run();
        }
        return threads.getCurrentThreadAllocatedBytes() - before;
    }

    private void isFree(Body body) throws IOException {
        isFree(CALLS, body);
    }

    private void isFree(int calls, Body body) throws IOException {
        int inARow = 0;
        long bytes = 0;
        for (int i = 0; i < ROUNDS_MOST && inARow < ROUNDS_IN_A_ROW; i++) {
            bytes = bytesOf(calls, body);
            inARow = bytes == 0 ? inARow + 1 : 0;
        }
        assertEquals(ROUNDS_IN_A_ROW, inARow, "rounds without garbage; the last made "
                + bytes + " bytes in " + calls + " calls");
    }

    @Test
    void theMeasure_seesOneObject() throws IOException {
        Object[] kept = new Object[1];
        long bytes = bytesOf(1, () -> kept[0] = new Object());
        assertEquals(true, bytes >= 8 && kept[0] != null, "bytes: " + bytes);
    }

    @Test
    void poll_intoEvents_allocatesNothing() throws IOException {
        isFree(() -> poller.pollMillis(events, -1));
        isFree(() -> poller.pollMillis(events, 0));
        isFree(() -> poller.pollMillis(events, 1000));
    }

    @Test
    void poll_withHandler_allocatesNothing() throws IOException {
        isFree(() -> poller.pollMillis(-1, (fd, bits, attachment) -> {}));
    }

    @Test
    void waitMultiple_inEachForm_allocatesNothing() throws IOException {
        isFree(() -> poller.waitMultiple(fds, revents));
        isFree(() -> poller.waitMultiple(fds, revents, 1000));
        isFree(() -> poller.waitMultiple(fds, revents, 0));
        isFree(() -> poller.waitMultiple(1, fds, revents));
        isFree(() -> poller.waitMultiple(1, fds, revents, 1000));
        isFree(() -> poller.waitMultiple(0, null, null, 1000));
    }

    /** What sleeps is under the guard by which an interrupt would end it. */
    @Test
    void waits_thatSleep_allocateNothing() throws IOException {
        poller.disable(pipe[1]);
        isFree(SLOW_CALLS, () -> poller.pollMillis(events, 1));
        isFree(SLOW_CALLS, () -> poller.waitMultiple(fds, revents, 1));
    }

    @Test
    void changes_allocateNothing() throws IOException {
        int[] one = {pipe[0]};
        isFree(() -> poller.disable(pipe[1]));
        isFree(() -> poller.enable(pipe[1]));
        isFree(() -> poller.enable(one, 1));
        isFree(() -> poller.disable(one, 1));
        isFree(() -> poller.modify(pipe[1], Poller.POLLOUT));
    }

    @Test
    void wakeup_allocatesNothing() throws IOException {
        poller.disable(pipe[1]);
        isFree(() -> {
            poller.wakeup();
            poller.pollMillis(events, -1);
        });
    }

    @Test
    void queue_changesAndEvents_allocateNothing() throws IOException {
        try (EventQueue queue = new EventQueue()) {
            EventList changes = new EventList(1);
            EventList found = new EventList(4);
            isFree(() -> {
                changes.clear().put(1, Xpoll.FILT_USER, Xpoll.ADD | Xpoll.ONESHOT,
                        Xpoll.NOTE_TRIGGER, 0, 0);
                queue.awaitNanos(changes, found, -1);
            });
            // A microsecond is slept under the guard.
            isFree(() -> queue.awaitNanos(null, found, 1000));
            isFree(() -> queue.awaitNanos(null, found, 0));
            changes.clear().put(pipe[1], Xpoll.FILT_WRITE, Xpoll.ADD, 0, 0, 0);
            queue.apply(changes);
            isFree(() -> queue.awaitNanos(null, found, -1));
            isFree(() -> queue.apply(changes));
        }
    }
}
