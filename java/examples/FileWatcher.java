import java.io.FileInputStream;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.xpoll.EventList;
import org.xpoll.EventQueue;
import org.xpoll.Poller;
import org.xpoll.Xpoll;

/** Prints what happens to files until the last is deleted: {@code FileWatcher FILE...}. */
class FileWatcher {
    private static final int CHANGES = Xpoll.NOTE_WRITE | Xpoll.NOTE_EXTEND | Xpoll.NOTE_TRUNCATE
            | Xpoll.NOTE_ATTRIB | Xpoll.NOTE_RENAME | Xpoll.NOTE_DELETE;
    private static final Duration FOR_EVER = Duration.ofSeconds(-1);

    private FileWatcher() {}

    public static void main(String[] names) throws IOException {
        List<FileInputStream> files = new ArrayList<>();
        EventList changes = new EventList(Math.max(names.length, 1));
        for (int i = 0; i < names.length; i++) {
            FileInputStream file = new FileInputStream(names[i]);
            files.add(file);
            // The number of the file is its place in the command line.
            changes.put(Poller.fdOf(file.getFD()), Xpoll.FILT_VNODE, Xpoll.ADD | Xpoll.CLEAR,
                    CHANGES, 0, i);
        }
        try (EventQueue queue = new EventQueue()) {
            queue.apply(changes);
            System.out.println("watching " + names.length);
            EventList events = new EventList(16);
            for (int left = names.length; left > 0; ) {
                queue.await(null, events, FOR_EVER);
                for (int i = 0; i < events.size(); i++) {
                    int number = (int) events.udata(i);
                    System.out.println(names[number] + ":" + words(events.fflags(i)));
                    if ((events.fflags(i) & Xpoll.NOTE_DELETE) != 0) {
                        // To close it ends its registration as well.
                        files.get(number).close();
                        left--;
                    }
                }
            }
        }
    }

    private static String words(int notes) {
        return word(notes, Xpoll.NOTE_WRITE, "written")
                + word(notes, Xpoll.NOTE_EXTEND, "grown")
                + word(notes, Xpoll.NOTE_TRUNCATE, "cut")
                + word(notes, Xpoll.NOTE_ATTRIB, "attributes")
                + word(notes, Xpoll.NOTE_RENAME, "renamed")
                + word(notes, Xpoll.NOTE_DELETE, "deleted");
    }

    private static String word(int notes, int note, String word) {
        return (notes & note) != 0 ? " " + word : "";
    }
}
