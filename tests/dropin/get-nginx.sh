#!/bin/sh
# Debian's nginx has neither poll nor select compiled in: build its unmodified
# source with both, as DIR/nginx.
#
#   get-nginx.sh DIR
#
# Exit codes: 0 it is there; 1 it could not be built; 77 there is no apt-get, or
# it has no sources.  Nothing outside DIR is changed.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
dir=$(cd "$1" && pwd)
[ ! -x "$dir/nginx" ] || exit 0
work=$dir/nginx-build
trap 'rm -rf "$work"' EXIT
sh "$here/get-source.sh" nginx "$work"

cd "$work"
{ ./configure --with-poll_module --with-select_module --without-pcre \
	--without-http_rewrite_module --without-http_gzip_module &&
	make -j "$(getconf _NPROCESSORS_ONLN)"; } >build.log 2>&1 ||
	{ tail -n 40 build.log; exit 1; }
cp objs/nginx "$dir/nginx"
