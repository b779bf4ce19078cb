#!/bin/sh
# Build xpoll on FreeBSD, OpenBSD, NetBSD or DragonFly, and run its tests there:
#
#   sh scripts/bsd.sh [TEST...]
#
# It needs only cmake and the system's compiler.  TEST is a part of a test's name.  The
# table at the end is what PLATFORMS.md has for each system; all failures are in
# build/bsd/results.txt.  Built with LDFLAGS=-static, the tests in build/bsd/tests/bin
# also run elsewhere, even in a system that has no other files: copy them to /tests, and
# the runner to /sbin/init.
set -eu
cd -- "$(dirname -- "$0")/.."
. ./scripts/dev/start.sh

cmake -S . -B build/bsd -D CMAKE_BUILD_TYPE=Release -D XPOLL_TESTS=ON \
	 -D XPOLL_TOOLS=OFF -D XPOLL_PYTHON=OFF -D XPOLL_JAVA=OFF
cmake --build build/bsd
build/bsd/tests/bin/runner build/bsd/tests/bin "$@" >build/bsd/results.txt || code=$?
sed -n '/^ *passed  *failed/,$p' build/bsd/results.txt
exit "${code:-0}"
