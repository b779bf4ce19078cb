package org.xpoll;

import java.io.IOException;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.spi.AbstractSelectableChannel;
import java.nio.channels.spi.AbstractSelector;
import java.util.Set;

/**
 * Makes Thread.interrupt end a wait in native code.
 *
 * <p>That is a service of AbstractSelector for those who write selectors, and the only public way
 * to it: between begin and end, an interrupt of the thread calls wakeup. All other methods of a
 * selector are out of use here.
 */
final class InterruptGuard extends AbstractSelector {
    private final Runnable wake;

    InterruptGuard(Runnable wake) {
        super(null);
        this.wake = wake;
    }

    void enter() {
        begin();
    }

    void leave() {
        end();
    }

    @Override
    public Selector wakeup() {
        wake.run();
        return this;
    }

    @Override
    protected void implCloseSelector() {
        // Nothing was opened.
    }

    @Override
    protected SelectionKey register(AbstractSelectableChannel channel, int ops, Object attachment) {
        throw new UnsupportedOperationException();
    }

    @Override
    public Set<SelectionKey> keys() {
        throw new UnsupportedOperationException();
    }

    @Override
    public Set<SelectionKey> selectedKeys() {
        throw new UnsupportedOperationException();
    }

    @Override
    public int selectNow() throws IOException {
        throw new UnsupportedOperationException();
    }

    @Override
    public int select(long timeout) throws IOException {
        throw new UnsupportedOperationException();
    }

    @Override
    public int select() throws IOException {
        throw new UnsupportedOperationException();
    }
}
