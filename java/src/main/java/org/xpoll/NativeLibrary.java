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
import java.lang.invoke.MethodHandle;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.Locale;

/**
 * Finds libxpoll: the file that a property names, else one that this process has loaded already,
 * else the one in this jar, else the system's.
 *
 * <p>A library of another version is refused here, before anything of it is called. All class
 * loaders share one library, so that what it knows of a descriptor is true for all of them.
 */
final class NativeLibrary {
    /** Names a file to be used instead of any other. */
    static final String PROPERTY = "org.xpoll.library";
    /** A folder from which programs may be mapped, for the copy of what is in the jar. */
    static final String TMPDIR = "org.xpoll.tmpdir";
    /** The version that this binding is made for: a later one of the same major number will do. */
    static final int VERSION = 0x010000;

    private static final String SYSTEM_NAME = "libxpoll.so.1";
    /** For memfd_create(2). */
    private static final int CLOSE_ON_EXEC = 1;
    /** For dlopen(3), as Linux counts. */
    private static final int NOW = 2;
    private static final int NO_LOAD = 4;

    private static volatile SymbolLookup loaded;
    /** Not made with the class, whose refusal by Java would then have no message. */
    private static MethodHandle anyCall;

    private NativeLibrary() {}

    /**
     * The library. To be called before any method of {@link Native}, whose class could not be
     * initialized without it, and would from then on say nothing but that.
     */
    static SymbolLookup load() {
        SymbolLookup symbols = loaded;
        return symbols != null ? symbols : loadOnce();
    }

    private static SymbolLookup loadOnce() {
        if (ValueLayout.ADDRESS.byteSize() != 8) {
            throw new UnsatisfiedLinkError("xpoll for Java needs a 64-bit Java");
        }
        // An interned string: the same object for every class loader.
        synchronized (PROPERTY) {
            try {
                if (loaded == null) {
                    loaded = find();
                }
                return loaded;
            } catch (IllegalCallerException e) {
                throw failure("this Java forbids native code; start java with: "
                        + "--enable-native-access=" + FdAccess.module(), e);
            }
        }
    }

    private static SymbolLookup find() {
        String chosen = System.getProperty(PROPERTY);
        if (chosen != null) {
            return checked(open(Path.of(chosen).toAbsolutePath()), chosen);
        }
        SymbolLookup symbols = findLoaded();
        if (symbols != null) {
            return symbols;
        }
        if (NativeLibrary.class.getResource(resource()) == null) {
            return checked(openSystem("this jar has none for this system (" + resource() + ")",
                    null), SYSTEM_NAME);
        }
        try {
            symbols = openInJar();
        } catch (UnsatisfiedLinkError e) {
            return checked(openSystem(e.getMessage(), e), SYSTEM_NAME);
        }
        return checked(symbols, "the library in the jar");
    }

    /** What another class loader has loaded, or C code of this process; null if nobody has. */
    private static SymbolLookup findLoaded() {
        if (dlopen(SYSTEM_NAME, NOW | NO_LOAD) == 0) {
            return null;
        }
        SymbolLookup symbols = SymbolLookup.libraryLookup(SYSTEM_NAME, Arena.global());
        int version = version(symbols, SYSTEM_NAME);
        return fits(version, VERSION) && version >= VERSION ? symbols : null;
    }

    /**
     * Where the jar has the library for this system: /native/linux-amd64/libxpoll.so, or with musl
     * /native/linux-amd64-musl/libxpoll.so.
     */
    static String resource() {
        String os = System.getProperty("os.name").toLowerCase(Locale.ROOT).replace(" ", "");
        boolean glibc = Linker.nativeLinker().defaultLookup().find("gnu_get_libc_version")
                .isPresent();
        return "/native/" + os + "-" + System.getProperty("os.arch")
                + (os.equals("linux") && !glibc ? "-musl" : "") + "/libxpoll.so";
    }

    private static SymbolLookup open(Path file) {
        try {
            return SymbolLookup.libraryLookup(file, Arena.global());
        } catch (IllegalArgumentException e) {
            throw failure("cannot load " + file + ": " + whyNot(file.toString()), e);
        }
    }

