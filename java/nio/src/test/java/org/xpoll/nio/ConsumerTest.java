package org.xpoll.nio;

import static java.nio.channels.SelectionKey.OP_READ;
import static java.nio.channels.SelectionKey.OP_WRITE;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.channels.CancelledKeyException;
import java.nio.channels.ClosedSelectorException;
import java.nio.channels.SelectionKey;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.MethodSource;

/** Selections that hand each key to the program: Java 11 and later. */
@ParameterizedClass
@MethodSource("org.xpoll.nio.Kind#all")
@Timeout(60)
class ConsumerTest extends SelectorFixture {
    private final List<SelectionKey> seen = new ArrayList<>();
    private SelectionKey near;
    private SelectionKey far;

    @BeforeEach
    void register() throws IOException {
        near = ends.near().register(selector, OP_WRITE);
        far = ends.far().register(selector, 0);
    }

    @Test
    void theSelectedKeysStayAsTheyAre() throws IOException {
        assertEquals(1, selector.select(seen::add));
        assertEquals(1, selector.select(seen::add, 1000));
        assertEquals(1, selector.selectNow(seen::add));
        assertEquals(List.of(near, near, near), seen);
        assertEquals(OP_WRITE, near.readyOps());
        assertTrue(selector.selectedKeys().isEmpty());
    }

    @Test
    void readyOpsAreSetAnew() throws IOException {
        near.interestOps(OP_READ | OP_WRITE);
        Ends.write(ends.far());
        assertEquals(1, selector.select(key -> assertEquals(OP_READ | OP_WRITE, key.readyOps())));
        Ends.drain(ends.near());
        assertEquals(1, selector.select(key -> assertEquals(OP_WRITE, key.readyOps())));
    }

    @Test
    void aSelectedKeyIsHandedOutAgain() throws IOException {
        assertEquals(1, selector.select());
        assertEquals(0, selector.selectNow());
        assertEquals(1, selector.selectNow(seen::add));
        assertEquals(List.of(near), seen);
    }

    /** A change of interest counts from the next selection on. */
    @Test
    void aChangeAmidASelectionIsForTheNext() throws IOException {
        assertEquals(1, selector.select(key -> {
            seen.add(key);
            far.interestOps(OP_WRITE);
        }));
        assertEquals(List.of(near), seen);
        assertEquals(2, selector.select(seen::add));
        assertEquals(1 + 2, seen.size());
    }

    @Test
    void aSelectionWithinIsRefused() throws IOException {
        assertEquals(1, selector.select(key -> {
            assertThrows(IllegalStateException.class, selector::selectNow);
            assertThrows(IllegalStateException.class, () -> selector.select(seen::add));
            selector.wakeup();
        }));
        assertTrue(seen.isEmpty());
    }

    @Test
    void aKeyMayBeCancelledWithin() throws IOException {
        far.interestOps(OP_WRITE);
        int count = selector.select(key -> {
            near.cancel();
            far.cancel();
            seen.add(key);
        });
        assertEquals(seen.size(), count);
        assertEquals(2, selector.keys().size());
        assertEquals(0, selector.selectNow());
        assertEquals(0, selector.keys().size());
        assertThrows(CancelledKeyException.class, near::readyOps);
    }

    @Test
    void theSelectorMayBeClosedWithin() {
        far.interestOps(OP_WRITE);
        assertThrows(ClosedSelectorException.class, () -> selector.select(key -> {
            seen.add(key);
            try {
                selector.close();
            } catch (IOException e) {
                throw new AssertionError(e);
            }
        }));
        assertEquals(1, seen.size());
        assertFalse(near.isValid());
        assertFalse(far.isValid());
    }

    @Test
    void aChannelMayBeClosedWithin() throws IOException {
        assertEquals(1, selector.select(key -> {
            try {
                key.channel().close();
            } catch (IOException e) {
                throw new AssertionError(e);
            }
        }));
        assertFalse(near.isValid());
        assertTrue(ends.near().isRegistered());
        assertEquals(0, selector.selectNow());
        assertFalse(ends.near().isRegistered());
    }

    @Test
    void whatItThrowsComesOutAndTheRestComesAgain() throws IOException {
        far.interestOps(OP_WRITE);
        Error mine = new Error("mine");
        assertSame(mine, assertThrows(Error.class, () -> selector.select(key -> {
            throw mine;
        })));
        assertEquals(2, selector.select(seen::add));
        assertEquals(2, seen.size());
    }

    @Test
    void aWakeupWithinEndsTheNextSelection() throws IOException {
        assertEquals(1, selector.select(key -> {
            key.interestOps(0);
            selector.wakeup();
        }));
        assertEquals(0, selector.select());
    }
}
