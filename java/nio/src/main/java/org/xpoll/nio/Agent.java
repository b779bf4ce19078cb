package org.xpoll.nio;

import java.io.IOException;
import java.lang.instrument.Instrumentation;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.jar.JarFile;

/**
 * Makes the provider the one of the whole program, by {@code -javaagent:xpoll-nio-1.0.0.jar}.
 *
 * <p>A program that is started by {@code java -jar} has no class path to add jars to. This puts
 * both jars on it, exports the JDK's package to them, and sets the property that selects the
 * provider. Where that is not possible, Java ends before the program begins, with a sentence that
 * says what to do.
 */
final class Agent {
    private static final String PROPERTY = "java.nio.channels.spi.SelectorProvider";
    private static final String PROVIDER = "org.xpoll.nio.XpollSelectorProvider";
    private static final String NEEDED = "org.xpoll.EventQueue";
    private static final String INTERNAL = "sun.nio.ch";

    private Agent() {}

    /**
     * Is called by the virtual machine before main.
     *
     * @param argument what follows the "=" of -javaagent: the file of xpoll's jar, or null
     * @param machine opens the JDK's package, and extends the class path
     */
    public static void premain(String argument, Instrumentation machine) {
        try {
            start(argument, machine);
        } catch (IOException | IllegalStateException e) {
            // An exception out of here would end in an abort and a core file.
            System.err.println("xpoll-nio: " + e.getMessage());
            System.exit(1);
        }
    }

    private static void start(String argument, Instrumentation machine) throws IOException {
        String chosen = System.getProperty(PROPERTY);
        if (chosen != null && !chosen.equals(PROVIDER)) {
            throw new IllegalStateException("-D" + PROPERTY + "=" + chosen
                    + " selects another provider: remove that flag or this agent");
        }
        if (argument != null || !isOnClassPath(NEEDED)) {
            machine.appendToSystemClassLoaderSearch(new JarFile(findJar(argument).toFile()));
        }
        export(machine);
        System.setProperty(PROPERTY, PROVIDER);
    }

    private static void export(Instrumentation machine) {
        Module ours = Agent.class.getModule();
        Module base = Object.class.getModule();
        if (!base.isExported(INTERNAL, ours)) {
            machine.redefineModule(base, Set.of(), Map.of(INTERNAL, Set.of(ours)), Map.of(),
                    Set.of(), Map.of());
        }
    }

    private static boolean isOnClassPath(String name) {
        try {
            Class.forName(name, false, ClassLoader.getSystemClassLoader());
            return true;
        } catch (ClassNotFoundException e) {
            return false;
        }
    }

    /** The jar that an argument names, or the one of this version beside this jar. */
    private static Path findJar(String argument) {
        if (argument != null) {
            if (!Files.isRegularFile(Path.of(argument))) {
                throw new IllegalStateException("there is no file " + argument);
            }
            return Path.of(argument);
        }
        Path here = ownJar();
        String name = here.getFileName().toString().replaceFirst("^xpoll-nio", "xpoll");
        Path folder = here.getParent();
        List<Path> places = new ArrayList<>();
        places.add(folder.resolve(name));
        if (folder.getFileName() != null) { // Not the root.
            places.add(folder.resolveSibling(name)); // Where Maven builds it.
            // In a repository of Maven.
            places.add(folder.resolve("../../xpoll").resolve(folder.getFileName()).resolve(name));
        }
        for (Path file : places) {
            if (!file.equals(here) && Files.isRegularFile(file)) {
                return file;
            }
        }
        throw new IllegalStateException(name + " is needed as well: put it into " + folder
                + ", or name it by -javaagent:" + here + "=FILE");
    }

    private static Path ownJar() {
        try {
            return Path.of(Agent.class.getProtectionDomain().getCodeSource().getLocation()
                    .toURI()).toAbsolutePath();
        } catch (URISyntaxException e) {
            throw new IllegalStateException(e.getMessage(), e);
        }
    }
}
