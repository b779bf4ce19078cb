# Part of ./dev and scripts/nightly.sh: what check and ci are made of.  A step that fails
# adds its name to $failed, and the others go on.

LEAST_COVERAGE=95 # percent of the lines of src/
also=       # tools that this verb needs as well
asan_later= # labels that this verb runs under AddressSanitizer by themselves

check_steps() {
	need_check $also
	rm -rf build/results
	build_with_venv release
	run_suite release build/release -LE 'proof|programs'
	if ldd --version 2>&1 | grep -q musl; then
		say "musl has no sanitizers: left out"
	else
		build asan
		run_suite asan build/asan -LE "static|install|bench|once$asan_later"
		build tsan
		run_suite tsan build/tsan -LE 'static|install|bench|python|once|tool'
	fi
	build valgrind all_unit all_contract all_contract_over
	# Many descriptors and many rounds take too long here; ppoll with a signal
	# mask and mount are what valgrind itself gets wrong.
	run_suite valgrind build/valgrind -R '^(unit|contract)\.' \
		-E 'threads$|many|crowd|interrupt'
	drd_steps '^contract\.(concurrent|waiters|wake|cancel)\.(epoll|poll|select)'
}

# drd_steps REGEX: these tests once more under valgrind's detector of races.  Only
# what the programs are run under differs, so nothing is built.
drd_steps() {
	step="tests: drd"
	cmake --preset drd >build/configure-drd.log 2>&1 ||
		{ cat build/configure-drd.log >&2; die "cmake could not configure drd"; }
	# Interrupted before it began, a pselect or ppoll is called again with a mask
	# of valgrind's own, and that is EFAULT.
	run_suite drd build/valgrind -R "$1" -E interrupt
}

# By the second compiler, all of it, in a copy owned by "nobody", built and tested by
# it: what root may do hides bugs.  What both find is found by each alone, so the other
# two pairs are left out.
user_steps() {
	step="tests as an ordinary user"
	if [ "$(id -u)" -ne 0 ]; then
		say "not root: the tests above ran as an ordinary user, none as root"
		build clang
		run_suite clang build/clang -L 'unit|contract|fault'
		return
	fi
	need setpriv
	copy=$(mktemp -d "${TMPDIR:-/tmp}/xpoll-user.XXXXXX")
	tar -cf - --exclude=./build --exclude=./.git . | tar -xf - -C "$copy"
	mkdir "$copy/build"
	[ ! -d build/venv ] || cp -RP build/venv "$copy/build"
	chown -R 65534:65534 "$copy"
	say "$step, in $copy"
	# Folders of root's own would turn "not found" into "permission denied".
	reachable=$(setpriv --reuid=65534 --regid=65534 --clear-groups sh -c '
		IFS=:
		for folder in $PATH; do
			[ ! -x "$folder" ] || printf "%s:" "$folder"
		done')
	PATH=${reachable%:} HOME=$copy setpriv --reuid=65534 --regid=65534 --clear-groups \
		--no-new-privs sh "$copy/scripts/dev/user.sh" || failed="$failed user"
	mkdir -p build/results
	# None where it could not be built, which is reported already.
	cp "$copy"/build/results/* build/results/ || failed="$failed user-results"
	rm -rf "$copy"
}

# The models of the protocol: once is enough, and not every system has spin.
proof_steps() {
	step="proof"
	(need spin) || true
	run_suite proof build/release -L proof
}

ci_steps() {
	also="clang cppcheck"
	asan_later='|sweep' # With more time, see below.
	check_steps
	proof_steps
	step="static analysis"
	python3 scripts/analyze.py || failed="$failed analysis"
	user_steps
	sh scripts/windows.sh --few $repeat || [ $? -eq 77 ] || failed="$failed windows"
	build coverage all_unit all_contract all_source all_stress all_fault
	find build/coverage -name '*.gcda' -delete
	run_suite coverage build/coverage -L 'unit|contract|source|stress|fault'
	step="coverage of src/"
	python3 scripts/coverage.py --least "$LEAST_COVERAGE" build/coverage ||
		failed="$failed coverage"
	programs_steps -E CPythonLong
	if [ "$manager" = apt-get ]; then
		sh scripts/arch.sh s390x i686 || failed="$failed arch"
	fi
	soak_steps 60
	sweep_steps 15
	# What a commit is judged by is to be the same each time: fixed seeds here,
	# and chance in nightly.
	sh scripts/fuzz.sh --seed 1 120 || failed="$failed fuzz"
	run_suite XPOLL_MODEL_SECONDS=60 XPOLL_MODEL_ROUNDS=15 model build/release \
		-L model -R random
	step="cross"
	sh scripts/cross.sh --few || [ $? -eq 77 ] || failed="$failed cross"
	step="packages"
	(cd build/release && cpack >cpack.log 2>&1) ||
		{ cat build/release/cpack.log >&2; die "cpack failed"; }
}

# sweep_steps SECONDS|all: a sample of the faults, or all of them.
sweep_steps() {
	# Without sanitizers there is the sample of the release build.
	[ -d build/asan ] ||
		{ say "no build with AddressSanitizer: no longer sweep"; return; }
	run_suite XPOLL_SWEEP_SECONDS="$1" sweep build/asan -L sweep
	# What CTest does not show of a test that passed: how far it got.
	sed -n 's/^sweep: //p' build/asan/Testing/Temporary/LastTest.log || true
}

# soak_steps SECONDS: every source of events at once, all back ends side by side.
soak_steps() {
	run_suite XPOLL_STRESS_SECONDS="$1" soak build/release -L soak -j3
}

# Programs of the system with the poll(2) drop-in in front of them.
programs_steps() {
	step="programs under the drop-in"
	# Not every system has all of them; a test that finds none is skipped.  The
	# run level keeps Debian from starting servers that it installs.
	(RUNLEVEL=1; export RUNLEVEL; need lighttpd haproxy socat wrk curl) || true
	sh tests/dropin/get-nginx.sh build/programs || [ $? -eq 77 ]
	run_suite XPOLL_DROPIN_ALL=1 programs build/release -L programs "$@"
}
