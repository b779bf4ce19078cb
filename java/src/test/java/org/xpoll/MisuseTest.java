package org.xpoll;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.Parameter;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Every number is tried as a descriptor, a signal and a process, the virtual machine's own among
 * them. It gets an exception or it works; the machine goes on, and the queue still wakes.
 */
@ParameterizedClass
@MethodSource("org.xpoll.Xpoll#backends")
@Timeout(120)
class MisuseTest {
    private static final int SIGNALS = 70;
    private static final int DESCRIPTORS = 80;

    @Parameter String backend;
    private final EventList changes = new EventList(1);
    private final EventList statuses = new EventList(4);
    private final EventList events = new EventList(4);
    private EventQueue queue;

    @BeforeEach
    void open() throws IOException {
        queue = EventQueue.open(backend);
    }

    @AfterEach
    void close() {
        queue.close();
    }

    private void change(long ident, int filter, int flags, int notes) {
        try {
            changes.clear().put(ident, (short) filter, flags, notes, 1, 0);
            queue.awaitNanos(changes, statuses, 0);
        } catch (IOException | IllegalArgumentException e) {
            // Refused.
        }
    }

    /** Events go before a wake, so they are got rid of; a wait for that would answer the wake. */
    private void stillWakes() throws Exception {
        Thread waker = Thread.ofPlatform().start(queue::wakeup);
        int n;
        do {
            n = queue.awaitNanos(null, events, -1);
            for (int i = 0; i < n; i++) {
                delete(events.ident(i), events.filter(i));
            }
        } while (n > 0);
        waker.join();
    }

    private void delete(long ident, short filter) throws IOException {
        try {
            queue.apply(changes.clear().put(ident, filter, Xpoll.DELETE, 0, 0, 0));
        } catch (XpollException e) {
            // A process that has ended: its event was the last.
        }
    }

    private static int deeper(int depth) {
        return deeper(depth + 1) + 1;
    }

    @Test
    void signals_allObserved_theMachineKeepsItsOwn() throws Exception {
        for (int signal = -2; signal < SIGNALS; signal++) {
            change(signal, Xpoll.FILT_SIGNAL, Xpoll.ADD, 0);
        }
        String[] none = new String[1];
        for (int i = 0; i < 20_000; i++) {
            assertThrows(NullPointerException.class, () -> none[0].length());
        }
        assertThrows(StackOverflowError.class, () -> deeper(0));
        assertTrue(Thread.getAllStackTraces().size() > 1);
        stillWakes();
    }

    @Test
    void processes_itselfAndStrangers_harmNobody() throws Exception {
        long self = ProcessHandle.current().pid();
        long[] processes = {self, ProcessHandle.current().parent().orElseThrow().pid(), 1, 0, -1,
            Long.MIN_VALUE};
        for (long process : processes) {
            // Exits only: for forks a process has to be traced.
            change(process, Xpoll.FILT_PROC, Xpoll.ADD, Xpoll.NOTE_EXIT);
            change(process, Xpoll.FILT_PROC, Xpoll.ADD, -1);
            change(process, Xpoll.FILT_PROC, Xpoll.DELETE, 0);
        }
        change(self, Xpoll.FILT_PROC, Xpoll.ADD, Xpoll.NOTE_TRACK | Xpoll.NOTE_FORK);
        assertEquals(0, new ProcessBuilder("true").start().waitFor());
        stillWakes();
    }

    @Test
    void descriptors_eachNumber_theQueueKeepsItsOwn() throws Exception {
        int[] flags = {Xpoll.ADD, Xpoll.ADD | Xpoll.DISABLE, Xpoll.ADD | Xpoll.CLEAR,
            Xpoll.ADD | Xpoll.ONESHOT | Xpoll.DISPATCH, Xpoll.DISABLE, Xpoll.ENABLE, Xpoll.DELETE};
        for (int fd = -3; fd < DESCRIPTORS; fd++) {
            for (int filter = 0; filter > -17; filter--) {
                for (int flag : flags) {
                    if (filter != Xpoll.FILT_PROC && filter != Xpoll.FILT_SIGNAL) {
                        change(fd, filter, flag, 0);
                    }
                }
            }
        }
        // What belongs to the queue itself is no member: after EXCEPT of it nothing woke.
        for (int fd = 0; fd < DESCRIPTORS; fd++) {
            change(fd, Xpoll.FILT_EXCEPT, Xpoll.ADD, 0);
        }
        stillWakes();
    }

    /** A queue's own descriptors are among them, and those of the virtual machine. */
    static final class Main {
        public static void main(String[] arguments) throws Exception {
            int[] pipe = Posix.pipe();
            Poller victim = Poller.open(arguments[0], 10);
            victim.addFd(pipe[0], Poller.POLLIN, null);
            for (int fd = 3; fd < 4 * DESCRIPTORS; fd++) {
                try {
                    Xpoll.closeFd(fd);
                } catch (IOException | IllegalArgumentException e) {
                    // Refused.
                }
            }
            try {
                victim.pollMillis(new Events(1), 0);
            } catch (IOException e) {
                // It has lost what it waits with.
            }
            victim.close();
            int[] other = Posix.pipe();
            try (Poller poller = Poller.open(arguments[0], 10)) {
                poller.addFd(other[1], Poller.POLLOUT, null);
                System.out.println("ready " + poller.pollMillis(new Events(1), -1));
            }
            // Of a class that nothing has used yet.
            System.out.println("loaded " + Class.forName("java.util.Formatter").getSimpleName());
        }
    }

    @Test
    void descriptors_allClosed_theMachineGoesOn() throws Exception {
        Child child = Child.run("--enable-native-access=ALL-UNNAMED", "-cp", Child.classPath(),
                Main.class.getName(), backend);
        assertEquals(0, child.code(), child.output());
        assertTrue(child.output().contains("ready 1"), child.output());
        assertTrue(child.output().contains("loaded Formatter"), child.output());
    }

    /** Nobody gets records that are not there, nor the system any that are not checked. */
    @Test
    void list_changedByManyThreads_holdsNoMoreThanItsRoom() throws Exception {
        EventList shared = new EventList(1);
        FutureTask<?>[] tasks = new FutureTask<?>[3];
        for (int i = 0; i < tasks.length; i++) {
            tasks[i] = new FutureTask<>(() -> fillAndEmpty(shared), null);
            Thread.ofPlatform().start(tasks[i]);
        }
        for (FutureTask<?> task : tasks) {
            task.get();
        }
    }

    private void fillAndEmpty(EventList shared) {
        for (int i = 0; i < 100_000; i++) {
            try {
                shared.put(1, Xpoll.FILT_USER, Xpoll.ADD, 0, 0, 0);
                shared.clear();
            } catch (IllegalStateException | IndexOutOfBoundsException e) {
                // Refused.
            }
            assertTrue(shared.size() <= 1, "more than there is room for");
        }
    }
}
