# Part of ./dev: demo, and the measurements.

demo() {
	for n in 8 1000; do
		build/release/bin/xpoll bench looptest -n "$n" -t 1 --rounds 3
	done
	cat <<'END'

A byte goes from pipe to pipe, first among 8, then among 1000; more reads/s is better.
xpoll-*: the same program on each back end.  raw-*: that loop written by hand.  "x raw-poll 2"
is twice as many as by poll(2).  limit: the reads and writes alone, which nothing can beat.
Beside 1000 pipes poll and select slow down; epoll hardly does.  docs/man/xpoll.1 has the rest.
END
}

libraries='libevent_core-2\.1\.so\.7|libuv\.so\.1'

install_libraries() {
	[ "$(ldconfig -p 2>/dev/null | grep -oE "$libraries" | sort -u | wc -l)" -lt 2 ] || return 0
	required="libevent libuv"
	[ "$manager" != apt-get ] || required="libevent-dev libuv1-dev"
	install_wanted
}

# Measured beside xpoll, and what loads the servers.  The reports name what is
# missing, and every system lacks some of it.
need_rivals() {
	say "bench: looking for libevent, libuv and wrk"
	for what in install_libraries "need wrk"; do
		($what) || true
	done
	export XPOLL_BENCH_PEERS="$PWD/build/bench/peers"
	if [ "$*" = --quick ]; then
		say "bench: quick, so nginx and the rivals in Rust are not built"
		return
	fi
	say "bench: building nginx, and the rivals in Rust"
	sh tests/dropin/get-nginx.sh build/programs || [ $? -eq 77 ]
	# Those that need a compiler of Rust, where there is one.
	sh bench/peers/build.sh "$XPOLL_BENCH_PEERS"
}

make_page() {
	step="page"
	python3 bench/report/main.py page "$@" build/bench
}

# bench [--quick]
bench() {
	case "$*" in
	'' | --quick) ;;
	*) die "bench: $*: expected --quick or nothing" ;;
	esac
	want_python
	need python3
	say "bench: building the command and the drop-in"
	build release xpoll_tool xpoll_poll_dropin
	need_rivals "$@"
	step="bench"
	python3 bench/report/main.py measure "$@" build/bench
	make_page "$@"
}

# bench_java [--quick]
bench_java() {
	want_python
	want_java
	need python3
	build release
	step="bench java"
	sh java/maven.sh build/release/java package -DskipTests
	python3 bench/java.py "$@"
	make_page
}
