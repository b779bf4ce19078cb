package org.xpoll.nio;

import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executors;

/** Programs that know nothing of xpoll; ProgramsTest starts them, with and without the provider. */
final class Programs {
    private static final int REQUESTS = 200;
    private static final int CLIENTS = 20;
    private static final int BYTES = 300_000;

    private Programs() {}

    public static void main(String[] arguments) throws Exception {
        try (Selector selector = Selector.open()) {
            System.out.println(selector.getClass().getSimpleName());
        }
        switch (arguments[0]) {
            case "http" -> http();
            case "echo" -> echo();
            default -> inherited();
        }
    }

    private static InetSocketAddress loopback() {
        return new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
    }

    /** The JDK's server and client, with bodies that do not fit into a socket. */
    private static void http() throws Exception {
        HttpServer server = HttpServer.create(loopback(), 0);
        var threads = Executors.newFixedThreadPool(4);
        server.setExecutor(threads);
        server.createContext("/", exchange -> {
            byte[] body = exchange.getRequestBody().readAllBytes();
            exchange.sendResponseHeaders(200, body.length);
            exchange.getResponseBody().write(body);
            exchange.close();
        });
        server.start();
        URI uri = URI.create("http://localhost:" + server.getAddress().getPort() + "/");
        List<CompletableFuture<HttpResponse<byte[]>>> answers = new ArrayList<>();
        int right = 0;
        try (HttpClient client = HttpClient.newHttpClient()) {
            for (int i = 0; i < REQUESTS; i++) {
                byte[] body = new byte[1 + i % 10 * 40_000];
                answers.add(client.sendAsync(HttpRequest.newBuilder(uri)
                        .POST(HttpRequest.BodyPublishers.ofByteArray(body)).build(),
                        HttpResponse.BodyHandlers.ofByteArray()));
            }
            for (int i = 0; i < REQUESTS; i++) {
                HttpResponse<byte[]> answer = answers.get(i).get();
                right += answer.body().length == 1 + i % 10 * 40_000 ? 1 : 0;
            }
        }
        server.stop(0);
        threads.shutdown();
        System.out.println("http " + right);
    }

    /** One thread, one selector, and interest that changes with what there is to do. */
    private static void echo() throws Exception {
        try (Selector selector = Selector.open();
                ServerSocketChannel server = ServerSocketChannel.open().bind(loopback())) {
            server.configureBlocking(false);
            server.register(selector, SelectionKey.OP_ACCEPT);
            List<CompletableFuture<Integer>> clients = new ArrayList<>();
            for (int i = 0; i < CLIENTS; i++) {
                clients.add(CompletableFuture.supplyAsync(() -> client(server)));
            }
            CompletableFuture<Void> all =
                    CompletableFuture.allOf(clients.toArray(CompletableFuture[]::new));
            all.whenComplete((nothing, failure) -> selector.wakeup());
            while (!all.isDone()) {
                selector.select();
                for (SelectionKey key : selector.selectedKeys()) {
                    serve(key, selector);
                }
                selector.selectedKeys().clear();
            }
            int sum = 0;
            for (CompletableFuture<Integer> client : clients) {
                sum += client.get();
            }
            System.out.println("echo " + sum);
        }
    }

    private static void serve(SelectionKey key, Selector selector) throws IOException {
        if (key.isAcceptable()) {
            SocketChannel channel = ((ServerSocketChannel) key.channel()).accept();
            channel.configureBlocking(false);
            channel.register(selector, SelectionKey.OP_READ, ByteBuffer.allocate(65536));
            return;
        }
        SocketChannel channel = (SocketChannel) key.channel();
        ByteBuffer buffer = (ByteBuffer) key.attachment();
        if (key.isReadable() && channel.read(buffer) < 0) {
            channel.close();
            return;
        }
        channel.write(buffer.flip());
        key.interestOps((buffer.hasRemaining() ? SelectionKey.OP_WRITE : 0)
                | (buffer.remaining() < buffer.capacity() ? SelectionKey.OP_READ : 0));
        buffer.compact();
    }

    /** Connects with a selector, too; writes and reads in turns as there is room. */
    private static int client(ServerSocketChannel server) {
        try (Selector selector = Selector.open(); SocketChannel channel = SocketChannel.open()) {
            channel.configureBlocking(false);
            SelectionKey key = channel.register(selector, SelectionKey.OP_CONNECT);
            if (channel.connect(server.getLocalAddress())) {
                key.interestOps(SelectionKey.OP_WRITE | SelectionKey.OP_READ);
            }
            ByteBuffer out = ByteBuffer.allocate(BYTES);
            ByteBuffer in = ByteBuffer.allocate(BYTES);
            while (in.hasRemaining()) {
                selector.select(ready -> step(channel, ready, out, in));
            }
            return in.position();
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    private static void step(SocketChannel channel, SelectionKey key, ByteBuffer out,
            ByteBuffer in) {
        try {
            if (key.isConnectable() && channel.finishConnect()) {
                key.interestOps(SelectionKey.OP_WRITE | SelectionKey.OP_READ);
            }
            if (key.isWritable()) {
                channel.write(out);
                key.interestOps(SelectionKey.OP_READ
                        | (out.hasRemaining() ? SelectionKey.OP_WRITE : 0));
            }
            if (key.isReadable() && channel.read(in) < 0) {
                throw new AssertionError("the server has gone");
            }
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    /** As inetd starts a server: descriptor 0 is the connection. */
    private static void inherited() throws IOException {
        try (Selector selector = Selector.open();
                SocketChannel channel = (SocketChannel) System.inheritedChannel()) {
            channel.configureBlocking(false);
            channel.register(selector, SelectionKey.OP_READ);
            ByteBuffer buffer = ByteBuffer.allocate(100);
            System.out.println("selected " + selector.select());
            channel.read(buffer);
            channel.write(buffer.flip());
            System.out.println("of " + channel.provider().getClass().getSimpleName());
        }
    }
}
