#!/bin/sh
# Build entr and its tests, from its unmodified source, on libxpoll-kqueue: as DIR/entr.
#
#   get-entr.sh DIR BUILD_FOLDER
#
# Exit codes: 0 it is there; 1 it could not be built; 77 there is no apt-get, or it has no source.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
dir=$(cd "$1" && pwd)
library=$(cd "$2/lib" && pwd)
[ ! -x "$dir/entr/entr" ] || exit 0
work=$dir/entr-build
rm -rf "$work"
trap 'rm -rf "$work"' EXIT
sh "$here/../get-source.sh" entr "$work"

cd "$work"
# The C library of a BSD has strlcpy, glibc only since 2.38.
echo 'unsigned long strlcpy(char *, const char *, unsigned long);' >strlcpy.h
make -f Makefile.bsd EXTRA_SRC=missing/strlcpy.c \
	CPPFLAGS="-D_GNU_SOURCE -include strlcpy.h -I$here/../../../dropin/kqueue/include" \
	LDFLAGS="-L$library -lxpoll-kqueue -Wl,-rpath,$library" >build.log 2>&1 ||
	{ tail -n 40 build.log; exit 1; }
# A BSD's awk calls the option -safe that gawk calls -S.
mkdir bin
cat >bin/awk <<'END'
#!/bin/sh
for word; do
	shift
	[ "$word" != -safe ] || word=-S
	set -- "$@" "$word"
done
exec gawk "$@"
END
chmod +x bin/awk
mv "$work" "$dir/entr"
