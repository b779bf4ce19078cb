package org.xpoll;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What is comfortable: iteration, attachments with a type, timeouts that are a Duration. */
@Timeout(30)
class EventsTest {
    private static final Duration FOR_EVER = Duration.ofSeconds(Long.MAX_VALUE);
    private static final Duration SHORT = Duration.ofMillis(20);

    private final int[] pipe = Posix.pipe();
    private final Events events = new Events(4);

    @AfterEach
    void close() {
        Posix.close(pipe);
    }

    @Test
    void events_areIterated() throws IOException {
        try (Poller poller = new Poller()) {
            assertFalse(events.iterator().hasNext());
            poller.addFd(pipe[0], Poller.POLLIN, "in");
            poller.addFd(pipe[1], Poller.POLLOUT, 7);
            Posix.write(pipe[1], 1);
            assertEquals(2, poller.poll(events, FOR_EVER));
            List<Event> seen = new ArrayList<>();
            for (Event event : events) {
                seen.add(event);
            }
            seen.sort((a, b) -> a.fd() - b.fd());
            assertEquals(List.of(new Event(pipe[0], Poller.POLLIN, "in"),
                    new Event(pipe[1], Poller.POLLOUT, 7)), seen);
            assertTrue(seen.get(0).is(Poller.POLLIN | Poller.POLLERR));
            assertFalse(seen.get(0).is(Poller.POLLOUT));
            Iterator<Event> iterator = events.iterator();
            iterator.next();
            iterator.next();
            assertThrows(NoSuchElementException.class, iterator::next);
            assertThrows(UnsupportedOperationException.class, iterator::remove);
        }
    }

    @Test
    void attachments_haveTheirType() throws IOException {
        try (Poller poller = new Poller()) {
            poller.addFd(pipe[1], Poller.POLLOUT, "text");
            poller.poll(events, FOR_EVER);
            String text = events.attachment(0, String.class);
            assertEquals("text", text);
            assertEquals("text", events.iterator().next().attachment(CharSequence.class));
            assertThrows(ClassCastException.class, () -> events.attachment(0, Integer.class));
            assertThrows(IndexOutOfBoundsException.class,
                    () -> events.attachment(1, String.class));
            poller.addFd(pipe[1], Poller.POLLOUT, null);
            poller.poll(events, FOR_EVER);
            assertEquals(null, events.attachment(0, String.class));
        }
    }

    @Test
    void poll_takesADuration() throws IOException {
        try (Poller poller = new Poller()) {
            poller.addFd(pipe[0], Poller.POLLIN, null);
            long start = System.nanoTime();
            assertEquals(0, poller.poll(events, SHORT));
            assertEquals(0, poller.poll(SHORT, (fd, bits, attachment) -> {}));
            assertTrue(System.nanoTime() - start >= 2 * SHORT.toNanos());
            poller.wakeup();
            assertEquals(0, poller.poll(events, Duration.ofNanos(-1)));
            poller.wakeup();
            assertEquals(0, poller.poll(events, FOR_EVER));
            assertEquals(0, poller.poll(events, Duration.ZERO));
            Posix.write(pipe[1], 1);
            List<Integer> seen = new ArrayList<>();
            assertEquals(1, poller.poll(FOR_EVER, (fd, bits, attachment) -> seen.add(fd)));
            assertEquals(List.of(pipe[0]), seen);
            assertThrows(NullPointerException.class, () -> poller.poll(events, null));
        }
    }

    @Test
    void await_takesADuration() throws IOException {
        try (EventQueue queue = new EventQueue()) {
            EventList list = new EventList(4);
            long start = System.nanoTime();
            assertEquals(0, queue.await(null, list, SHORT));
            assertTrue(System.nanoTime() - start >= SHORT.toNanos());
            queue.wakeup();
            assertEquals(0, queue.await(null, list, FOR_EVER));
            EventList changes = new EventList(1).put(pipe[1], Xpoll.FILT_WRITE, Xpoll.ADD, 0, 0, 0);
            assertEquals(1, queue.await(changes, list, Duration.ofNanos(-5)));
            assertThrows(NullPointerException.class, () -> queue.await(null, list, null));
        }
    }
}
