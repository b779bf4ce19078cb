package org.xpoll;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.io.IOException;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.DatagramChannel;
import java.nio.channels.Pipe;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.jar.Attributes;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;
import javax.net.ssl.SSLSocketFactory;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** All that has a descriptor can be polled; what the JDK hides, a flag shows. */
@Timeout(60)
class DescriptorTest {
    private static final InetAddress HERE = InetAddress.getLoopbackAddress();

    private final Events events = new Events(4);
    private Poller poller;

    @BeforeEach
    void open() throws IOException {
        poller = new Poller();
    }

    @AfterEach
    void close() {
        poller.close();
    }

    /** One event, of this object. */
    private void expect(Object io, int bits) throws IOException {
        assertEquals(1, poller.pollMillis(events, -1));
        assertEquals(Poller.fdOf(io), events.fd(0));
        assertEquals(bits, events.events(0));
        assertTrue(poller.isMember(io));
        poller.remove(io);
        assertFalse(poller.isMember(io));
    }

    @Test
    void plainSockets_connectAndData_areReported() throws IOException {
        try (ServerSocket server = new ServerSocket(0, 50, HERE)) {
            poller.add(server, Poller.POLLIN);
            assertEquals(0, poller.pollMillis(events, 0));
            try (Socket client = new Socket(HERE, server.getLocalPort())) {
                expect(server, Poller.POLLIN);
                try (Socket accepted = server.accept()) {
                    poller.add(accepted, Poller.POLLIN);
                    client.getOutputStream().write(7);
                    expect(accepted, Poller.POLLIN);
                    assertEquals(7, accepted.getInputStream().read());
                    poller.add(client, Poller.POLLOUT);
                    expect(client, Poller.POLLOUT);
                }
            }
        }
    }

    /** Types and exceptions as a program for the class of 1999 has them. */
    @Test
    void programOfTheOriginal_compilesAndWorks() throws Exception {
        try (ServerSocket server = new ServerSocket(0, 50, HERE);
                Socket client = new Socket(HERE, server.getLocalPort());
                Socket socket = server.accept()) {
            Poller mux = new Poller(65535);
            short wanted = Poller.POLLIN;
            int fd = mux.add(socket, wanted);
            client.getOutputStream().write("data".getBytes());
            int[] fds = new int[100];
            short[] revents = new short[100];
            int count = mux.waitMultiple(100, fds, revents, 10_000L);
            assertEquals(1, count);
            assertEquals(fd, fds[0]);
            assertTrue(revents[0] == Poller.POLLIN);
            assertEquals(1, mux.waitMultiple(100, fds, revents));
            assertEquals(1, mux.waitMultiple(fds, revents, 10_000L));
            assertEquals(1, mux.waitMultiple(fds, revents));
            assertEquals(fd, fds[0]);
            assertEquals(4, socket.getInputStream().read(new byte[10], 0, 10));
            assertTrue(mux.isMember(socket));
            assertTrue(mux.remove(socket));
            mux.reset(10);
            mux.reset();
            assertFalse(mux.isMember(socket));
            assertTrue(Poller.getNumCPUs() > 0);
            mux.close();
        }
    }

    @Test
    void channels_connectAndData_areReported() throws IOException {
        try (ServerSocketChannel server = ServerSocketChannel.open().bind(null)) {
            server.configureBlocking(false);
            poller.add(server, Poller.POLLIN);
            try (SocketChannel client = SocketChannel.open(server.getLocalAddress())) {
                expect(server, Poller.POLLIN);
                try (SocketChannel accepted = server.accept()) {
                    poller.add(accepted, Poller.POLLIN);
                    client.write(ByteBuffer.allocate(1));
                    expect(accepted, Poller.POLLIN);
                    poller.add(accepted.socket(), Poller.POLLIN);
                    expect(accepted.socket(), Poller.POLLIN);
                    poller.add(server.socket(), Poller.POLLIN);
                    poller.remove(server.socket());
                }
            }
        }
    }

    @Test
    void urgentData_received_isReported() throws IOException {
        try (ServerSocket server = new ServerSocket(0, 50, HERE);
                Socket client = new Socket(HERE, server.getLocalPort());
                Socket accepted = server.accept()) {
            poller.add(accepted, Poller.POLLPRI);
            assertEquals(0, poller.pollMillis(events, 0));
            client.sendUrgentData(1);
            expect(accepted, Poller.POLLPRI);
        }
    }

