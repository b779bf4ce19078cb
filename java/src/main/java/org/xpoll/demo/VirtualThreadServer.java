package org.xpoll.demo;

/** {@link SimpleServer} on virtual threads: what it would be written with today. */
final class VirtualThreadServer {
    private VirtualThreadServer() {}

    static void main(String[] arguments) throws Exception {
        ThreadServer.serve("VirtualThreadServer", Thread.ofVirtual(), arguments);
    }
}
