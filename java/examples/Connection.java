import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;

/** A connection of the echo servers, and its bytes that were not sent back yet. */
record Connection(SocketChannel channel, ByteBuffer unsent) {
    Connection(SocketChannel channel) throws IOException {
        this(channel, ByteBuffer.allocate(4096).limit(0));
        channel.configureBlocking(false);
    }

    /** Reads and writes what can be; false at the end. */
    boolean serve() {
        try {
            if (!unsent.hasRemaining()) {
                int count = channel.read(unsent.clear());
                unsent.flip();
                if (count < 0) {
                    return false;
                }
            }
            channel.write(unsent);
            return true;
        } catch (IOException e) {
            return false;
        }
    }
}
