package org.xpoll;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.Parameter;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.MethodSource;

/** Events of every kind, on each back end. */
@ParameterizedClass
@MethodSource("org.xpoll.Xpoll#backends")
@Timeout(60)
class EventQueueTest {
    private static final int SIGALRM = 14;
    private static final int SIGWINCH = 28;
    private static final int SIGSEGV = 11;

    @Parameter String backend;
    private final int[] pipe = Posix.pipe();
    private final EventList changes = new EventList(8);
    private final EventList events = new EventList(8);
    private EventQueue queue;

    @BeforeEach
    void open() throws IOException {
        queue = EventQueue.open(backend);
        assertEquals(backend, queue.backend());
    }

    @AfterEach
    void close() {
        queue.close();
        Posix.close(pipe);
    }

    private String refusal() {
        return assertThrows(XpollException.class, () -> queue.apply(changes)).getMessage();
    }

    @Test
    void stats_countWaitsAndOnRequestIdleTime() throws IOException {
        long start = System.nanoTime();
        assertEquals(0, queue.awaitNanos(null, events, 2_000_000));
        assertEquals(0, queue.stats().idleNanos());
        assertTrue(queue.stats().waits() >= 1);
        changes.put(7, Xpoll.FILT_USER, Xpoll.ADD, 0, 0, 0);
        queue.apply(changes);
        assertEquals(1, queue.stats().registered());
        QueueOptions options = new QueueOptions().backend(backend).countIdle();
        try (EventQueue counting = EventQueue.open(options);
                Poller poller = Poller.open(options, 10)) {
            assertEquals(0, counting.awaitNanos(null, events, 2_000_000));
            assertEquals(0, poller.pollMillis(new Events(1), 2));
            for (long idle : new long[] {counting.stats().idleNanos(),
                    poller.stats().idleNanos()}) {
                assertTrue(idle > 0 && idle <= System.nanoTime() - start);
            }
        }
    }

    @Test
    void busyPolling_isOfEpollOrRefused() throws IOException {
        QueueOptions options = new QueueOptions().backend(backend).busyPoll(Duration.ofNanos(9000));
        try (EventQueue polling = EventQueue.open(options)) {
            assertEquals("epoll", polling.backend());
        } catch (UnsupportedOperationException e) {
            assertEquals("no busy polling on this back end or kernel", e.getMessage());
        }
        assertThrows(IllegalArgumentException.class, () -> options.busyPoll(Duration.ofHours(1)));
        assertThrows(IllegalArgumentException.class, () -> options.busyPoll(Duration.ofNanos(-1)));
    }

    @Test
    void refusals_nameTheChange() {
        changes.put(999, Xpoll.FILT_READ, Xpoll.ADD, 0, 0, 0);
        assertEquals("change READ ident=999 data=0 ADD: bad descriptor (EBADF)", refusal());
        changes.put(7, Xpoll.FILT_USER, Xpoll.DELETE, 0, 0, 0);
        assertEquals("one of 2 changes: bad descriptor (EBADF)", refusal());
        assertEquals("change USER ident=7 data=0 TRIGGER: no such registration (ENOENT)",
                assertThrows(XpollException.class, () -> queue.trigger(7)).getMessage());
        assertEquals("changes and events are the same list",
                assertThrows(IllegalStateException.class, () -> queue.awaitNanos(events, events, 0))
                        .getMessage());
    }

    @Test
    void await_readable_isReported() throws IOException {
        Posix.write(pipe[1], 3);
        changes.put(pipe[0], Xpoll.FILT_READ, Xpoll.ADD, Xpoll.NOTE_COUNT, 0, 0x1234567890L);
        assertEquals(1, queue.awaitNanos(changes, events, -1));
        assertEquals(pipe[0], events.ident(0));
        assertEquals(Xpoll.FILT_READ, events.filter(0));
        assertEquals(0, events.flags(0));
        assertEquals(3, events.data(0));
        assertEquals(0x1234567890L, events.udata(0));
        assertTrue(events.describe(0).startsWith("READ ident=" + pipe[0]), events.describe(0));
    }

    @Test
    void await_writable_isReportedWithItsEnd() throws IOException {
        int[] other = Posix.pipe();
        changes.put(other[1], Xpoll.FILT_WRITE, Xpoll.ADD, 0, 0, 6);
        assertEquals(1, queue.awaitNanos(changes, events, -1));
        assertEquals(Xpoll.FILT_WRITE, events.filter(0));
        assertEquals(other[1], events.ident(0));
        assertEquals(0, events.flags(0));
        Posix.close(other[0]);
        assertEquals(1, queue.awaitNanos(null, events, -1));
        assertEquals(Xpoll.EOF, events.flags(0));
        assertEquals(6, events.udata(0));
        Posix.close(other[1]);
    }

