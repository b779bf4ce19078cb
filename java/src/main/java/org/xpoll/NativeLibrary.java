package org.xpoll;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.Locale;

/**
 * Finds libxpoll: the file that a property names, else the one in this jar, else the system's.
 *
 * <p>A library of another version is refused here, before anything of it is called.
 */
final class NativeLibrary {
    /** Names a file to be used instead of any other. */
    static final String PROPERTY = "org.xpoll.library";
    /** A folder from which programs may be mapped, for the copy of what is in the jar. */
    static final String TMPDIR = "org.xpoll.tmpdir";
    /** The version that this binding is made for: major and minor must agree. */
    static final int VERSION = 0x000100;

    private static final String SYSTEM_NAME = "libxpoll.so.0";
    /** For memfd_create(2). */
    private static final int CLOSE_ON_EXEC = 1;

    private NativeLibrary() {}

    static SymbolLookup load() {
        if (ValueLayout.ADDRESS.byteSize() != 8) {
            throw new UnsatisfiedLinkError("xpoll for Java needs a 64-bit Java");
        }
        try {
            return find();
        } catch (IllegalCallerException e) {
            throw failure("this Java forbids native code; start java with: "
                    + "--enable-native-access=" + FdAccess.module(), e);
        }
    }

    private static SymbolLookup find() {
        String chosen = System.getProperty(PROPERTY);
        SymbolLookup symbols;
        String origin;
        if (chosen != null) {
            origin = chosen;
            symbols = open(Path.of(chosen).toAbsolutePath());
        } else if (NativeLibrary.class.getResource(resource()) != null) {
            origin = "the library in the jar";
            symbols = openInJar();
        } else {
            origin = SYSTEM_NAME;
            symbols = openSystem();
        }
        checkVersion(symbols, origin);
        return symbols;
    }

    /** Where the jar has the library for this system: /native/linux-amd64/libxpoll.so. */
    static String resource() {
        String os = System.getProperty("os.name").toLowerCase(Locale.ROOT).replace(" ", "");
        return "/native/" + os + "-" + System.getProperty("os.arch") + "/libxpoll.so";
    }

    private static SymbolLookup open(Path file) {
        try {
            return SymbolLookup.libraryLookup(file, Arena.global());
        } catch (IllegalArgumentException e) {
            throw failure("cannot load " + file + " (is it there, and made for this system?)", e);
        }
    }

    private static SymbolLookup openSystem() {
        try {
            return SymbolLookup.libraryLookup(SYSTEM_NAME, Arena.global());
        } catch (IllegalArgumentException e) {
            throw failure("no libxpoll: this jar has none for this system (" + resource()
                    + "), and the system has no " + SYSTEM_NAME
                    + "; install it, or name a file by -D" + PROPERTY + "=FILE", e);
        }
    }

    private static SymbolLookup openInJar() {
        try {
            return openCopy();
        } catch (UnsatisfiedLinkError e) {
            SymbolLookup symbols = openInMemory();
            if (symbols == null) {
                throw e;
            }
            return symbols;
        }
    }

    /** A mapped file needs no name: it is gone again before this returns. */
    private static SymbolLookup openCopy() {
        String parent = System.getProperty(TMPDIR, System.getProperty("java.io.tmpdir"));
        Path folder = null;
        Path file = null;
        try (InputStream in = NativeLibrary.class.getResourceAsStream(resource())) {
            // Only the owner may look into it.
            folder = Files.createTempDirectory(Path.of(parent), "xpoll");
            file = folder.resolve("libxpoll.so");
            Files.copy(in, file, StandardCopyOption.REPLACE_EXISTING);
            return SymbolLookup.libraryLookup(file, Arena.global());
        } catch (IOException e) {
            throw failure("cannot copy libxpoll out of the jar into " + parent + ": " + e
                    + "; name another folder by -D" + TMPDIR, e);
        } catch (IllegalArgumentException e) {
            throw failure("cannot load libxpoll from " + parent + ", where programs may be"
                    + " forbidden; name another folder by -D" + TMPDIR, e);
        } finally {
            delete(file);
            delete(folder);
        }
    }

    /**
     * Where no folder takes it: a file that has no name and is in memory. Null if that cannot be
     * had either.
     */
    private static SymbolLookup openInMemory() {
        Linker linker = Linker.nativeLinker();
        MemorySegment create = linker.defaultLookup().find("memfd_create").orElse(null);
        MemorySegment close = linker.defaultLookup().find("close").orElse(null);
        if (create == null || close == null) {
            return null;
        }
        int fd = -1;
        try (Arena arena = Arena.ofConfined();
                InputStream in = NativeLibrary.class.getResourceAsStream(resource())) {
            fd = (int) linker.downcallHandle(create, FunctionDescriptor.of(ValueLayout.JAVA_INT,
                    ValueLayout.ADDRESS, ValueLayout.JAVA_INT))
                    .invokeExact(arena.allocateFrom("libxpoll.so"), CLOSE_ON_EXEC);
            String name = "/proc/self/fd/" + fd;
            try (OutputStream out = Files.newOutputStream(Path.of(name),
                    StandardOpenOption.WRITE)) {
                in.transferTo(out);
            }
            SymbolLookup symbols = SymbolLookup.libraryLookup(name, Arena.global());
            // It stays open: by this name the linker knows the library, and nobody else may get it.
            fd = -1;
            return symbols;
        } catch (IllegalCallerException e) {
            throw e;
        } catch (Throwable e) {
            return null; // What the folder said is of more use.
        } finally {
            if (fd >= 0) {
                close(linker, close, fd);
            }
        }
    }

    private static void close(Linker linker, MemorySegment close, int fd) {
        try {
            int unused = (int) linker.downcallHandle(close,
                    FunctionDescriptor.of(ValueLayout.JAVA_INT, ValueLayout.JAVA_INT))
                    .invokeExact(fd);
        } catch (Throwable e) {
            throw failure("cannot close a descriptor", e);
        }
    }

    private static void delete(Path path) {
        try {
            if (path != null) {
                Files.deleteIfExists(path);
            }
        } catch (IOException e) {
            path.toFile().deleteOnExit();
        }
    }

    private static void checkVersion(SymbolLookup symbols, String origin) {
        MemorySegment address = symbols.find("xpoll_version").orElseThrow(() ->
                new UnsatisfiedLinkError(origin + " is no libxpoll: it has no xpoll_version"));
        int version;
        try {
            version = (int) Linker.nativeLinker()
                    .downcallHandle(address, FunctionDescriptor.of(ValueLayout.JAVA_INT))
                    .invokeExact();
        } catch (Throwable e) {
            throw failure("cannot ask " + origin + " for its version", e);
        }
        if (version >> 8 != VERSION >> 8) {
            throw new UnsatisfiedLinkError(origin + " is xpoll " + text(version)
                    + ", but this jar needs xpoll " + (VERSION >> 16) + "."
                    + (VERSION >> 8 & 255) + "; use the jar and the library of one release");
        }
    }

    static String text(int version) {
        return (version >> 16) + "." + (version >> 8 & 255) + "." + (version & 255);
    }

    private static UnsatisfiedLinkError failure(String message, Throwable cause) {
        UnsatisfiedLinkError error = new UnsatisfiedLinkError(message);
        error.initCause(cause);
        return error;
    }
}
