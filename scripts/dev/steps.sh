# Part of ./dev: what check, ci and nightly are made of.  A step that fails adds its
# name to $failed, and the others go on.

LEAST_COVERAGE=95 # percent of the lines of src/

check_steps() {
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
		--no-new-privs "$copy/dev" user-tests || failed="$failed user"
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
	# A machine that others use as well may starve a test of its time.  What fails
	# runs once more; the summary names it.  check and nightly do not forgive.
	[ "$verb" != ci ] || repeat="--repeat until-pass:2"
	asan_later='|sweep' # With more time, see below.
	check_steps
	proof_steps
	step="static analysis"
	python3 scripts/analyze.py || failed="$failed analysis"
	user_steps
	if (need_cross_windows); then
		cross_windows -R "\.($WINDOWS_FEW)\.afd\$"
	fi
	build coverage all_unit all_contract all_source all_stress all_fault
	find build/coverage -name '*.gcda' -delete
	run_suite coverage build/coverage -L 'unit|contract|source|stress|fault'
	step="coverage of src/"
	python3 scripts/coverage.py --least "$LEAST_COVERAGE" --new 25 \
		build/coverage ||
		failed="$failed coverage"
	programs_steps -E CPythonLong
	if [ "$manager" = apt-get ]; then arch_steps s390x i686; fi
	soak_steps 60
	sweep_steps 15
	# What a commit is judged by is to be the same each time: fixed seeds here,
	# and chance in nightly.
	fuzz_steps --seed 1 120
	XPOLL_MODEL_ROUNDS=15
	export XPOLL_MODEL_ROUNDS
	model_steps 60 -R random
	unset XPOLL_MODEL_ROUNDS
	step="cross"
	sh scripts/cross.sh --few || [ $? -eq 77 ] || failed="$failed cross"
	step="packages"
	(cd build/release && cpack >cpack.log 2>&1) ||
		{ cat build/release/cpack.log >&2; die "cpack failed"; }
}

# sweep_steps SECONDS|all: a sample of the faults, or all of them.
sweep_steps() {
	suite=sweep
	# Without sanitizers there is the sample of the release build.
	[ -d build/asan ] ||
		{ say "no build with AddressSanitizer: no longer sweep"; return; }
	XPOLL_SWEEP_SECONDS=$1
	export XPOLL_SWEEP_SECONDS
	shift
	run_suite $suite build/asan -L sweep "$@"
	unset XPOLL_SWEEP_SECONDS
	# What CTest does not show of a test that passed: how far it got.
	sed -n 's/^sweep: //p' build/asan/Testing/Temporary/LastTest.log || true
}

# Does clang come with libFuzzer?  Debian has it in a package of its own.
can_fuzz() {
	mkdir -p build
	echo 'int LLVMFuzzerTestOneInput(const char *d, long n) { return !d && n; }' \
		>build/can-fuzz.c
	clang -fsanitize=fuzzer,address build/can-fuzz.c -o build/can-fuzz 2>/dev/null
}

need_fuzz() {
	need_build
	need clang python3
	can_fuzz && return
	version=$(clang -dumpversion)
	case $manager in
	apt-get) (install_packages "libclang-rt-${version%%.*}-dev") || true ;;
	dnf | apk) (install_packages compiler-rt) || true ;;
	esac
	can_fuzz
}

# fuzz_steps [--seed N] SECONDS [TARGET...]
fuzz_steps() {
	step="fuzzing"
	need_fuzz || { say "SKIP: fuzzing: this clang has no libFuzzer"; return; }
	build fuzz fuzzers
	step="fuzzing"
	seed=
	if [ "$1" = --seed ]; then
		seed="--seed $2"
		shift 2
	fi
	python3 scripts/fuzz.py $seed build/fuzz "$@" || failed="$failed fuzz"
}

# Of the tests under Wine, those for ./dev ci: all of them take minutes.
WINDOWS_FEW="badinput|changes|close|disable|eof|level|lookup|noalloc|register|timeout"
WINDOWS_FEW="$WINDOWS_FEW|proc|nt_.*|looptest|info"
ARCHES="aarch64 riscv64 s390x i686"

