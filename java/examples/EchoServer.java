import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import org.xpoll.Event;
import org.xpoll.Events;
import org.xpoll.Poller;
import sun.misc.Signal;

/** One thread sends back what comes, until SIGINT or SIGTERM: {@code EchoServer [PORT]}. */
class EchoServer {
    private static final Duration FOR_EVER = Duration.ofSeconds(-1);

    private final Poller poller = new Poller();
    private final ServerSocketChannel server = ServerSocketChannel.open();
    private final int serverFd;
    private volatile boolean ending;

    private EchoServer(int port) throws IOException {
        for (String name : new String[] {"INT", "TERM"}) {
            Signal.handle(new Signal(name), signal -> {
                ending = true;
                poller.wakeup();
            });
        }
        server.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), 1024);
        server.configureBlocking(false);
        serverFd = poller.add(server, Poller.POLLIN);
        System.out.println("listening on 127.0.0.1 port " + server.socket().getLocalPort());
    }

    public static void main(String[] arguments) throws IOException {
        new EchoServer(arguments.length > 0 ? Integer.parseInt(arguments[0]) : 0).run();
    }

    private void run() throws IOException {
        Events events = new Events(64);
        while (!ending) {
            poller.poll(events, FOR_EVER);
            for (Event event : events) {
                Connection connection = event.attachment(Connection.class);
                if (connection == null) {
                    accept();
                } else if (connection.serve()) {
                    // Most often this costs no system call.
                    poller.modify(event.fd(),
                            connection.unsent().hasRemaining() ? Poller.POLLOUT : Poller.POLLIN);
                } else {
                    poller.remove(connection.channel());
                    connection.channel().close();
                    poller.enable(serverFd);
                }
            }
        }
    }

    private void accept() throws IOException {
        try {
            SocketChannel channel = server.accept();
            if (channel != null) {
                poller.add(channel, Poller.POLLIN, new Connection(channel));
            }
        } catch (IOException e) {
            poller.disable(serverFd); // Too many: until one is closed.
        }
    }
}
