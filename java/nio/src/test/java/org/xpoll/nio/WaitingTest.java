package org.xpoll.nio;

import static java.nio.channels.SelectionKey.OP_READ;
import static java.nio.channels.SelectionKey.OP_WRITE;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedSelectorException;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.MethodSource;

/** What ends a selection: events, time, wakeup, interrupt, close. */
@ParameterizedClass
@MethodSource("org.xpoll.nio.Kind#all")
@Timeout(60)
class WaitingTest extends SelectorFixture {
    private static final int SHORT = 20;

    private SelectionKey readable() throws IOException {
        SelectionKey key = ends.near().register(selector, OP_READ);
        Ends.write(ends.far());
        return key;
    }

    /** Nothing ends it but the time, and no machine is too slow for that. */
    private void assertNoWakeupIsPending() throws IOException {
        long start = System.nanoTime();
        assertEquals(0, selector.select(SHORT));
        assertTrue(System.nanoTime() - start >= SHORT * 1_000_000L);
    }

    @Test
    void aTimeoutLastsAsLongAsItSays() throws IOException {
        ends.near().register(selector, OP_READ);
        assertNoWakeupIsPending();
    }

    @Test
    void wakeupsBeforeASelectionAreOne() throws IOException {
        assertSame(selector, selector.wakeup());
        selector.wakeup();
        assertEquals(0, selector.select());
        assertNoWakeupIsPending();
    }

    @Test
    void selectNowTakesAWakeup() throws IOException {
        selector.wakeup();
        assertEquals(0, selector.selectNow());
        assertNoWakeupIsPending();
    }

    @Test
    void aTimedSelectionTakesAWakeup() throws IOException {
        selector.wakeup();
        assertEquals(0, selector.select(Long.MAX_VALUE));
        assertNoWakeupIsPending();
    }

    @Test
    void aWakeupBesideEventsIsTakenWithThem() throws IOException {
        readable();
        selector.wakeup();
        assertEquals(1, selector.select());
        Ends.drain(ends.near());
        selector.selectedKeys().clear();
        assertNoWakeupIsPending();
    }

    @Test
    void aWakeupEndsAWait() throws Exception {
        for (int i = 0; i < 100; i++) {
            Kind.Other<Integer> other = kind.start(selector::select);
            selector.wakeup();
            assertEquals(0, other.result());
        }
        assertNoWakeupIsPending();
    }

    /** All tests have one carrier: if the selection kept it, the other thread would never run. */
    @Test
    void aVirtualThreadThatSelectsKeepsNoCarrier() throws Exception {
        assumeTrue(kind.virtual() && !kind.jdk(), "platform threads and the JDK's own selectors");
        assumeTrue(Runtime.version().feature() >= 24,
                "Java 22 and 23 keep the carrier in the monitors of SelectorImpl");
        Kind.Other<Integer> other = kind.start(selector::select);
        Until.yes(() -> other.thread().getState() == Thread.State.WAITING);
        Thread.startVirtualThread(selector::wakeup).join();
        assertEquals(0, other.result());
    }

    @Test
    void eventsEndAWait() throws Exception {
        ends.near().register(selector, OP_READ);
        Kind.Other<Integer> other = kind.start(selector::select);
        Ends.write(ends.far());
        assertEquals(1, other.result());
    }

    @Test
    void anInterruptEndsAWait() throws Exception {
        for (int i = 0; i < 20; i++) {
            Kind.Other<Boolean> other = kind.start(() -> {
                selector.select();
                return Thread.currentThread().isInterrupted();
            });
            other.thread().interrupt();
            assertTrue(other.result());
            assertTrue(selector.isOpen());
        }
    }

    @Test
    void whoIsInterruptedSelectsWithoutWaiting() throws Exception {
        SelectionKey key = readable();
        assertTrue(kind.start(() -> {
            Thread.currentThread().interrupt();
            assertEquals(1, selector.select());
            key.interestOps(0);
            assertEquals(0, selector.select());
            assertEquals(0, selector.select(Long.MAX_VALUE));
            assertEquals(0, selector.selectNow());
            return Thread.interrupted();
        }).result());
        assertNoWakeupIsPending();
    }

