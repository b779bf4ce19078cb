package org.xpoll;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.lang.ref.Reference;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
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

    /** Why dlopen(3) has failed last; used under the lock. */
    private static String whyNot;
    /** What dlopen(3) has returned; 0 until the library is loaded. */
    private static volatile long loaded;

    private NativeLibrary() {}

    /**
     * The library, for {@link Foreign#find}. To be called before any method of {@link Native},
     * whose class could not be initialized without it, and would from then on say nothing but that.
     */
    static long load() {
        long library = loaded;
        return library != 0 ? library : loadOnce();
    }

    private static long loadOnce() {
        if (!"64".equals(System.getProperty("sun.arch.data.model", "64"))) {
            throw new UnsatisfiedLinkError("xpoll for Java needs a 64-bit Java");
        }
        // An interned string: the same object for every class loader.
        synchronized (PROPERTY) {
            try {
                if (loaded == 0) {
                    Foreign.prepare();
                    loaded = find();
                }
                return loaded;
            } catch (IllegalCallerException e) {
                throw failure("this Java forbids native code; start java with: "
                        + "--enable-native-access=" + FdAccess.module(), e);
            }
        }
    }

    private static long find() {
        String chosen = System.getProperty(PROPERTY);
        if (chosen != null) {
            return checked(open(Path.of(chosen).toAbsolutePath()), chosen);
        }
        long library = findLoaded();
        if (library != 0) {
            return library;
        }
        if (NativeLibrary.class.getResource(resource()) == null) {
            return checked(openSystem("this jar has none for this system (" + resource() + ")",
                    null), SYSTEM_NAME);
        }
        try {
            library = openInJar();
        } catch (UnsatisfiedLinkError e) {
            return checked(openSystem(e.getMessage(), e), SYSTEM_NAME);
        }
        return checked(library, "the library in the jar");
    }

    /** What another class loader has loaded, or C code of this process; 0 if nobody has. */
    private static long findLoaded() {
        long library = dlopen(SYSTEM_NAME, NOW | NO_LOAD);
        if (library == 0) {
            return 0;
        }
        int version = version(library, SYSTEM_NAME);
        return fits(version, VERSION) && version >= VERSION ? library : 0;
    }

    /**
     * Where the jar has the library for this system: /native/linux-amd64/libxpoll.so, or with musl
     * /native/linux-amd64-musl/libxpoll.so.
     */
    static String resource() {
        boolean glibc = Foreign.find(0, "gnu_get_libc_version") != 0;
        return resource(glibc ? "/libxpoll.so" : "-musl/libxpoll.so");
    }

    private static String resource(String end) {
        String os = System.getProperty("os.name").toLowerCase(Locale.ROOT).replace(" ", "");
        return "/native/" + os + "-" + System.getProperty("os.arch") + end;
    }

    private static long open(Path file) {
        long library = dlopen(file.toString(), NOW);
        if (library == 0) {
            throw failure("cannot load " + file + ": " + whyNot, null);
        }
        return library;
    }

    private static long openSystem(String before, UnsatisfiedLinkError cause) {
        long library = dlopen(SYSTEM_NAME, NOW);
        if (library == 0) {
            throw failure("no libxpoll: " + before + ", and the system has no usable "
                    + SYSTEM_NAME + ": " + whyNot + "; install it, or name a file by"
                    + " -D" + PROPERTY + "=FILE", cause);
        }
        return library;
    }

    private static long openInJar() {
        try {
            return openCopy();
        } catch (UnsatisfiedLinkError e) {
            long library = openInMemory();
            if (library == 0) {
                throw e;
            }
            return library;
        }
    }

    private static long openCopy() {
        Path file = copy(resource());
        try {
            long library = dlopen(file.toString(), NOW);
            if (library == 0) {
                throw failure("that in the jar cannot be loaded (" + whyNot + ")", null);
            }
            return library;
        } finally {
            delete(file);
        }
    }

    /** Returns false if the jar has no such library for this system, or it cannot be loaded. */
    static boolean loadJni() {
        // Which C library this is cannot be asked yet; the wrong file cannot be loaded.
        return loadJni(resource("/libxpoll-jni.so")) || loadJni(resource("-musl/libxpoll-jni.so"));
    }

    private static boolean loadJni(String resource) {
        if (NativeLibrary.class.getResource(resource) == null) {
            return false;
        }
        Path file = null;
        try {
            file = copy(resource);
            System.load(file.toString());
            return true;
        } catch (UnsatisfiedLinkError e) {
            return false;
        } finally {
            delete(file);
        }
    }

    /**
     * A copy of a file in the jar, in a new folder. A mapped file needs no name, so that the caller
     * deletes it at once.
     */
    private static Path copy(String resource) {
        String parent = System.getProperty(TMPDIR, System.getProperty("java.io.tmpdir"));
        String name = resource.substring(resource.lastIndexOf('/') + 1);
        Path file = null;
        try (InputStream in = NativeLibrary.class.getResourceAsStream(resource)) {
            file = createFolder(Path.of(parent).toAbsolutePath()).resolve(name);
            Files.copy(in, file);
            return file;
        } catch (IOException e) {
            delete(file);
            throw failure("that in the jar cannot be copied into " + parent + " (" + e
                    + "; another folder is named by -D" + TMPDIR + ")", e);
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
            String name = "xpoll-".concat(Long.toString(System.nanoTime()));
            try {
                return Files.createDirectory(parent.resolve(name), owner);
            } catch (FileAlreadyExistsException e) {
                if (left == 0) {
                    throw e;
                }
            }
        }
    }

    /** Where no folder takes it: a file that has no name and is in memory. Returns 0 on failure. */
    private static long openInMemory() {
        long create = Foreign.find(0, "memfd_create");
        if (create == 0) {
            return 0;
        }
        int fd = -1;
        try (InputStream in = NativeLibrary.class.getResourceAsStream(resource())) {
            fd = (int) call(create, Memory.of("libxpoll.so"), CLOSE_ON_EXEC);
            String name = "/proc/self/fd/" + fd;
            try (OutputStream out = Files.newOutputStream(Path.of(name),
                    StandardOpenOption.WRITE)) {
                in.transferTo(out);
            }
            long library = dlopen(name, NOW);
            if (library != 0) {
                // By this name the linker knows the library: nobody else may get the descriptor.
                fd = -1;
            }
            return library;
        } catch (IOException e) {
            return 0; // What the folder said is of more use.
        } finally {
            if (fd >= 0) {
                call(Foreign.find(0, "close"), fd);
            }
        }
    }

    private static void delete(Path file) {
        try {
            if (file != null) {
                Files.deleteIfExists(file);
                Files.deleteIfExists(file.getParent());
            }
        } catch (IOException e) {
            file.toFile().deleteOnExit();
        }
    }

    private static long call(long function, Memory text, int number) {
        try {
            return Foreign.call(function, new Memory(Foreign.ERRNO), text.address, number, 0, 0, 0,
                    0, 0);
        } catch (Throwable e) {
            throw Native.impossible(e);
        } finally {
            Reference.reachabilityFence(text);
        }
    }

    private static long call(long function, long number) {
        try {
            return Foreign.call(function, new Memory(Foreign.ERRNO), number, 0, 0, 0, 0, 0, 0);
        } catch (Throwable e) {
            throw Native.impossible(e);
        }
    }

    /** Opens a library: its handle, or 0; then {@link #whyNot} is the reason. */
    private static long dlopen(String name, int mode) {
        long open = Foreign.find(0, "dlopen");
        long error = Foreign.find(0, "dlerror"); // A lookup after dlopen would reset the error.
        long library = open == 0 ? 0 : call(open, Memory.of(name), mode);
        if (library == 0 && mode == NOW) {
            long text = error == 0 ? 0 : call(error, 0);
            whyNot = text == 0 ? "is it there, and made for this system?"
                    : Foreign.text(text);
        }
        return library;
    }

    private static long checked(long library, String origin) {
        int version = version(library, origin);
        if (!fits(version, VERSION)) {
            throw new UnsatisfiedLinkError(origin + " is xpoll " + text(version)
                    + ", but this jar needs xpoll " + (VERSION >> 16) + "."
                    + (VERSION >> 8 & 255) + " or a later " + (VERSION >> 16) + ".x");
        }
        return library;
    }

    static boolean fits(int version, int wanted) {
        return version >> 16 == wanted >> 16 && version >> 8 >= wanted >> 8;
    }

    private static int version(long library, String origin) {
        long function = Foreign.find(library, "xpoll_version");
        if (function == 0) {
            throw new UnsatisfiedLinkError(origin + " is no libxpoll: it has no xpoll_version");
        }
        return (int) call(function, 0);
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
