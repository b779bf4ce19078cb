package org.xpoll;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.File;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Where the library comes from, and what is refused; each in a Java of its own. */
@Timeout(60)
class LibraryTest {
    /** What the children run. */
    static final class Main {
        public static void main(String[] arguments) throws Exception {
            System.out.println("version " + Xpoll.version());
            try (Poller poller = new Poller()) {
                System.out.println("back end " + poller.backend());
            }
            System.out.println("calls by JNI " + Foreign.isJni());
            System.out.println("mapped from memory "
                    + Files.readString(Path.of("/proc/self/maps")).contains("/memfd:libxpoll"));
        }
    }

    private static final String ALLOWED = "--enable-native-access=ALL-UNNAMED";

    private static Child start(String... flags) throws Exception {
        List<String> all = new ArrayList<>(List.of(flags));
        all.addAll(List.of("-cp", Child.classPath(), Main.class.getName()));
        return Child.run(all.toArray(new String[0]));
    }

    @Test
    void nativeAccessDenied_theMessageHasTheFlagThatHelps() throws Exception {
        // Before 24, to allow it to one was to deny it to the others.
        String deny = Runtime.version().feature() >= 24 ? "--illegal-native-access=deny"
                : "--enable-native-access=java.logging";
        Child denied = start(deny);
        assertEquals(1, denied.code(), denied.output());
        Matcher flag = Pattern.compile("start java with: (\\S+)").matcher(denied.output());
        assertTrue(flag.find(), denied.output());
        Child allowed = start(deny, flag.group(1));
        assertEquals(0, allowed.code(), allowed.output());
    }

    @Test
    void inTheJar_isUsedAndLeavesNoFile(@TempDir Path folder) throws Exception {
        Child child = start(ALLOWED, "-Dorg.xpoll.tmpdir=" + folder);
        assertEquals(0, child.code(), child.output());
        assertTrue(child.output().contains("version " + Xpoll.version()), child.output());
        assertTrue(child.output().contains("mapped from memory false"), child.output());
        assertTrue(child.output().contains("calls by JNI true"), child.output());
        assertEquals(0, folder.toFile().list().length);
    }

    static final class OneQueue {
        public static void main(String[] arguments) throws Exception {
            EventList events = new EventList(4);
            try (EventQueue queue = new EventQueue()) {
                queue.apply(events.put(1, Xpoll.FILT_USER, Xpoll.ADD, 0, 0, 0));
                queue.trigger(1);
                System.out.println("events " + queue.awaitNanos(null, events, -1));
            }
        }
    }

    /** Linking a function by java.lang.foreign takes more time than all the rest. */
    @Test
    void aFirstQueue_linksNothing() throws Exception {
        Child child = Child.run(ALLOWED, "-Xlog:class+load", "-cp", Child.classPath(),
                OneQueue.class.getName());
        assertTrue(child.output().contains("events 1"), child.output());
        assertTrue(child.output().contains("org.xpoll.Jni "), child.output());
        assertFalse(child.output().contains("jdk.internal.foreign.abi.DowncallLinker"),
                child.output());
    }

    /** As where programs are forbidden in /tmp, or there is no room, or nobody may write. */
    @Test
    void inTheJar_noFolderTakesIt_isLoadedFromMemory(@TempDir Path folder) throws Exception {
        Child child = start(ALLOWED, "-Dorg.xpoll.tmpdir=" + folder.resolve("none"));
        assertEquals(0, child.code(), child.output());
        assertTrue(child.output().contains("version " + Xpoll.version()), child.output());
        assertTrue(child.output().contains("mapped from memory true"), child.output());
        assertTrue(child.output().contains("calls by JNI false"), child.output());
    }

    /** A class path on which the library "in the jar" is no library. */
    private static String pathOfSpoilt(Path folder) throws Exception {
        Path file = folder.resolve("spoilt" + NativeLibrary.resource());
        Files.createDirectories(file.getParent());
        Files.writeString(file, "not a library");
        return folder.resolve("spoilt") + ":" + Child.classPath();
    }

    /** As where the jar was made for a newer C library: the system's was made for this one. */
    @Test
    void inTheJar_cannotBeLoaded_theSystemsIsUsed(@TempDir Path folder) throws Exception {
        Files.copy(Child.BUILD.resolve("classes" + NativeLibrary.resource()),
                folder.resolve("libxpoll.so.1"));
        Child child = Child.run(Map.of("LD_LIBRARY_PATH", folder.toString()), ALLOWED, "-cp",
                pathOfSpoilt(folder), Main.class.getName());
        assertEquals(0, child.code(), child.output());
        assertTrue(child.output().contains("version " + Xpoll.version()), child.output());
    }

    @Test
    void noneCanBeLoaded_theReasonsAreGivenEachTime(@TempDir Path folder) throws Exception {
        // The system's comes after this one.
        Files.writeString(folder.resolve("libxpoll.so.1"), "nor this");
        Child child = Child.run(Map.of("LD_LIBRARY_PATH", folder.toString()), ALLOWED, "-cp",
                pathOfSpoilt(folder), Insistent.class.getName());
        assertEquals(0, child.code(), child.output());
        List<String> lines = child.output().lines().filter(line -> line.startsWith("refused"))
                .toList();
        assertEquals(Insistent.USES, lines.size(), child.output());
        for (String line : lines) {
            // Of both, what the system says; and no advice that does not help.
            assertTrue(line.startsWith("refused no libxpoll: that in the jar cannot be loaded ("),
                    child.output());
            assertTrue(line.matches(".*/libxpoll[.]so: .*, and the system has no usable"
                    + " libxpoll[.]so[.]1: .*libxpoll[.]so[.]1: .*"), child.output());
            assertTrue(line.contains("-Dorg.xpoll.library=FILE"), child.output());
            assertFalse(line.contains("tmpdir"), child.output());
        }
    }

