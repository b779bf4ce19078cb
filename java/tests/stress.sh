#!/bin/sh
# The stress test for longer than among the other tests, in scripts/nightly.sh.
#
#   stress.sh MADE
set -eu
[ -n "${XPOLL_JAVA_ALL:-}" ] || { echo "SKIP: XPOLL_JAVA_ALL=1 runs it"; exit 77; }
XPOLL_STRESS_SECONDS=40
export XPOLL_STRESS_SECONDS
exec sh "$(dirname "$0")/../maven.sh" "$1" verify -Dtest=StressTest
