import java.io.IOException;
import java.time.Duration;
import org.xpoll.EventList;
import org.xpoll.EventQueue;
import org.xpoll.Xpoll;

/**
 * Prints what a process and its children do until the process ends: {@code ProcessFollower PID}.
 * It need not be a child of this one.
 */
class ProcessFollower {
    private static final Duration FOR_EVER = Duration.ofSeconds(-1);

    private ProcessFollower() {}

    public static void main(String[] arguments) throws IOException {
        long pid = Long.parseLong(arguments[0]);
        try (EventQueue queue = new EventQueue()) {
            int notes = Xpoll.NOTE_EXIT | Xpoll.NOTE_EXEC;
            if (queue.supports(Xpoll.FILT_PROC, notes | Xpoll.NOTE_TRACK)) {
                notes |= Xpoll.NOTE_TRACK;
            }
            EventList changes = new EventList(1);
            changes.put(pid, Xpoll.FILT_PROC, Xpoll.ADD, notes, 0, 0);
            queue.apply(changes);
            System.out.println("following " + pid);
            EventList events = new EventList(16);
            while (follow(pid, queue, events)) {
                // The next.
            }
        }
    }

    /** Whether it has not ended. */
    private static boolean follow(long pid, EventQueue queue, EventList events)
            throws IOException {
        boolean lives = true;
        queue.await(null, events, FOR_EVER);
        for (int i = 0; i < events.size(); i++) {
            long ident = events.ident(i);
            int notes = events.fflags(i);
            if ((notes & Xpoll.NOTE_CHILD) != 0) {
                System.out.println(ident + ": child of " + events.data(i));
            }
            if ((notes & Xpoll.NOTE_EXEC) != 0) {
                System.out.println(ident + ": other program");
            }
            if ((notes & Xpoll.NOTE_EXIT) != 0) {
                System.out.println(ident + ": " + end(notes, events.data(i)));
                lives &= ident != pid;
            }
        }
        return lives;
    }

    /** A wait status, as of wait(2). */
    private static String end(int notes, long status) {
        if ((notes & Xpoll.NOTE_STATUS_UNKNOWN) != 0) {
            return "end";
        }
        return (status & 0x7f) == 0 ? "exit " + (status >> 8 & 0xff) : "signal " + (status & 0x7f);
    }
}
