#!/bin/sh
# Drive examples/http-hello with wrk and print requests per second for each
# back end and mode.  The server and wrk share this machine's cores.
#
#   bench/wrk.sh [-t SECONDS] [-c CONNECTIONS] [HTTP_HELLO]
#
# HTTP_HELLO defaults to the program of the release build.  Exit codes: 0 done,
# 1 a run failed, 2 wrong arguments, 77 wrk is not installed.
set -u

usage() {
	echo "usage: wrk.sh [-t SECONDS] [-c CONNECTIONS] [HTTP_HELLO]" >&2
	exit 2
}

whole_number() {
	case $2 in
	'' | *[!0-9]* | 0*)
		echo "wrk.sh: $1 $2: expected a whole number from 1 on" >&2
		exit 2
		;;
	esac
}

seconds=3
connections=64
while getopts t:c: option; do
	case $option in
	t) seconds=$OPTARG ;;
	c) connections=$OPTARG ;;
	*) usage ;;
	esac
done
shift $((OPTIND - 1))
[ $# -le 1 ] || usage
whole_number -t "$seconds"
whole_number -c "$connections"
server=${1:-$(dirname "$0")/../build/release/examples/bin/http-hello}

if ! command -v wrk >/dev/null; then
	echo "wrk is not installed (Debian, Ubuntu: apt-get install wrk): nothing measured"
	exit 77
fi
if [ ! -x "$server" ]; then
	echo "wrk.sh: $server: no such program; build first (./dev build)" >&2
	exit 2
fi

folder=$(mktemp -d) || exit 1
pid=
finish() {
	[ -z "$pid" ] || kill "$pid" 2>/dev/null
	rm -rf "$folder"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
failed=0

# measure BACKEND MODE ARGUMENT...: one line of the table
measure() {
	backend=$1
	mode=$2
	shift 2
	rm -f "$folder/port"
	mkfifo "$folder/port" || exit 1
	XPOLL_BACKEND=$backend "$server" "$@" 0 >"$folder/port" 2>"$folder/said" &
	pid=$!
	port=
	read -r line <"$folder/port" && port=${line##* }
	if [ -z "$port" ]; then
		wait "$pid"
		result="not usable here: $(cat "$folder/said")"
	else
		wrk -t1 -c"$connections" -d"${seconds}s" "http://127.0.0.1:$port/" \
			>"$folder/wrk" 2>&1
		result=$(sed -n 's/^Requests\/sec: *//p' "$folder/wrk")
		errors=$(grep -E 'Socket errors|Non-2xx' "$folder/wrk")
		if [ -n "$errors" ]; then
			result="$result ($errors)"
			failed=1
		fi
		kill "$pid"
		wait "$pid" || { result="$result (the server ended with $?)"; failed=1; }
	fi
	pid=
	printf '%-8s %-26s %s\n' "$backend" "$mode" "${result:-no result}"
}

echo "http-hello under wrk: $connections connections, $seconds s each"
printf '%-8s %-26s %s\n' backend mode requests/s
for backend in epoll poll select; do
	measure "$backend" "level, 1 thread"
	measure "$backend" "dispatch, 1 thread" --threads 1
	measure "$backend" "dispatch, 2 threads" --threads 2
done
exit $failed
