package org.xpoll.demo;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.ConnectException;
import java.net.Socket;
import java.net.UnknownHostException;
import java.nio.charset.StandardCharsets;
import java.util.Random;

/** Opens connections, then writes ten bytes at a time to one that chance picks. */
final class Client {
    private static final int DEFAULT_KILOBYTES = 1000;
    private static final int SEED = 5321;

    private Client() {}

    static void main(String[] arguments) throws Exception {
        Options options = new Options(arguments);
        int port = options.number("--port", Session.PORT);
        int connections = options.countWord("CONNECTIONS", 0);
        String host = options.word();
        long bytes = options.countWord("KILOBYTES", DEFAULT_KILOBYTES) * 1024L;
        options.end();
        if (connections < 1) {
            throw new IllegalArgumentException("Client takes how many connections to make");
        }
        run(host == null ? "localhost" : host, port, connections,
                bytes / Session.BYTES_PER_READ * Session.BYTES_PER_READ);
    }

    private static void run(String host, int port, int connections, long bytes)
            throws IOException {
        try (Socket control = reach(host, port)) {
            control.getOutputStream().write((bytes + "\n" + connections + "\n")
                    .getBytes(StandardCharsets.US_ASCII));
            OutputStream[] data = new OutputStream[connections];
            for (int i = 0; i < connections; i++) {
                Socket socket = new Socket(host, port);
                socket.setTcpNoDelay(true);
                data[i] = socket.getOutputStream();
            }
            System.out.println("Connections made : " + connections);

            Random random = new Random(SEED);
            byte[] piece = new byte[Session.BYTES_PER_READ];
            for (long sent = 0; sent < bytes; sent += piece.length) {
                data[random.nextInt(connections)].write(piece);
            }
            InputStream answer = control.getInputStream();
            if (answer.readNBytes(Session.BYTES_PER_READ).length < Session.BYTES_PER_READ) {
                throw new IOException("the server has gone");
            }
            System.out.println(" Total connections : " + connections + " Bytes sent : " + bytes
                    + "...Done!");
        }
    }

    private static Socket reach(String host, int port) throws IOException {
        try {
            return new Socket(host, port);
        } catch (UnknownHostException e) {
            throw new IOException("no host " + host, e);
        } catch (ConnectException e) {
            throw new IOException("no server at " + host + ", port " + port + ": "
                    + e.getMessage(), e);
        }
    }
}
