package org.xpoll;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.sun.management.ThreadMXBean;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Once it is compiled, waiting makes no garbage, nor does what goes with it. */
@Timeout(120)
class AllocationTest {
    private static final int CALLS = 20_000;
    /** What asking takes, and a rounding of the thread's buffer; less than a byte per call. */
    private static final long ALLOWED = CALLS / 2;

    private static final long PATIENCE_NANOS = 10_000_000_000L;

    private final int[] pipe = Posix.pipe();
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

    private static void becomesFree(Body body) throws Exception {
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        long end = System.nanoTime() + PATIENCE_NANOS;
        long bytes;
        do {
            long before = threads.getCurrentThreadAllocatedBytes();
            for (int i = 0; i < CALLS; i++) {
                body.run();
            }
            bytes = threads.getCurrentThreadAllocatedBytes() - before;
        } while (bytes > ALLOWED && System.nanoTime() < end);
        // The compiler decides when, and on a loaded machine whether in time.
        assumeTrue(bytes <= ALLOWED, "not compiled well in time: " + bytes / CALLS + " bytes");
    }

    @Test
    void poll_intoEvents_allocatesNothing() throws Exception {
        Events events = new Events(8);
        becomesFree(() -> poller.poll(events, -1));
        becomesFree(() -> poller.poll(events, 0));
        becomesFree(() -> poller.poll(events, 1000));
    }

    @Test
    void poll_withHandler_allocatesNothing() throws Exception {
        becomesFree(() -> poller.poll(-1, (fd, bits, attachment) -> {}));
    }

    @Test
    void waitMultiple_allocatesNothing() throws Exception {
        int[] fds = new int[8];
        short[] revents = new short[8];
        becomesFree(() -> poller.waitMultiple(fds, revents));
    }

    @Test
    void changes_allocateNothing() throws Exception {
        int[] one = {pipe[0]};
        becomesFree(() -> poller.disable(pipe[1]));
        becomesFree(() -> poller.enable(pipe[1]));
        becomesFree(() -> poller.enable(one, 1));
    }

    @Test
    void wakeup_allocatesNothing() throws Exception {
        Events events = new Events(8);
        poller.disable(pipe[1]);
        becomesFree(() -> {
            poller.wakeup();
            poller.poll(events, -1);
        });
    }

    @Test
    void queue_changesAndEvents_allocateNothing() throws Exception {
        try (EventQueue queue = new EventQueue()) {
            EventList changes = new EventList(1);
            EventList events = new EventList(4);
            becomesFree(() -> {
                changes.clear().put(1, Xpoll.FILT_USER, Xpoll.ADD | Xpoll.ONESHOT,
                        Xpoll.NOTE_TRIGGER, 0, 0);
                queue.await(changes, events, -1);
            });
        }
    }
}
