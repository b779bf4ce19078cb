package org.xpoll.nio;

import java.util.concurrent.Callable;

/** Waits for what another thread does; a test that takes too long interrupts it. */
final class Until {
    private Until() {}

    static void yes(Callable<Boolean> condition) throws Exception {
        while (!condition.call()) {
            if (Thread.currentThread().isInterrupted()) {
                throw new AssertionError("it did not come true in time");
            }
            Thread.yield();
        }
    }
}
