package org.xpoll;

import java.util.Locale;
import java.util.Map;

/** Names of error numbers: the first thirty are the same everywhere, the rest is not. */
final class Errno {
    static final int EPERM = 1;
    static final int ENOENT = 2;
    static final int EINTR = 4;
    static final int EBADF = 9;
    static final int EINVAL = 22;

    private static final boolean LINUX =
            System.getProperty("os.name").toLowerCase(Locale.ROOT).startsWith("linux");

    static final int ENOTSUP = LINUX ? 95 : 45;
    static final int ELOOP = LINUX ? 40 : 62;
    private static final int ECANCELED = LINUX ? 125 : 89;
    private static final int EAGAIN = LINUX ? 11 : 35;

    private static final Map<Integer, String> NAMES = Map.ofEntries(
            Map.entry(EPERM, "EPERM"), Map.entry(ENOENT, "ENOENT"), Map.entry(3, "ESRCH"),
            Map.entry(EINTR, "EINTR"), Map.entry(5, "EIO"), Map.entry(7, "E2BIG"),
            Map.entry(EBADF, "EBADF"), Map.entry(12, "ENOMEM"), Map.entry(13, "EACCES"),
            Map.entry(16, "EBUSY"), Map.entry(20, "ENOTDIR"), Map.entry(21, "EISDIR"),
            Map.entry(EINVAL, "EINVAL"), Map.entry(23, "ENFILE"), Map.entry(24, "EMFILE"),
            Map.entry(28, "ENOSPC"), Map.entry(ENOTSUP, "ENOTSUP"), Map.entry(ELOOP, "ELOOP"),
            Map.entry(ECANCELED, "ECANCELED"), Map.entry(EAGAIN, "EAGAIN"));

    private static final Map<String, String> TEXTS = Map.ofEntries(
            Map.entry("EPERM", "not permitted"),
            Map.entry("ENOENT", "no such registration"),
            Map.entry("ESRCH", "no such process"),
            Map.entry("EBADF", "bad descriptor"),
            Map.entry("ENOMEM", "out of memory"),
            Map.entry("EINVAL", "invalid argument"),
            Map.entry("EMFILE", "this process has too many open files"),
            Map.entry("ENFILE", "the system has too many open files"),
            Map.entry("ENOSPC", "a limit of the system is reached"),
            Map.entry("ENOTSUP", "not supported here"),
            Map.entry("ECANCELED", "cancelled"),
            Map.entry("EAGAIN", "a limit of the system is reached for now"),
            Map.entry("ELOOP", "queues would wait for each other"));

    private Errno() {}

    static String name(int errno) {
        String name = NAMES.get(errno);
        return name != null ? name : "errno " + errno;
    }

    static String text(int errno) {
        String name = name(errno);
        String text = TEXTS.get(name);
        return text != null ? text + " (" + name + ")" : name;
    }
}