    private static SymbolLookup openSystem(String before, UnsatisfiedLinkError cause) {
        try {
            return SymbolLookup.libraryLookup(SYSTEM_NAME, Arena.global());
        } catch (IllegalArgumentException e) {
            throw failure("no libxpoll: " + before + ", and the system has no usable "
                    + SYSTEM_NAME + ": " + whyNot(SYSTEM_NAME) + "; install it, or name a file by"
                    + " -D" + PROPERTY + "=FILE", cause != null ? cause : e);
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
            folder = createFolder(Path.of(parent));
            file = folder.resolve("libxpoll.so");
            Files.copy(in, file, StandardCopyOption.REPLACE_EXISTING);
            return SymbolLookup.libraryLookup(file, Arena.global());
        } catch (IOException e) {
            throw failure("that in the jar cannot be copied into " + parent + " (" + e
                    + "; another folder is named by -D" + TMPDIR + ")", e);
        } catch (IllegalArgumentException e) {
            throw failure("that in the jar cannot be loaded (" + whyNot(file.toString()) + ")", e);
        } finally {
            delete(file);
            delete(folder);
        }
    }

    /**
     * A new folder that only its owner may look into. Files.createTempDirectory would load some 150
     * classes for its random numbers; mkdir(2) never follows a name that somebody else has made, so
     * a name that can be guessed does no harm.
     */
    private static Path createFolder(Path parent) throws IOException {
        FileAttribute<?> owner = PosixFilePermissions.asFileAttribute(
                EnumSet.of(PosixFilePermission.OWNER_READ, PosixFilePermission.OWNER_WRITE,
                        PosixFilePermission.OWNER_EXECUTE));
        for (int left = 1000; ; left--) {
            String name = "xpoll" + ProcessHandle.current().pid() + "-" + System.nanoTime();
            try {
                return Files.createDirectory(parent.resolve(name), owner);
            } catch (FileAlreadyExistsException e) {
                if (left == 0) {
                    throw e;
                }
            }
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

    /** Of a name that could not be loaded: what the system says to that. */
    private static String whyNot(String name) {
        Linker linker = Linker.nativeLinker();
        MemorySegment function = linker.defaultLookup().find("dlerror").orElse(null);
        if (function == null) {
            return "is it there, and made for this system?";
        }
        MethodHandle dlerror = linker.downcallHandle(function,
                FunctionDescriptor.of(ValueLayout.ADDRESS));
        dlopen(name, NOW);
        try {
            MemorySegment text = (MemorySegment) dlerror.invokeExact();
            return text.address() == 0 ? "it cannot be loaded"
                    : text.reinterpret(Long.MAX_VALUE).getString(0);
        } catch (Throwable e) {
            throw failure("cannot ask why " + name + " cannot be loaded", e);
        }
    }

    /**
     * A call of any function with up to seven numbers or addresses: its own address and a cell for
     * errno come first. See {@link Native} for why there is one for all.
     */
    static MethodHandle anyCall() {
        synchronized (PROPERTY) {
            if (anyCall == null) {
                ValueLayout[] seven = new ValueLayout[7];
                Arrays.fill(seven, ValueLayout.JAVA_LONG);
                anyCall = Linker.nativeLinker().downcallHandle(
                        FunctionDescriptor.of(ValueLayout.JAVA_LONG, seven),
                        Linker.Option.captureCallState("errno"));
            }
            return anyCall;
        }
    }

    private static long call(Arena arena, MemorySegment function, long a, long b) throws Throwable {
        MemorySegment cell = arena.allocate(Linker.Option.captureStateLayout());
        return (long) anyCall().invokeExact(function, cell, a, b, 0L, 0L, 0L, 0L, 0L);
    }

    private static long dlopen(String name, int mode) {
        Linker linker = Linker.nativeLinker();
        MemorySegment function = linker.defaultLookup().find("dlopen").orElse(null);
        if (function == null) {
            return 0;
        }
        try (Arena arena = Arena.ofConfined()) {
            return call(arena, function, arena.allocateFrom(name).address(), mode);
        } catch (IllegalCallerException e) {
            throw e;
        } catch (Throwable e) {
            throw failure("cannot ask for " + name, e);
        }
    }

    private static SymbolLookup checked(SymbolLookup symbols, String origin) {
        int version = version(symbols, origin);
        if (!fits(version, VERSION)) {
            throw new UnsatisfiedLinkError(origin + " is xpoll " + text(version)
                    + ", but this jar needs xpoll " + (VERSION >> 16) + "."
                    + (VERSION >> 8 & 255) + " or a later " + (VERSION >> 16) + ".x");
        }
        return symbols;
    }

    static boolean fits(int version, int wanted) {
        return version >> 16 == wanted >> 16 && version >> 8 >= wanted >> 8;
    }

    private static int version(SymbolLookup symbols, String origin) {
        MemorySegment address = symbols.find("xpoll_version").orElseThrow(() ->
                new UnsatisfiedLinkError(origin + " is no libxpoll: it has no xpoll_version"));
        try (Arena arena = Arena.ofConfined()) {
            return (int) call(arena, address, 0, 0);
        } catch (Throwable e) {
            throw failure("cannot ask " + origin + " for its version", e);
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