    @Test
    void await_buffersEmptied_isReported() throws IOException {
        Posix.write(pipe[1], 1);
        queue.apply(changes.put(pipe[1], Xpoll.FILT_EMPTY, Xpoll.ADD, 0, 0, 0));
        assertEquals(0, queue.awaitNanos(null, events, 0));
        assertEquals(1, Posix.read(pipe[0]));
        assertEquals(1, queue.awaitNanos(null, events, -1));
        assertEquals(Xpoll.FILT_EMPTY, events.filter(0));
        assertEquals(pipe[1], events.ident(0));
    }

    @Test
    void await_urgentData_isReported() throws Exception {
        InetAddress here = InetAddress.getLoopbackAddress();
        try (ServerSocket server = new ServerSocket(0, 1, here);
                Socket client = new Socket(here, server.getLocalPort());
                Socket accepted = server.accept()) {
            int fd = Poller.fdOf(accepted);
            queue.apply(changes.put(fd, Xpoll.FILT_EXCEPT, Xpoll.ADD, Xpoll.NOTE_OOB, 0, 0));
            assertEquals(0, queue.awaitNanos(null, events, 0));
            client.sendUrgentData(1);
            assertEquals(1, queue.awaitNanos(null, events, -1));
            assertEquals(Xpoll.FILT_EXCEPT, events.filter(0));
            assertEquals(fd, events.ident(0));
            assertEquals(Xpoll.NOTE_OOB, events.fflags(0));
        }
    }

    @Test
    void await_byVirtualThread_keepsNoCarrier() throws Exception {
        FutureTask<Integer> waiting = new FutureTask<>(() ->
                queue.awaitNanos(null, new EventList(1), -1));
        Thread thread = Thread.startVirtualThread(waiting);
        Until.yes(() -> thread.getState() == Thread.State.WAITING);
        // There is one carrier, which this needs.
        Thread.startVirtualThread(queue::wakeup).join();
        assertEquals(0, waiting.get());
    }

    @Test
    void await_failedChange_returnsItsStatus() throws IOException {
        Posix.write(pipe[1], 1);
        changes.put(pipe[0], Xpoll.FILT_READ, Xpoll.ADD, 0, 0, 0);
        changes.put(pipe[1], Xpoll.FILT_WRITE, Xpoll.DELETE, 0, 0, 7);
        changes.put(5, Xpoll.FILT_USER, Xpoll.ADD | Xpoll.RECEIPT, 0, 0, 8);
        assertEquals(2, queue.awaitNanos(changes, events, -1));
        assertEquals(Xpoll.ERROR, events.flags(0));
        assertEquals(Errno.ENOENT, events.data(0));
        assertEquals(7, events.udata(0));
        assertEquals(Xpoll.ERROR, events.flags(1));
        assertEquals(0, events.data(1));
        assertEquals(1, queue.awaitNanos(null, events, -1));
        assertEquals(pipe[0], events.ident(0));
    }

    @Test
    void apply_failedChange_throwsAndAppliesTheRest() throws IOException {
        changes.put(1, Xpoll.FILT_TIMER, Xpoll.DELETE, 0, 0, 0);
        changes.put(2, Xpoll.FILT_USER, Xpoll.ADD, 0, 0, 0);
        var e = assertThrows(XpollException.class, () -> queue.apply(changes));
        assertEquals("ENOENT", e.errorName());
        assertTrue(queue.lookup(2, Xpoll.FILT_USER, events));
        assertFalse(queue.lookup(1, Xpoll.FILT_TIMER, events));
        assertThrows(XpollException.class, () -> queue.lookup(1, (short) 99, events));
    }

    @Test
    void timer_due_countsExpirations() throws IOException {
        changes.put(9, Xpoll.FILT_TIMER, Xpoll.ADD | Xpoll.ONESHOT, Xpoll.NOTE_USECONDS, 1000, 1);
        long start = System.nanoTime();
        assertEquals(1, queue.awaitNanos(changes, events, -1));
        assertTrue(System.nanoTime() - start >= 1_000_000, "early");
        assertEquals(9, events.ident(0));
        assertEquals(1, events.data(0));
    }

