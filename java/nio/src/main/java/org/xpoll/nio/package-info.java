/**
 * A {@link java.nio.channels.spi.SelectorProvider} for unmodified programs.
 */
package org.xpoll.nio;
