import java.io.IOException;
import java.io.OutputStream;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.xpoll.EventList;
import org.xpoll.EventQueue;
import org.xpoll.Xpoll;

/**
 * Runs a command, and prints what it and the processes that it makes do; ends with its status:
 * {@code ProcessFollower COMMAND [ARGUMENT...]}. Where the system does not permit
 * following processes, only the end of the command is printed.
 */
class ProcessFollower {
    private static final Duration FOR_EVER = Duration.ofSeconds(-1);

    private ProcessFollower() {}

    public static void main(String[] arguments) throws IOException, InterruptedException {
        // It begins when it is followed.
        List<String> command = new ArrayList<>();
        command.addAll(List.of("sh", "-c", "read go && exec \"$0\" \"$@\""));
        command.addAll(List.of(arguments));
        Process child = new ProcessBuilder(command)
                .redirectOutput(ProcessBuilder.Redirect.INHERIT)
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        try (EventQueue queue = new EventQueue()) {
            follow(queue, child.pid());
            try (OutputStream go = child.getOutputStream()) {
                go.write('\n');
            }
            EventList events = new EventList(16);
            for (int alive = 1; alive > 0; ) {
                queue.await(null, events, FOR_EVER);
                for (int i = 0; i < events.size(); i++) {
                    print(events.ident(i), events.fflags(i), events.data(i));
                    alive += (events.fflags(i) & Xpoll.NOTE_CHILD) != 0 ? 1 : 0;
                    alive -= (events.flags(i) & Xpoll.EOF) != 0 ? 1 : 0;
                }
            }
        }
        System.exit(child.waitFor());
    }

    private static void follow(EventQueue queue, long pid) throws IOException {
        EventList change = new EventList(1);
        int notes = Xpoll.NOTE_EXIT | Xpoll.NOTE_EXEC | Xpoll.NOTE_TRACK;
        try {
            queue.apply(change.put(pid, Xpoll.FILT_PROC, Xpoll.ADD, notes, 0, 0));
        } catch (IOException e) {
            notes = Xpoll.NOTE_EXIT;
            queue.apply(change.clear().put(pid, Xpoll.FILT_PROC, Xpoll.ADD, notes, 0, 0));
        }
    }

    private static void print(long pid, int notes, long data) {
        if ((notes & Xpoll.NOTE_CHILD) != 0) {
            System.out.println(pid + ": made by " + data);
        }
        if ((notes & Xpoll.NOTE_EXEC) != 0) {
            System.out.println(pid + ": exec");
        }
        if ((notes & Xpoll.NOTE_EXIT) != 0) {
            System.out.println(pid + ": " + end(notes, data));
        }
    }

    /** Java reaps its children by itself: where it was faster the status may be unknown. */
    private static String end(int notes, long status) {
        if ((notes & Xpoll.NOTE_STATUS_UNKNOWN) != 0) {
            return "ended";
        }
        return (status & 0x7f) == 0 ? "exit " + (status >> 8 & 0xff) : "signal " + (status & 0x7f);
    }
}
