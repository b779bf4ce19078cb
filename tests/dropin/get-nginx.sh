#!/bin/sh
# Debian's nginx has neither poll nor select compiled in: build its unmodified
# source with both, as DIR/nginx.
#
#   get-nginx.sh DIR
#
# Exit codes: 0 it is there; 1 it could not be built; 77 there is no apt-get, or
# it has no sources.  Nothing outside DIR is changed.
set -eu
mkdir -p "$1"
dir=$(cd "$1" && pwd)
[ ! -x "$dir/nginx" ] || exit 0
command -v apt-get >/dev/null || { echo "SKIP: no apt-get here"; exit 77; }

work=$dir/nginx-build
rm -rf "$work"
mkdir -p "$work/lists/partial"
trap 'rm -rf "$work"' EXIT
cd "$work"

# The same archives as for packages, asked for sources, in lists of our own.
cat /etc/apt/sources.list.d/*.sources 2>/dev/null |
	sed 's/^Types:.*/Types: deb-src/' >all.sources
sed -n 's/^deb /deb-src /p' /etc/apt/sources.list /etc/apt/sources.list.d/*.list \
	>all.list 2>/dev/null || true
list=all.sources
[ -s "$list" ] || list=all.list

apt() {
	command=$1
	shift
	"$command" -qq -o Dir::Etc::sourcelist="$work/$list" -o Dir::Etc::sourceparts=/dev/null \
		-o Dir::State::lists="$work/lists" -o APT::Sandbox::User=root "$@"
}

# The newest one first; an archive may name what it does not have any more.
download() {
	apt apt-get update || return
	for version in $(apt apt-cache madison nginx | sort -rVu -k 3,3 | awk '{ print $3 }'); do
		rm -f nginx_*
		! apt apt-get source --download-only "nginx=$version" || return 0
	done
	return 1
}
download >apt.log 2>&1 ||
	{ cat apt.log; echo "SKIP: apt-get has no source of nginx"; exit 77; }

tar xf nginx_*.orig.tar.*
cd nginx-*/
{ ./configure --with-poll_module --with-select_module --without-pcre \
	--without-http_rewrite_module --without-http_gzip_module &&
	make -j "$(getconf _NPROCESSORS_ONLN)"; } >../build.log 2>&1 ||
	{ tail -n 40 ../build.log; exit 1; }
cp objs/nginx "$dir/nginx"
