#!/bin/sh
# Build libevent's own tests, from its unmodified source, on libxpoll-kqueue by the lines that
# docs/guide/kqueue.md has for configure scripts: as DIR/libevent-regress.
#
#   get-libevent.sh DIR BUILD_FOLDER
#
# Exit codes: 0 it is there; 1 it could not be built; 77 there is no apt-get, or it has no source.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
dir=$(cd "$1" && pwd)
library=$(cd "$2/lib" && pwd)
[ ! -x "$dir/libevent-regress" ] || exit 0
work=$dir/libevent-build
trap 'rm -rf "$work"' EXIT
sh "$here/../get-source.sh" libevent "$work"

cd "$work"
# configure runs what it builds, and the tests run by themselves, hence the path of the library.
{ ./configure --disable-shared --disable-samples --disable-openssl \
	CPPFLAGS="-I$here/../../../dropin/kqueue/include" \
	LIBS="-L$library -lxpoll-kqueue -Wl,-rpath,$library" &&
	grep -q 'define HAVE_WORKING_KQUEUE 1' config.h &&
	make include/event2/event-config.h &&
	make -j "$(getconf _NPROCESSORS_ONLN)" libevent.la libevent_core.la libevent_extra.la \
		libevent_pthreads.la test/regress; } >build.log 2>&1 ||
	{ tail -n 40 build.log; exit 1; }
cp test/regress "$dir/libevent-regress"