    @Test
    void user_trigger_isReported() throws IOException {
        queue.apply(changes.put(4, Xpoll.FILT_USER, Xpoll.ADD | Xpoll.CLEAR, 0, 0, 3));
        assertEquals(0, queue.awaitNanos(null, events, 0));
        queue.trigger(4);
        assertEquals(1, queue.awaitNanos(null, events, -1));
        assertEquals(3, events.udata(0));
        assertEquals(0, queue.awaitNanos(null, events, 0));
        assertThrows(XpollException.class, () -> queue.trigger(5));
    }

    @Test
    void signal_delivered_isCounted() throws IOException {
        queue.apply(changes.put(SIGWINCH, Xpoll.FILT_SIGNAL, Xpoll.ADD, 0, 0, 0));
        Posix.kill(ProcessHandle.current().pid(), SIGWINCH);
        assertEquals(1, queue.awaitNanos(null, events, -1));
        assertEquals(SIGWINCH, events.ident(0));
        assertEquals(1, events.data(0));
    }

    /** To observe is not to handle. */
    static final class Observer {
        public static void main(String[] arguments) throws Exception {
            try (EventQueue queue = new EventQueue()) {
                queue.apply(new EventList(1).put(SIGALRM, Xpoll.FILT_SIGNAL, Xpoll.ADD, 0, 0, 0));
                System.out.println("observing");
                Posix.kill(ProcessHandle.current().pid(), SIGALRM);
                queue.awaitNanos(null, new EventList(1), -1);
                System.out.println("alive");
            }
        }
    }

    @Test
    void signal_defaultAction_isTakenAsWell() throws Exception {
        Child child = Child.run("--enable-native-access=ALL-UNNAMED", "-cp", Child.classPath(),
                Observer.class.getName());
        assertTrue(child.output().contains("observing"), child.output());
        assertFalse(child.output().contains("alive"), child.output());
        assertEquals(128 + SIGALRM, child.code());
    }

    @Test
    void signal_ofTheMachine_isRefused() {
        changes.put(1, Xpoll.FILT_USER, Xpoll.ADD, 0, 0, 0);
        changes.put(SIGSEGV, Xpoll.FILT_SIGNAL, Xpoll.ADD, 0, 0, 0);
        assertThrows(IllegalArgumentException.class, () -> queue.apply(changes));
        assertThrows(IllegalArgumentException.class, () -> queue.awaitNanos(changes, events, 0));
    }

    @Test
    void process_ends_isReported() throws Exception {
        Process process = new ProcessBuilder("cat").start();
        changes.put(process.pid(), Xpoll.FILT_PROC, Xpoll.ADD, Xpoll.NOTE_EXIT, 0, 0);
        queue.apply(changes);
        assertEquals(0, queue.awaitNanos(null, events, 0));
        process.getOutputStream().close();
        assertEquals(1, queue.awaitNanos(null, events, -1));
        assertEquals(process.pid(), events.ident(0));
        assertNotEquals(0, events.fflags(0) & Xpoll.NOTE_EXIT);
        assertEquals(0, process.waitFor());
    }

    @Test
    void file_written_isReported(@TempDir Path folder) throws IOException {
        Path path = folder.resolve("file");
        try (FileOutputStream file = new FileOutputStream(path.toFile())) {
            changes.put(Poller.fdOf(file.getFD()), Xpoll.FILT_VNODE, Xpoll.ADD, Xpoll.NOTE_WRITE
                    | Xpoll.NOTE_DELETE, 0, 0);
            queue.apply(changes);
            file.write(1);
            assertEquals(1, queue.awaitNanos(null, events, -1));
            assertEquals(Xpoll.NOTE_WRITE, events.fflags(0));
            Files.delete(path);
            assertEquals(1, queue.awaitNanos(null, events, -1));
            assertEquals(Xpoll.NOTE_DELETE, events.fflags(0));
        }
    }

    @Test
    void await_smallList_losesNothing() throws IOException {
        for (int i = 0; i < 8; i++) {
            changes.put(i, Xpoll.FILT_USER, Xpoll.ADD | Xpoll.ONESHOT, Xpoll.NOTE_TRIGGER, 0, 0);
        }
        EventList two = new EventList(2);
        int seen = 0;
        int n = queue.awaitNanos(changes, two, -1);
        while (n > 0) {
            for (int i = 0; i < n; i++) {
                seen |= 1 << two.ident(i);
            }
            n = queue.awaitNanos(null, two, 0);
        }
        assertEquals(0xff, seen);
    }

