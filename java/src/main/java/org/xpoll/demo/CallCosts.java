package org.xpoll.demo;

import java.io.IOException;
import java.util.Arrays;
import org.xpoll.Events;
import org.xpoll.Poller;

/** What one wait and one change cost from Java, in processor time. */
final class CallCosts {
    private static final int CALLS = 200_000;

    private interface Call {
        void run() throws IOException;
    }

    private CallCosts() {}

    static void main(String[] arguments) throws IOException {
        Options options = new Options(arguments);
        int rounds = options.count("--rounds", 7);
        options.end();
        try (Poller poller = new Poller()) {
            Events events = new Events(4);
            int[] silent = Libc.pipe();
            poller.addFd(silent[0], Poller.POLLIN, null);
            measure("look_nothing", rounds, () -> poller.pollMillis(events, 0));

            int[] ready = Libc.pipe();
            Libc.write(ready[1]);
            poller.addFd(ready[0], Poller.POLLIN, null);
            measure("look_ready", rounds, () -> poller.pollMillis(events, 0));
            measure("wait_ready", rounds, () -> poller.pollMillis(events, -1));
            measure("disable_enable", rounds, () -> {
                poller.disable(silent[0]);
                poller.enable(silent[0]);
            });
        }
    }

    private static void measure(String name, int rounds, Call call) throws IOException {
        double[] nanos = new double[rounds];
        time(call);
        time(call);
        for (int i = 0; i < rounds; i++) {
            nanos[i] = time(call);
        }
        Arrays.sort(nanos);
        System.out.printf("call=%s ns=%.1f least=%.1f%n", name, nanos[rounds / 2], nanos[0]);
    }

    private static double time(Call call) throws IOException {
        long start = ThisThread.cpuNanos();
        for (int i = 0; i < CALLS; i++) {
            call.run();
        }
        return (ThisThread.cpuNanos() - start) / (double) CALLS;
    }
}
