#!/bin/sh
# Run everything that ./dev ci runs, and the tests that take hours:
#
#   scripts/nightly.sh
#
# These are all tests of asyncio, CPython's long modules under the poll(2) drop-in, the
# soak for an hour, every fault of the sweep, half an hour of fuzzing, the stress tests for
# XPOLL_STRESS_SECONDS each (default 600), every target of scripts/cross.sh, the contract
# suite for other processors, ten minutes of the model, all mutants, and the tests in new
# Debian systems.
set -eu
cd -- "$(dirname -- "$0")/.."
. ./scripts/dev/help.sh
. ./scripts/dev/start.sh
. ./scripts/dev/steps.sh

# The tests in fresh roots of three releases of Debian.
fresh_steps() {
	step="fresh systems"
	[ "$manager" = apt-get ] && [ "$(id -u)" -eq 0 ] ||
		{ say "SKIP: fresh systems: needs root on Debian or its like"; return; }
	need debootstrap
	sh scripts/fresh.sh test || failed="$failed fresh"
}

stress_steps() {
	seconds=${XPOLL_STRESS_SECONDS:-600}
	say "stress tests: $seconds s each"
	cmake -B build/release -D XPOLL_TIMEOUT_FACTOR="$seconds" >/dev/null
	run_suite XPOLL_STRESS_SECONDS="$seconds" stress build/release -L stress
}

long_steps() {
	sh scripts/cross.sh || [ $? -eq 77 ] || failed="$failed cross"
	run_suite XPOLL_PYTHON_ALL=1 asyncio build/release -R '^python\.all_of_asyncio$'
	run_suite XPOLL_JAVA_ALL=1 java build/release -R '^java\.(junit|package|stress)$'
	programs_steps -R CPythonLong
	soak_steps 3600
	sweep_steps all
	sh scripts/fuzz.sh 1800 || failed="$failed fuzz"
	stress_steps
	drd_steps '^contract\..*\.(epoll|poll|select)\.threads$'
	if [ "$manager" = apt-get ]; then
		sh scripts/arch.sh aarch64 riscv64 || failed="$failed arch"
	fi
	run_suite XPOLL_MODEL_SECONDS=600 model build/release -L model
	fresh_steps
}

export XPOLL_WERROR="${XPOLL_WERROR:-ON}"
step="nightly"
have gradle || want_extra gradle # Large, and for one test.
ci_steps
long_steps
summary || true
verdict