    @Test
    void await_whileAnotherWaits_appliesChangesAtOnce() throws Exception {
        FutureTask<Integer> first = new FutureTask<>(() ->
                queue.awaitNanos(null, new EventList(1), -1));
        Thread.ofPlatform().start(first);
        FutureTask<Integer> second = new FutureTask<>(() -> queue.awaitNanos(
                new EventList(2).put(1, Xpoll.FILT_USER, Xpoll.ADD | Xpoll.CLEAR, 0, 0, 0),
                new EventList(1), -1));
        Thread.ofVirtual().start(second);
        Until.yes(() -> queue.lookup(1, Xpoll.FILT_USER, events));
        queue.trigger(1);
        Until.yes(() -> first.isDone() || second.isDone());
        queue.wakeup();
        assertEquals(1, first.get() + second.get());
    }

    @Test
    void list_inUse_isRefused() throws Exception {
        FutureTask<Integer> waiting = new FutureTask<>(() -> queue.awaitNanos(changes, events, -1));
        Thread thread = Thread.ofPlatform().start(waiting);
        Until.yes(this::isRefused);
        assertThrows(IllegalStateException.class, () -> changes.put(1, (short) 1, 0, 0, 0, 0));
        assertThrows(IllegalStateException.class, () -> queue.apply(changes));
        thread.interrupt();
        var e = assertThrows(ExecutionException.class, waiting::get);
        assertInstanceOf(InterruptedIOException.class, e.getCause());
        events.clear();
        assertThrows(IllegalStateException.class, () -> queue.awaitNanos(events, events, 0));
        events.clear();
    }

    /** Looks only: a list that is changed here could not be used there. It takes changes last. */
    private boolean isRefused() {
        try {
            changes.ident(0);
            return false;
        } catch (IllegalStateException e) {
            return true;
        } catch (IndexOutOfBoundsException e) {
            return false;
        }
    }

    @Test
    void list_limits_areKept() {
        EventList one = new EventList(1);
        assertThrows(IndexOutOfBoundsException.class, () -> one.ident(0));
        one.put(1, (short) 2, 3, 4, 5, 6);
        assertThrows(IndexOutOfBoundsException.class, () -> one.put(1, (short) 2, 3, 4, 5, 6));
        assertThrows(IndexOutOfBoundsException.class, () -> one.data(1));
        assertThrows(IndexOutOfBoundsException.class, () -> one.describe(-1));
        assertThrows(IllegalArgumentException.class, () -> new EventList(0));
        // No limit but the memory.
        assertEquals(1_500_000, new EventList(1_500_000).capacity());
        assertThrows(OutOfMemoryError.class, () -> new EventList(Integer.MAX_VALUE));
    }

    @Test
    void fd_pendingEvent_isReadable() throws IOException {
        queue.apply(changes.put(1, Xpoll.FILT_USER, Xpoll.ADD, 0, 0, 0));
        int fd;
        try {
            fd = queue.fd();
        } catch (XpollException e) {
            assertEquals("ENOTSUP", e.errorName());
            return;
        }
        queue.trigger(1);
        assertEquals(Poller.POLLIN, Posix.revents(fd, Poller.POLLIN));
    }

    @Test
    void closeFd_registered_isGone() throws IOException {
        int[] other = Posix.pipe();
        queue.apply(changes.put(other[0], Xpoll.FILT_READ, Xpoll.ADD, 0, 0, 0));
        Xpoll.forgetFd(other[0]);
        assertFalse(queue.lookup(other[0], Xpoll.FILT_READ, events));
        Xpoll.closeFd(other[0]);
        assertThrows(XpollException.class, () -> Xpoll.closeFd(other[0]));
        assertThrows(XpollException.class, () -> Xpoll.forgetFd(-1));
        Posix.close(other[1]);
    }

    @Test
    void afterClose_everythingSaysSo() throws IOException {
        queue.close();
        queue.close();
        assertFalse(queue.isOpen());
        assertThrows(QueueClosedException.class, () -> queue.awaitNanos(null, events, 0));
        assertThrows(QueueClosedException.class, () -> queue.apply(changes));
        assertThrows(QueueClosedException.class, () -> queue.trigger(1));
        assertThrows(QueueClosedException.class, () -> queue.lookup(1, (short) -1, events));
        assertThrows(QueueClosedException.class, () -> queue.fd());
        assertThrows(QueueClosedException.class, () -> queue.supports((short) -1, 0));
        assertThrows(QueueClosedException.class, () -> queue.backend());
        queue.wakeup();
        events.clear();
    }
}
