#!/bin/sh
# The jar as a program uses it: on the class path, on the module path, and, in
# scripts/nightly.sh, in an image of jlink, where there is no jar any more.
#
#   package.sh BUILD_FOLDER
set -u
here=$(cd "$(dirname "$0")" && pwd)
JAVA_HOME=$(sh "$here/../find-jdk.sh") ||
	{ echo "SKIP: no JDK 22 or later; ./dev check installs one"; exit 77; }
jar=$(ls "$1"/xpoll-*.jar 2>/dev/null | grep -v -e '-demo\.jar$' | tail -n 1)
[ -n "$jar" ] || { echo "SKIP: Maven has made no jar"; exit 77; }
# Java reports each of them that is set, and all that is printed is compared.
unset JAVA_TOOL_OPTIONS JDK_JAVA_OPTIONS _JAVA_OPTIONS
work=$(mktemp -d "${TMPDIR:-/tmp}/xpoll-package.XXXXXX")
trap 'rm -rf "$work"' EXIT

mkdir -p "$work/source/user"
echo 'module user { requires org.xpoll; }' >"$work/source/module-info.java"
cat >"$work/source/user/Main.java" <<'JAVA'
package user;

import java.nio.channels.Pipe;
import org.xpoll.Events;
import org.xpoll.Poller;

class Main {
    public static void main(String[] arguments) throws Exception {
        Pipe pipe = Pipe.open();
        try (Poller poller = new Poller()) {
            poller.add(pipe.sink(), Poller.POLLOUT);
            System.out.println("ready " + poller.pollMillis(new Events(1), -1)
                    + " in " + Main.class.getModule().getName());
        }
    }
}
JAVA

# expect LINE COMMAND...
expect() {
	line=$1
	shift
	"$@" >"$work/out" 2>&1 && [ "$(cat "$work/out")" = "$line" ] && return
	echo "FAILED: not just \"$line\" by $*"
	cat "$work/out"
	exit 1
}

# As the README has it: by the property, with the jars of both on the class path.
cat >"$work/source/Open.java" <<'JAVA'
class Open {
    public static void main(String[] arguments) throws Exception {
        System.out.println(java.nio.channels.Selector.open().getClass().getName());
    }
}
JAVA
nio=$(ls "$1"/nio/xpoll-nio-*.jar)
expect "" "$JAVA_HOME/bin/javac" -d "$work/open" "$work/source/Open.java"
expect "org.xpoll.nio.XpollSelector" "$JAVA_HOME/bin/java" --enable-native-access=ALL-UNNAMED \
	--add-exports java.base/sun.nio.ch=ALL-UNNAMED -cp "$jar:$nio:$work/open" \
	-Djava.nio.channels.spi.SelectorProvider=org.xpoll.nio.XpollSelectorProvider Open
expect "org.xpoll.nio.XpollSelector" "$JAVA_HOME/bin/java" --enable-native-access=org.xpoll \
	--add-exports java.base/sun.nio.ch=org.xpoll.nio \
	-p "$jar:$nio" --add-modules org.xpoll.nio -cp "$work/open" \
	-Djava.nio.channels.spi.SelectorProvider=org.xpoll.nio.XpollSelectorProvider Open

shown=--add-exports=java.base/sun.nio.ch=org.xpoll
expect "" "$JAVA_HOME/bin/javac" -d "$work/user" -p "$jar" "$work/source/module-info.java" \
	"$work/source/user/Main.java"
expect "ready 1 in null" "$JAVA_HOME/bin/java" --enable-native-access=ALL-UNNAMED \
	--add-exports java.base/sun.nio.ch=ALL-UNNAMED -cp "$jar:$work/user" user.Main
expect "ready 1 in user" "$JAVA_HOME/bin/java" --enable-native-access=org.xpoll \
	$shown -p "$jar:$work/user" -m user/user.Main
# Where the JDK's modules are in no package of their own it may do without them.
jlink=$JAVA_HOME/bin/jlink
if [ -z "${XPOLL_JAVA_ALL:-}" ] || { [ ! -d "$JAVA_HOME/jmods" ] &&
	! "$jlink" --help 2>&1 | grep -q 'image enabled'; }; then
	echo "ok: class path, module path, java.nio"
	exit 0
fi
expect "" "$jlink" -p "$jar:$work/user" --add-modules user --output "$work/image" \
	--no-man-pages --no-header-files --strip-java-debug-attributes \
	--add-options="--enable-native-access=org.xpoll $shown"
expect "ready 1 in user" "$work/image/bin/java" -m user/user.Main
echo "ok: class path, module path, java.nio, image of jlink"
