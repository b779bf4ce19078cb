package org.xpoll.demo;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.BindException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.channels.ServerSocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;

/**
 * What all servers do alike: the control connection, the counts, and the line of results.
 *
 * <p>The protocol is that of 1999. The first connection is the control connection and brings two
 * lines, how many bytes are sent and over how many connections. Data comes in pieces of ten bytes.
 * When all is read, ten bytes go back over the control connection.
 */
final class Session implements AutoCloseable {
    static final int PORT = 4444;
    static final int BYTES_PER_READ = 10;
    private static final int BACKLOG = 4096;
    private static final String CLIENT_HAS_GONE = "the client has gone";

    final ServerSocketChannel listener;
    final Socket control;
    final long bytesToRead;
    final int connections;

    private final long start;
    private long connectedAt;
    private long cpuAtConnected;
    /** From now on the control connection may end. */
    private volatile boolean finished;

    /** Listens, and takes the control connection. */
    Session(Options options) throws IOException {
        int port = options.number("--port", PORT);
        options.end();
        listener = listen(port);
        System.out.println("Serv: Initializing port " + listener.socket().getLocalPort());
        System.out.flush();
        control = listener.accept().socket();
        BufferedReader lines = new BufferedReader(
                new InputStreamReader(control.getInputStream(), StandardCharsets.US_ASCII));
        bytesToRead = line(lines);
        connections = (int) Math.min(line(lines), Integer.MAX_VALUE);
        System.out.println("Receiving " + bytesToRead + " bytes from " + connections
                + " client connections");
        start = System.nanoTime();
        Thread.ofPlatform().daemon().name("control").start(this::watchControl);
    }

    private static ServerSocketChannel listen(int port) throws IOException {
        ServerSocketChannel channel = ServerSocketChannel.open();
        try {
            return channel.bind(new InetSocketAddress(port), BACKLOG);
        } catch (BindException e) {
            throw new IOException("port " + port + ": " + e.getMessage(), e);
        }
    }

    private static long line(BufferedReader lines) throws IOException {
        String line = lines.readLine();
        if (line == null) {
            throw new IOException(CLIENT_HAS_GONE);
        }
        if (!line.matches("[1-9][0-9]{0,17}")) {
            throw new IOException("a Client sends two numbers first; this one sent: " + line);
        }
        return Long.parseLong(line);
    }

    /** A client that is killed says no more; without this the server would wait for ever. */
    private void watchControl() {
        try {
            while (control.getInputStream().read() >= 0) {
                // It has nothing more to send.
            }
        } catch (IOException e) {
            // Gone with what it had not read; or this end was closed.
        }
        if (!finished) {
            Main.fail(new IOException(CLIENT_HAS_GONE));
        }
    }

    /** To be called when all data connections are there. */
    void connected() {
        connectedAt = System.nanoTime();
        cpuAtConnected = cpuNanos();
    }

    /** Informs the client, and prints what it took. */
    void finish(String server, long events) throws IOException {
        long end = System.nanoTime();
        long cpu = cpuNanos() - cpuAtConnected;
        System.out.println("Time for all reads (" + connections + " sockets) : "
                + (end - start) / 1_000_000);
        System.out.printf("server=%s connections=%d events=%d data_ms=%.1f cpu_ms=%.1f"
                        + " cpu_us_per_event=%.3f threads=%d rss_kb=%d%n",
                server, connections, events, (end - connectedAt) / 1e6, cpu / 1e6,
                cpu / 1e3 / Math.max(events, 1),
                status("Threads:"), status("VmHWM:"));
        System.out.flush();
        finished = true;
        control.getOutputStream().write(new byte[BYTES_PER_READ]);
        control.getOutputStream().flush();
    }

    /** Of the whole process. */
    private static long cpuNanos() {
        return ProcessHandle.current().info().totalCpuDuration().orElse(Duration.ZERO).toNanos();
    }

    /** A number that Linux reports of this process; 0 elsewhere. */
    private static long status(String name) {
        try {
            for (String line : Files.readAllLines(Path.of("/proc/self/status"))) {
                if (line.startsWith(name)) {
                    return Long.parseLong(line.replaceAll("[^0-9]", ""));
                }
            }
        } catch (IOException e) {
            // No such file here.
        }
        return 0;
    }

    @Override
    public void close() throws IOException {
        finished = true;
        control.close();
        listener.close();
    }
}
