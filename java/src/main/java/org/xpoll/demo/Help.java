package org.xpoll.demo;

import java.util.LinkedHashMap;
import java.util.Map;

/** What {@code --help} prints, for all programs or for one. */
final class Help {
    private static final String COMMAND = "java -jar xpoll-demo.jar ";

    private static final String PORT = """
            --port N (4444) is the port to listen at, 0 any that is free. It serves one Client,
            prints what that took, and ends. Each connection is a descriptor: for thousands of
            them "ulimit -n" has to allow so many, here and there.
            """;

    private record Text(String arguments, String line, String more) {}

    private static final Map<String, Text> PROGRAMS = new LinkedHashMap<>();

    static {
        put("PollingServer", "[--port N] [--consumers N | --oneshot [N] | --inline]",
                "one thread waits for all connections", """
                --consumers N  N threads (processors + 1) help it to read what is ready, and it
                               waits until all is read, as in 1999
                --oneshot [N]  they help, and it does not wait for them
                --inline       it reads alone

                """ + PORT);
        put("SimpleServer", "[--port N]", "a thread for each connection", PORT);
        put("VirtualThreadServer", "[--port N]", "a virtual thread for each connection", PORT);
        put("NioServer", "[--port N]", "one thread and a java.nio.channels.Selector", PORT);
        put("Client", "[--port N] CONNECTIONS [HOST [KILOBYTES]]",
                "writes to one of these servers, which is started first", """
                Opens the connections to HOST (localhost), port N (4444), then writes KILOBYTES
                (1000) in pieces of 10 bytes, each to a connection that chance picks.
                """);
        put("LoopTest", "[--pipes N] [--seconds S] [--rounds R] [--warm-up MS]"
                        + " [--provider CLASS] [--steady]",
                "measures Poller beside Selector", """
                A byte goes round N (8) pipes. Each way to wait for them runs S (1) seconds in each
                of R (5) rounds, after MS (1500) milliseconds. It takes 10 N descriptors, and 4 N
                more for the selectors of another provider than the JDK's. Steady: selectors alone,
                and no interest changes.
                """);
        put("CallCosts", "[--rounds R]", "measures what a call through java.lang.foreign costs",
                "The median of R (7) rounds, in nanoseconds of processor time.\n");
    }

    private Help() {}

    private static void put(String program, String arguments, String line, String more) {
        PROGRAMS.put(program, new Text(arguments, line, more));
    }

    static String of(String program) {
        Text text = PROGRAMS.get(program);
        return text == null ? ofAll() : "usage: " + COMMAND + program + " " + text.arguments
                + "\n\n" + program + ": " + text.line + "\n\n" + text.more;
    }

    private static String ofAll() {
        StringBuilder all = new StringBuilder("usage: " + COMMAND + "PROGRAM [ARGUMENT...]\n\n");
        PROGRAMS.forEach((program, text) ->
                all.append(String.format("  %-20s  %s%n", program, text.line)));
        return all.append("\n" + COMMAND + "PROGRAM --help tells the arguments.\n").toString();
    }
}
