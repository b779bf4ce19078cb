package org.xpoll;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.lang.reflect.Field;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Virtual threads wait also where their queues can no longer be watched. */
@Timeout(60)
class VirtualTest {
    static final class Main {
        private static final int[] PIPE = Posix.pipe();

        public static void main(String[] arguments) throws Exception {
            try (Poller before = new Poller(); Poller after = new Poller()) {
                System.out.println("watched " + found(before));
                Posix.close(watch());
                System.out.println("closed " + found(before));
                System.out.println("refused " + found(after));
            }
        }

        /** What a virtual thread finds after it has fallen asleep. */
        private static int found(Poller poller) throws Exception {
            poller.addFd(PIPE[0], Poller.POLLIN, null);
            FutureTask<Integer> task = new FutureTask<>(() -> poller.pollMillis(new Events(2), -1));
            Thread waiter = Thread.ofVirtual().start(task);
            Until.yes(() -> waiter.getState() == Thread.State.WAITING);
            Posix.write(PIPE[1], 1);
            int found = task.get();
            Posix.read(PIPE[0]);
            poller.removeFd(PIPE[0]);
            return found;
        }

        /** The descriptor by which the queues of virtual threads are watched. */
        private static int watch() throws ReflectiveOperationException {
            Object current = field(QueueWatch.class, "current").get(null);
            Object set = field(QueueWatch.class, "set").get(current);
            return (int) field(Epoll.class, "set").get(set);
        }

        private static Field field(Class<?> owner, String name) throws NoSuchFieldException {
            Field field = owner.getDeclaredField(name);
            field.setAccessible(true);
            return field;
        }
    }

    @Test
    void watchClosedBySomebodyElse_waitsGoOn() throws Exception {
        Child child = Child.run("--enable-native-access=ALL-UNNAMED", "-cp", Child.classPath(),
                Main.class.getName());
        assertEquals(0, child.code(), child.output());
        assertEquals("watched 1\nclosed 1\nrefused 1\n", child.output());
    }
}