    @Test
    void unixChannels_connectAndData_areReported(@TempDir Path folder) throws IOException {
        var address = UnixDomainSocketAddress.of(folder.resolve("socket"));
        try (var server = ServerSocketChannel.open(StandardProtocolFamily.UNIX).bind(address)) {
            poller.add(server, Poller.POLLIN);
            try (SocketChannel client = SocketChannel.open(address)) {
                expect(server, Poller.POLLIN);
                try (SocketChannel accepted = server.accept()) {
                    poller.add(accepted, Poller.POLLIN);
                    assertEquals(0, poller.pollMillis(events, 0));
                    client.write(ByteBuffer.allocate(1));
                    expect(accepted, Poller.POLLIN);
                }
            }
        }
    }

    @Test
    void datagrams_received_areReported() throws IOException {
        try (DatagramSocket plain = new DatagramSocket(0, HERE);
                DatagramChannel channel = DatagramChannel.open().bind(null)) {
            poller.add(plain, Poller.POLLIN);
            poller.add(channel, Poller.POLLIN);
            poller.add(channel.socket(), Poller.POLLIN);
            assertEquals(2, poller.size(), "a channel and its socket are one descriptor");
            plain.send(new DatagramPacket(new byte[1], 1, HERE, plain.getLocalPort()));
            expect(plain, Poller.POLLIN);
        }
    }

    @Test
    void pipes_written_areReported() throws IOException {
        Pipe pipe = Pipe.open();
        poller.add(pipe.source(), Poller.POLLIN);
        pipe.sink().write(ByteBuffer.allocate(1));
        expect(pipe.source(), Poller.POLLIN);
        poller.add(pipe.sink(), Poller.POLLOUT);
        expect(pipe.sink(), Poller.POLLOUT);
        pipe.sink().close();
        pipe.source().close();
    }

    @Test
    void files_areAlwaysReady() throws IOException {
        try (FileInputStream file = new FileInputStream("/proc/self/stat")) {
            int fd = poller.add(file.getFD(), Poller.POLLIN);
            assertEquals(Posix.revents(fd, Poller.POLLIN) != 0 ? 1 : 0,
                    poller.pollMillis(events, 0));
        }
    }

    @Test
    void standardDescriptors_haveTheirNumbers() throws IOException {
        assertEquals(0, Poller.fdOf(FileDescriptor.in));
        assertEquals(1, Poller.fdOf(FileDescriptor.out));
        assertEquals(2, Poller.fdOf(FileDescriptor.err));
        assertEquals(33, Poller.fdOf(33));
    }

    @Test
    void closedObjects_areRefused() throws IOException {
        ServerSocketChannel channel = ServerSocketChannel.open();
        Socket socket = new Socket();
        ServerSocket server = new ServerSocket();
        DatagramSocket datagram = new DatagramSocket();
        channel.close();
        socket.close();
        server.close();
        datagram.close();
        for (Object io : new Object[] {channel, socket, server, datagram, new FileDescriptor()}) {
            assertThrows(ClosedChannelException.class, () -> poller.add(io, Poller.POLLIN));
        }
        var e = assertThrows(XpollException.class, () -> poller.add(-5, Poller.POLLIN));
        assertEquals("descriptor -5: bad descriptor (EBADF)", e.getMessage());
        assertEquals(0, poller.size());
    }

    @Test
    void unconnectedSocket_isRefused() throws IOException {
        try (Socket socket = new Socket()) {
            var e = assertThrows(IOException.class, () -> poller.add(socket, Poller.POLLIN));
            assertEquals("the Socket has no descriptor: bind or connect it first",
                    e.getMessage());
        }
        try (ServerSocket server = new ServerSocket()) {
            assertThrows(IOException.class, () -> poller.add(server, Poller.POLLIN));
        }
        assertEquals(0, poller.size());
    }

    @Test
    void socketUponAnother_isRefused() throws Exception {
        try (ServerSocket server = new ServerSocket(0, 50, HERE);
                Socket beneath = new Socket(HERE, server.getLocalPort());
                Socket upon = ((SSLSocketFactory) SSLSocketFactory.getDefault())
                        .createSocket(beneath, "localhost", server.getLocalPort(), false)) {
            assertThrows(IllegalArgumentException.class, () -> poller.add(upon, Poller.POLLIN));
            var e = assertThrows(IOException.class, () -> Poller.fdOf(upon));
            assertEquals("the Socket has no descriptor of its own: add the socket beneath it",
                    e.getMessage());
            poller.add(beneath, Poller.POLLOUT);
            expect(beneath, Poller.POLLOUT);
        }
    }

