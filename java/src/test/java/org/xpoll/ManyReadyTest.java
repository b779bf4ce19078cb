package org.xpoll;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.util.BitSet;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.Parameter;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.MethodSource;

/** As many events as there is room for come in one call, each once. */
@ParameterizedClass
@MethodSource("org.xpoll.Xpoll#backends")
@Timeout(60)
class ManyReadyTest {
    private static final int FIRST = 300;
    /** More than twice what C returns at a time. */
    private static final int COUNT = 600;

    @Parameter String backend;
    private final int[] pipe = Posix.pipe();
    private final Events events = new Events(COUNT + 1);
    private final BitSet seen = new BitSet();
    private Poller poller;

    @BeforeEach
    void open() throws IOException {
        poller = Poller.open(backend, 1000);
        for (int i = 0; i < COUNT; i++) {
            Posix.dup2(pipe[1], FIRST + i);
        }
    }

    @AfterEach
    void close() {
        poller.close();
        Posix.close(pipe);
        for (int i = 0; i < COUNT; i++) {
            Posix.close(FIRST + i);
        }
    }

    /** Also what only the system knows of, beside one that was enabled just now. */
    @Test
    void openAllReady_oneIsAtHand_theOthersComeAsWell() throws IOException {
        int[] quiet = Posix.pipe();
        try (Poller all = Poller.openAllReady(10)) {
            all.addFd(FIRST, Poller.POLLOUT, null);
            all.addFd(quiet[0], Poller.POLLIN, null);
            for (int i = 0; i < 100; i++) {
                all.disable(FIRST);
                assertEquals(0, all.pollMillis(events, 0));
                all.enable(FIRST);
                Posix.write(quiet[1], 1);
                assertEquals(2, all.pollMillis(events, -1));
                assertEquals(1, Posix.read(quiet[0]));
            }
        } finally {
            Posix.close(quiet);
        }
    }

    /**
     * A second look at what the program was not yet given the time to read finds all of it still
     * ready, and makes a change in the kernel for each.
     */
    @Test
    void openAllReady_interestThatComesAndGoes_changesNothingInTheKernel() throws IOException {
        int count = 100;
        int[] quiet = Posix.pipe();
        try (Poller all = Poller.openAllReady(1000)) {
            all.addFd(quiet[0], Poller.POLLIN, null);
            for (int i = 0; i < count; i++) {
                all.addFd(FIRST + i, Poller.POLLOUT, null);
            }
            long changes = 0;
            for (int turn = 0; turn < 10; turn++) {
                for (int i = 0; i < count; i++) {
                    all.modify(FIRST + i, 0);
                }
                assertEquals(0, all.pollMillis(events, 0));
                for (int i = 0; i < count; i++) {
                    all.modify(FIRST + i, Poller.POLLOUT);
                }
                assertEquals(count, all.pollMillis(events, -1));
                changes = turn == 0 ? Posix.changesInTheKernel(all) : changes;
            }
            assertEquals(changes, Posix.changesInTheKernel(all));
        } finally {
            Posix.close(quiet);
        }
    }

    private void addAll(int mode) throws IOException {
        for (int i = 0; i < COUNT; i++) {
            poller.addFd(FIRST + i, Poller.POLLOUT | mode, null);
        }
    }

    private void note(int fd, int bits) {
        assertEquals(Poller.POLLOUT, bits);
        assertTrue(fd >= FIRST && fd < FIRST + COUNT && !seen.get(fd), fd + " twice");
        seen.set(fd);
    }

    private void noteEvents() {
        seen.clear();
        for (int i = 0; i < events.size(); i++) {
            note(events.fd(i), events.events(i));
        }
    }

    @Test
    void waitMultiple_fillsItsArrays() throws IOException {
        addAll(0);
        int[] fds = new int[COUNT + 1];
        short[] revents = new short[COUNT + 1];
        for (int room : new int[] {COUNT + 1, COUNT, COUNT + 1, COUNT - 1}) {
            seen.clear();
            int n = poller.waitMultiple(room, fds, revents, -1);
            assertEquals(Math.min(room, COUNT), n);
            for (int i = 0; i < n; i++) {
                note(fds[i], revents[i]);
            }
        }
    }

    @Test
    void poll_fillsItsBatch() throws IOException {
        addAll(0);
        for (int i = 0; i < 3; i++) {
            assertEquals(COUNT, poller.pollMillis(events, -1));
            noteEvents();
        }
    }

    @Test
    void poll_oneShot_eachOnce() throws IOException {
        addAll(Poller.ONESHOT);
        assertEquals(COUNT, poller.pollMillis(events, -1));
        noteEvents();
        assertEquals(0, poller.pollMillis(events, 0));
    }

    @Test
    void poll_handler_isCalledForAll() throws IOException {
        addAll(0);
        for (int i = 0; i < 2; i++) {
            seen.clear();
            assertEquals(COUNT, poller.pollMillis(-1, (fd, bits, attachment) -> note(fd, bits)));
        }
    }

    /** The looks that fill the batch answer no wakeup: events go first. */
    @Test
    void wakeup_whileManyAreReady_isLeftForTheNextWait() throws IOException {
        addAll(Poller.ONESHOT);
        poller.wakeup();
        assertEquals(COUNT, poller.pollMillis(events, -1));
        assertEquals(0, poller.pollMillis(events, -1));
    }
}
