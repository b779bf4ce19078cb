# The verbs demo, bench and docs of ./dev; after build.sh.

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

page() {
	step="page"
	python3 bench/report/main.py page "$@" build/bench
}

# bench [--quick]
bench() {
	case "$*" in
	'' | --quick) ;;
	*) die "bench: $*: expected --quick or nothing" ;;
	esac
	# Beside xpoll are measured libevent and libuv; wrk loads the servers.  The
	# reports name what is missing, and every system lacks some of it.
	need $for_build python3 -- rivals wrk
	build release xpoll_tool xpoll_poll_dropin
	export XPOLL_BENCH_PEERS="$PWD/build/bench/peers"
	if [ "$*" = --quick ]; then
		say "bench: quick, so nginx and the rivals in Rust are not built"
	else
		say "bench: building nginx, and the rivals in Rust"
		sh tests/dropin/get-nginx.sh build/programs || [ $? -eq 77 ]
		sh bench/peers/build.sh "$XPOLL_BENCH_PEERS"
	fi
	step="bench"
	python3 bench/report/main.py measure "$@" build/bench
	page "$@"
}

# bench_java [--quick]
bench_java() {
	need $for_build python3 -- $more_tests
	build release
	step="bench java"
	sh java/maven.sh build/release/java package -DskipTests
	python3 bench/java.py "$@"
	page
}

# References that other tools make, where they are here: those of Java and Rust.
reference_pages() {
	pages=build/docs/pages/reference
	mkdir -p "$pages/rust"
	sh java/javadoc.sh "$pages/java" || [ $? -eq 77 ]
	# As CMake runs it for the test rust.doc.
	made=$PWD/build/release/rust
	code=0
	PKG_CONFIG_PATH=$made LD_LIBRARY_PATH=$PWD/build/release/lib \
		sh rust/cargo.sh doc "$made" || code=$?
	case $code in
	0) cp -R "$made/target/doc/." "$pages/rust" ;;
	77) say "the site has no reference of the Rust crates" ;;
	*) return 1 ;;
	esac
}

docs() {
	step="docs"
	python3 scripts/docs.py
	venv venv-docs docs/site/requirements.txt material || die "no environment for MkDocs"
	rm -rf build/docs/pages build/docs/site
	reference_pages
	python3 scripts/site.py stage build/docs --python build/release/python
	(cd build/docs && NO_MKDOCS_2_WARNING=1 ../venv-docs/bin/mkdocs build --quiet)
	step="links of the site"
	python3 scripts/site.py check build/docs/site
	say "the site is build/docs/site/index.html"
}
