#!/bin/sh
# wine.sh PROGRAM [ARGUMENT..]: run a program for Windows under Wine, quietly.
# wine.sh --start|--stop BUILD_DIR: make Wine ready for the programs of a build tree;
# end what it has started for them.
#
# Wine keeps its files in the build tree: above tests/bin, bin or lib/xpoll, where programs
# are.
set -eu
folder_of() { CDPATH='' cd -- "$1" && pwd; }

case $1 in
--start | --stop) tree=$(folder_of "$2") ;;
*)
	tree=$(folder_of "$(dirname -- "$1")")
	tree=${tree%/tests/bin}
	tree=${tree%/bin}
	tree=${tree%/lib/xpoll}
	;;
esac
export WINEPREFIX="$tree/wine" WINEDEBUG=-all
export WINEDLLOVERRIDES='mscoree,mshtml,winedbg.exe='
# The library is in bin/; in Wine the root folder is the drive Z.
export WINEPATH="Z:$tree/bin"
unset DISPLAY WAYLAND_DISPLAY
PATH=$PATH:/usr/lib/wine
program=wine64
command -v "$program" >/dev/null 2>&1 || program=wine

case $1 in
--start) "$program" cmd /c exit >/dev/null 2>&1 ;;
--stop) wineserver -k || true ;;
*) exec "$program" "$@" ;;
esac
