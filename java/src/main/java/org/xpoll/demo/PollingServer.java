package org.xpoll.demo;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.util.Arrays;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicLong;
import org.xpoll.Events;
import org.xpoll.Poller;

/**
 * One thread waits for all connections.
 *
 * <p>As in 1999 it hands each batch to consumers and waits until all of it is read before it polls
 * again ("gang scheduling"), since what is not read yet would be reported again. With {@code
 * --oneshot} a report disables its connection and the consumer enables it after reading, as the
 * README of 1999 proposed; connections are accepted by a thread of their own. Other than in 1999
 * the thread that waits reads its share: what is not worth waking another for is not handed over.
 * With {@code --inline} it reads all.
 */
final class PollingServer {
    private static final int BATCH = 100;
    /** So many reads take about as long as to wake a thread, and to be woken by it. */
    private static final int WORTH_A_HAND_OVER = 16;

    private final Session session;
    private final Poller poller = new Poller();
    private long events;

    private PollingServer(Session session) throws IOException {
        this.session = session;
    }

    static void main(String[] arguments) throws Exception {
        Options options = new Options(arguments);
        int usual = Poller.getNumCPUs() + 1;
        boolean inline = options.flag("--inline");
        int oneShot = options.countIfAny("--oneshot", usual);
        int consumers = options.count("--consumers", 0);
        if ((inline ? 1 : 0) + Math.min(oneShot, 1) + Math.min(consumers, 1) > 1) {
            throw new IllegalArgumentException(
                    "--consumers, --oneshot and --inline exclude each other");
        }
        try (Session session = new Session(options)) {
            PollingServer server = new PollingServer(session);
            if (inline) {
                server.inline();
                session.finish("PollingServer-inline", server.events);
            } else if (oneShot > 0) {
                server.oneShot(oneShot);
                session.finish("PollingServer-oneshot", server.events);
            } else {
                server.gang(consumers > 0 ? consumers : usual);
                session.finish("PollingServer", server.events);
            }
        }
    }

    private Connection accept(int mode) throws IOException {
        SocketChannel channel = session.listener.accept();
        if (channel == null) {
            return null;
        }
        // Complete before it is added: another thread may have its first event at once.
        Connection connection = new Connection(channel, Poller.fdOf(channel));
        poller.add(channel, Poller.POLLIN | mode, connection);
        return connection;
    }

    private void listen() throws IOException {
        session.listener.configureBlocking(false);
        poller.add(session.listener, Poller.POLLIN, null);
    }

    /** Accepts what waits; how many connections there are now. */
    private int acceptAll(int before) throws IOException {
        int accepted = before;
        while (accepted < session.connections && accept(0) != null) {
            if (++accepted == session.connections) {
                session.connected();
            }
        }
        return accepted;
    }

    // --- No other thread -------------------------------------------------------------

    private void inline() throws IOException {
        ByteBuffer buffer = Connection.buffer();
        Events batch = new Events(BATCH);
        long left = session.bytesToRead;
        int accepted = 0;
        listen();
        while (left > 0) {
            int n = poller.poll(batch, -1);
            for (int i = 0; i < n; i++) {
                if (batch.attachment(i) instanceof Connection connection) {
                    left -= connection.read(buffer);
                    events++;
                } else {
                    accepted = acceptAll(accepted);
                }
            }
        }
    }

    // --- Gangs ---------------------------------------------------------------------

    private final AtomicLong bytesLeft = new AtomicLong();
    private int unread;

