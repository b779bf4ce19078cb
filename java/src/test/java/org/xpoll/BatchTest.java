package org.xpoll;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.Parameter;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.MethodSource;

/** Many changes in one call: as if made one by one. */
@ParameterizedClass
@MethodSource("org.xpoll.Xpoll#backends")
@Timeout(60)
class BatchTest {
    /** More than go to C at a time. */
    private static final int PIPES = 150;

    @Parameter String backend;
    private final int[] readers = new int[PIPES];
    private final int[] writers = new int[PIPES];
    private final Events events = new Events(PIPES);
    private Poller poller;

    @BeforeEach
    void open() throws IOException {
        poller = Poller.open(backend, 1000);
        for (int i = 0; i < PIPES; i++) {
            int[] pipe = Posix.pipe();
            readers[i] = pipe[0];
            writers[i] = pipe[1];
            Posix.write(pipe[1], 1);
        }
    }

    @AfterEach
    void close() {
        poller.close();
        Posix.close(readers);
        Posix.close(writers);
    }

    private void addReaders(int mode) throws IOException {
        for (int i = 0; i < PIPES; i++) {
            poller.addFd(readers[i], Poller.POLLIN | mode, i);
        }
    }

    /** All of these descriptors are reported, each once. */
    private void expectAll(int bits) throws IOException {
        boolean[] seen = new boolean[PIPES];
        int total = 0;
        while (total < PIPES) {
            int n = poller.pollMillis(events, 10_000);
            assertTrue(n > 0, "lost: " + (PIPES - total));
            for (int i = 0; i < n; i++) {
                int number = (Integer) events.attachment(i);
                assertEquals(bits, events.events(i));
                assertEquals(false, seen[number], "twice");
                seen[number] = true;
            }
            total += n;
        }
        assertEquals(0, poller.pollMillis(events, 0));
    }

    @Test
    void enable_many_reportsEachOnceMore() throws IOException {
        addReaders(Poller.ONESHOT);
        for (int i = 0; i < 3; i++) {
            expectAll(Poller.POLLIN);
            poller.enable(readers, PIPES);
        }
        expectAll(Poller.POLLIN);
    }

    @Test
    void disable_many_silencesAll() throws IOException {
        addReaders(0);
        poller.disable(readers, PIPES);
        assertEquals(0, poller.pollMillis(events, 0));
        poller.enable(readers, 1);
        assertEquals(1, poller.pollMillis(events, -1));
        assertEquals(readers[0], events.fd(0));
    }

    @Test
    void toggle_severalDirections_meansAllOfThem() throws IOException {
        for (int i = 0; i < PIPES; i++) {
            poller.addOneShot(writers[i], Poller.POLLIN | Poller.POLLOUT | Poller.POLLPRI, i);
        }
        poller.disable(writers, PIPES);
        assertEquals(0, poller.pollMillis(events, 0));
        poller.enable(writers, PIPES);
        expectAll(Poller.POLLOUT);
    }

    @Test
    void enable_silentMember_staysSilent() throws IOException {
        poller.addFd(readers[0], 0, null);
        poller.enable(readers, 1);
        assertEquals(0, poller.pollMillis(events, 0));
    }

    @Test
    void enable_oneIsNoMember_changesNothing() throws IOException {
        poller.addOneShot(readers[0], Poller.POLLIN, null);
        assertEquals(1, poller.pollMillis(events, -1));
        assertThrows(IllegalStateException.class, () -> poller.enable(readers, 2));
        assertEquals(0, poller.pollMillis(events, 0));
        assertThrows(IllegalStateException.class, () -> poller.disable(readers, 2));
    }

    @Test
    void enable_oneIsRefused_namesItAndEnablesTheOthers() throws IOException {
        addReaders(Poller.ONESHOT);
        expectAll(Poller.POLLIN);
        Xpoll.forgetFd(readers[70]);
        var e = assertThrows(XpollException.class, () -> poller.enable(readers, PIPES));
        assertEquals("ENOENT", e.errorName());
        assertTrue(e.getMessage().contains("descriptor " + readers[70] + ":"), e.getMessage());
        poller.addOneShot(readers[70], Poller.POLLIN, 70);
        expectAll(Poller.POLLIN);
    }

    @Test
    void toggle_wrongCount_isRefused() throws IOException {
        int[] one = {readers[0]};
        poller.addFd(readers[0], Poller.POLLIN, null);
        assertThrows(IndexOutOfBoundsException.class, () -> poller.enable(one, 2));
        assertThrows(IndexOutOfBoundsException.class, () -> poller.disable(one, -1));
        poller.disable(one, 0);
        assertEquals(1, poller.pollMillis(events, -1));
        poller.close();
        assertThrows(QueueClosedException.class, () -> poller.enable(one, 0));
        assertThrows(QueueClosedException.class, () -> poller.disable(one, 1));
    }
}
