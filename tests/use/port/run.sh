#!/bin/sh
# Goal: a port to a new system adds one folder and one entry (docs/internals/porting.md).
# Method: the system of model/, which has POSIX and nothing else, is added to a copy of the
# tree; its library is built here, and passes tests of the contract.
#
# usage: run.sh
set -eu

here=$(cd -- "$(dirname -- "$0")" && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/xpoll-port.XXXXXX")
trap 'rm -rf "$work"' EXIT
topics="wake timeout user process" # Without edges others fail in part, as on Solaris.

fail() { cat "$work/log"; echo "FAIL: $*"; exit 1; }

cd "$here/../../.."
cp -R CMakeLists.txt LICENSE README.md cmake include src tests tree "$work"
cp -R "$here/model" "$work/src/model"
# The entry is the last one.
awk -v entry="$here/entry.cmake" '/^if\(NOT DEFINED XPOLL_SOURCES\)/ {
	while ((getline line <entry) > 0)
		print line
} { print }' src/Sources.cmake >"$work/src/Sources.cmake"

targets=
for topic in $topics; do targets="$targets contract_$topic"; done
cmake -S "$work" -B "$work/build" -DCMAKE_SYSTEM_NAME=Model -DCMAKE_BUILD_TYPE=Debug \
	-DXPOLL_TESTS=ON -DXPOLL_WERROR=ON >"$work/log" 2>&1 || fail "it is not configured"
# shellcheck disable=SC2086
cmake --build "$work/build" --parallel 2 --target $targets >"$work/log" 2>&1 ||
	fail "it is not compiled"
# CMake knows no such system either, and so no name of the library that is found elsewhere.
cd "$work/build/tests/bin"
for topic in $topics; do
	"./contract_$topic" --backend poll --mode single >"$work/log" 2>&1 || fail "contract_$topic"
done
echo "a folder of $(find "$here/model" -name '*.c' | wc -l) files and an entry make a system"
