/**
 * One wait for sockets, channels, descriptors, timers, signals, processes and file changes.
 */
module org.xpoll {
    exports org.xpoll;
}