    @Test
    void closeEndsAWait() throws Exception {
        SelectionKey key = ends.near().register(selector, OP_READ);
        Kind.Other<Object> other = kind.start(() -> {
            selector.select();
            return null;
        });
        selector.close();
        try {
            other.result();
        } catch (ExecutionException e) {
            // The thread may have come too late.
            assertSame(ClosedSelectorException.class, e.getCause().getClass());
        }
        assertFalse(selector.isOpen());
        assertFalse(key.isValid());
        assertFalse(ends.near().isRegistered());
    }

    @Test
    void aClosedSelectorIsOfNoUse() throws IOException {
        selector.close();
        selector.close();
        assertSame(selector, selector.wakeup());
        assertThrows(ClosedSelectorException.class, selector::select);
        assertThrows(ClosedSelectorException.class, selector::selectNow);
        assertThrows(ClosedSelectorException.class, () -> selector.select(1));
        assertThrows(ClosedSelectorException.class, () -> selector.select(key -> {}));
        assertThrows(ClosedSelectorException.class, selector::keys);
        assertThrows(ClosedSelectorException.class, selector::selectedKeys);
        assertThrows(ClosedSelectorException.class, () -> ends.near().register(selector, OP_READ));
        assertFalse(ends.near().isRegistered());
    }

    @Test
    void badTimeoutsAreRefused() {
        assertThrows(IllegalArgumentException.class, () -> selector.select(-1));
        assertThrows(IllegalArgumentException.class, () -> selector.select(key -> {}, -1));
        assertThrows(NullPointerException.class, () -> selector.select(null));
    }

    @Test
    void manyWakeupsLoseNoTask() throws Exception {
        AtomicInteger tasks = new AtomicInteger();
        int count = 10_000;
        Kind.Other<Integer> other = kind.start(() -> {
            int done = 0;
            while (done < count) {
                selector.select();
                done += tasks.getAndSet(0);
            }
            return done;
        });
        for (int i = 0; i < count; i++) {
            tasks.incrementAndGet();
            selector.wakeup();
        }
        assertEquals(count, other.result());
    }

    @Test
    void wakeupsAndEventsTogetherLoseNeither() throws Exception {
        ends.near().register(selector, OP_READ);
        AtomicInteger tasks = new AtomicInteger();
        int count = 5_000;
        Kind.Other<Integer> other = kind.start(() -> {
            int done = 0;
            int bytes = 0;
            while (done < count || bytes < count) {
                if (selector.select() > 0) {
                    bytes += Ends.drain(ends.near());
                    selector.selectedKeys().clear();
                }
                done += tasks.getAndSet(0);
            }
            return bytes;
        });
        for (int i = 0; i < count; i++) {
            Until.yes(() -> ends.far().write(ByteBuffer.wrap(new byte[1])) == 1);
            tasks.incrementAndGet();
            selector.wakeup();
        }
        assertEquals(count, other.result());
    }

    /** There is one carrier: what waits in native code on it would stop the other thread. */
    @Test
    void aWaitKeepsNoCarrier() throws Exception {
        Kind.Other<Integer> waiting = kind.start(selector::select);
        Kind.Other<Selector> waking = kind.start(selector::wakeup);
        assertEquals(0, waiting.result());
        waking.result();
    }

    @Test
    void oneThreadSelectsAtATime() throws Exception {
        SelectionKey key = ends.near().register(selector, 0);
        Kind.Other<Integer> first = kind.start(selector::select);
        Kind.Other<Integer> second = kind.start(selector::select);
        // Whoever of them comes second sees the change.
        key.interestOps(OP_WRITE);
        selector.wakeup();
        assertEquals(1, first.result() + second.result());
        assertTrue(selector.selectedKeys().contains(key));
    }
}
