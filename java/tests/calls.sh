#!/bin/sh
# What the guide says of system calls, counted by strace: disable, enable and modify of a Poller
# mostly make none, and a Selector's interestOps makes one for each change.
#
# A selector of xpoll-nio, whose keys are muted while they have data, does not sleep in ppoll(2).
# A selection that another thread's wakeup ends polls the kernel once.
#
#   calls.sh BUILD_FOLDER
set -u
here=$(cd "$(dirname "$0")" && pwd)
JAVA_HOME=$(sh "$here/../find-jdk.sh") ||
	{ echo "SKIP: no JDK 22 or later; ./dev check installs one"; exit 77; }
jar=$(ls "$1"/xpoll-*.jar 2>/dev/null | grep -v -e '-demo\.jar$' | tail -n 1)
nio=$(ls "$1"/nio/xpoll-nio-*.jar 2>/dev/null | tail -n 1)
[ -n "$jar" ] && [ -n "$nio" ] || { echo "SKIP: Maven has made no jar"; exit 77; }
strace -D -f -qq true 2>/dev/null || { echo "SKIP: strace cannot trace here"; exit 77; }
unset JAVA_TOOL_OPTIONS JDK_JAVA_OPTIONS _JAVA_OPTIONS
work=$(mktemp -d "${TMPDIR:-/tmp}/xpoll-calls.XXXXXX")
trap 'rm -rf "$work"' EXIT

cat >"$work/Calls.java" <<'JAVA'
import java.nio.ByteBuffer;
import java.nio.channels.Pipe;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.time.Duration;
import org.xpoll.Events;
import org.xpoll.Poller;

class Calls {
    static final int ROUNDS = 500;

    public static void main(String[] arguments) throws Exception {
        Pipe pipe = Pipe.open();
        switch (arguments[0]) {
            case "poller" -> poller(pipe);
            case "selector" -> selector(pipe);
            case "muted" -> muted(pipe);
            default -> woken();
        }
    }

    static void poller(Pipe pipe) throws Exception {
        try (Poller poller = new Poller()) {
            Events events = new Events(4);
            int fd = poller.add(pipe.sink(), Poller.POLLOUT);
            for (int i = 0; i < ROUNDS; i++) {
                poller.disable(fd);
                check(poller.poll(events, Duration.ZERO) == 0);
                poller.enable(fd);
                check(poller.poll(events, Duration.ZERO) == 1);
            }
        }
    }

    static void selector(Pipe pipe) throws Exception {
        try (Selector selector = Selector.open()) {
            pipe.sink().configureBlocking(false);
            SelectionKey key = pipe.sink().register(selector, SelectionKey.OP_WRITE);
            for (int i = 0; i < ROUNDS; i++) {
                key.interestOps(0);
                check(selector.selectNow(one -> { }) == 0);
                key.interestOps(SelectionKey.OP_WRITE);
                check(selector.selectNow(one -> { }) == 1);
            }
        }
    }

    /** Data comes for a key without interest, while another thread is to wake the selector. */
    static void muted(Pipe pipe) throws Exception {
        try (Selector selector = Selector.open()) {
            pipe.source().configureBlocking(false);
            SelectionKey key = pipe.source().register(selector, SelectionKey.OP_READ);
            ByteBuffer one = ByteBuffer.allocate(1);
            for (int i = 0; i < ROUNDS; i++) {
                key.interestOps(0);
                check(selector.selectNow(ready -> { }) == 0);
                pipe.sink().write(one.clear());
                Thread waker = Thread.ofPlatform().start(selector::wakeup);
                check(selector.select(ready -> { }) == 0);
                waker.join();
                key.interestOps(SelectionKey.OP_READ);
                check(selector.select(ready -> { }) == 1);
                pipe.source().read(one.clear());
            }
        }
    }

    /** Another thread wakes the selector, before it sleeps or while it does. */
    static void woken() throws Exception {
        try (Selector selector = Selector.open()) {
            for (int i = 0; i < ROUNDS; i++) {
                Thread waker = Thread.ofPlatform().start(selector::wakeup);
                check(selector.select() == 0);
                waker.join();
            }
        }
    }

    static void check(boolean holds) {
        if (!holds) {
            throw new AssertionError();
        }
    }
}
JAVA
"$JAVA_HOME/bin/javac" -d "$work" -cp "$jar" "$work/Calls.java" || exit 1

# changes WHICH: how often the kernel's set is changed
changes() {
	strace -D -f -qq -e trace=epoll_ctl -o "$work/log" \
		"$JAVA_HOME/bin/java" -XX:TieredStopAtLevel=1 -Xmx64m \
		--enable-native-access=ALL-UNNAMED --add-exports=java.base/sun.nio.ch=ALL-UNNAMED \
		-cp "$jar:$work" Calls "$1" >"$work/out" 2>&1 || { cat "$work/out" >&2; exit 1; }
	grep -c 'epoll_ctl(' "$work/log"
}

# by_xpoll WHICH CALLS PATTERN: how often a program whose selectors are xpoll's makes a call
by_xpoll() {
	strace -D -f -qq -e trace="$2" -o "$work/log" \
		"$JAVA_HOME/bin/java" -XX:TieredStopAtLevel=1 -Xmx64m \
		--enable-native-access=ALL-UNNAMED --add-exports=java.base/sun.nio.ch=ALL-UNNAMED \
		-Djava.nio.channels.spi.SelectorProvider=org.xpoll.nio.XpollSelectorProvider \
		-cp "$jar:$nio:$work" Calls "$1" >"$work/out" 2>&1 ||
		{ cat "$work/out" >&2; exit 1; }
	grep -c "$3" "$work/log"
}

poller=$(changes poller) || exit 1
selector=$(changes selector) || exit 1
echo "changes of the kernel's set: $poller by a Poller, $selector by a Selector"
masks=$(by_xpoll muted ppoll 'ppoll(')
echo "sleeps of a selector with muted keys that change the signal mask: $masks"
polls=$(by_xpoll woken epoll_wait,epoll_pwait,epoll_pwait2 'epoll_p*wait2*(')
echo "polls of a selector that is woken 500 times: $polls"
[ "$poller" -lt 50 ] && [ "$selector" -ge 1000 ] && [ "$masks" -lt 10 ] && [ "$polls" -lt 800 ]
