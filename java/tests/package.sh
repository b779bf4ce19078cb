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

# "java -jar" has no class path of its own to add to: the agent adds both jars, from a folder with
# both, and from where Maven builds them.
mkdir "$work/folder with both" "$work/alone"
echo Main-Class: Open >"$work/manifest"
expect "" "$JAVA_HOME/bin/jar" --create --file "$work/open.jar" --manifest "$work/manifest" \
	-C "$work/open" .
cp "$jar" "$nio" "$work/folder with both"
cp "$nio" "$work/alone"
expect "org.xpoll.nio.XpollSelector" "$JAVA_HOME/bin/java" --enable-native-access=ALL-UNNAMED \
	"-javaagent:$work/folder with both/${nio##*/}" -jar "$work/open.jar"
expect "org.xpoll.nio.XpollSelector" "$JAVA_HOME/bin/java" --enable-native-access=ALL-UNNAMED \
	"-javaagent:$nio" -jar "$work/open.jar"
expect "org.xpoll.nio.XpollSelector" "$JAVA_HOME/bin/java" --enable-native-access=ALL-UNNAMED \
	"-javaagent:$work/alone/${nio##*/}=$jar" -jar "$work/open.jar"
expect "org.xpoll.nio.XpollSelector" env JDK_JAVA_OPTIONS="-javaagent:$nio \
	--enable-native-access=ALL-UNNAMED" sh -c '"$0" -jar "$1" 2>/dev/null' \
	"$JAVA_HOME/bin/java" "$work/open.jar"

# refuse SENTENCE FLAG...: Java ends with this alone, and the program has not begun.
refuse() {
	line=$1
	shift
	"$JAVA_HOME/bin/java" "$@" -jar "$work/open.jar" >"$work/out" 2>&1
	[ $? -eq 1 ] && [ "$(cat "$work/out")" = "xpoll-nio: $line" ] && return
	echo "FAILED: not just \"$line\" by $*"
	cat "$work/out"
	exit 1
}
refuse "${jar##*/} is needed as well: put it into $work/alone, or name it by \
-javaagent:$work/alone/${nio##*/}=FILE" "-javaagent:$work/alone/${nio##*/}"
refuse "there is no file nowhere.jar" "-javaagent:$nio=nowhere.jar"
refuse "-Djava.nio.channels.spi.SelectorProvider=other selects another provider: remove that flag \
or this agent" -Djava.nio.channels.spi.SelectorProvider=other "-javaagent:$nio"

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
	echo "ok: class path, module path, java.nio, java -jar"
	exit 0
fi
expect "" "$jlink" -p "$jar:$work/user" --add-modules user --output "$work/image" \
	--no-man-pages --no-header-files --strip-java-debug-attributes \
	--add-options="--enable-native-access=org.xpoll $shown"
expect "ready 1 in user" "$work/image/bin/java" -m user/user.Main

# An image for an unmodified program, without any flag where it is started.
expect "" "$jlink" -p "$jar:$nio" --add-modules org.xpoll.nio --output "$work/nio-image" \
	--no-man-pages --no-header-files --strip-java-debug-attributes \
	--add-options="--enable-native-access=org.xpoll --add-modules=org.xpoll.nio \
--add-exports=java.base/sun.nio.ch=org.xpoll.nio \
-Djava.nio.channels.spi.SelectorProvider=org.xpoll.nio.XpollSelectorProvider"
expect "org.xpoll.nio.XpollSelector" "$work/nio-image/bin/java" -jar "$work/open.jar"
echo "ok: class path, module path, java.nio, java -jar, images of jlink"
