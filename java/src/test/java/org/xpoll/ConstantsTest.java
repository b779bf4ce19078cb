package org.xpoll;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.reflect.Field;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** The constants are written by hand; the header tells whether they are right. */
class ConstantsTest {
    private static final Pattern DEFINITION = Pattern.compile(
            "^#define XPOLL_(\\w+) +\\(?(-?\\w+?)u?\\)?(?: .*)?$", Pattern.MULTILINE);

    @Test
    void constants_areThoseOfTheHeader() throws Exception {
        Map<String, Integer> header = new TreeMap<>();
        Matcher matcher = DEFINITION.matcher(Files.readString(
                Path.of(System.getProperty("xpoll.header"))));
        while (matcher.find()) {
            header.put(matcher.group(1), Long.decode(matcher.group(2)).intValue());
        }
        assertEquals(NativeLibrary.VERSION, header.remove("VERSION"));
        header.keySet().removeIf(name -> name.startsWith("AIO_"));

        Map<String, Integer> here = new TreeMap<>();
        for (Field field : Xpoll.class.getFields()) {
            here.put(field.getName(), ((Number) field.get(null)).intValue());
        }
        // What the header has got since may be missing here: numbers are taken as they are.
        header.keySet().retainAll(here.keySet());
        assertEquals(header, here);
    }

    @Test
    void questions_withoutAQueue_areAnswered() {
        assertTrue(Xpoll.supports(Xpoll.FILT_TIMER, Xpoll.NOTE_NSECONDS));
        assertFalse(Xpoll.supports((short) 77, 0));
        assertEquals(NativeLibrary.text(NativeLibrary.VERSION), Xpoll.version());
        assertTrue(Poller.getNumCPUs() >= 1);
    }
}
