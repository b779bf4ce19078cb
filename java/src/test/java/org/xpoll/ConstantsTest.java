package org.xpoll;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.reflect.Field;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** The constants are written by hand; the header shows whether they are right. */
class ConstantsTest {
    private static final Pattern DEFINITION = Pattern.compile(
            "^#define XPOLL_(\\w+) +(\\S+).*$", Pattern.MULTILINE);
    private static final Pattern NUMBER = Pattern.compile("\\(?(-?\\w+?)u?\\)?");

    /** How the compiler exports functions, and what xpoll_open is given, which is not here. */
    private static final Set<String> NO_CONSTANTS = Set.of("API", "TELL_MODES", "VNODE_AS_BSD");

    /** Each has to be here, also those that the header has got since; none may be here alone. */
    @Test
    void constants_areThoseOfTheHeader() throws Exception {
        Map<String, Integer> header = new TreeMap<>();
        Matcher matcher = DEFINITION.matcher(Files.readString(
                Path.of(System.getProperty("xpoll.header"))));
        while (matcher.find()) {
            if (!NO_CONSTANTS.contains(matcher.group(1))) {
                header.put(matcher.group(1), number(matcher.group(2)));
            }
        }
        assertEquals(NativeLibrary.VERSION, header.remove("VERSION"));
        assertEquals(QueueOptions.ALL_READY, header.remove("ALL_READY"));
        assertEquals(QueueOptions.COUNT_IDLE, header.remove("COUNT_IDLE"));
        assertEquals(QueueOptions.RESTART, header.remove("RESTART"));
        assertTrue(header.size() > 50, "the header is read: " + header);

        Map<String, Integer> here = new TreeMap<>();
        for (Field field : Xpoll.class.getFields()) {
            here.put(field.getName(), ((Number) field.get(null)).intValue());
        }
        assertEquals(header, here);
    }

    /** In the order of struct xpoll_stats, as Stats reads it. */
    @Test
    void stats_areThoseOfTheHeader() throws Exception {
        Matcher struct = Pattern.compile("struct xpoll_stats \\{(.*?)\\};", Pattern.DOTALL)
                .matcher(Files.readString(Path.of(System.getProperty("xpoll.header"))));
        assertTrue(struct.find());
        List<String> header = Pattern.compile("uint64_t (\\w+);").matcher(struct.group(1)).results()
                .map(member -> member.group(1).replaceAll("_ns$", "nanos").replace("_", ""))
                .toList();
        assertEquals(header, Arrays.stream(Stats.class.getRecordComponents())
                .map(component -> component.getName().toLowerCase(Locale.ROOT)).toList());
        assertEquals(Stats.BYTES, header.size() * 8);
    }

    private static int number(String text) {
        Matcher matcher = NUMBER.matcher(text);
        assertTrue(matcher.matches(), "no number: " + text);
        return Long.decode(matcher.group(1)).intValue();
    }

    /** Source of that time may have them as numbers; and they were of type short. */
    @Test
    void pollerConstants_areThoseOf1999() throws Exception {
        Map<String, Integer> then = Map.ofEntries(Map.entry("POLLIN", 0x001),
                Map.entry("POLLPRI", 0x002), Map.entry("POLLOUT", 0x004),
                Map.entry("POLLERR", 0x008), Map.entry("POLLHUP", 0x010),
                Map.entry("POLLNVAL", 0x020), Map.entry("POLLRDNORM", 0x040),
                Map.entry("POLLWRNORM", 0x004), Map.entry("POLLRDBAND", 0x080),
                Map.entry("POLLWRBAND", 0x100), Map.entry("POLLNORM", 0x040));
        Map<String, Integer> here = new TreeMap<>();
        for (Field field : Poller.class.getFields()) {
            if (field.getName().startsWith("POLL")) {
                assertEquals(short.class, field.getType());
                here.put(field.getName(), (int) field.getShort(null));
            }
        }
        assertEquals(new TreeMap<>(then), here);
    }

    @Test
    void questions_withoutAQueue_areAnswered() {
        assertTrue(Xpoll.supports(Xpoll.FILT_TIMER, Xpoll.NOTE_NSECONDS));
        assertFalse(Xpoll.supports((short) 77, 0));
        assertEquals(NativeLibrary.text(NativeLibrary.VERSION), Xpoll.version());
        assertTrue(Poller.getNumCPUs() >= 1);
    }
}
