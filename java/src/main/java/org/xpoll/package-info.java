/**
 * The Java binding of xpoll, one event queue for every kernel.
 *
 * <p>{@link org.xpoll.Poller} is for descriptors: sockets, channels and raw numbers together, with
 * the methods of Sun's demo class of 1999. {@link org.xpoll.EventQueue} is for
 * descriptors and for every other kind of event: timers, signals, processes, files and the
 * program's own.
 *
 * <p>Both call the C library {@code libxpoll} through {@code java.lang.foreign}; start Java with
 * {@code --enable-native-access=org.xpoll} (or {@code =ALL-UNNAMED} on the class path).
 */
package org.xpoll;
