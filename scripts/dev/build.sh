# Building, and running a suite of tests; after start.sh.
. ./scripts/dev/packages.sh

step=   # what a failure is reported of
failed= # steps
repeat= # what CTest does about a failure
trap 'code=$?; [ $code -eq 0 ] || [ -z "$step" ] || say "FAILED ($step)"' EXIT
# Tests with many descriptors want as many as this user may have.
ulimit -n "$(ulimit -Hn)" 2>/dev/null || true

# What a build needs (make is what CMake takes when nobody names a generator), what the
# tests of the C library, the command and the drop-ins need, what those of the bindings
# need, and what these can do without.
for_build="cc cmake ninja make"
for_tests="$for_build python3 pkg-config"
for_check="$for_tests c++"
more_check="python-tests java"

jobs=$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
[ "$jobs" -ge 2 ] || jobs=2
at_once=$((jobs * 4)) # Tests wait much of their time.
# ccache stops when it has nowhere to write.
[ -n "${HOME:-}" ] && [ -w "${HOME:-}" ] || export CCACHE_DISABLE=1

configure() {
	mkdir -p build
	cmake --preset "$1" >"build/configure-$1.log" 2>&1 || {
		grep -A 3 '^CMake Error' "build/configure-$1.log" >&2
		die "cmake could not configure $1; build/configure-$1.log has all it said"
	}
}

# build PRESET [TARGET...]
build() {
	step="build $1"
	preset=$1
	shift
	[ $# -eq 0 ] || set -- --target "$@"
	version=$(cmake --version | sed -n '1s/[^0-9]*\([0-9]*\.[0-9]*\).*/\1/p')
	[ "${version%%.*}" -gt 3 ] || [ "${version#*.}" -ge 20 ] ||
		die "cmake $version is too old: 3.20 or later is needed"
	configure "$preset"
	cmake --build "build/$preset" --parallel "$jobs" "$@"
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
		say "no Python environment: build/$1.log says why"
		return 1
	fi
}

# took NAME: appends the seconds since $lap to XPOLL_TOOK, which runtests.py prints.
took() {
	now=$(date +%s)
	XPOLL_TOOK="${XPOLL_TOOK:-}$1 $((now - lap)) "
	export XPOLL_TOOK
	lap=$now
}

# build_with_venv PRESET [TARGET...]: and what the tests of the Python binding need.  Without
# it these tests are skipped.
build_with_venv() {
	venv venv python/requirements-test.txt pytest || true
	build "$@"
}

# try NAME COMMAND...: the steps after one that fails are done all the same; 77 is skipped.
try() {
	step=$1
	shift
	say "$step"
	"$@" || [ $? -eq 77 ] || failed="$failed $step"
}

# suite NAME BUILD_DIR ARGUMENT...: of CTest, and VARIABLE=VALUE for the environment.
suite() {
	name=$1 folder=$2 run=
	shift 2
	# Older compilers' ThreadSanitizer cannot live with much address randomisation.
	[ "$folder" != build/tsan ] || ! setarch "$(uname -m)" -R true 2>/dev/null ||
		run="setarch $(uname -m) -R"
	# On purpose unquoted: words.
	try "$name" $run python3 scripts/runtests.py run --suite "$name" "$folder" \
		-j "$at_once" $repeat "$@"
}

summary() { python3 scripts/runtests.py summary || true; }

# The end: did every step pass?
verdict() {
	step="in$failed; look for these names above"
	[ -z "$failed" ]
}
