#!/bin/sh
# Build xpoll on FreeBSD, OpenBSD, NetBSD or DragonFly, and run its tests there:
#
#   sh scripts/bsd.sh [TEST...]
#
# It needs cmake and the system's compiler, nothing else.  TEST is a part of a test's
# name.  The table at the end is what PLATFORMS.md wants; all that failed is in
# build/bsd/results.txt.  With LDFLAGS=-static the folder build/bsd/tests/bin runs
# elsewhere as well, and in a system that has nothing else: its files as /tests, and
# the runner as /sbin/init.
set -eu
cd -- "$(dirname -- "$0")/.."
. ./scripts/dev/help.sh

cmake -S . -B build/bsd -D CMAKE_BUILD_TYPE=Release -D XPOLL_TESTS=ON \
	 -D XPOLL_TOOLS=OFF -D XPOLL_PYTHON=OFF -D XPOLL_JAVA=OFF
cmake --build build/bsd
build/bsd/tests/bin/runner build/bsd/tests/bin "$@" >build/bsd/results.txt || code=$?
sed -n '/^ *passed  *failed/,$p' build/bsd/results.txt
exit "${code:-0}"
