#!/bin/sh
# Each server of the demo jar serves the demo's client, started as a user would:
# java -jar, and no flags.
#
#   demo.sh BUILD_FOLDER
set -u
here=$(cd "$(dirname "$0")" && pwd)
JAVA_HOME=$(sh "$here/../find-jdk.sh") ||
	{ echo "SKIP: no JDK 22 or later; ./dev check installs one"; exit 77; }
jar=$(ls "$1"/xpoll-*-demo.jar 2>/dev/null) || { echo "SKIP: Maven has made no jar"; exit 77; }
work=$(mktemp -d "${TMPDIR:-/tmp}/xpoll-demo.XXXXXX")
server=
client=
trap 'for one in $server $client; do kill "$one" 2>/dev/null; done; rm -rf "$work"' EXIT

# For the background: its number is that of Java itself.
become() { exec "$JAVA_HOME/bin/java" -XX:TieredStopAtLevel=1 -Xmx64m -jar "$jar" "$@"; }
demo() { (become "$@"); }

fail() {
	echo "FAILED: $*"
	cat "$work"/*
	exit 1
}

# expect FILE LINE: some line of the file matches in full.
expect() { grep -qxE "$2" "$work/$1" || fail "$1 has no line: $2"; }

# start NAME OPTION...: a server, on a port that is free
start() {
	: >"$work/server" # Not the port of the server before.
	become "$@" --port 0 >>"$work/server" 2>&1 &
	server=$!
	port=
	while [ -z "$port" ]; do
		kill -0 "$server" 2>/dev/null || fail "the server ended"
		port=$(sed -n 's/^Serv: Initializing port //p' "$work/server")
		[ -n "$port" ] || sleep 0.05
	done
}

# serve NAME OPTION...
serve() {
	start "$@"
	demo Client --port "$port" 20 localhost 20 >"$work/client" 2>&1 || fail "the client"
	wait "$server" || fail "the server"
	server=
	expect client 'Connections made : 20'
	expect client ' Total connections : 20 Bytes sent : 20480[.]{3}Done!'
	expect server 'Receiving 20480 bytes from 20 client connections'
	expect server 'Time for all reads \(20 sockets\) : [0-9]+'
	expect server "server=$1.* connections=20 events=[1-9].*"
	if grep -q WARNING "$work/server"; then fail "a warning"; fi
	echo "ok: $*"
}

# outlive NAME: the client is killed amid its writes, which would take minutes.
outlive() {
	start "$@"
	: >"$work/client"
	become Client --port "$port" 20 localhost 10000000 >>"$work/client" 2>&1 &
	client=$!
	until grep -q 'Connections made' "$work/client"; do
		kill -0 "$client" 2>/dev/null || fail "the client ended"
		sleep 0.05
	done
	kill -9 "$client"
	wait "$server" && fail "a server whose client was killed is content"
	server=
	client=
	expect server 'xpoll-demo: (the client has gone|.*[Rr]eset.*)'
	echo "ok: $*, client killed"
}

# refuse CODE LINE NAME OPTION...
refuse() {
	code=$1
	line=$2
	shift 2
	demo "$@" >"$work/refused" 2>&1
	[ $? -eq "$code" ] || fail "$*: another exit code"
	expect refused "$line"
}

demo --help >"$work/help" 2>&1 || fail "--help"
expect help 'usage: java -jar xpoll-demo.jar PROGRAM .*'
for program in PollingServer SimpleServer VirtualThreadServer NioServer Client; do
	expect help "  $program  .*"
	demo "$program" --help >"$work/help-of-one" 2>&1 || fail "$program --help"
	expect help-of-one "usage: java -jar xpoll-demo.jar $program .*--port N.*"
done
refuse 2 'xpoll-demo: no program Nothing' Nothing
refuse 2 'xpoll-demo: --consumers, .* exclude each other' PollingServer --inline --oneshot
refuse 1 'xpoll-demo: no server at localhost, port 1: .*' Client --port 1 20
serve PollingServer
serve PollingServer --inline
serve PollingServer --oneshot
serve SimpleServer
serve VirtualThreadServer
serve NioServer
outlive PollingServer --inline
outlive SimpleServer