    @Test
    void remove_afterTheObjectWasClosed_cleansUp() throws IOException {
        ServerSocket server = new ServerSocket(0, 50, HERE);
        poller.add(server, Poller.POLLIN);
        server.close();
        assertTrue(poller.isMember(server));
        assertTrue(poller.remove(server));
        assertEquals(0, poller.size());
    }

    @Test
    void sameNumber_ofANewObject_replacesTheOld() throws IOException {
        ServerSocket first = new ServerSocket(0, 50, HERE);
        int fd = poller.add(first, Poller.POLLIN);
        try (ServerSocket second = new ServerSocket(0, 50, HERE)) {
            first.close();
            Posix.dup2(Poller.fdOf(second), fd);
            poller.add(fd, Poller.POLLIN);
            assertFalse(poller.isMember(first));
            assertFalse(poller.remove(first), "it was closed, and its number added anew");
            assertTrue(poller.isMemberFd(fd));
            Posix.close(fd);
        }
    }

    /** The class of 1999 went by the number. */
    @Test
    void otherObject_ofTheSameDescriptor_standsForIt() throws IOException {
        try (SocketChannel channel = SocketChannel.open();
                SocketChannel stranger = SocketChannel.open()) {
            poller.add(channel, Poller.POLLIN);
            assertTrue(poller.isMember(channel.socket()));
            assertFalse(poller.isMember(stranger));
            assertTrue(poller.remove(channel.socket()));
            assertFalse(poller.isMember(channel));
            assertThrows(IllegalStateException.class, () -> poller.remove(channel));
            int fd = poller.add(channel.socket(), Poller.POLLIN);
            assertTrue(poller.isMember(channel));
            assertTrue(poller.isMember(fd));
            assertTrue(poller.remove(channel));
            poller.addFd(fd, Poller.POLLIN, null);
            assertTrue(poller.remove(channel));
            assertEquals(0, poller.size());
        }
    }

    /** The number of an object that was closed is no proof for the next one that has it. */
    @Test
    void closedMember_itsNumberIsAnothers_doesNotStandForIt() throws IOException {
        for (String backend : Xpoll.backends()) {
            try (Poller one = Poller.open(backend, 10)) {
                SocketChannel first = SocketChannel.open();
                int fd = one.add(first, Poller.POLLIN, "first");
                first.close();
                try (SocketChannel second = openedAs(fd)) {
                    assertTrue(one.isMember(first));
                    assertFalse(one.isMember(second));
                    assertThrows(IllegalStateException.class, () -> one.remove(second));
                    assertTrue(one.remove(first));
                    assertEquals(0, one.size());
                }
            }
        }
    }

    /** The lowest number that is free is given out first, so this one comes. */
    private static SocketChannel openedAs(int fd) throws IOException {
        List<SocketChannel> below = new ArrayList<>();
        SocketChannel channel = SocketChannel.open();
        while (Poller.fdOf(channel) < fd) {
            below.add(channel);
            channel = SocketChannel.open();
        }
        for (SocketChannel each : below) {
            each.close();
        }
        assertEquals(fd, Poller.fdOf(channel), "another thread has it");
        return channel;
    }

    /** A closed object's number, and under it a file that is ready. */
    @Test
    void strangerUnderAReusedNumber_isNotReported() throws IOException {
        for (String backend : Xpoll.backends()) {
            int[] ready = Posix.pipe();
            try (Poller one = Poller.open(backend, 10)) {
                for (Object io : new Object[] {SocketChannel.open(),
                    new ServerSocket(0, 50, HERE), new DatagramSocket(0, HERE)}) {
                    int fd = one.add(io, Poller.POLLIN | Poller.POLLOUT, "old");
                    while (one.pollMillis(events, 0) > 0) {
                        one.disable(fd);
                    }
                    one.enable(fd);
                    ((AutoCloseable) io).close();
                    Posix.dup2(ready[1], fd);
                    // Twice: what was dropped makes no wait return, either.
                    assertEquals(0, one.pollMillis(events, 0), backend);
                    assertEquals(0, one.waitMultiple(null, null, 1), backend);
                    one.addFd(fd, Poller.POLLOUT, "new");
                    assertEquals(1, one.pollMillis(events, -1));
                    assertEquals("new", events.attachment(0));
                    one.removeFd(fd);
                    Posix.close(fd);
                }
            } catch (Exception e) {
                throw new IOException(backend, e);
            }
            Posix.close(ready);
        }
    }

