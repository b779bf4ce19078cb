package org.xpoll.demo;

import java.io.IOException;
import java.io.InputStream;
import java.net.Socket;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;

/** A thread for each connection, which reads as long as there is something. */
final class ThreadServer {
    private final Session session;
    private final Thread.Builder builder;
    private final AtomicLong bytesLeft;
    private final AtomicLong reads = new AtomicLong();
    private final CountDownLatch done = new CountDownLatch(1);

    private ThreadServer(Session session, Thread.Builder builder) {
        this.session = session;
        this.builder = builder;
        bytesLeft = new AtomicLong(session.bytesToRead);
    }

    static void serve(String name, Thread.Builder builder, String[] arguments) throws Exception {
        try (Session session = new Session(new Options(arguments))) {
            ThreadServer server = new ThreadServer(session, builder);
            for (int i = 0; i < session.connections; i++) {
                server.start(session.listener.accept().socket());
            }
            session.connected();
            server.done.await();
            session.finish(name, server.reads.get());
        }
    }

    private void start(Socket socket) {
        builder.start(() -> {
            try {
                read(socket.getInputStream());
            } catch (IOException e) {
                // The client has gone.
            }
        });
    }

    private void read(InputStream in) throws IOException {
        byte[] buffer = new byte[Session.BYTES_PER_READ];
        int n;
        while ((n = in.read(buffer, 0, buffer.length)) > 0) {
            reads.incrementAndGet();
            if (bytesLeft.addAndGet(-n) <= 0) {
                done.countDown();
            }
        }
    }
}
