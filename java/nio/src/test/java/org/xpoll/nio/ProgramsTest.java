package org.xpoll.nio;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Unmodified programs, in a Java of their own, by the system property alone. */
@Timeout(120)
class ProgramsTest {
    private static final Path BUILD = Path.of(System.getProperty("xpoll.build")).toAbsolutePath();
    private static final String EXPORTS = "--add-exports=java.base/sun.nio.ch=ALL-UNNAMED";

    private static List<String> java(String... flags) {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(List.of("-XX:TieredStopAtLevel=1", "-Xmx256m"));
        command.addAll(List.of(flags));
        command.addAll(List.of("-cp", BUILD.resolve("classes") + ":"
                + BUILD.resolve("nio/classes") + ":" + BUILD.resolve("nio/test-classes"),
                Programs.class.getName()));
        return command;
    }

    private static List<String> withProvider() {
        return java(EXPORTS, "--enable-native-access=ALL-UNNAMED",
                "-Djava.nio.channels.spi.SelectorProvider="
                        + XpollSelectorProvider.class.getName());
    }

    private static String outputOf(List<String> command, String... arguments)
            throws IOException, InterruptedException {
        command.addAll(List.of(arguments));
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        String output = new String(process.getInputStream().readAllBytes(),
                StandardCharsets.UTF_8);
        process.waitFor();
        return output;
    }

    @ParameterizedTest
    @ValueSource(strings = {"http 200", "echo 6000000"})
    void aProgramDoesAsOnTheJdks(String answer) throws Exception {
        String name = answer.substring(0, answer.indexOf(' '));
        assertEquals("XpollSelector\n" + answer + "\n", outputOf(withProvider(), name));
        assertEquals("EPollSelectorImpl\n" + answer + "\n", outputOf(java(), name));
    }

    @Test
    void anInheritedChannelIsTheProviders() throws Exception {
        assumeTrue(Files.isExecutable(Path.of("/bin/bash")), "no shell that can connect");
        try (ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            List<String> command = new ArrayList<>(List.of("/bin/bash", "-c",
                    "exec 0<>/dev/tcp/localhost/" + server.getLocalPort() + "; exec \"$@\"", "-"));
            command.addAll(withProvider());
            command.add("inherited");
            Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
            try (Socket socket = server.accept()) {
                socket.getOutputStream().write('x');
                assertEquals('x', socket.getInputStream().read());
            }
            assertEquals("XpollSelector\nselected 1\nof XpollSelectorProvider\n",
                    new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8));
            assertEquals(0, process.waitFor());
        }
    }

    @Test
    void withoutTheFlagJavaNamesThePackage() throws Exception {
        List<String> command = withProvider();
        command.remove(EXPORTS);
        String output = outputOf(command, "echo");
        assertTrue(output.contains("IllegalAccessError") && output.contains("sun.nio.ch"), output);
    }
}
