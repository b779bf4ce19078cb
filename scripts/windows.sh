#!/bin/sh
# Cross-compile for Windows, and run the contract suite, the tests of sources and those
# of the command under Wine:
#
#   scripts/windows.sh [--few] [CTEST_ARGUMENT...]
#
# --few runs only tests that take little time.  The script needs Debian or Ubuntu on
# x86-64, whose mingw-w64 and Wine it installs; the exit status is 77 if they are not
# available.  It builds in build/cross-windows.
set -eu
cd -- "$(dirname -- "$0")/.."
. ./scripts/dev/start.sh
. ./scripts/dev/build.sh

FEW="badinput|changes|close|disable|eof|level|lookup|noalloc|register|timeout"
FEW="$FEW|proc|nt_.*|info"

compiler=x86_64-w64-mingw32-gcc-posix
[ "$manager:$(uname -m)" != apt-get:x86_64 ] || need $for_build python3 -- $compiler wine
have $compiler && have wine || { say "SKIP: no mingw-w64 and Wine for this system"; exit 77; }
if [ "${1:-}" = --few ]; then
	shift
	set -- "$@" -R "\.($FEW)\.afd\$"
fi
build cross-windows
# Wine has a folder of its own in the build tree, and ends with the tests.
step="tests: cross-windows"
sh scripts/wine.sh --start build/cross-windows
suite cross-windows build/cross-windows -L 'contract|source|tool' "$@"
sh scripts/wine.sh --stop build/cross-windows
verdict
