package org.xpoll;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.lang.ref.WeakReference;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.MethodSource;

/** The rules of the original, and those that it lacked, on each back end. */
@ParameterizedClass
@MethodSource("org.xpoll.Xpoll#backends")
@Timeout(30)
class PollerTest extends PollerFixture {
    @Test
    void open_withName_usesThatBackEnd() throws IOException {
        assertEquals(backend, poller.backend());
    }

    @Test
    void open_withUnknownName_tellsTheNames() {
        assertThrows(NullPointerException.class, () -> Poller.open((String) null, 1));
        var e = assertThrows(UnsupportedOperationException.class, () -> Poller.open("none", 1));
        assertTrue(e.getMessage().contains(backend), e.getMessage());
    }

    @Test
    void poll_nothingReady_returnsZero() throws IOException {
        poller.addFd(pipe[0], Poller.POLLIN, null);
        assertEquals(0, poller.pollMillis(events, 0));
        assertEquals(0, poller.pollMillis(events, 1));
    }

    @Test
    void poll_readable_hasDescriptorBitsAndAttachment() throws IOException {
        Object attachment = new Object();
        poller.addFd(pipe[0], Poller.POLLIN, attachment);
        Posix.write(pipe[1], 1);
        assertEquals(1, poller.pollMillis(events, -1));
        assertEquals(pipe[0], events.fd(0));
        assertEquals(Poller.POLLIN, events.events(0));
        assertSame(attachment, events.attachment(0));
        assertThrows(IndexOutOfBoundsException.class, () -> events.fd(1));
    }

    @Test
    void poll_stillReadable_reportsAgain() throws IOException {
        poller.addFd(pipe[0], Poller.POLLIN, null);
        Posix.write(pipe[1], 1);
        assertEquals(1, poller.pollMillis(events, -1));
        assertEquals(1, poller.pollMillis(events, -1));
        Posix.read(pipe[0]);
        assertEquals(0, poller.pollMillis(events, 0));
    }

    @Test
    void poll_writerClosed_saysWhatPollSays() throws IOException {
        poller.addFd(pipe[0], Poller.POLLIN, null);
        Posix.write(pipe[1], 1);
        Posix.close(pipe[1]);
        assertEquals(1, poller.pollMillis(events, -1));
        assertEquals(Posix.revents(pipe[0], Poller.POLLIN), events.events(0));
        Posix.read(pipe[0]);
        assertEquals(1, poller.pollMillis(events, -1));
        assertEquals(Poller.POLLHUP, events.events(0));
        pipe[1] = pipe[0];
        Posix.dup2(pipe[0], pipe[1]);
    }

    @Test
    void poll_readerClosed_reportsError() throws IOException {
        poller.addFd(pipe[1], Poller.POLLOUT, null);
        int[] other = Posix.pipe();
        Posix.dup2(other[0], pipe[0]);
        assertEquals(1, poller.pollMillis(events, -1));
        assertEquals(Posix.revents(pipe[1], Poller.POLLOUT), events.events(0));
        Posix.close(other);
    }

    @Test
    void waitMultiple_surplus_comesWithTheNextCall() throws IOException {
        int[][] pipes = new int[10][];
        for (int i = 0; i < pipes.length; i++) {
            pipes[i] = Posix.pipe();
            poller.addFd(pipes[i][0], Poller.POLLIN | Poller.ONESHOT, null);
            Posix.write(pipes[i][1], 1);
        }
        Set<Integer> seen = new HashSet<>();
        int[] fds = new int[4];
        short[] revents = new short[4];
        while (seen.size() < pipes.length) {
            int n = poller.waitMultiple(4, fds, revents, 10_000);
            assertTrue(n > 0, "an event is lost");
            for (int i = 0; i < n; i++) {
                assertEquals(Poller.POLLIN, revents[i]);
                assertTrue(seen.add(fds[i]), "twice, although one-shot");
            }
        }
        for (int[] each : pipes) {
            Posix.close(each);
        }
    }

