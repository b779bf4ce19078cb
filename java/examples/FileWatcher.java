import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.nio.file.NoSuchFileException;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import org.xpoll.EventList;
import org.xpoll.EventQueue;
import org.xpoll.Xpoll;

/**
 * Prints what happens to files and folders, until all of them are gone: {@code FileWatcher
 * PATH...}. The descriptor is watched, not the name: a file is followed when it is renamed.
 */
class FileWatcher {
    private static final Duration FOR_EVER = Duration.ofSeconds(-1);
    private static final Map<Integer, String> WORDS = new LinkedHashMap<>();

    static {
        WORDS.put(Xpoll.NOTE_WRITE, "written");
        WORDS.put(Xpoll.NOTE_EXTEND, "grown");
        WORDS.put(Xpoll.NOTE_TRUNCATE, "cut");
        WORDS.put(Xpoll.NOTE_RENAME, "renamed");
        WORDS.put(Xpoll.NOTE_DELETE, "deleted");
    }

    private FileWatcher() {}

    public static void main(String[] paths) throws Throwable {
        try (EventQueue queue = new EventQueue()) {
            EventList change = new EventList(1);
            for (int i = 0; i < paths.length; i++) {
                int notes = WORDS.keySet().stream().mapToInt(Integer::intValue).sum();
                // What comes back with an event is the place in the command line.
                queue.apply(change.clear().put(open(paths[i]), Xpoll.FILT_VNODE, Xpoll.ADD,
                        notes, 0, i));
                System.out.println("watching " + paths[i]);
            }
            EventList events = new EventList(16);
            for (int left = paths.length; left > 0; ) {
                queue.await(null, events, FOR_EVER);
                for (int i = 0; i < events.size(); i++) {
                    System.out.println(paths[(int) events.udata(i)] + ":"
                            + words(events.fflags(i)));
                    if ((events.fflags(i) & Xpoll.NOTE_DELETE) != 0) {
                        long fd = events.ident(i);
                        queue.apply(change.clear()
                                .put(fd, Xpoll.FILT_VNODE, Xpoll.DELETE, 0, 0, 0));
                        close((int) fd);
                        left--;
                    }
                }
            }
        }
    }

    private static String words(int notes) {
        StringBuilder text = new StringBuilder();
        WORDS.forEach((note, word) -> text.append((notes & note) != 0 ? " " + word : ""));
        return text.toString();
    }

    /** By open(2): for a folder Java itself has no stream. */
    private static int open(String path) throws Throwable {
        MethodHandle open = function("open", FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_INT),
                Linker.Option.firstVariadicArg(2));
        try (Arena arena = Arena.ofConfined()) {
            int fd = (int) open.invokeExact(arena.allocateFrom(path), 0); // O_RDONLY
            if (fd < 0) {
                throw new NoSuchFileException(path);
            }
            return fd;
        }
    }

    private static void close(int fd) throws Throwable {
        MethodHandle close = function("close", FunctionDescriptor.of(JAVA_INT, JAVA_INT));
        int ignored = (int) close.invokeExact(fd);
    }

    @SuppressWarnings("restricted") // It needs --enable-native-access, as xpoll does.
    private static MethodHandle function(String name, FunctionDescriptor type,
            Linker.Option... options) {
        Linker linker = Linker.nativeLinker();
        MemorySegment address = linker.defaultLookup().find(name).orElseThrow();
        return linker.downcallHandle(address, type, options);
    }
}
