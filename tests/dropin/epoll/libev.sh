#!/bin/sh
# libev's own tests, with epoll(7), timerfd and signalfd(2) of the drop-in.
#
#   libev.sh FOLDER, where get-libev.sh has built them
#
# LD_LIBRARY_PATH names the drop-in, which is preloaded, because Perl loads libev after the C
# library.  The tests run twice, because libev takes signals from a signalfd on request only.
set -u
checks=0
[ -d "$1/blib" ] || { echo "SKIP: libev has not been built (nightly.sh does)"; exit 77; }
cd "$1" || exit 1
export PERL5LIB="$PWD/modules:$PWD/blib/lib:$PWD/blib/arch"
export LD_PRELOAD="libxpoll-epoll.so.1 ${LD_PRELOAD:-}"
epoll=4 with_signalfd=2097156

# Run the test $1, and set `said` and `ran`.
passes() {
	said=$(perl "$1" 2>&1) || return
	ran=$(echo "$said" | grep -c '^ok')
	! echo "$said" | grep -q '^not ok' && [ "$ran" = "$(echo "$said" | sed -n '1s/^1\.\.//p')" ]
}

for flags in $epoll $with_signalfd; do
	export LIBEV_FLAGS=$flags
	perl -e 'use EV; exit(EV::backend() != EV::BACKEND_EPOLL())' ||
		{ echo "the back end of libev is not epoll"; exit 1; }
	# The test of signals sends one and looks for it at once, but a thread of the drop-in makes
	# a signalfd readable, a moment later: DIFFERENCES.md.  Then the test is repeated.
	for test in t/*.t; do
		try=1 tries=1
		[ $flags = $epoll ] || [ "$test" != t/11_signal.t ] || tries=20
		until passes "$test"; do
			[ $try -lt $tries ] ||
				{ echo "$said"; echo "failed: $test, LIBEV_FLAGS=$flags"; exit 1; }
			try=$((try + 1))
		done
		checks=$((checks + ran))
	done
done
echo "$checks checks have passed"
