#!/bin/sh
# Build EV, a module for Perl that contains libev and has tests, which libev itself lacks, from its
# unmodified source, with the headers of the epoll(7) drop-in: as DIR/libev.
#
#   get-libev.sh DIR BUILD_FOLDER
#
# Exit codes: 0 it is there; 1 it could not be built; 77 there is no apt-get, or it has no source.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
dir=$(cd "$1" && pwd)
library=$(cd "$2/lib" && pwd)
[ ! -d "$dir/libev" ] || exit 0
work=$dir/libev-build
rm -rf "$work"
trap 'rm -rf "$work"' EXIT
sh "$here/../get-source.sh" libev-perl "$work"

cd "$work"
# Two modules that EV needs and Debian has as packages: the first stops a build on odd systems, and
# the second switches warnings on.
mkdir -p modules/Canary modules/common
echo 'package Canary::Stability; 1;' >modules/Canary/Stability.pm
echo 'package common::sense; sub import { strict->import } require strict; 1;' \
	>modules/common/sense.pm
export PERL5LIB="$work/modules" PERL_MM_USE_DEFAULT=1 EV_EPOLL=1 EV_LINUXAIO=0 EV_IOURING=0
# libev declares these two functions itself, so the headers cannot give them other names.
export EV_EXTRA_DEFS="-Deventfd=xpoll_eventfd -Dsignalfd=xpoll_signalfd"
{ perl Makefile.PL INC="-Ilibev -I$here/../../../dropin/epoll/include" \
	LIBS="-L$library -lxpoll-epoll" </dev/null &&
	make &&
	nm -D blib/arch/auto/EV/EV.so | grep -q ' U xpoll_epoll_ctl' &&
	nm -D blib/arch/auto/EV/EV.so | grep -q ' U xpoll_signalfd'; } >build.log 2>&1 ||
	{ tail -n 40 build.log; exit 1; }
mv "$work" "$dir/libev"
