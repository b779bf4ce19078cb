#!/bin/sh
# Unpack the unmodified source of a package of Debian as DIR.
#
#   get-source.sh PACKAGE DIR
#
# On Debian 12 also of Debian 13, if the archive has the package only there.
#
# Exit codes: 0 it is there; 77 there is no apt-get, or it has no source.  Nothing outside DIR
# is changed.
set -eu
package=$1
command -v apt-get >/dev/null || { echo "SKIP: no apt-get here"; exit 77; }
rm -rf "$2"
mkdir -p "$2/apt/lists/partial"
dir=$(cd "$2" && pwd)
work=$dir/apt
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
	apt apt-get update || true # One of several lists may not be there.
	for version in $(apt apt-cache madison "$package" | sort -rVu -k 3,3 |
		awk '{ print $3 }'); do
		rm -f "${package}"_*
		! apt apt-get source --download-only --tar-only "$package=$version" || return 0
	done
	return 1
}
# The same of Debian 13, if this is Debian 12.
download_later() {
	grep -qx 'VERSION_CODENAME=bookworm' /etc/os-release || return
	sed -i 's/^Suites:.*/Suites: trixie/; s/^\(deb-src .*:[^ ]*\) [^ ]* /\1 trixie /' $list
	download
}
{ download || download_later; } >apt.log 2>&1 ||
	{ cat apt.log; echo "SKIP: apt-get has no source of $package"; exit 77; }

tar xf "${package}"_*.orig.tar.* --strip-components=1 -C "$dir"
rm -rf "$work"
