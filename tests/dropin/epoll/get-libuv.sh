#!/bin/sh
# Build libuv's own tests, from its unmodified source, on libxpoll-epoll: as DIR/libuv.
#
#   get-libuv.sh DIR BUILD_FOLDER
#
# Exit codes: 0 it is there; 1 it could not be built; 77 there is no apt-get, or it has no source.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
dir=$(cd "$1" && pwd)
library=$(cd "$2/lib" && pwd)
[ ! -x "$dir/libuv/uv_run_tests_a" ] || exit 0
work=$dir/libuv-build
rm -rf "$work"
trap 'rm -rf "$work"' EXIT
sh "$here/../get-source.sh" libuv1 "$work"

cd "$work"
# On Linux libuv closes by a bare system call, unless it is compiled for ThreadSanitizer; on other
# systems it calls close(2).
{ cmake -G Ninja -B build \
	-D CMAKE_C_FLAGS="-I$here/../../../dropin/epoll/include -D__SANITIZE_THREAD__" \
	-D CMAKE_C_STANDARD_LIBRARIES="-L$library -lxpoll-epoll -Wl,-rpath,$library" &&
	ninja -C build uv_run_tests_a &&
	nm -D build/uv_run_tests_a | grep -q ' U xpoll_epoll_ctl'; } >build.log 2>&1 ||
	{ tail -n 40 build.log; exit 1; }
cp build/uv_run_tests_a .
mv "$work" "$dir/libuv"
