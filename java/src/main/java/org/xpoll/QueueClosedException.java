package org.xpoll;

import java.io.IOException;

/** A {@link Poller} or {@link EventQueue} was closed, before the call or during it. */
public class QueueClosedException extends IOException {
    private static final long serialVersionUID = 1L;

    /** Makes one. */
    public QueueClosedException() {
        super("the queue or poller is closed");
    }
}
