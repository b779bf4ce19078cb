#!/bin/sh
# Build libevent's own tests, from its unmodified source, on a drop-in by the lines that its guide
# has for configure scripts: as DIR/libevent-NAME.
#
#   get-libevent.sh kqueue|epoll DIR BUILD_FOLDER
#
# Exit codes: 0 it is there; 1 it could not be built; 77 there is no apt-get, or it has no source.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
name=$1
mkdir -p "$2"
dir=$(cd "$2" && pwd)
library=$(cd "$3/lib" && pwd)
[ ! -x "$dir/libevent-$name" ] || exit 0
work=$dir/libevent-$name-build
trap 'rm -rf "$work"' EXIT
sh "$here/get-source.sh" libevent "$work"
case $name in
kqueue) define='HAVE_WORKING_KQUEUE 1' function=kevent ;;
epoll) define='HAVE_EPOLL 1' function=xpoll_epoll_ctl ;; # Linux has an epoll_ctl of its own.
esac

cd "$work"
# configure runs what it builds, and the tests run by themselves, hence the path of the library.
{ ./configure --disable-shared --disable-samples --disable-openssl \
	CPPFLAGS="-I$here/../../dropin/$name/include" \
	LIBS="-L$library -lxpoll-$name -Wl,-rpath,$library" &&
	grep -q "define $define" config.h &&
	make include/event2/event-config.h &&
	make -j "$(getconf _NPROCESSORS_ONLN)" libevent.la libevent_core.la libevent_extra.la \
		libevent_pthreads.la test/regress &&
	nm -D test/regress | grep -q " U $function"; } >build.log 2>&1 ||
	{ tail -n 40 build.log; exit 1; }
cp test/regress "$dir/libevent-$name"
