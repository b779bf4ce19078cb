package org.xpoll;

import java.io.FileDescriptor;
import java.io.IOException;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.invoke.VarHandle;
import java.net.DatagramSocket;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketException;
import java.net.SocketImpl;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.DatagramChannel;
import java.nio.channels.SelectableChannel;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;

/**
 * Descriptors of the JDK's objects.
 *
 * <p>The JDK hides them. What it takes, tried in this order: nothing for the three standard
 * descriptors; a public method of a package that is not exported for channels and for a
 * FileDescriptor; private fields for plain sockets. Where a flag is missing, the exception has it.
 */
final class FdAccess {
    private static final MethodHandles.Lookup LOOKUP = MethodHandles.lookup();

    /** Both need --add-exports; null without. */
    private static final MethodHandle CHANNEL_FD = channelFd();
    private static final MethodHandle FD_NUMBER = fdNumber();

    private FdAccess() {}

    static int of(Object io) throws IOException {
        int fd = switch (io) {
            case FileDescriptor file -> ofFile(file);
            case SelectableChannel channel -> ofChannel(channel);
            case Socket socket -> ofSocket(socket);
            case ServerSocket socket -> ofServerSocket(socket);
            case DatagramSocket socket -> ofDatagramSocket(socket);
            case Integer number -> number;
            case null -> throw new NullPointerException("the object to poll is null");
            default -> throw new IllegalArgumentException(
                    io.getClass().getName() + " has no descriptor: a Socket, ServerSocket,"
                            + " DatagramSocket, SelectableChannel, FileDescriptor or Integer has");
        };
        if (fd < 0 && io instanceof Integer) {
            throw new XpollException("descriptor " + fd, Errno.EBADF);
        }
        if (fd < 0) {
            throw new ClosedChannelException();
        }
        return fd;
    }

    /** The same, but -1 where there is none to be had. */
    static int find(Object io) {
        try {
            return io == null ? -1 : of(io);
        } catch (IOException | IllegalArgumentException | UnsupportedOperationException e) {
            return -1;
        }
    }

    /** Whether the program has closed it: its number may be another file's by now. */
    static boolean isClosed(Object io) {
        // No switch: this is asked of each event.
        if (io instanceof SelectableChannel channel) {
            return !channel.isOpen();
        }
        if (io instanceof Socket socket) {
            return socket.isClosed();
        }
        if (io instanceof ServerSocket socket) {
            return socket.isClosed();
        }
        if (io instanceof DatagramSocket socket) {
            return socket.isClosed();
        }
        return io instanceof FileDescriptor file && !file.valid();
    }

    private static int ofFile(FileDescriptor file) {
        if (file == FileDescriptor.in) {
            return 0;
        }
        if (file == FileDescriptor.out) {
            return 1;
        }
        if (file == FileDescriptor.err) {
            return 2;
        }
        if (FD_NUMBER == null) {
            throw missing("a FileDescriptor", exports());
        }
        try {
            return (int) FD_NUMBER.invokeExact(file);
        } catch (Throwable e) {
            throw new IllegalStateException("cannot read the number of a FileDescriptor", e);
        }
    }

    private static int ofChannel(SelectableChannel channel) {
        if (CHANNEL_FD == null) {
            throw missing("a channel", exports());
        }
        if (!channel.isOpen()) {
            return -1;
        }
        try {
            return (int) CHANNEL_FD.invoke(channel);
        } catch (ClassCastException e) {
            throw new IllegalArgumentException(
                    channel.getClass().getName() + " is not one of the JDK's channels", e);
        } catch (Throwable e) {
            throw new IllegalStateException("cannot read the descriptor of a channel", e);
        }
    }

    private static int ofSocket(Socket socket) throws IOException {
        if (socket.isClosed()) {
            return -1;
        }
        SocketChannel channel = socket.getChannel();
        return channel != null ? ofChannel(channel)
                : ofImpl(Socket.class, socket, socket.isConnected());
    }

