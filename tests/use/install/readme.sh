#!/bin/sh
# Type what README has under "Use it", on a machine that has only these tools; as root, in a
# new Debian system, which scripts/fresh.sh makes:
#
#   scripts/fresh.sh -b -w root tests/use/install/readme.sh PACKAGE...
#
# The packages are a compiler and a build tool, such as "gcc make" or "clang ninja-build";
# without them it has to be a machine that ./dev demo and ./dev test have left behind.
# Then a program is built with the line that README has for it.
set -eu
cd -- "$(dirname -- "$0")/../../.."
[ "$(id -u)" -eq 0 ] && [ -e /home/newcomer ] || { echo "SKIP: no system of fresh.sh"; exit 77; }
if [ $# -gt 0 ]; then
	apt-get update -q
	DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
		cmake pkg-config libc6-dev "$@"
fi
lines() { sed -n "/^## $1/,/^## /s/^    //p" README.md; }
lines "Use it" >/tmp/use-it
cat /tmp/use-it
sh -eux /tmp/use-it
sed -n '/^```c$/,/^```$/p' README.md | sed '1d;$d' >/tmp/prog.c
compiler=cc
command -v cc || compiler=clang
lines "Ten lines" | sed "s/^cc /$compiler /; s/prog\.c/-o prog prog.c/" >/tmp/compile
cd /tmp
sh -eux /tmp/compile
[ "$(echo hello | ./prog)" = hello ]
echo "readme: it works as written"
