package org.xpoll.nio;

import static java.nio.channels.SelectionKey.OP_READ;
import static java.nio.channels.SelectionKey.OP_WRITE;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.CancelledKeyException;
import java.nio.channels.DatagramChannel;
import java.nio.channels.IllegalBlockingModeException;
import java.nio.channels.Pipe;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.MethodSource;

/** The three sets of keys, and how a key comes and goes. */
@ParameterizedClass
@MethodSource("org.xpoll.nio.Kind#all")
@Timeout(60)
class KeysTest extends SelectorFixture {
    private static final int SHORT = 20;

    private SelectionKey register(int ops) throws IOException {
        return ends.near().register(selector, ops);
    }

    @Test
    void theSetsAreTheSelectors() throws IOException {
        SelectionKey key = register(OP_WRITE);
        assertEquals(Set.of(key), selector.keys());
        assertTrue(selector.selectedKeys().isEmpty());
        assertThrows(UnsupportedOperationException.class, () -> selector.keys().remove(key));
        assertThrows(UnsupportedOperationException.class, () -> selector.selectedKeys().add(key));
        assertEquals(1, selector.select());
        assertEquals(Set.of(key), selector.selectedKeys());
        assertSame(selector, key.selector());
        assertSame(ends.near(), key.channel());
        assertSame(key, ends.near().keyFor(selector));
    }

    @Test
    void aSelectedKeyStaysUntilItIsRemoved() throws IOException {
        SelectionKey key = register(OP_WRITE);
        assertEquals(1, selector.select());
        assertEquals(0, selector.select());
        assertEquals(0, selector.selectNow());
        assertTrue(selector.selectedKeys().remove(key));
        assertEquals(1, selector.select());
    }

    @Test
    void readyOpsOfASelectedKeyAddUp() throws IOException {
        SelectionKey key = register(OP_READ | OP_WRITE);
        assertEquals(1, selector.select());
        assertEquals(OP_WRITE, key.readyOps());
        Ends.write(ends.far());
        assertEquals(1, selector.select());
        assertEquals(OP_READ | OP_WRITE, key.readyOps());
        Ends.drain(ends.near());
        assertEquals(0, selector.select());
        assertEquals(OP_READ | OP_WRITE, key.readyOps());
        selector.selectedKeys().clear();
        assertEquals(1, selector.select());
        assertEquals(OP_WRITE, key.readyOps());
    }

    @Test
    void whatIsReadyIsReportedAgain() throws IOException {
        register(OP_READ);
        Ends.write(ends.far());
        for (int i = 0; i < 20; i++) {
            assertEquals(1, selector.select());
            selector.selectedKeys().clear();
        }
        Ends.drain(ends.near());
        assertEquals(0, selector.selectNow());
    }

    @Test
    void interestGoesBackAndForth() throws IOException {
        SelectionKey key = register(0);
        Ends.write(ends.far());
        for (int i = 0; i < 50; i++) {
            assertEquals(0, selector.selectNow());
            key.interestOps(i % 2 == 0 ? OP_READ : OP_WRITE);
            assertEquals(1, selector.select());
            assertEquals(key.interestOps(), key.readyOps());
            key.interestOpsOr(OP_READ | OP_WRITE);
            selector.selectedKeys().clear();
            assertEquals(1, selector.select());
            assertEquals(OP_READ | OP_WRITE, key.readyOps());
            key.interestOpsAnd(0);
            selector.selectedKeys().clear();
        }
        assertThrows(IllegalArgumentException.class,
                () -> key.interestOps(SelectionKey.OP_ACCEPT));
    }

    @Test
    void interestMayChangeAndChangeBackBetweenSelections() throws IOException {
        SelectionKey key = register(OP_WRITE);
        assertEquals(1, selector.select());
        selector.selectedKeys().clear();
        key.interestOps(0);
        key.interestOps(OP_READ);
        key.interestOps(OP_WRITE);
        assertEquals(1, selector.select());
    }

    @Test
    void anotherThreadChangesInterest() throws Exception {
        SelectionKey key = register(0);
        Kind.Other<Object> other = kind.start(() -> {
            for (int i = 0; i < 1000; i++) {
                key.interestOps(OP_WRITE);
                selector.wakeup();
                Until.yes(() -> key.interestOps() == 0);
            }
            return null;
        });
        for (int seen = 0; seen < 1000; ) {
            int n = selector.select();
            if (n > 0) {
                seen++;
                selector.selectedKeys().clear();
                key.interestOps(0);
            }
        }
        other.result();
    }