    @Test
    void sslSocket_isRefusedAndSaysWhy() throws Exception {
        try (ServerSocket server = new ServerSocket(0, 50, HERE);
                Socket socket = SSLSocketFactory.getDefault().createSocket(HERE,
                        server.getLocalPort())) {
            var e = assertThrows(IllegalArgumentException.class,
                    () -> poller.add(socket, Poller.POLLOUT));
            assertTrue(e.getMessage().contains("SSLEngine"), e.getMessage());
            poller.addFd(Poller.fdOf(socket), Poller.POLLOUT, null);
            assertEquals(1, poller.pollMillis(events, -1));
        }
    }

    /** What the children below run: one kind of object each. */
    static final class Main {
        public static void main(String[] arguments) throws Exception {
            for (String kind : arguments) {
                tell(kind);
            }
        }

        private static void tell(String kind) throws Exception {
            Object io = switch (kind) {
                case "channel" -> ServerSocketChannel.open().bind(null);
                case "pipe" -> Pipe.open().sink();
                case "socket" -> new ServerSocket(0);
                case "client" -> {
                    ServerSocket server = new ServerSocket(0, 50, HERE);
                    yield new Socket(HERE, server.getLocalPort());
                }
                case "datagram" -> new DatagramSocket(0);
                case "file" -> new FileInputStream("/dev/null").getFD();
                default -> FileDescriptor.in;
            };
            try {
                System.out.println("descriptor " + (Poller.fdOf(io) >= 0));
            } catch (UnsupportedOperationException e) {
                System.out.println(e.getMessage());
            }
        }
    }

    /** Runs without flags, then with those that the message named. */
    private static void flagsHelp(String kind) throws Exception {
        Child plain = Child.run("-cp", Child.classPath(), Main.class.getName(), kind);
        assertTrue(plain.output().contains("start java with: "), plain.output());
        String[] flags = plain.output().trim().replaceAll("(?s).*start java with: ", "").split(" ");
        String[] all = new String[flags.length + 4];
        System.arraycopy(flags, 0, all, 0, flags.length);
        System.arraycopy(new String[] {"-cp", Child.classPath(), Main.class.getName(), kind}, 0,
                all, flags.length, 4);
        Child helped = Child.run(all);
        assertTrue(helped.output().contains("descriptor true"), helped.output());
    }

    @Test
    void withoutFlags_theMessageHasThoseThatHelp() throws Exception {
        flagsHelp("channel");
        flagsHelp("socket");
        flagsHelp("client");
        flagsHelp("datagram");
        flagsHelp("file");
    }

    /** Those of java/README.md, in the manifest of the jar that is run. */
    @Test
    void manifestAttributes_needNoFlags(@TempDir Path folder) throws Exception {
        Manifest manifest = new Manifest();
        Attributes attributes = manifest.getMainAttributes();
        attributes.put(Attributes.Name.MANIFEST_VERSION, "1.0");
        attributes.put(Attributes.Name.MAIN_CLASS, Main.class.getName());
        attributes.put(Attributes.Name.CLASS_PATH, Child.BUILD.resolve("classes").toUri() + " "
                + Child.BUILD.resolve("test-classes").toUri());
        attributes.putValue("Enable-Native-Access", "ALL-UNNAMED");
        attributes.putValue("Add-Exports", "java.base/sun.nio.ch");
        attributes.putValue("Add-Opens", "java.base/java.net java.base/sun.nio.ch");
        Path jar = folder.resolve("program.jar");
        new JarOutputStream(Files.newOutputStream(jar), manifest).close();

        String[] kinds = {"channel", "pipe", "socket", "client", "datagram", "file"};
        List<String> command = new ArrayList<>(List.of("-jar", jar.toString()));
        command.addAll(List.of(kinds));
        Child child = Child.run(command.toArray(new String[0]));
        long shown = child.output().lines().filter("descriptor true"::equals).count();
        assertEquals(kinds.length, shown, child.output());
    }

    @Test
    void withoutFlags_standardInputAndNumbersWork() throws Exception {
        Child child = Child.run("-cp", Child.classPath(), Main.class.getName(), "standard");
        assertTrue(child.output().contains("descriptor true"), child.output());
    }
}
