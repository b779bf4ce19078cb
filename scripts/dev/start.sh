# Begins ./dev and the scripts that are made of the same parts; at the top of the tree.
say() { printf '%s\n' "$(basename -- "$0" .sh): $*" >&2; }
die() { say "$*"; exit 1; }
have() { command -v "$1" >/dev/null 2>&1; }

. ./scripts/dev/packages.sh
. ./scripts/dev/build.sh

step=   # what a failure is reported of
failed= # suites
repeat= # what CTest does about a failure
trap 'code=$?; [ $code -eq 0 ] || [ -z "$step" ] || say "FAILED ($step)"' EXIT
# Tests with many descriptors want as many as this user may have.
ulimit -n "$(ulimit -Hn)" 2>/dev/null || true
