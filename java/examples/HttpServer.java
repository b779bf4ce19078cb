import com.sun.net.httpserver.HttpExchange;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.channels.Selector;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/**
 * The HTTP server of the JDK. It names nothing of xpoll: the start line decides which selector
 * waits for its connections, the JDK's or, with the agent of xpoll-nio, xpoll's.
 *
 * <pre>{@code
 * java -javaagent:xpoll-nio-1.0.0.jar --enable-native-access=ALL-UNNAMED HttpServer.java 8080
 * }</pre>
 *
 * <p>It serves until its standard input ends.
 */
class HttpServer {
    private static final byte[] ANSWER = "hello\n".getBytes();
    private static final String MOST_CONNECTIONS = "20000";

    public static void main(String[] arguments) throws IOException {
        // Otherwise the server closes idle connections, all but 200 at once and these after 30 s.
        System.setProperty("sun.net.httpserver.maxIdleConnections", MOST_CONNECTIONS);
        System.setProperty("sun.net.httpserver.idleInterval", "3600");
        System.setProperty("sun.net.httpserver.nodelay", "true");

        InetSocketAddress address = new InetSocketAddress(InetAddress.getLoopbackAddress(),
                arguments.length > 0 ? Integer.parseInt(arguments[0]) : 0);
        var server = com.sun.net.httpserver.HttpServer.create(address, 1000);
        ExecutorService workers = Executors.newFixedThreadPool(2);
        server.setExecutor(workers);
        server.createContext("/", HttpServer::answer);
        server.start();
        try (Selector selector = Selector.open()) {
            System.out.println("port " + server.getAddress().getPort() + ", "
                    + selector.getClass().getSimpleName());
        }
        while (System.in.read() >= 0) {
            // Nothing that is typed matters, but its end.
        }
        server.stop(0);
        workers.shutdown();
    }

    private static void answer(HttpExchange exchange) throws IOException {
        exchange.sendResponseHeaders(200, ANSWER.length);
        exchange.getResponseBody().write(ANSWER);
        exchange.close();
    }
}
