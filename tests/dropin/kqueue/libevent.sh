#!/bin/sh
# libevent's own tests with kevent(2) of the drop-in as its only method.
#
#   libevent.sh PROGRAM, which get-libevent.sh has built
set -u
[ -x "$1" ] || { echo "SKIP: libevent has not been built for kqueue (nightly.sh does)"; exit 77; }
log=$(mktemp)
trap 'rm -f "$log"' EXIT
EVENT_NOEPOLL=1 EVENT_NOPOLL=1 EVENT_NOSELECT=1 EVENT_SHOW_METHOD=1
export EVENT_NOEPOLL EVENT_NOPOLL EVENT_NOSELECT EVENT_SHOW_METHOD
"$1" main/simpleread >"$log" 2>&1
grep -q 'libevent using: kqueue' "$log" || { cat "$log"; echo "the method is not kqueue"; exit 1; }
unset EVENT_SHOW_METHOD
# All groups but dns, which asks servers of the network.
if ! "$1" --terse main/.. et/.. signal/.. thread/.. evbuffer/.. bufferevent/.. listener/.. \
	http/.. rpc/.. evtag/.. finalize/.. util/.. >"$log" 2>&1; then
	grep -E 'FAIL|assert' "$log" || cat "$log"
	exit 1
fi
tail -n 1 "$log"
