package org.xpoll.demo;

import java.io.IOException;
import java.util.Arrays;
import java.util.List;

/** What {@code java -jar xpoll-demo.jar} runs: chooses the program by its name. */
public final class Main {
    private static final String USAGE = """
            usage: java -jar xpoll-demo.jar PROGRAM [ARGUMENT...]

            Servers. Each serves one client, prints what that took, and ends:
              PollingServer         one thread waits for all connections:
                  --consumers N       N threads (processors + 1) help it to read what is
                                      ready, and it waits until all is read, as in 1999
                  --oneshot [N]       they help, and it does not wait for them
                  --inline            it reads alone
              SimpleServer          a thread for each connection
              VirtualThreadServer   a virtual thread for each connection
              NioServer             one thread and a java.nio.channels.Selector

            Their client, to be started second:
              Client CONNECTIONS [HOST [KILOBYTES]]
                                    opens the connections to HOST (localhost), then writes
                                    KILOBYTES (1000) in pieces of 10 bytes, each to a
                                    connection that chance picks

            Servers and client take --port N (4444); for a server 0 is any that is free.
            Each connection is a descriptor: for thousands of them "ulimit -n" has to allow so
            many, here and there.

            Measurements:
              LoopTest [--pipes N] [--seconds S] [--rounds R] [--warm-up MS]
                                    Poller beside Selector, over N (8) pipes; 8 N descriptors
              CallCosts [--rounds R]
                                    what a call through java.lang.foreign costs
            """;

    private Main() {}

    /**
     * Runs a demo.
     *
     * @param arguments its name, and what it takes
     * @throws Exception whatever goes wrong
     */
    public static void main(String[] arguments) throws Exception {
        List<String> words = List.of(arguments);
        if (words.isEmpty() || words.contains("--help") || words.contains("-h")) {
            System.out.print(USAGE);
            return;
        }
        String[] rest = Arrays.copyOfRange(arguments, 1, arguments.length);
        try {
            run(arguments[0], rest);
        } catch (IllegalArgumentException e) {
            System.err.println("xpoll-demo: " + e.getMessage());
            System.err.println("Try --help.");
            System.exit(2);
        } catch (IOException e) {
            fail(e);
        }
    }

    /** Ends the program, for any of its threads; a trace is only for its own mistakes. */
    static synchronized void fail(Exception e) {
        if (e instanceof IOException) {
            System.err.println("xpoll-demo: " + e.getMessage());
        } else {
            e.printStackTrace();
        }
        System.exit(1);
    }

    private static void run(String program, String[] arguments) throws Exception {
        switch (program) {
            case "PollingServer" -> PollingServer.main(arguments);
            case "SimpleServer" -> SimpleServer.main(arguments);
            case "VirtualThreadServer" -> VirtualThreadServer.main(arguments);
            case "NioServer" -> NioServer.main(arguments);
            case "Client" -> Client.main(arguments);
            case "LoopTest" -> LoopTest.main(arguments);
            case "CallCosts" -> CallCosts.main(arguments);
            default -> throw new IllegalArgumentException("no program " + program);
        }
    }
}
