package org.xpoll.demo;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
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
 * the thread that waits reads, too, and few it reads alone: see {@link Gang}. With {@code --inline}
 * there is no other thread.
 */
final class PollingServer {
    /** As many as the library looks at in one wait. */
    private static final int BATCH = 256;

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
            int n = poller.pollMillis(batch, -1);
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
    private final Connection[] ready = new Connection[BATCH];
    private final Gang gang = new Gang(ready);

    private void gang(int consumers) throws IOException, InterruptedException {
        bytesLeft.set(session.bytesToRead);
        startConsumers(consumers, this::readForGang);
        Events batch = new Events(BATCH);
        Worker worker = new Worker();
        int accepted = 0;
        listen();
        while (bytesLeft.get() > 0) {
            int n = poller.pollMillis(batch, -1);
            int count = 0;
            for (int i = 0; i < n; i++) {
                if (batch.attachment(i) instanceof Connection connection) {
                    ready[count++] = connection;
                } else {
                    accepted = acceptAll(accepted);
                }
            }
            events += count;
            readShared(count, worker, this::readForGang);
            gang.finish();
        }
    }

    private void readForGang(Connection[] connections, int count, Worker worker)
            throws IOException {
        bytesLeft.addAndGet(-worker.readAll(connections, count));
    }

    // --- One-shot ------------------------------------------------------------------

    private void oneShot(int consumers) throws IOException {
        bytesLeft.set(session.bytesToRead);
        startConsumers(consumers, this::readAndEnable);
        start("acceptor", () -> {
            for (int i = 0; i < session.connections; i++) {
                accept(Poller.ONESHOT);
            }
            session.connected();
        });
        Events batch = new Events(BATCH);
        Worker worker = new Worker();
        while (bytesLeft.get() > 0) {
            int n = poller.pollMillis(batch, -1);
            for (int i = 0; i < n; i++) {
                ready[i] = (Connection) batch.attachment(i);
            }
            events += n;
            readShared(n, worker, this::readAndEnable);
        }
    }

    /** Enables all of it in one go. */
    private void readAndEnable(Connection[] connections, int count, Worker worker)
            throws IOException {
        long bytes = worker.readAll(connections, count);
        poller.enable(worker.descriptors(connections, count), count);
        if (bytesLeft.addAndGet(-bytes) <= 0) {
            poller.wakeup();
        }
    }

    // --- Sharing -----------------------------------------------------------------------

    /** What a thread that reads has of its own. */
    private static final class Worker {
        final Connection[] piece = new Connection[Gang.PIECE];
        private final ByteBuffer buffer = Connection.buffer();
        private final int[] fds = new int[BATCH];

        long readAll(Connection[] connections, int count) throws IOException {
            long bytes = 0;
            for (int i = 0; i < count; i++) {
                bytes += connections[i].read(buffer);
            }
            return bytes;
        }

        int[] descriptors(Connection[] connections, int count) {
            for (int i = 0; i < count; i++) {
                fds[i] = connections[i].fd;
            }
            return fds;
        }
    }

    /** What is done with ready connections. */
    private interface Reader {
        void read(Connection[] connections, int count, Worker worker) throws IOException;
    }

    /** Reads what is in the array of ready connections, with the others' help if it is much. */
    private void readShared(int count, Worker worker, Reader reader) throws IOException {
        if (count <= Gang.WORTH_SHARING) {
            reader.read(ready, count, worker);
            return;
        }
        gang.share(count);
        int length;
        while ((length = gang.take(worker.piece)) > 0) {
            reader.read(worker.piece, length, worker);
        }
    }

    private void startConsumers(int consumers, Reader reader) {
        for (int i = 0; i < consumers; i++) {
            start("consumer-" + i, () -> {
                Worker worker = new Worker();
                for (;;) {
                    int length = gang.awaitPiece(worker.piece);
                    reader.read(worker.piece, length, worker);
                    gang.read();
                }
            });
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
