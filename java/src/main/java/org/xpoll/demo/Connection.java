package org.xpoll.demo;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;

/** A data connection, and the number of its descriptor. */
final class Connection {
    final SocketChannel channel;
    int fd;

    Connection(SocketChannel channel) throws IOException {
        this.channel = channel;
        channel.configureBlocking(false);
    }

    /** At most ten bytes; 0 if there are none, also at the end. */
    int read(ByteBuffer buffer) throws IOException {
        buffer.clear();
        return Math.max(channel.read(buffer), 0);
    }

    static ByteBuffer buffer() {
        return ByteBuffer.allocateDirect(Session.BYTES_PER_READ);
    }
}