    @Test
    void waitMultiple_maxRet_isKept() throws IOException {
        poller.addFd(pipe[0], Poller.POLLIN, null);
        poller.addFd(pipe[1], Poller.POLLOUT, null);
        Posix.write(pipe[1], 1);
        int[] fds = {-5, -5};
        short[] revents = {-5, -5};
        Set<Integer> seen = new HashSet<>();
        while (seen.size() < 2) {
            assertEquals(1, poller.waitMultiple(1, fds, revents));
            assertEquals(fds[0] == pipe[0] ? Poller.POLLIN : Poller.POLLOUT, revents[0]);
            seen.add(fds[0]);
        }
        assertEquals(-5, fds[1]);
        assertEquals(-5, revents[1]);
        while (poller.waitMultiple(fds, revents) < 2) {
            // One that was left over may come alone.
        }
        assertEquals(Set.of(pipe[0], pipe[1]), Set.of(fds[0], fds[1]));
    }

    @Test
    void waitMultiple_withoutArrays_isASleep() throws IOException {
        assertEquals(0, poller.waitMultiple(null, null, 1));
        assertEquals(0, poller.waitMultiple(0, null, null, 1));
        poller.addFd(pipe[1], Poller.POLLOUT | Poller.ONESHOT, null);
        assertEquals(0, poller.waitMultiple(null, null));
        assertEquals(1, poller.pollMillis(events, 0), "the sleep has taken the event");
    }

    @Test
    void waitMultiple_badArguments_areRefused() {
        int[] fds = new int[2];
        short[] revents = new short[3];
        assertThrows(IllegalArgumentException.class,
                () -> poller.waitMultiple(3, fds, revents, 0));
        assertThrows(IllegalArgumentException.class,
                () -> poller.waitMultiple(-1, fds, revents, 0));
        assertThrows(IllegalArgumentException.class, () -> poller.waitMultiple(fds, revents, 0));
        assertThrows(NullPointerException.class, () -> poller.waitMultiple(1, null, revents, 0));
        assertThrows(NullPointerException.class, () -> poller.waitMultiple(1, fds, null, 0));
        assertThrows(NullPointerException.class, () -> poller.waitMultiple(null, revents, 0));
        assertThrows(NullPointerException.class, () -> poller.pollMillis(null, 0));
    }

    @Test
    void otherNames_areReportedWhenAskedFor() throws IOException {
        Posix.write(pipe[1], 1);
        poller.addFd(pipe[0], Poller.POLLRDNORM, null);
        poller.addFd(pipe[1], Poller.POLLWRBAND, null);
        assertEquals(2, poller.pollMillis(events, -1));
        int reading = events.fd(0) == pipe[0] ? 0 : 1;
        assertEquals(Poller.POLLRDNORM, events.events(reading));
        assertEquals(Poller.POLLWRBAND, events.events(1 - reading));
    }

    @Test
    void poll_handler_isCalledForEachAndMayRemove() throws IOException {
        Posix.write(pipe[1], 1);
        poller.addFd(pipe[0], Poller.POLLIN, "in");
        poller.addFd(pipe[1], Poller.POLLOUT, "out");
        Set<Object> seen = new HashSet<>();
        assertEquals(2, poller.pollMillis(-1, (fd, bits, attachment) -> {
            seen.add(attachment);
            poller.removeFd(fd);
            assertEquals(0, poller.pollMillis(0, (a, b, c) -> {}) & ~1);
        }));
        assertEquals(Set.of("in", "out"), seen);
        assertEquals(0, poller.size());
    }

    @Test
    void poll_handlerThrows_theRestComesAgain() throws IOException {
        Posix.write(pipe[1], 1);
        poller.addFd(pipe[0], Poller.POLLIN, null);
        assertThrows(IOException.class, () -> poller.pollMillis(-1, (fd, bits, attachment) -> {
            throw new IOException("mine");
        }));
        assertEquals(1, poller.pollMillis(-1, (fd, bits, attachment) -> {}));
    }

    @Test
    void poll_withoutHandler_losesNoEvent() throws IOException {
        poller.addOneShot(pipe[1], Poller.POLLOUT, null);
        assertThrows(NullPointerException.class, () -> poller.pollMillis(-1, null));
        assertEquals(1, poller.pollMillis(-1, (fd, bits, attachment) -> {}));
    }

