#!/bin/sh
# wine.sh PROGRAM [ARGUMENT..]: run a program for Windows under Wine, quietly, with
# a prefix of its own in the build tree: beside the program, above its last bin/.
set -eu
prefix=$(CDPATH='' cd -- "$(dirname -- "$1")" && pwd)
prefix=${prefix%/tests/bin}
prefix=${prefix%/bin}
export WINEPREFIX="$prefix/wine" WINEDEBUG=-all WINEDLLOVERRIDES=mscoree,mshtml=
export PATH="$PATH:/usr/lib/wine"
unset DISPLAY WAYLAND_DISPLAY
program=wine64
command -v "$program" >/dev/null 2>&1 || program=wine
exec "$program" "$@"
