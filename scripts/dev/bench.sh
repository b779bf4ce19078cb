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

peers_here() {
	cached=$(ldconfig -p 2>/dev/null) || return 1
	case $cached in *libevent_core-2.1.so.7*) ;; *) return 1 ;; esac
	case $cached in *libuv.so.1*) ;; *) return 1 ;; esac
	case $cached in *libev.so.4*) ;; *) return 1 ;; esac
}

install_peers() {
	case $manager in
	apt-get) required="libev4 libevent-dev libuv1-dev" ;;
	*) required="libev libevent libuv" ;;
	esac
	install_wanted
}

# What draws the plots.
make_plots_venv() {
	venv venv-bench bench/report/requirements.txt matplotlib ||
		die "no environment for the plots; build/venv-bench.log says why"
}

# Measured beside xpoll, and what loads the servers.  The reports name what is
# missing, and every system lacks some of it.
need_rivals() {
	say "bench: looking for libev, libevent, libuv, wrk and httperf"
	peers_here || (install_peers) || true
	(need wrk) || true
	(need httperf) || true
	if [ "$1" = quick ]; then
		say "bench: quick, so nginx and the rivals in Rust and Java are not built"
	else
		say "bench: building nginx, and the rivals in Rust and Java"
		sh tests/dropin/get-nginx.sh build/programs || [ $? -eq 77 ]
		# Those that need a compiler of Rust or a JDK, where there is one.
		sh bench/peers/build.sh build/bench/peers
	fi
	XPOLL_BENCH_PEERS=$PWD/build/bench/peers
	export XPOLL_BENCH_PEERS
}

# bench [--quick]
bench() {
	length=long
	for argument; do
		case $argument in
		--quick) length=quick ;;
		*) die "bench: $argument: expected --quick or nothing" ;;
		esac
	done
	want_python
	need python3
	say "bench: building the command, the drop-in and a web server"
	build release xpoll_tool xpoll_poll_dropin http-hello
	step="bench"
	need_rivals "$length"
	say "bench: looking for matplotlib, which draws the plots"
	step="plots"
	make_plots_venv
	step="bench"
	python3 bench/report/main.py measure "$@" build/bench
	build/venv-bench/bin/python bench/report/main.py page "$@" build/bench
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
	step="plots"
	make_plots_venv
	build/venv-bench/bin/python bench/report/main.py page build/bench
}
