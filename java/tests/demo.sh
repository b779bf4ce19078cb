#!/bin/sh
# Each server of the demo jar serves the demo's client, started as a user would:
# java -jar, and no flags.
#
#   demo.sh BUILD_FOLDER
set -u
here=$(cd "$(dirname "$0")" && pwd)
JAVA_HOME=$(sh "$here/../find-jdk.sh") || { echo "SKIP: no JDK 22 or later"; exit 77; }
jar=$(ls "$1"/xpoll-*-demo.jar 2>/dev/null) || { echo "SKIP: Maven has made no jar"; exit 77; }
work=$(mktemp -d "${TMPDIR:-/tmp}/xpoll-demo.XXXXXX")
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null; rm -rf "$work"' EXIT

demo() { "$JAVA_HOME/bin/java" -XX:TieredStopAtLevel=1 -Xmx64m -jar "$jar" "$@"; }

fail() {
	echo "FAILED: $*"
	cat "$work"/*
	exit 1
}

# expect FILE LINE: some line of the file matches in full.
expect() { grep -qxE "$2" "$work/$1" || fail "$1 has no line: $2"; }

# serve NAME OPTION...
serve() {
	: >"$work/server" # Not the port of the server before.
	demo "$@" --port 0 >>"$work/server" 2>&1 &
	server=$!
	port=
	while [ -z "$port" ]; do
		kill -0 "$server" 2>/dev/null || fail "the server ended"
		port=$(sed -n 's/^Serv: Initializing port //p' "$work/server")
		[ -n "$port" ] || sleep 0.05
	done
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

demo --help >"$work/help" 2>&1 || fail "--help"
expect help 'usage: java -jar xpoll-demo.jar PROGRAM .*'
if demo Nothing >"$work/unknown" 2>&1; then fail "an unknown program"; fi
expect unknown 'xpoll-demo: no program Nothing'
serve PollingServer
serve PollingServer --inline
serve PollingServer --oneshot 2
serve SimpleServer
serve VirtualThreadServer
serve NioServer
