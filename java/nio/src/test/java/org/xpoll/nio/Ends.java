package org.xpoll.nio;

import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ReadableByteChannel;
import java.nio.channels.SelectableChannel;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.channels.WritableByteChannel;
import java.nio.channels.spi.SelectorProvider;
import java.nio.file.Files;
import java.nio.file.Path;

/** Both ends of a UNIX-domain connection, not blocking. What one writes the other has at once. */
record Ends(SocketChannel near, SocketChannel far) implements AutoCloseable {
    static Ends open(SelectorProvider provider) throws IOException {
        Path folder = Files.createTempDirectory("xpoll-nio");
        UnixDomainSocketAddress address = UnixDomainSocketAddress.of(folder.resolve("socket"));
        try (ServerSocketChannel server =
                provider.openServerSocketChannel(StandardProtocolFamily.UNIX)) {
            server.bind(address);
            SocketChannel near = provider.openSocketChannel(StandardProtocolFamily.UNIX);
            near.connect(address);
            SocketChannel far = server.accept();
            near.configureBlocking(false);
            far.configureBlocking(false);
            return new Ends(near, far);
        } finally {
            Files.deleteIfExists(address.getPath());
            Files.delete(folder);
        }
    }

    static void write(WritableByteChannel channel) throws IOException {
        if (channel.write(ByteBuffer.wrap(new byte[1])) != 1) {
            throw new AssertionError("no room");
        }
    }

    /** Until it has no room. */
    static void fill(WritableByteChannel channel) throws IOException {
        ByteBuffer buffer = ByteBuffer.allocate(65536);
        while (channel.write(buffer.clear()) > 0) {
            // More.
        }
    }

    /** All there is; -1 at the end. */
    static int drain(ReadableByteChannel channel) throws IOException {
        ByteBuffer buffer = ByteBuffer.allocate(65536);
        int sum = 0;
        int n;
        while ((n = channel.read(buffer.clear())) > 0) {
            sum += n;
        }
        return n < 0 && sum == 0 ? -1 : sum;
    }

    static <T extends SelectableChannel> T nonBlocking(T channel) throws IOException {
        channel.configureBlocking(false);
        return channel;
    }

    @Override
    public void close() throws IOException {
        near.close();
        far.close();
    }
}
