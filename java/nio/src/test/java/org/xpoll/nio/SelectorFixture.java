package org.xpoll.nio;

import java.io.IOException;
import java.nio.channels.Selector;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.params.Parameter;

/** A selector of each kind, and two ends to register. */
abstract class SelectorFixture {
    @Parameter Kind kind;
    Selector selector;
    Ends ends;

    @BeforeEach
    final void open() throws IOException {
        selector = kind.open();
        ends = Ends.open(kind.provider());
    }

    @AfterEach
    final void close() throws IOException {
        selector.close();
        ends.close();
    }
}
