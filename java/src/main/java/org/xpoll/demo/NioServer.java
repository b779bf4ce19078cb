package org.xpoll.demo;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import java.util.Iterator;

/** What the JDK has had since 1.4: one thread and a Selector, the same reads. */
final class NioServer {
    private NioServer() {}

    static void main(String[] arguments) throws Exception {
        try (Session session = new Session(new Options(arguments));
                Selector selector = Selector.open()) {
            session.listener.configureBlocking(false);
            session.listener.register(selector, SelectionKey.OP_ACCEPT);
            session.finish("NioServer", serve(session, selector));
        }
    }

    private static long serve(Session session, Selector selector) throws IOException {
        ByteBuffer buffer = Connection.buffer();
        long left = session.bytesToRead;
        long events = 0;
        int accepted = 0;
        while (left > 0) {
            selector.select();
            Iterator<SelectionKey> keys = selector.selectedKeys().iterator();
            while (keys.hasNext()) {
                SelectionKey key = keys.next();
                keys.remove();
                if (key.attachment() instanceof Connection connection) {
                    left -= connection.read(buffer);
                    events++;
                } else {
                    accepted = accept(session, selector, accepted);
                }
            }
        }
        return events;
    }

    private static int accept(Session session, Selector selector, int before) throws IOException {
        int accepted = before;
        SocketChannel channel;
        while (accepted < session.connections && (channel = session.listener.accept()) != null) {
            Connection connection = new Connection(channel, -1);
            channel.register(selector, SelectionKey.OP_READ, connection);
            if (++accepted == session.connections) {
                session.connected();
            }
        }
        return accepted;
    }
}
