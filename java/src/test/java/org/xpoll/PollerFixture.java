package org.xpoll;

import java.io.IOException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.params.Parameter;

/** A poller on each back end, and a pipe for it. */
abstract class PollerFixture {
    @Parameter String backend;
    final int[] pipe = Posix.pipe();
    final Events events = new Events(16);
    Poller poller;

    @BeforeEach
    final void open() throws IOException {
        poller = Poller.open(backend, 1000);
    }

    @AfterEach
    final void close() {
        poller.close();
        Posix.close(pipe);
    }
}
