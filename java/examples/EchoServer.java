import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import org.xpoll.Event;
import org.xpoll.Events;
import org.xpoll.Poller;

/** One thread repeats what each client sends: {@code EchoServer [PORT]}. */
class EchoServer {
    private static final Duration FOR_EVER = Duration.ofSeconds(-1);

    /** A connection, and what of it was read and not written yet. */
    private record Client(SocketChannel channel, ByteBuffer buffer) {}

    private final Poller poller = new Poller();
    private final ServerSocketChannel server = ServerSocketChannel.open();

    private EchoServer(int port) throws IOException {
        server.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), port));
        server.configureBlocking(false);
        poller.add(server, Poller.POLLIN);
        System.out.println("listening on 127.0.0.1 port " + server.socket().getLocalPort());
    }

    public static void main(String[] arguments) throws IOException {
        EchoServer echo = new EchoServer(arguments.length > 0 ? Integer.parseInt(arguments[0]) : 0);
        Events events = new Events(64);
        for (;;) {
            echo.poller.poll(events, FOR_EVER);
            for (Event event : events) {
                Client client = event.attachment(Client.class);
                if (client == null) {
                    echo.accept();
                } else {
                    echo.serve(event.fd(), client);
                }
            }
        }
    }

    private void accept() throws IOException {
        SocketChannel channel = server.accept();
        if (channel != null) {
            channel.configureBlocking(false);
            poller.add(channel, Poller.POLLIN, new Client(channel, ByteBuffer.allocate(65536)));
        }
    }

    /** Room is asked for only while there is something to write: that costs no system call. */
    private void serve(int fd, Client client) throws IOException {
        ByteBuffer buffer = client.buffer();
        try {
            boolean end = buffer.hasRemaining() && client.channel().read(buffer) < 0;
            client.channel().write(buffer.flip());
            boolean empty = !buffer.hasRemaining();
            buffer.compact();
            if (!end) {
                poller.modify(fd, (empty ? 0 : Poller.POLLOUT)
                        | (buffer.hasRemaining() ? Poller.POLLIN : 0));
                return;
            }
            if (!empty) {
                client.channel().configureBlocking(true);
                client.channel().write(buffer.flip());
            }
        } catch (IOException e) {
            System.err.println("client " + fd + ": " + e.getMessage());
        }
        poller.remove(client.channel());
        client.channel().close();
    }
}
