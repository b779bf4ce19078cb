#!/bin/sh
# Run everything that ./dev ci runs, and the tests that take hours:
#
#   scripts/nightly.sh
#
# These are tests with the label nightly, sources on all back ends under sanitizers, coverage,
# all tests of asyncio, six minutes of calls inside of calls of the Python binding, CPython's
# long modules under the poll(2) drop-in, libevent and PostgreSQL on the one for kqueue(2),
# libevent, libuv and libev on the one for epoll(7),
# random programs over the Rust crate, the soak for an hour, every fault of the sweep, half an
# hour of fuzzing, the stress tests for XPOLL_STRESS_SECONDS each (default 600), every target of
# scripts/cross.sh, the contract suite under valgrind on every back end and for other
# processors, ten minutes of the model, all mutants, slow threads with another seed, and the
# tests in new Debian systems.
set -eu
cd -- "$(dirname -- "$0")/.."
. ./scripts/dev/start.sh
. ./scripts/dev/build.sh
. ./scripts/dev/steps.sh

stress_steps() {
	seconds=${XPOLL_STRESS_SECONDS:-600}
	cmake -B build/release -D XPOLL_TIMEOUT_FACTOR="$seconds" >/dev/null
	suite stress build/release XPOLL_STRESS_SECONDS="$seconds" -L stress
}

# The tests in fresh roots of three releases of Debian.
fresh_steps() {
	if [ "$manager" != apt-get ] || [ "$(id -u)" -ne 0 ]; then
		say "SKIP: fresh systems: needs root on Debian or its like"
		return
	fi
	need debootstrap
	try fresh sh scripts/fresh.sh test
	try fresh-bare sh scripts/fresh.sh -b demo
	for tools in "gcc make" "gcc ninja-build" "clang ninja-build"; do
		try fresh-use-it sh scripts/fresh.sh -b -s trixie -w root \
			tests/use/install/readme.sh $tools
	done
}

step="nightly"
need -- gradle # Large, and for one test.
ci_steps
coverage_steps
try cross sh scripts/cross.sh
suite asyncio build/release XPOLL_PYTHON_ALL=1 -R '^python\.all_of_asyncio$'
suite reenter build/asan XPOLL_REENTER_SECONDS=110 -R '^python\.reenter_'
suite java build/release XPOLL_JAVA_ALL=1 -R '^java\.(junit|package|stress)$'
suite nightly build/release -L nightly
suite asan-sources build/asan -R "$on_other_back_ends"
suite tsan-sources build/tsan -L source -R "$on_other_back_ends"
for name in kqueue epoll; do
	try "libevent-$name" sh tests/dropin/get-libevent.sh $name build/programs build/release
done
for name in libuv libev; do
	try "$name" sh "tests/dropin/epoll/get-$name.sh" build/programs build/release
done
try postgresql sh tests/dropin/kqueue/get-postgresql.sh build/programs build/release
programs_steps -R 'CPythonLong|kqueue\.(libevent|postgresql)|epoll\.(libevent|libuv|libev)'
suite memory build/release XPOLL_PROGRAMS=60 XPOLL_SEED="$(date +%j)000" -R '^rust\.asan$'
suite soak build/release XPOLL_STRESS_SECONDS=3600 -L soak -j3
sweep_steps all
try fuzz sh scripts/fuzz.sh 1800
stress_steps
# The seed of the delays is printed with a finding.
suite slow build/release XPOLL_DELAY_SEED="$(date +%s)" XPOLL_STRESS_SECONDS=20 -L slow
valgrind_steps '^(unit|contract)\.' all_contract_over
drd_steps '^contract\..*\.(epoll|poll|select)\.threads$'
try arch sh scripts/arch.sh aarch64 riscv64
suite model build/release XPOLL_MODEL_SECONDS=600 -L model
fresh_steps
summary
verdict