    @Test
    void aKeyWithoutInterestIsSilentAtTheEnd() throws IOException {
        SelectionKey key = register(OP_READ);
        assertEquals(0, selector.selectNow());
        key.interestOps(0);
        ends.far().close();
        long start = System.nanoTime();
        assertEquals(0, selector.select(SHORT));
        assertTrue(System.nanoTime() - start >= SHORT * 1_000_000L);
        key.interestOps(OP_READ | OP_WRITE);
        assertEquals(1, selector.select());
        assertEquals(OP_READ | OP_WRITE, key.readyOps());
    }

    @Test
    void theEndOfThePeerIsReadable() throws IOException {
        SelectionKey key = register(OP_READ);
        ends.far().shutdownOutput();
        assertEquals(1, selector.select());
        assertEquals(OP_READ, key.readyOps());
        assertEquals(-1, Ends.drain(ends.near()));
    }

    @Test
    void halfAnEndMakesNothingElseReady() throws IOException {
        Ends.fill(ends.near());
        SelectionKey key = register(OP_READ | OP_WRITE);
        ends.far().shutdownOutput();
        assertEquals(1, selector.select());
        assertEquals(OP_READ, key.readyOps());
    }

    @Test
    void aCancelledKeyGoesWithTheNextSelection() throws IOException {
        SelectionKey key = register(OP_WRITE);
        assertEquals(1, selector.select());
        key.cancel();
        key.cancel();
        assertFalse(key.isValid());
        assertTrue(selector.keys().contains(key));
        assertTrue(selector.selectedKeys().contains(key));
        assertThrows(CancelledKeyException.class, () -> key.interestOps(OP_READ));
        assertThrows(CancelledKeyException.class, key::readyOps);
        assertThrows(CancelledKeyException.class, () -> register(OP_READ));
        assertThrows(IllegalArgumentException.class, () -> ends.near().register(selector, -1));
        assertEquals(0, selector.selectNow());
        assertTrue(selector.keys().isEmpty());
        assertTrue(selector.selectedKeys().isEmpty());
        assertNull(ends.near().keyFor(selector));
    }

    @Test
    void aChannelIsRegisteredAgainAfterItsKeyHasGone() throws IOException {
        for (int i = 0; i < 20; i++) {
            SelectionKey key = register(OP_WRITE);
            assertEquals(1, selector.select());
            key.cancel();
            assertEquals(0, selector.selectNow());
            SelectionKey next = register(0);
            assertNotSame(key, next);
            assertEquals(0, selector.selectNow());
            next.interestOps(OP_WRITE);
            assertEquals(1, selector.select());
            next.cancel();
            selector.selectNow();
        }
    }

    /** As a server does that reads each request by a blocking read. */
    @Test
    void aChannelThatWasGivenUpIsSilentUntilItIsBack() throws IOException {
        for (int ops : new int[] {OP_READ, OP_READ | OP_WRITE, OP_WRITE, OP_READ}) {
            SelectionKey key = ends.near().register(selector, ops);
            Ends.write(ends.far());
            assertEquals(1, selector.select());
            assertEquals(ops, key.readyOps());
            key.cancel();
            assertEquals(0, selector.selectNow());
            ends.near().configureBlocking(true);
            assertEquals(1, ends.near().read(ByteBuffer.allocate(1)));
            for (int i = 0; i < 20; i++) {
                Ends.write(ends.far());
                assertEquals(0, selector.selectNow());
            }
            assertTrue(selector.keys().isEmpty());
            ends.near().configureBlocking(false);
            SelectionKey next = ends.near().register(selector, OP_READ);
            assertEquals(1, selector.select());
            assertEquals(OP_READ, next.readyOps());
            assertEquals(20, Ends.drain(ends.near()));
            next.cancel();
            selector.selectNow();
        }
    }

    @Test
    void theNextChannelOfANumberIsAnother() throws IOException {
        for (int i = 0; i < 20; i++) {
            Ends first = Ends.open(kind.provider());
            first.near().register(selector, i % 2 == 0 ? OP_READ : OP_WRITE).cancel();
            selector.selectNow();
            first.near().register(selector, OP_READ | OP_WRITE);
            assertEquals(1, selector.select());
            first.near().keyFor(selector).cancel();
            selector.selectNow();
            // It is not registered, so the selector hears nothing of that.
            first.close();
            try (Ends second = Ends.open(kind.provider())) {
                SelectionKey key = second.near().register(selector, OP_READ);
                assertEquals(0, selector.selectNow());
                Ends.write(second.far());
                assertEquals(1, selector.select());
                assertEquals(OP_READ, key.readyOps());
                key.interestOps(OP_WRITE);
                selector.selectedKeys().clear();
                assertEquals(1, selector.select());
                assertEquals(OP_WRITE, key.readyOps());
            }
            selector.selectNow();
        }
    }

