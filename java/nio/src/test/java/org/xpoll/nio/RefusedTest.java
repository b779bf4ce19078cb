package org.xpoll.nio;

import static java.nio.channels.SelectionKey.OP_READ;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.FileDescriptor;
import java.io.IOException;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.spi.AbstractSelectableChannel;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import sun.nio.ch.SelChImpl;
import sun.nio.ch.SelectionKeyImpl;

/** Keys that the system refuses: each is reported once, and no other key suffers. */
@Timeout(60)
class RefusedTest {
    private final XpollSelectorProvider provider = new XpollSelectorProvider();

    /** A channel whose descriptor is not open, so that no queue takes it. */
    private final class Refused extends AbstractSelectableChannel implements SelChImpl {
        private final int fd;

        Refused(int fd) throws IOException {
            super(provider);
            this.fd = fd;
            configureBlocking(false);
        }

        @Override
        public FileDescriptor getFD() {
            throw new UnsupportedOperationException();
        }

        @Override
        public int getFDVal() {
            return fd;
        }

        @Override
        public boolean translateAndUpdateReadyOps(int ops, SelectionKeyImpl key) {
            return false;
        }

        @Override
        public boolean translateAndSetReadyOps(int ops, SelectionKeyImpl key) {
            return false;
        }

        @Override
        public int translateInterestOps(int ops) {
            return ops;
        }

        @Override
        public void kill() {}

        @Override
        public int validOps() {
            return OP_READ;
        }

        @Override
        protected void implCloseSelectableChannel() {}

        @Override
        protected void implConfigureBlocking(boolean block) {}

        @Override
        public String toString() {
            return "channel " + fd;
        }
    }

    @Test
    void aRefusedKeyIsReportedOnce() throws IOException {
        try (Selector selector = provider.openSelector(); Ends ends = Ends.open(provider);
                Refused one = new Refused(60_001); Refused two = new Refused(60_002)) {
            one.register(selector, OP_READ);
            SelectionKey good = ends.near().register(selector, OP_READ);
            SelectionKey bad = two.register(selector, OP_READ);
            Ends.write(ends.far());

            IOException e = assertThrows(IOException.class, selector::select);
            assertTrue(e.getMessage().contains("channel 60001"), e.getMessage());
            assertTrue(e.getMessage().contains("EBADF"), e.getMessage());
            assertEquals(List.of(true), List.of(e.getSuppressed()).stream()
                    .map(next -> next.getMessage().contains("channel 60002")).toList());

            assertEquals(1, selector.select());
            assertEquals(Set.of(good), selector.selectedKeys());

            bad.interestOps(0).interestOps(OP_READ);
            e = assertThrows(IOException.class, selector::selectNow);
            assertTrue(e.getMessage().contains("channel 60002"), e.getMessage());
            bad.cancel();
            selector.selectedKeys().clear();
            assertEquals(1, selector.selectNow());
            assertEquals(2, selector.keys().size());
        }
    }
}
