package org.xpoll;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
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
        }
    }

    private static Child start(String... flags) throws Exception {
        String[] all = new String[flags.length + 4];
        System.arraycopy(flags, 0, all, 0, flags.length);
        all[flags.length] = "--enable-native-access=ALL-UNNAMED";
        all[flags.length + 1] = "-cp";
        all[flags.length + 2] = Child.classPath();
        all[flags.length + 3] = Main.class.getName();
        return Child.run(all);
    }

    @Test
    void inTheJar_isUsedAndLeavesNoFile(@TempDir Path folder) throws Exception {
        Child child = start("-Dorg.xpoll.tmpdir=" + folder);
        assertEquals(0, child.code(), child.output());
        assertTrue(child.output().contains("version " + Xpoll.version()), child.output());
        assertEquals(0, folder.toFile().list().length);
    }

    @Test
    void byProperty_isUsed() throws Exception {
        File library = Child.BUILD.resolve("classes" + NativeLibrary.resource()).toFile();
        assumeTrue(library.exists());
        Child child = start("-Dorg.xpoll.library=" + library);
        assertEquals(0, child.code(), child.output());
    }

    @Test
    void otherVersion_isRefusedByName() throws Exception {
        Path other = Child.BUILD.resolve("tests/libxpoll_java_other.so");
        assumeTrue(Files.exists(other), "CMake has not made it");
        Child child = start("-Dorg.xpoll.library=" + other);
        assertEquals(1, child.code());
        assertTrue(child.output().contains("is xpoll 9.9.9, but this jar needs xpoll 0.1"),
                child.output());
    }

    @Test
    void missingFile_isNamed(@TempDir Path folder) throws Exception {
        Child child = start("-Dorg.xpoll.library=" + folder.resolve("none.so"));
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
        Child child = Child.run("--enable-native-access=ALL-UNNAMED", "-cp",
                folder + ":" + Child.BUILD.resolve("test-classes"), Main.class.getName());
        if (child.code() == 0) {
            // The system has one.
            assertTrue(child.output().contains("version 0.1"), child.output());
        } else {
            assertTrue(child.output().contains("no libxpoll"), child.output());
        }
    }
}