    @Test
    void toRegisterAgainChangesInterestAndAttachment() throws IOException {
        SelectionKey key = ends.near().register(selector, 0, "a");
        assertEquals(0, selector.selectNow());
        assertSame(key, ends.near().register(selector, OP_WRITE, "b"));
        assertEquals("b", key.attachment());
        assertEquals(1, selector.select());
    }

    @Test
    void aClosedChannelIsGivenUpByTheNextSelection() throws IOException {
        Pipe pipe = kind.provider().openPipe();
        Ends.nonBlocking(pipe.source());
        Ends.nonBlocking(pipe.sink()).register(selector, OP_WRITE);
        assertEquals(1, selector.select());
        pipe.sink().close();
        // The descriptor is open as long as the selector has it.
        assertEquals(0, Ends.drain(pipe.source()));
        assertTrue(pipe.sink().isRegistered());
        assertEquals(0, selector.selectNow());
        assertEquals(-1, Ends.drain(pipe.source()));
        assertFalse(pipe.sink().isRegistered());
        assertTrue(selector.keys().isEmpty());
        pipe.source().close();
    }

    @Test
    void aClosedSelectorGivesUpClosedChannels() throws IOException {
        Pipe pipe = kind.provider().openPipe();
        Ends.nonBlocking(pipe.source());
        SelectionKey key = Ends.nonBlocking(pipe.sink()).register(selector, OP_WRITE);
        pipe.sink().close();
        selector.close();
        assertEquals(-1, Ends.drain(pipe.source()));
        assertFalse(key.isValid());
        pipe.source().close();
    }

    @Test
    void aChannelClosedByAnotherThreadAmidAWaitIsSilent() throws Exception {
        for (int i = 0; i < 50; i++) {
            Ends other = Ends.open(kind.provider());
            SelectionKey key = other.near().register(selector, OP_READ);
            Kind.Other<Integer> waiting = kind.start(selector::select);
            other.near().close();
            other.far().close();
            selector.wakeup();
            waiting.result();
            selector.selectNow();
            assertFalse(selector.keys().contains(key));
        }
        assertTrue(selector.selectedKeys().isEmpty());
    }

    @Test
    void aKeyIsWithOneSelectorAtATimeOfEach() throws IOException {
        SelectionKey key = register(OP_WRITE);
        try (Selector second = kind.open()) {
            SelectionKey other = ends.near().register(second, OP_READ);
            assertNotSame(key, other);
            assertEquals(1, selector.select());
            assertEquals(0, second.selectNow());
            Ends.write(ends.far());
            assertEquals(1, second.select());
            key.cancel();
            selector.selectNow();
            assertTrue(other.isValid());
            second.selectedKeys().clear();
            assertEquals(1, second.select());
        }
        assertFalse(ends.near().isRegistered());
    }

    @Test
    void aRegisteredChannelDoesNotBlock() throws IOException {
        SelectionKey key = register(OP_READ);
        assertThrows(IllegalBlockingModeException.class,
                () -> ends.near().configureBlocking(true));
        key.cancel();
        selector.selectNow();
        assertNotNull(ends.near().configureBlocking(true));
        assertThrows(IllegalBlockingModeException.class, () -> register(OP_READ));
    }

    @Test
    void aChannelMayBeClosedBeforeItsKeyIsTaken() throws IOException {
        SelectionKey key = register(OP_READ);
        ends.near().close();
        assertFalse(key.isValid());
        assertEquals(0, selector.selectNow());
        assertTrue(selector.keys().isEmpty());
    }

    /** More than one look of the system returns. */
    @Test
    void allOfManyAreSelected() throws IOException {
        int count = 1500;
        List<DatagramChannel> channels = new ArrayList<>();
        try {
            for (int i = 0; i < count; i++) {
                DatagramChannel channel = kind.provider().openDatagramChannel();
                channels.add(channel);
                Ends.nonBlocking(channel).register(selector, OP_WRITE);
            }
            Set<SelectionKey> seen = new HashSet<>();
            while (seen.size() < count) {
                assertTrue(selector.select() > 0);
                seen.addAll(selector.selectedKeys());
            }
            assertEquals(selector.keys(), seen);
        } finally {
            for (DatagramChannel channel : channels) {
                channel.close();
            }
        }
        assertEquals(0, selector.selectNow());
        assertTrue(selector.keys().isEmpty());
    }
}