    @Test
    void afterClose_everythingSaysSo() throws IOException {
        poller.addFd(pipe[0], Poller.POLLIN, null);
        poller.close();
        poller.close();
        assertFalse(poller.isOpen());
        assertThrows(QueueClosedException.class, () -> poller.pollMillis(events, 0));
        assertThrows(QueueClosedException.class, () -> poller.pollMillis(events, -1));
        assertThrows(QueueClosedException.class, () -> poller.addFd(pipe[0], 1, null));
        assertThrows(QueueClosedException.class, () -> poller.removeFd(pipe[0]));
        assertThrows(QueueClosedException.class, () -> poller.isMember("x"));
        assertThrows(QueueClosedException.class, () -> poller.enable(pipe[0]));
        assertThrows(QueueClosedException.class, () -> poller.modify(pipe[0], 4));
        assertThrows(QueueClosedException.class, () -> poller.reset());
        assertThrows(QueueClosedException.class, () -> poller.backend());
        assertThrows(QueueClosedException.class, () -> poller.size());
        assertThrows(QueueClosedException.class, () -> poller.isMemberFd(pipe[0]));
        poller.wakeup();
        Poller empty = Poller.open(backend, 1);
        empty.close();
        assertThrows(QueueClosedException.class, () -> empty.reset());
    }

    private WeakReference<Object> leaveAttachmentIn(Events batch) throws IOException {
        Object attachment = new Object();
        poller.addFd(pipe[1], Poller.POLLOUT, attachment);
        assertEquals(1, poller.pollMillis(batch, -1));
        poller.removeFd(pipe[1]);
        return new WeakReference<>(attachment);
    }

    @Test
    void attachmentOfRemoved_aWaitThrewSince_isLetGoByTheNext() throws Exception {
        WeakReference<Object> left = leaveAttachmentIn(events);
        Thread.currentThread().interrupt();
        assertThrows(InterruptedIOException.class, () -> poller.pollMillis(events, -1));
        assertTrue(Thread.interrupted());
        assertEquals(0, poller.pollMillis(events, 0));
        Until.yes(() -> {
            System.gc();
            return left.get() == null;
        });
    }

    /** There is no queue any more for those that ask, but the last thread has not left it yet. */
    @Test
    void close_aThreadIsInside_isEmptyAtOnce() throws IOException {
        PollQueue queue = new PollQueue(new QueueOptions().backend(backend), 10);
        queue.add(pipe[0], null, Poller.POLLIN, null);
        assertTrue(queue.tryTurn());
        queue.close();
        assertEquals(0, queue.size());
        assertNull(queue.find(pipe[0]));
        queue.turn = false;
        queue.turnGiven();
    }

    private void deeper(boolean[] full) throws IOException {
        poller.pollMillis(events, 0);
        poller.disable(pipe[1]);
        poller.enable(pipe[1]);
        full[0] = true;
        deeper(full);
    }

    /** Wherever the stack ends: it is said as anywhere else, and the poller is as it was. */
    @Test
    void stackExhausted_pollerGoesOn() throws Exception {
        poller.addFd(pipe[1], Poller.POLLOUT, null);
        for (int i = 0; i < 10; i++) {
            int kilobytes = 256 + i;
            boolean[] reached = new boolean[1];
            FutureTask<Void> task = new FutureTask<>(() -> {
                deeper(reached);
                return null;
            });
            Thread thread = new Thread(null, task, "deep", kilobytes * 1024L);
            thread.start();
            var e = assertThrows(ExecutionException.class, task::get);
            assertInstanceOf(StackOverflowError.class, e.getCause());
            assertTrue(reached[0]);
            poller.enable(pipe[1]);
            assertEquals(1, poller.pollMillis(events, -1));
        }
    }

    @Test
    void oneShot_bothDirections_oneReportSilencesBoth() throws Exception {
        try (var server = java.nio.channels.ServerSocketChannel.open().bind(
                new java.net.InetSocketAddress(java.net.InetAddress.getLoopbackAddress(), 0));
                var client = java.nio.channels.SocketChannel.open(server.getLocalAddress());
                var peer = server.accept()) {
            int both = Poller.POLLIN | Poller.POLLOUT;
            int fd = poller.addOneShot(client, both, null);
            assertEquals(1, poller.pollMillis(events, -1));
            assertEquals(Poller.POLLOUT, events.events(0));
            peer.write(java.nio.ByteBuffer.allocate(1));
            Until.yes(() -> (Posix.revents(fd, both) & Poller.POLLIN) != 0);
            assertEquals(0, poller.pollMillis(events, 0));
            poller.enable(fd);
            assertEquals(1, poller.pollMillis(events, -1));
            assertEquals(both, events.events(0), "both in one report");
            assertEquals(0, poller.pollMillis(events, 0));
        }
    }
}
