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

/**
 * Several threads wait for the same connections, and repeat what each client sends: {@code
 * ThreadPool [PORT [THREADS]]}. One-shot: a report is for one thread, and the next comes only
 * after it has enabled the connection again.
 */
class ThreadPool {
    private static final Duration FOR_EVER = Duration.ofSeconds(-1);

    private final Poller poller = new Poller();
    private final ServerSocketChannel server = ServerSocketChannel.open();

    private ThreadPool(int port) throws IOException {
        server.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), port));
        server.configureBlocking(false);
        poller.addOneShot(server, Poller.POLLIN, null);
        System.out.println("listening on 127.0.0.1 port " + server.socket().getLocalPort());
    }

    public static void main(String[] arguments) throws IOException {
        int port = arguments.length > 0 ? Integer.parseInt(arguments[0]) : 0;
        int threads = arguments.length > 1 ? Integer.parseInt(arguments[1]) : 4;
        ThreadPool pool = new ThreadPool(port);
        for (int i = 0; i < threads; i++) {
            new Thread(pool::work, "worker " + i).start();
        }
    }

    private void work() {
        Events events = new Events(1);
        ByteBuffer buffer = ByteBuffer.allocate(65536);
        try {
            for (;;) {
                poller.poll(events, FOR_EVER);
                for (Event event : events) {
                    handle(event.fd(), event.attachment(SocketChannel.class), buffer);
                }
            }
        } catch (IOException e) {
            System.err.println(Thread.currentThread().getName() + ": " + e);
        }
    }

    private void handle(int fd, SocketChannel client, ByteBuffer buffer) throws IOException {
        if (client == null) {
            SocketChannel accepted = server.accept();
            if (accepted != null) {
                poller.addOneShot(accepted, Poller.POLLIN, accepted);
            }
            poller.enable(fd);
        } else if (repeat(client, buffer)) {
            poller.enable(fd);
        } else {
            poller.remove(client);
            client.close();
        }
    }

    /** A client's channel blocks, so the write is complete; false at its end. */
    private static boolean repeat(SocketChannel client, ByteBuffer buffer) {
        try {
            if (client.read(buffer.clear()) < 0) {
                return false;
            }
            client.write(buffer.flip());
            return true;
        } catch (IOException e) {
            System.err.println("client: " + e.getMessage());
            return false;
        }
    }
}