    /** Whatever a program tries first, and whatever next. */
    static final class Insistent {
        static final int USES = 8;

        public static void main(String[] arguments) {
            tell(Xpoll::version);
            tell(Xpoll::backends);
            tell(() -> Xpoll.supports(Xpoll.FILT_READ, 0));
            tell(Poller::new);
            tell(EventQueue::new);
            tell(EventQueue::new);
            tell(() -> new EventList(1).put(1, Xpoll.FILT_USER, 0, 0, 0, 0).describe(0));
            tell(() -> {
                Xpoll.forgetFd(1);
                return null;
            });
        }

        private static void tell(Callable<Object> use) {
            try {
                System.out.println("used " + use.call());
            } catch (UnsatisfiedLinkError e) {
                System.out.println("refused " + e.getMessage().replace('\n', ' '));
            } catch (Throwable e) {
                System.out.println("otherwise " + e);
            }
        }
    }

    /** Two class loaders, as in a server of applications; each has its own class Poller. */
    static final class Loaders {
        public static void main(String[] arguments) throws Exception {
            URL[] path = {Child.BUILD.resolve("classes").toUri().toURL()};
            ClassLoader system = ClassLoader.getPlatformClassLoader();
            try (URLClassLoader one = new URLClassLoader(path, system);
                    URLClassLoader two = new URLClassLoader(path, system)) {
                System.out.println("ready " + readyAfterForget(one, two) + " "
                        + readyAfterForget(two, one));
            }
        }

        /** Standard input, which is at its end. */
        private static Object readyAfterForget(ClassLoader mine, ClassLoader others)
                throws Exception {
            Class<?> poller = mine.loadClass("org.xpoll.Poller");
            Class<?> events = mine.loadClass("org.xpoll.Events");
            try (AutoCloseable made = (AutoCloseable) poller.getConstructor().newInstance()) {
                poller.getMethod("addFd", int.class, int.class, Object.class)
                        .invoke(made, 0, 1, null);
                others.loadClass("org.xpoll.Xpoll").getMethod("forgetFd", int.class)
                        .invoke(null, 0);
                return poller.getMethod("poll", events, long.class)
                        .invoke(made, events.getConstructor(int.class).newInstance(1), 0L);
            }
        }
    }

    @Test
    void classLoaders_haveOneLibrary() throws Exception {
        Child child = Child.run(ALLOWED, "-Dxpoll.build=" + Child.BUILD, "-cp", Child.classPath(),
                Loaders.class.getName());
        assertEquals(0, child.code(), child.output());
        assertTrue(child.output().contains("ready 0 0"), child.output());
    }

    @Test
    void byProperty_isUsed() throws Exception {
        File library = Child.BUILD.resolve("classes" + NativeLibrary.resource()).toFile();
        assumeTrue(library.exists());
        Child child = start(ALLOWED, "-Dorg.xpoll.library=" + library);
        assertEquals(0, child.code(), child.output());
    }

    @Test
    void otherVersion_isRefusedByName() throws Exception {
        Path other = Child.BUILD.resolve("tests/libxpoll_java_other.so");
        assumeTrue(Files.exists(other), "CMake has not made it");
        Child child = start(ALLOWED, "-Dorg.xpoll.library=" + other);
        assertEquals(1, child.code());
        assertTrue(child.output().contains("is xpoll 9.9.9, but this jar needs xpoll 1.0"),
                child.output());
    }

    @Test
    void laterOnesOfTheSameMajorVersion_fit() {
        assertTrue(NativeLibrary.fits(0x010200, 0x010200));
        assertTrue(NativeLibrary.fits(0x010300, 0x010200));
        assertTrue(NativeLibrary.fits(0x010200, 0x010201)); // A patch brings no names.
        assertFalse(NativeLibrary.fits(0x010100, 0x010200));
        assertFalse(NativeLibrary.fits(0x020000, 0x010200));
    }

    @Test
    void missingFile_isNamed(@TempDir Path folder) throws Exception {
        Child child = start(ALLOWED, "-Dorg.xpoll.library=" + folder.resolve("none.so"));
        assertEquals(1, child.code());
        assertTrue(child.output().contains("cannot load " + folder), child.output());
    }

    @Test
    void noLibraryAtAll_isSaid(@TempDir Path folder) throws Exception {
        // Only the classes: no resource.
        for (File file : Child.BUILD.resolve("classes/org/xpoll").toFile().listFiles()) {
            if (file.isFile()) {
                Path copy = folder.resolve("org/xpoll").resolve(file.getName());
                Files.createDirectories(copy.getParent());
                Files.copy(file.toPath(), copy);
            }
        }
        Child child = Child.run(ALLOWED, "-cp",
                folder + ":" + Child.BUILD.resolve("test-classes"), Main.class.getName());
        if (child.code() == 0) {
            // The system has one.
            assertTrue(child.output().contains("version 1.0"), child.output());
        } else {
            assertTrue(child.output().contains("no libxpoll"), child.output());
        }
    }
}
