#!/bin/sh
# Build libFuzzer's targets with ASan and UBSan, and run them all at the same time:
#
#   scripts/fuzz.sh [--seed N] [SECONDS] [TARGET...]
#
# The default is one hour.  scripts/fuzz.py runs the targets; its help describes the seed
# and the inputs.  The script installs clang.  If clang has no libFuzzer, nothing is run.
set -eu
cd -- "$(dirname -- "$0")/.."
. ./scripts/dev/help.sh
. ./scripts/dev/start.sh

# Does clang come with libFuzzer?  Debian has it in a package of its own.
can_fuzz() {
	mkdir -p build
	echo 'int LLVMFuzzerTestOneInput(const char *d, long n) { return !d && n; }' \
		>build/can-fuzz.c
	clang -fsanitize=fuzzer,address build/can-fuzz.c -o build/can-fuzz 2>/dev/null
}

need_fuzz() {
	need_build clang python3
	! can_fuzz || return 0
	version=$(clang -dumpversion)
	case $manager in
	apt-get) required="libclang-rt-${version%%.*}-dev" ;;
	dnf | apk) required=compiler-rt ;;
	esac
	(install_wanted) || true
	can_fuzz
}

need_fuzz || { say "SKIP: fuzzing: this clang has no libFuzzer"; exit 0; }
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
