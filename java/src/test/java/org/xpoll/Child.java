package org.xpoll;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Another Java, with flags and a class path of its own. */
record Child(int code, String output) {
    static final Path BUILD = Path.of(System.getProperty("xpoll.build")).toAbsolutePath();

    static Child run(String... arguments) throws IOException, InterruptedException {
        return run(Map.of(), arguments);
    }

    static Child run(Map<String, String> environment, String... arguments)
            throws IOException, InterruptedException {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        // Small and quick to start.
        command.addAll(List.of("-Xshare:auto", "-XX:TieredStopAtLevel=1", "-Xmx64m"));
        command.addAll(List.of(arguments));
        ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true);
        builder.environment().putAll(environment);
        Process process = builder.start();
        process.getOutputStream().close();
        String output = new String(process.getInputStream().readAllBytes(),
                StandardCharsets.UTF_8);
        return new Child(process.waitFor(), output);
    }

    /** The compiled classes, and those of the tests. */
    static String classPath() {
        return BUILD.resolve("classes") + ":" + BUILD.resolve("test-classes");
    }
}
