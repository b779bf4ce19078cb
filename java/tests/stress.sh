#!/bin/sh
# The stress test on its own, in ./dev nightly: a queue was seen to hang in it once.
#
#   stress.sh MADE
set -eu
[ -n "${XPOLL_JAVA_ALL:-}" ] || { echo "SKIP: XPOLL_JAVA_ALL=1 runs it"; exit 77; }
exec sh "$(dirname "$0")/../maven.sh" "$1" verify -Dtest=StressTest