    private static int ofServerSocket(ServerSocket socket) throws IOException {
        if (socket.isClosed()) {
            return -1;
        }
        ServerSocketChannel channel = socket.getChannel();
        return channel != null ? ofChannel(channel)
                : ofImpl(ServerSocket.class, socket, false);
    }

    private static int ofDatagramSocket(DatagramSocket socket) {
        if (socket.isClosed()) {
            return -1;
        }
        DatagramChannel channel = socket.getChannel();
        if (channel != null) {
            return ofChannel(channel);
        }
        // A plain one stands on a channel: DatagramSocket.delegate, an adaptor, has it in dc.
        try {
            Object adaptor = field(DatagramSocket.class, "delegate", socket);
            Object inner = field(Class.forName("sun.nio.ch.DatagramSocketAdaptor"), "dc", adaptor);
            return ofChannel((SelectableChannel) inner);
        } catch (ReflectiveOperationException | ClassCastException e) {
            throw missing("a DatagramSocket", exports() + " " + opens("java.net") + " "
                    + opens("sun.nio.ch"));
        }
    }

    /** Of a socket that is open; it has no descriptor from its beginning. */
    private static int ofImpl(Class<?> owner, Object socket, boolean connected)
            throws IOException {
        int fd = descriptorOf(owner, socket);
        if (fd < 0) {
            // What is connected without one speaks TLS through another socket.
            throw new SocketException("the " + owner.getSimpleName() + " has no descriptor"
                    + (connected ? " of its own: add the socket beneath it"
                    : ": bind or connect it first"));
        }
        return fd;
    }

    private static int descriptorOf(Class<?> owner, Object socket) {
        try {
            Object impl = field(owner, "impl", socket);
            // A Socket that connects may have one that passes all on to another.
            Class<?> delegating = Class.forName("java.net.DelegatingSocketImpl");
            while (delegating.isInstance(impl)) {
                impl = field(delegating, "delegate", impl);
            }
            Object file = impl == null ? null : field(SocketImpl.class, "fd", impl);
            return file == null ? -1 : ofFile((FileDescriptor) file);
        } catch (ReflectiveOperationException | ClassCastException e) {
            throw missing("a " + owner.getSimpleName(), exports() + " " + opens("java.net"));
        }
    }

    private static Object field(Class<?> owner, String name, Object object)
            throws ReflectiveOperationException {
        MethodHandles.Lookup inside = MethodHandles.privateLookupIn(owner, LOOKUP);
        for (java.lang.reflect.Field field : owner.getDeclaredFields()) {
            if (field.getName().equals(name)) {
                VarHandle handle = inside.unreflectVarHandle(field);
                return handle.get(object);
            }
        }
        throw new NoSuchFieldException(owner.getName() + "." + name);
    }

    private static MethodHandle channelFd() {
        try {
            return LOOKUP.findVirtual(Class.forName("sun.nio.ch.SelChImpl"), "getFDVal",
                    MethodType.methodType(int.class));
        } catch (ReflectiveOperationException e) {
            return null;
        }
    }

    private static MethodHandle fdNumber() {
        try {
            return LOOKUP.findStatic(Class.forName("sun.nio.ch.IOUtil"), "fdVal",
                    MethodType.methodType(int.class, FileDescriptor.class));
        } catch (ReflectiveOperationException e) {
            return null;
        }
    }

    /** By this the flags name who is allowed. */
    static String module() {
        Module module = FdAccess.class.getModule();
        return module.isNamed() ? module.getName() : "ALL-UNNAMED";
    }

    private static String exports() {
        return "--add-exports java.base/sun.nio.ch=" + module();
    }

    private static String opens(String name) {
        return "--add-opens java.base/" + name + "=" + module();
    }

    private static UnsupportedOperationException missing(String what, String flags) {
        return new UnsupportedOperationException("the JDK hides the descriptor of " + what
                + "; start java with: " + flags);
    }
}
