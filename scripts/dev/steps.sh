# What ./dev check, ./dev ci and scripts/nightly.sh are made of; after build.sh.

# The oldest compiler that the Rust crates promise.  Without it one test is skipped.
need_oldest_rust() {
	have rustup || return 0
	oldest=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' rust/Cargo.toml)
	rustc "+$oldest" --version >/dev/null 2>&1 ||
		rustup toolchain install --profile minimal "$oldest" >&2 ||
		say "no Rust $oldest: going on without"
}

# Sources and examples know nothing of back ends: after the release suite, which has all, they
# are tested on epoll.
on_other_back_ends='^source\..*\.(poll|select)(\.threads)?$|^examples/.*/(poll|select)$'

# The tests of the epoll drop-in but a few: ThreadSanitizer's poll(2) takes the place of the
# drop-in's, and it delivers signals late.
not_with_tsan='^epoll\.(descriptor|eventfd|late|random|signalfd|threads|timerfd|tokens)\.'

# beside NAME COMMAND...: begin a step that sleeps for most of its time, and go on with the
# next ones; await NAME prints what it has printed, and waits for it.
beside() {
	beside_log=build/$1.log
	shift
	mkdir -p build
	(
		trap - EXIT
		failed=
		"$@"
		[ -z "$failed" ]
	) >"$beside_log" 2>&1 &
	beside=$!
}

await() {
	wait "$beside" || failed="$failed $1"
	cat "$beside_log"
}

# check_steps SECONDS [TOOL...]: of the sweep; and what the caller needs as well.
check_steps() {
	sweep=$1
	shift
	export XPOLL_WERROR="${XPOLL_WERROR:-ON}"
	need $for_check valgrind mandoc groff bash zsh sanitizers "$@" -- \
		openssl.pc glib-2.0.pc libuv.pc $more_check python3-dbg
	need_oldest_rust
	rm -rf build/results
	build_with_venv release
	suite release build/release -LE 'proof|programs|slow|nightly'
	# One back end has most of the protocol of threads; scripts/nightly.sh has all.
	suite slow build/release -L slow -R '\.epoll$'
	if ldd --version 2>&1 | grep -q musl; then
		say "musl has no sanitizers: left out"
	else
		build asan
		suite asan build/asan -LE 'static|install|bench|once|sweep|nightly' \
			-E "$on_other_back_ends"
		sweep_steps "$sweep"
		build tsan all_unit all_contract all_contract_over all_source all_stress \
			all_fault all_dropin all_dropin_kqueue epoll_call epoll_nest
		suite tsan build/tsan -L 'unit|contract|source|stress|fault|dropin|kqueue' \
			-LE 'cpp|once|alone|nightly' -E "$on_other_back_ends|$not_with_tsan"
	fi
	valgrind_steps '^(unit\.|contract\..*\.epoll$)'
	drd_steps '^contract\.(concurrent|waiters|wake|cancel)\.epoll'
}

# valgrind_steps REGEX [TARGET]: the tests of this name, under memcheck.
valgrind_steps() {
	build valgrind all_unit all_contract ${2:-}
	# Many descriptors and many rounds take too long here; ppoll with a signal
	# mask and mount are what valgrind itself gets wrong.
	suite valgrind build/valgrind -R "$1" -E 'threads$|many|crowd|interrupt'
}

# drd_steps REGEX: these tests once more under valgrind's detector of races.  Only
# what the programs are run under differs, so nothing is built.
drd_steps() {
	configure drd
	# Interrupted before it began, a pselect or ppoll is called again with a mask
	# of valgrind's own, and that is EFAULT.
	suite drd build/valgrind -R "$1" -E interrupt
}

# sweep_steps SECONDS|all: a sample of the faults, or all of them.
sweep_steps() {
	suite sweep build/asan XPOLL_SWEEP_SECONDS="$1" -L sweep
	# What CTest does not show of a test that passed: how far it got.
	sed -n 's/^sweep: //p' build/asan/Testing/Temporary/LastTest.log || true
}

# Random sequences and loads find the same whoever runs and compiles them: the release and
# the sanitizers' suites have them.
by_chance='^(model\.random|soak\.|dropin\.differential)|^tool/Workloads$'

