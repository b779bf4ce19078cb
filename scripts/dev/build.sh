# Part of ./dev: building, and running a suite of tests.

jobs_here() {
	jobs=$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
	[ "$jobs" -ge 2 ] || jobs=2
	echo "$jobs"
}

# Tests wait much of their time: two more than there are processors.
tests_at_once() {
	echo $(($(jobs_here) + 2))
}

# ccache stops when it has nowhere to write.
check_ccache() {
	[ -n "${HOME:-}" ] && [ -w "${HOME:-}" ] || export CCACHE_DISABLE=1
}

# build PRESET [TARGET...]
build() {
	step="build $1"
	preset=$1
	shift
	[ $# -eq 0 ] || set -- --target "$@"
	check_ccache
	mkdir -p build
	cmake --preset "$preset" >"build/configure-$preset.log" 2>&1 || {
		grep -A 3 '^CMake Error' "build/configure-$preset.log" >&2
		die "cmake could not configure $preset; build/configure-$preset.log has all it said"
	}
	cmake --build "build/$preset" --parallel "$(jobs_here)" "$@"
}

# venv NAME REQUIREMENTS MODULE: build/NAME, with these packages from the package
# index, of which MODULE is one; 1 where it cannot be made, and build/NAME.log says why.
venv() {
	made="$(python3 --version) $(cat "$2")"
	# A copy may be that of somebody whose Python this user may not run.
	if [ "$(cat "build/$1/made" 2>/dev/null)" = "$made" ] &&
		"build/$1/bin/python" -c "import $3" 2>/dev/null; then
		return
	fi
	say "making build/$1"
	mkdir -p build
	rm -rf "build/$1"
	if python3 -m venv "build/$1" >"build/$1.log" 2>&1 &&
		"build/$1/bin/python" -m pip install --quiet --disable-pip-version-check \
			-r "$2" >>"build/$1.log" 2>&1; then
		printf '%s\n' "$made" >"build/$1/made"
	else
		rm -rf "build/$1"
		return 1
	fi
}

# What the tests of the Python binding need.  Where it cannot be made, these tests
# are skipped.
make_venv() {
	step="Python environment"
	venv venv python/requirements-test.txt pytest ||
		say "no Python environment (build/venv.log says why); its tests are skipped"
}

# build_with_venv PRESET: both at once, as one of them mostly fetches.
build_with_venv() {
	make_venv &
	built=0
	build "$1" || built=$?
	wait $!
	return $built
}

# run_suite [NAME=VALUE...] SUITE BUILD_DIR CTEST_ARGUMENT...: in this environment.
run_suite() {
	settings=
	while case $1 in *=*) true ;; *) false ;; esac; do
		settings="$settings $1"
		shift
	done
	step="tests: $1"
	suite=$1 dir=$2
	shift 2
	say "tests: $suite"
	# On purpose unquoted: words.
	set -- python3 scripts/runtests.py run --strict --suite "$suite" "$dir" \
		-j "$(tests_at_once)" $repeat "$@"
	if [ "$suite" = tsan ] && setarch "$(uname -m)" -R true 2>/dev/null; then
		# Older compilers' ThreadSanitizer cannot live with much address randomisation.
		set -- setarch "$(uname -m)" -R "$@"
	fi
	# One run is to report everything that fails.
	env $settings "$@" || failed="$failed $suite"
}

summary() { python3 scripts/runtests.py summary; }

# At the end: did every suite pass?
verdict() {
	step="in$failed; look for these names above"
	[ -z "$failed" ]
}
