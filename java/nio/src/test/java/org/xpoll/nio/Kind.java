package org.xpoll.nio;

import java.io.IOException;
import java.nio.channels.Selector;
import java.nio.channels.spi.SelectorProvider;
import java.util.concurrent.Callable;
import java.util.concurrent.FutureTask;
import java.util.stream.Stream;
import sun.nio.ch.DefaultSelectorProvider;

/**
 * Whose selectors a test is about, and by which threads. The JDK's own have to pass as well: that
 * shows that a test asks for what the JDK does.
 */
record Kind(boolean jdk, boolean virtual) {
    static Stream<Kind> all() {
        return Stream.of(new Kind(false, false), new Kind(false, true), new Kind(true, false),
                new Kind(true, true));
    }

    SelectorProvider provider() {
        return jdk ? DefaultSelectorProvider.get() : new XpollSelectorProvider();
    }

    Selector open() throws IOException {
        return provider().openSelector();
    }

    /** Another thread, and what it returned or threw. */
    <T> Other<T> start(Callable<T> work) {
        FutureTask<T> task = new FutureTask<>(work);
        Thread thread = virtual ? Thread.ofVirtual().unstarted(task) : new Thread(task);
        thread.start();
        return new Other<>(task, thread);
    }

    record Other<T>(FutureTask<T> task, Thread thread) {
        T result() throws Exception {
            return task.get();
        }
    }
}