    private void gang(int consumers) throws IOException, InterruptedException {
        BlockingQueue<Connection[]> queue = new LinkedBlockingQueue<>();
        bytesLeft.set(session.bytesToRead);
        for (int i = 0; i < consumers; i++) {
            start("consumer-" + i, () -> consumeForGang(queue));
        }
        int[] fds = new int[BATCH];
        short[] revents = new short[BATCH];
        Connection[] ready = new Connection[BATCH];
        ByteBuffer buffer = Connection.buffer();
        int listener = Poller.fdOf(session.listener);
        int accepted = 0;
        listen();
        while (bytesLeft.get() > 0) {
            int n = poller.waitMultiple(BATCH, fds, revents, -1);
            int count = 0;
            for (int i = 0; i < n; i++) {
                if (fds[i] == listener) {
                    accepted = acceptAll(accepted);
                } else {
                    ready[count++] = (Connection) poller.attachment(fds[i]);
                }
            }
            events += count;
            int share = share(count, consumers);
            synchronized (this) {
                unread = Math.max(count - share, 0);
            }
            handOver(ready, count, share, queue);
            bytesLeft.addAndGet(-readAll(ready, share, buffer));
            synchronized (this) {
                while (unread > 0) {
                    wait();
                }
            }
        }
    }

    /** How many of a batch each thread reads, and among them the one that waits. */
    private static int share(int count, int consumers) {
        return count <= WORTH_A_HAND_OVER ? count : (count + consumers) / (consumers + 1);
    }

    /** All but the first share. */
    private static void handOver(Connection[] ready, int count, int share,
            BlockingQueue<Connection[]> queue) {
        for (int from = share; from < count; from += share) {
            queue.add(Arrays.copyOfRange(ready, from, Math.min(from + share, count)));
        }
    }

    private static long readAll(Connection[] ready, int count, ByteBuffer buffer)
            throws IOException {
        long bytes = 0;
        for (int i = 0; i < count; i++) {
            bytes += ready[i].read(buffer);
        }
        return bytes;
    }

    private void consumeForGang(BlockingQueue<Connection[]> queue) throws Exception {
        ByteBuffer buffer = Connection.buffer();
        for (;;) {
            Connection[] share = queue.take();
            bytesLeft.addAndGet(-readAll(share, share.length, buffer));
            synchronized (this) {
                unread -= share.length;
                if (unread == 0) {
                    notifyAll();
                }
            }
        }
    }

    // --- One-shot ------------------------------------------------------------------

    private void oneShot(int consumers) throws IOException, InterruptedException {
        BlockingQueue<Connection[]> queue = new LinkedBlockingQueue<>();
        bytesLeft.set(session.bytesToRead);
        for (int i = 0; i < consumers; i++) {
            start("consumer-" + i, () -> consumeOneShot(queue));
        }
        start("acceptor", () -> {
            for (int i = 0; i < session.connections; i++) {
                accept(Poller.ONESHOT);
            }
            session.connected();
        });
        Events batch = new Events(BATCH);
        Connection[] ready = new Connection[BATCH];
        int[] read = new int[BATCH];
        ByteBuffer buffer = Connection.buffer();
        while (bytesLeft.get() > 0) {
            int n = poller.poll(batch, -1);
            for (int i = 0; i < n; i++) {
                ready[i] = (Connection) batch.attachment(i);
            }
            int share = share(n, consumers);
            handOver(ready, n, share, queue);
            readAndEnable(ready, share, read, buffer);
            events += n;
        }
    }

    /** Enables all of it in one go. */
    private void readAndEnable(Connection[] ready, int count, int[] read, ByteBuffer buffer)
            throws IOException {
        long bytes = readAll(ready, count, buffer);
        for (int i = 0; i < count; i++) {
            read[i] = ready[i].fd;
        }
        poller.enable(read, count);
        if (bytesLeft.addAndGet(-bytes) <= 0) {
            poller.wakeup();
        }
    }

    private void consumeOneShot(BlockingQueue<Connection[]> queue) throws Exception {
        ByteBuffer buffer = Connection.buffer();
        int[] read = new int[BATCH];
        for (;;) {
            Connection[] share = queue.take();
            readAndEnable(share, share.length, read, buffer);
        }
    }

    // --- Threads ---------------------------------------------------------------------

    private interface Body {
        void run() throws Exception;
    }

    private static void start(String name, Body body) {
        Thread.ofPlatform().daemon().name(name).start(() -> {
            try {
                body.run();
            } catch (Exception e) {
                Main.fail(e);
            }
        });
    }
}
