import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import org.xpoll.Event;
import org.xpoll.Events;
import org.xpoll.Poller;
import sun.misc.Signal;

/**
 * The echo server by a pool of threads that share one poller: {@code ThreadPool [PORT]}. One-shot:
 * an event goes to one thread, and there is no other event for its connection until that thread
 * enables it again; so no connection is in two threads, and none needs a lock.
 */
class ThreadPool {
    private static final Duration FOR_EVER = Duration.ofSeconds(-1);
    private static final int THREADS = 4;

    private final Poller poller = new Poller();
    private final ServerSocketChannel server = ServerSocketChannel.open();
    private final int serverFd;
    private volatile boolean ending;

    private ThreadPool(int port) throws IOException {
        for (String name : new String[] {"INT", "TERM"}) {
            Signal.handle(new Signal(name), signal -> {
                ending = true;
                poller.wakeup();
            });
        }
        server.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), 1024);
        server.configureBlocking(false);
        serverFd = poller.addOneShot(server, Poller.POLLIN, null);
        System.out.println("listening on 127.0.0.1 port " + server.socket().getLocalPort());
    }

    public static void main(String[] arguments) throws IOException {
        ThreadPool pool = new ThreadPool(arguments.length > 0 ? Integer.parseInt(arguments[0]) : 0);
        for (int i = 0; i < THREADS; i++) {
            new Thread(pool::work).start();
        }
    }

    private void work() {
        Events events = new Events(1);
        try {
            while (!ending) {
                poller.poll(events, FOR_EVER);
                for (Event event : events) {
                    handle(event.fd(), event.attachment(Connection.class));
                }
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        poller.wakeup(); // It ends one wait: the next thread's.
    }

    private void handle(int fd, Connection connection) throws IOException {
        if (connection == null) {
            accept();
        } else if (connection.serve()) {
            poller.modify(fd, Poller.ONESHOT
                    | (connection.unsent().hasRemaining() ? Poller.POLLOUT : Poller.POLLIN));
        } else {
            poller.remove(connection.channel());
            connection.channel().close();
            poller.enable(serverFd);
        }
    }

    private void accept() throws IOException {
        try {
            SocketChannel channel = server.accept();
            if (channel != null) {
                poller.addOneShot(channel, Poller.POLLIN, new Connection(channel));
            }
            poller.enable(serverFd);
        } catch (IOException e) {
            // Too many: it is enabled when one is closed.
        }
    }
}