# The contract on other processors: big-endian, other alignments, 32 bits.
arch_steps() {
	usual=$repeat
	for arch; do
		step="arch $arch"
		case $arch in
		aarch64 | riscv64 | s390x) need "$arch-linux-gnu-gcc" "qemu-$arch" ;;
		i686) need i686-linux-gnu-gcc ;;
		*) die "arch: no cross compiler is known for '$arch'" ;;
		esac
		build "$arch" all_contract
		# select(2) is what qemu itself gets wrong, and among many threads it
		# loses a signal now and then; a cancelled thread, on RISC-V, always.
		leave=many\|crowd
		[ "$arch" != riscv64 ] || leave=$leave\|cancel
		repeat="--repeat until-pass:3"
		run_suite "$arch" "build/$arch" -R '^contract\..*\.(epoll|poll)$' -E "$leave"
		repeat=$usual
	done
}

# soak_steps SECONDS: every source of events at once, all back ends side by side.
soak_steps() {
	XPOLL_STRESS_SECONDS=$1
	export XPOLL_STRESS_SECONDS
	run_suite soak build/release -L soak -j3
	unset XPOLL_STRESS_SECONDS
}

# Programs of the system with the poll(2) drop-in in front of them.
programs_steps() {
	step="programs under the drop-in"
	# Not every system has all of them; a test that finds none is skipped.  The
	# run level keeps Debian from starting servers that it installs.
	(RUNLEVEL=1; export RUNLEVEL; need lighttpd haproxy socat wrk curl) || true
	sh tests/dropin/get-nginx.sh build/programs || [ $? -eq 77 ]
	XPOLL_DROPIN_ALL=1
	export XPOLL_DROPIN_ALL
	run_suite programs build/release -L programs "$@"
	unset XPOLL_DROPIN_ALL
}

# Random sequences against the model for so many seconds, and mutants for it to find.
model_steps() {
	XPOLL_MODEL_SECONDS=$1
	export XPOLL_MODEL_SECONDS
	shift
	run_suite model build/release -L model "$@"
	unset XPOLL_MODEL_SECONDS
}

nightly_steps() {
	sh scripts/cross.sh || [ $? -eq 77 ] || failed="$failed cross"
	XPOLL_PYTHON_ALL=1
	export XPOLL_PYTHON_ALL
	run_suite asyncio build/release -R '^python\.all_of_asyncio$'
	unset XPOLL_PYTHON_ALL
	XPOLL_JAVA_ALL=1
	export XPOLL_JAVA_ALL
	run_suite java build/release -R '^java\.(junit|package|stress)$'
	unset XPOLL_JAVA_ALL
	programs_steps -R CPythonLong
	stress_seconds=${XPOLL_STRESS_SECONDS:-600}
	soak_steps 3600
	sweep_steps all
	fuzz_steps 1800
	XPOLL_STRESS_SECONDS=$stress_seconds
	export XPOLL_STRESS_SECONDS
	say "stress tests: $XPOLL_STRESS_SECONDS s each"
	cmake -B build/release -D XPOLL_TIMEOUT_FACTOR="$XPOLL_STRESS_SECONDS" >/dev/null
	run_suite stress build/release -L stress
	unset XPOLL_STRESS_SECONDS
	drd_steps '^contract\..*\.(epoll|poll|select)\.threads$'
	if [ "$manager" = apt-get ]; then arch_steps aarch64 riscv64; fi
	model_steps 600
	fresh_steps
}

# The tests in fresh roots of three releases of Debian.
fresh_steps() {
	step="fresh systems"
	[ "$manager" = apt-get ] && [ "$(id -u)" -eq 0 ] ||
		{ say "SKIP: fresh systems: needs root on Debian or its like"; return; }
	need debootstrap
	sh scripts/fresh.sh test || failed="$failed fresh"
}

summary() { python3 scripts/runtests.py summary; }

# Its Wine has a folder of its own in the build tree, and ends with the tests.
cross_windows() {
	build cross-windows
	step="tests: cross-windows"
	sh scripts/wine.sh --start build/cross-windows
	run_suite cross-windows build/cross-windows -L 'contract|source|tool' "$@"
	sh scripts/wine.sh --stop build/cross-windows
}
