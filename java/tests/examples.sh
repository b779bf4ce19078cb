#!/bin/sh
# The programs of the guide, then those of java/examples by the client of tests/use/examples.
# Each is compiled with all warnings, and run with the flags of the guide.
#
#   examples.sh BUILD_FOLDER
set -u
here=$(cd "$(dirname "$0")" && pwd)
java_home=$(sh "$here/../find-jdk.sh") ||
	{ echo "SKIP: no JDK 22 or later; ./dev check installs one"; exit 77; }
XPOLL_JAVA=$java_home/bin/java
XPOLL_JAR=
for jar in "$1"/xpoll-*.jar; do
	case $jar in *-demo.jar) ;; *) XPOLL_JAR=$jar ;; esac
done
[ -e "$XPOLL_JAR" ] || { echo "SKIP: Maven has made no jar"; exit 77; }
XPOLL_EXAMPLES=$1/examples
XPOLL_LANGUAGE=java
export XPOLL_JAVA XPOLL_JAR XPOLL_EXAMPLES XPOLL_LANGUAGE
unset JAVA_TOOL_OPTIONS JDK_JAVA_OPTIONS _JAVA_OPTIONS

# The folder may be that of another version.
rm -rf "$XPOLL_EXAMPLES"
mkdir -p "$XPOLL_EXAMPLES/guide"
awk -v folder="$XPOLL_EXAMPLES/guide" '
	/^```java/ { inside = 1; text = ""; next }
	/^```/ { if (inside) print text >file; inside = 0 }
	inside { text = text $0 "\n" }
	inside && $1 == "class" { file = folder "/" $2 ".java" }
' "$here/../../docs/guide/java.md"
log=$XPOLL_EXAMPLES/javac.log
"$java_home/bin/javac" -Xlint:all -d "$XPOLL_EXAMPLES" -cp "$XPOLL_JAR" \
	"$here"/../examples/*.java "$XPOLL_EXAMPLES"/guide/*.java 2>"$log" || {
	cat "$log"
	exit 1
}
# That handlers of signals are the JDK's own is a warning that nothing turns off.
if grep warning: "$log" | grep -v 'internal proprietary API'; then exit 1; fi

# The guide's line for Hello.java, as somebody types it.
guide=$here/../../docs/guide/java.md folder=$XPOLL_EXAMPLES/guide
line=$(awk '/Hello\.java$/ { print last; print } { last = $0 }' "$guide" |
	sed "s,build/release/java/xpoll-[^ ]*\.jar,$XPOLL_JAR,; s,Hello,$folder/Hello,")
PATH=$java_home/bin:$PATH sh -euc "$line" >"$log" 2>&1 &&
	grep -q '^the pipe is readable$' "$log" || { echo "$line"; cat "$log"; exit 1; }

# expect CLASS LINE...: a program of the guide, and how lines of its output begin.
expect() {
	class=$1
	shift
	"$XPOLL_JAVA" --enable-native-access=ALL-UNNAMED \
		--add-exports=java.base/sun.nio.ch=ALL-UNNAMED \
		-cp "$XPOLL_JAR:$XPOLL_EXAMPLES" "$class" >"$log" 2>&1 || { cat "$log"; exit 1; }
	for line; do
		grep -q "^$line" "$log" || { echo "$class: no line $line"; cat "$log"; exit 1; }
	done
}

expect Hello "the pipe is readable"
expect Child "TIMER ident=1" "PROC "

# The HTTP server, on both selectors.
for flags in "" "-javaagent:$(ls "$1"/nio/xpoll-nio-*.jar) --enable-native-access=ALL-UNNAMED"; do
	case $flags in ?*) selector=XpollSelector ;; *) selector=EPollSelectorImpl ;; esac
	sh "$here/../../tests/lib/python.sh" "$here/http_server.py" $selector "$XPOLL_JAVA" $flags \
		-cp "$XPOLL_EXAMPLES" HttpServer || exit 1
done
exec sh "$here/../../tests/lib/python.sh" "$here/../../tests/use/examples/test_bindings.py" -v
