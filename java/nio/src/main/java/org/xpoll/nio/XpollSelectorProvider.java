package org.xpoll.nio;

import java.io.IOException;
import java.nio.channels.Channel;
import java.nio.channels.spi.AbstractSelector;
import sun.nio.ch.DefaultSelectorProvider;
import sun.nio.ch.SelectorProviderImpl;

/**
 * The JDK's channels with selectors of xpoll. A program uses it unmodified:
 *
 * <pre>{@code
 * java -javaagent:xpoll-nio-1.0.0.jar --enable-native-access=ALL-UNNAMED -jar app.jar
 * }</pre>
 *
 * <p>The agent needs {@code xpoll-1.0.0.jar} in the same folder. Without it the flags are:
 *
 * <pre>{@code
 * java -Djava.nio.channels.spi.SelectorProvider=org.xpoll.nio.XpollSelectorProvider \
 *      --add-exports java.base/sun.nio.ch=ALL-UNNAMED --enable-native-access=ALL-UNNAMED \
 *      -cp xpoll-nio-1.0.0.jar:xpoll-1.0.0.jar:... Main
 * }</pre>
 *
 * <p>The selectors keep every rule of {@link java.nio.channels.Selector}. They differ from the
 * JDK's in cost: the kernel is not called when the interest of a key changes back and forth.
 *
 * <p>Threads: any number may use a provider. A selector can also be opened by itself, {@code new
 * XpollSelectorProvider().openSelector()}, and then takes the channels of any provider of the JDK.
 */
@SuppressWarnings("exports") // The package of the superclass is the JDK's own.
public final class XpollSelectorProvider extends SelectorProviderImpl {
    /** Makes a provider; all are alike. */
    public XpollSelectorProvider() {}

    /**
     * Opens a selector on the best back end.
     *
     * @return the selector
     * @throws IOException if the system refuses
     */
    @Override
    public AbstractSelector openSelector() throws IOException {
        return new XpollSelector(this);
    }

    /**
     * The channel that a parent such as inetd has left as descriptor 0.
     *
     * @return a channel of the provider that the system property names; null if there is none
     * @throws IOException if the system refuses
     */
    @Override
    public Channel inheritedChannel() throws IOException {
        return DefaultSelectorProvider.get().inheritedChannel();
    }
}
