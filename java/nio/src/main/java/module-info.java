/**
 * Selectors of java.nio on the queue of the C library, for programs that know nothing of it.
 */
module org.xpoll.nio {
    requires org.xpoll;
    /** For -javaagent alone. */
    requires static java.instrument;

    exports org.xpoll.nio;
}
