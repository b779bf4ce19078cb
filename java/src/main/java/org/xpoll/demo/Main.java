package org.xpoll.demo;

import java.io.IOException;
import java.util.Arrays;
import java.util.List;

/** What {@code java -jar xpoll-demo.jar} runs: chooses the program by its name. */
public final class Main {
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
            System.out.print(Help.of(words.isEmpty() ? "" : words.getFirst()));
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
