package org.xpoll;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Native code in the same process may call fork(2). The child's copy of the library says EBADF to
 * all that is asked of it, and the parent's queues go on.
 */
@Timeout(120)
class ForkTest {
    private interface Call {
        void run() throws IOException;
    }

    /** A Java of its own: of its threads only one is in the child, so nobody compiles there. */
    static final class Main {
        private static final int HUNG = 99;
        private static final int TRIES = 3;

        public static void main(String[] arguments) throws Exception {
            for (String backend : Xpoll.backends()) {
                try (Poller poller = Poller.open(backend, 10);
                        EventQueue queue = EventQueue.open(backend)) {
                    check(backend, poller, queue);
                }
            }
        }

        private static void check(String backend, Poller poller, EventQueue queue)
                throws Exception {
            int[] pipe = Posix.pipe();
            EventList list = new EventList(1);
            poller.addFd(pipe[0], Poller.POLLIN, null);
            list.put(1, Xpoll.FILT_USER, Xpoll.ADD, 0, 0, 0);
            queue.apply(list);
            // What the child uses has been used, and nobody has to collect garbage for it.
            refused(() -> {
                throw new XpollException("as in the child", Errno.EBADF);
            });
            int code = HUNG;
            for (int i = 0; i < TRIES && code == HUNG; i++) {
                System.gc();
                int child = Posix.fork();
                if (child == 0) {
                    Posix.exitNow(inChild(poller, queue, pipe));
                }
                code = reap(child);
            }
            Posix.write(pipe[1], 1);
            int ready = poller.pollMillis(new Events(1), 10_000);
            queue.trigger(1);
            int triggered = queue.awaitNanos(null, list, 10_000_000_000L);
            System.out.println(backend + " child=" + code + " ready=" + ready + " triggered="
                    + triggered);
            Posix.close(pipe);
        }

        /** A bit for each call that was not refused. */
        private static int inChild(Poller poller, EventQueue queue, int[] pipe) {
            Events events = new Events(1);
            EventList list = new EventList(1);
            Call[] calls = {() -> poller.pollMillis(events, 0), () -> poller.pollMillis(events, -1),
                () -> poller.addFd(pipe[1], Poller.POLLOUT, null), () -> poller.enable(pipe[0]),
                () -> queue.awaitNanos(null, list, -1), () -> queue.trigger(1)};
            int wrong = 0;
            for (int i = 0; i < calls.length; i++) {
                wrong |= refused(calls[i]) ? 0 : 1 << i;
            }
            poller.wakeup();
            poller.close();
            queue.close();
            return wrong;
        }

        private static boolean refused(Call call) {
            try {
                call.run();
                return false;
            } catch (IOException e) {
                return e instanceof XpollException x && x.errno() == Errno.EBADF;
            }
        }

        /** A stop of all threads that was asked for just before the fork has no end there. */
        private static int reap(int child) {
            long deadline = System.nanoTime() + 10_000_000_000L;
            int code;
            while ((code = Posix.exitCode(child)) < 0) {
                if (System.nanoTime() > deadline) {
                    Posix.kill(child, 9);
                    deadline = Long.MAX_VALUE;
                }
                Thread.yield();
            }
            return code;
        }
    }

    @Test
    void forkedChild_isRefusedAndTheParentGoesOn() throws Exception {
        Child java = Child.run("--enable-native-access=ALL-UNNAMED", "-Xint",
                "-XX:+UseSerialGC", "-cp", Child.classPath(), Main.class.getName());
        assertEquals(0, java.code(), java.output());
        for (String backend : Xpoll.backends()) {
            assertTrue(java.output().contains(backend + " child=0 ready=1 triggered=1"),
                    java.output());
        }
    }
}
