#!/bin/sh
# Build Debian's PostgreSQL from its unmodified source, with latches that wait by kevent(2) of
# libxpoll-kqueue: as DIR/postgresql, where its own tests run.
#
#   get-postgresql.sh DIR BUILD_FOLDER
#
# Exit codes: 0 it is there; 1 it could not be built; 77 there is no apt-get, or it has no source.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
dir=$(cd "$1" && pwd)/postgresql
library=$(cd "$2/lib" && pwd)
[ ! -e "$dir/built" ] || exit 0
# The version of the system's package, as sources have it in their name.
package=$(apt-cache search --names-only '^postgresql-[0-9]+$' | sed 's/ .*//' | sort -V | tail -n 1)
[ -n "$package" ] || { echo "SKIP: apt-get has no source of PostgreSQL"; exit 77; }
sh "$here/../get-source.sh" "$package" "$dir"

cd "$dir"
{ ./configure --without-readline --without-zlib --without-icu CFLAGS=-O1 \
	CPPFLAGS="-I$here/../../../dropin/kqueue/include -DWAIT_USE_KQUEUE" \
	LIBS="-L$library -lxpoll-kqueue -Wl,-rpath,$library" &&
	grep -q 'define HAVE_KQUEUE 1' src/include/pg_config.h &&
	make -s -j "$(getconf _NPROCESSORS_ONLN)" -C src &&
	touch built; } >build.log 2>&1 || { tail -n 40 build.log; exit 1; }