# By the second compiler, all else, in a copy owned by "nobody", built and tested by
# it: what root may do hides bugs.  What both find is found by each alone, so the other
# two pairs are left out; so are the models of other kernels, which know neither users nor
# compilers (scripts/cross.sh compiles for these systems by clang).
user_steps() {
	if [ "$(id -u)" -ne 0 ]; then
		say "not root: the tests above ran as an ordinary user, none as root"
		build clang
		suite clang build/clang -L 'unit|contract|fault'
		return
	fi
	copy=$(mktemp -d "${TMPDIR:-/tmp}/xpoll-user.XXXXXX")
	tar -cf - --exclude=./build --exclude=./.git . | tar -xf - -C "$copy"
	mkdir "$copy/build"
	[ ! -d build/venv ] || cp -RP build/venv "$copy/build"
	chown -R 65534:65534 "$copy"
	nobody="setpriv --reuid=65534 --regid=65534 --clear-groups"
	# Folders of root's own would turn "not found" into "permission denied".
	reachable=$($nobody sh -c '
		IFS=:
		for folder in $PATH; do
			[ ! -x "$folder" ] || printf "%s:" "$folder"
		done')
	try user env PATH="${reachable%:}" HOME="$copy" $nobody --no-new-privs sh -c '
		set -eu
		cd "$HOME"
		. ./scripts/dev/start.sh
		. ./scripts/dev/build.sh
		build_with_venv clang quick_and_kqueue
		repeat=$1
		suite user build/clang -LE "static|once|kernels|alone|nightly" -E "$2"
		verdict' ./dev "$repeat" "$on_other_back_ends|$by_chance"
	mkdir -p build/results
	# None where it could not be built, which is reported already.
	cp "$copy"/build/results/* build/results/ || failed="$failed user-results"
	rm -rf "$copy"
}

# programs_steps ARGUMENT...: programs of the system on the drop-ins for poll(2) and kqueue(2).
programs_steps() {
	need -- lighttpd haproxy socat wrk curl bash file git vim tmux gawk pgrep
	try nginx sh tests/dropin/get-nginx.sh build/programs
	try entr sh tests/dropin/kqueue/get-entr.sh build/programs build/release
	suite programs build/release XPOLL_DROPIN_ALL=1 -L programs "$@"
}

# library_with FLAGS: by gcc; warnings are errors.
library_with() {
	cmake -G Ninja -B build/flags -D CMAKE_C_COMPILER=gcc -D XPOLL_WERROR=ON \
		-D CMAKE_C_FLAGS_RELEASE="$1" -D XPOLL_TOOLS=OFF -D XPOLL_DROPINS=OFF >/dev/null &&
		cmake --build build/flags --target xpoll
}

# The library as others may compile it; the suites are built with -O3 by both compilers.
# clang warns before it optimises, so that the suites' build has all of its warnings.
flags_steps() {
	have gcc || return 0
	for flags in -O2 -Os '-O3 -flto'; do
		try "gcc$(echo "$flags" | tr -d ' ')" library_with "$flags"
	done
}

coverage_steps() {
	need gcovr
	build coverage all_unit all_contract all_source all_stress all_fault
	find build/coverage -name '*.gcda' -delete
	# The C++ header is not of src.
	suite coverage build/coverage -L 'unit|contract|source|stress|fault' -LE cpp
	try coverage-of-src gcovr --root . --filter src/ --exclude-throw-branches \
		--fail-under-line 95 --print-summary build/coverage/src
}

ci_steps() {
	check_steps 15 clang cppcheck setpriv
	# The models of the protocol: once is enough, and not every system has spin.
	need -- spin
	suite proof build/release -L proof -LE nightly
	# Every source of events at once, all back ends side by side; nightly has an hour of it.
	beside soak suite soak build/release XPOLL_STRESS_SECONDS=60 -L soak -j3
	try analysis python3 scripts/analyze.py
	await soak
	user_steps
	flags_steps
	try windows sh scripts/windows.sh --few $repeat
	programs_steps -E CPythonLong
	try arch sh scripts/arch.sh s390x i686
	# What a commit is judged by is to be the same each time: fixed seeds here,
	# and chance in nightly.
	try fuzz sh scripts/fuzz.sh --seed 1 30
	suite model build/release XPOLL_MODEL_SECONDS=60 XPOLL_MODEL_ROUNDS=15 -L model -R random
	try cross sh scripts/cross.sh --few
	try packages cmake --build build/release --target package
}
