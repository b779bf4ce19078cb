package org.xpoll.demo;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;

/** A data connection, and the number of its descriptor where that is needed. */
final class Connection {
    final SocketChannel channel;
    final int fd;

    Connection(SocketChannel channel, int fd) throws IOException {
        this.channel = channel;
        this.fd = fd;
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
