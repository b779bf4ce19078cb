#!/bin/sh
# Build libFuzzer's targets with ASan and UBSan, and run them all at the same time:
#
#   scripts/fuzz.sh [--seed N] [SECONDS] [TARGET...]
#
# The default is one hour.  scripts/fuzz.py runs the targets; its help describes the seed
# and the inputs.  The script installs clang.  If clang has no libFuzzer, nothing is run.
set -eu
cd -- "$(dirname -- "$0")/.."
. ./scripts/dev/start.sh
. ./scripts/dev/build.sh

# Debian has libFuzzer in a package of its own, named after clang.
need $for_build clang python3
need -- libfuzzer
there libfuzzer || { say "SKIP: fuzzing: this clang has no libFuzzer"; exit 0; }
build fuzz fuzzers
step="fuzzing"
seed=
if [ "${1:-}" = --seed ]; then
	seed="--seed $2"
	shift 2
fi
[ $# -gt 0 ] || set -- 3600
# On purpose unquoted: none or two words.
python3 scripts/fuzz.py $seed build/fuzz "$@"
