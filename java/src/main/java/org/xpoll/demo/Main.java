package org.xpoll.demo;

import java.util.Arrays;

/** What {@code java -jar xpoll-demo.jar} runs: chooses the program by its name. */
public final class Main {
    private static final String USAGE = """
            usage: java -jar xpoll-demo.jar PROGRAM [ARGUMENT...]

              PollingServer [--consumers N | --oneshot [N] | --inline]
                                    one thread waits for all connections: as in 1999, batches
                                    to consumers; or each connection to a consumer, one-shot;
                                    or no other thread at all
              SimpleServer          a thread for each connection
              VirtualThreadServer   a virtual thread for each connection
              NioServer             one thread and a java.nio.channels.Selector
              Client CONNECTIONS [HOST [KILOBYTES]]
                                    connects to one of them and writes 10 bytes at a time
              LoopTest [--pipes N] [--seconds S] [--rounds R] [--warm-up MS]
                                    Poller beside Selector, over pipes
              CallCosts             what a call through java.lang.foreign adds

            Servers take --port N (4444; 0: any) and serve one client; --help prints this.
            """;

    private Main() {}

    /**
     * Runs a demo.
     *
     * @param arguments its name, and what it takes
     * @throws Exception whatever goes wrong
     */
    public static void main(String[] arguments) throws Exception {
        if (arguments.length == 0 || Arrays.asList(arguments).contains("--help")) {
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
        }
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
