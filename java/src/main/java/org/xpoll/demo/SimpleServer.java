package org.xpoll.demo;

/** The server that {@link PollingServer} was compared with in 1999: a thread per connection. */
final class SimpleServer {
    /** Enough to read ten bytes; thousands of the default size are a lot of memory. */
    private static final long STACK_BYTES = 256 * 1024;

    private SimpleServer() {}

    static void main(String[] arguments) throws Exception {
        ThreadServer.serve("SimpleServer",
                Thread.ofPlatform().daemon().stackSize(STACK_BYTES), arguments);
    }
}
