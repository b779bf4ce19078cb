#!/bin/sh
# libevent's own tests with a drop-in as its only method.
#
#   libevent.sh kqueue|epoll DIR, where get-libevent.sh has built them
set -u
program=$2/libevent-$1
[ -x "$program" ] || { echo "SKIP: libevent has not been built for $1 (nightly.sh does)"; exit 77; }
log=$(mktemp)
trap 'rm -f "$log"' EXIT
EVENT_NOPOLL=1 EVENT_NOSELECT=1 EVENT_SHOW_METHOD=1
export EVENT_NOPOLL EVENT_NOSELECT EVENT_SHOW_METHOD
[ "$1" = epoll ] || export EVENT_NOEPOLL=1
"$program" main/simpleread >"$log" 2>&1
grep -q "libevent using: $1" "$log" || { cat "$log"; echo "the method is not $1"; exit 1; }
unset EVENT_SHOW_METHOD
# All groups but dns, which asks servers of the network.
"$program" main/.. et/.. signal/.. thread/.. evbuffer/.. bufferevent/.. listener/.. http/.. rpc/.. \
	evtag/.. finalize/.. util/.. >"$log" 2>&1
result=$(tail -n 1 "$log")
bad=
case $result in
*'TESTS FAILED'*)
	# A test that fails is run again by itself, because many have deadlines.
	failed=$(awk -F: '/^[a-z]+\// { name = $1 } /FAILED\]$/ { print name }' "$log")
	[ -n "$failed" ] || bad=" $result"
	for test in $failed; do
		echo "failed at first: $test"
		again=$("$program" "$test" 2>&1) || { echo "$again"; bad="$bad $test"; }
	done
	;;
*'tests ok.'*) ;;
*) bad=" $result" ;;
esac
[ -z "$bad" ] || { echo "failed:$bad"; exit 1; }
echo "$result"
