#!/bin/sh
# Build Debian's packages in a new Debian system from an archive of the last commit, check
# them with lintian, and install, use (packaging/debian/tests), upgrade and remove them:
#
#   scripts/debian.sh [SUITE]...
#
# SUITE is a release of Debian; the default is bookworm.  The script needs root and
# debootstrap, and uses the mirror of apt's configuration.  The output is in
# $XPOLL_FRESH/SUITE-debian.log (build/fresh).
set -eu
cd -- "$(dirname -- "$0")/.."
. ./scripts/dev/help.sh
. ./scripts/dev/root.sh

say() { printf '%s\n' "debian: $*" >&2; }
die() { say "$*"; exit 1; }

begin_roots
[ $# -gt 0 ] || set -- bookworm

steps() {
	cat <<'END'
set -eu
step() { printf 'step: %s\n' "$*"; }
export DEBIAN_FRONTEND=noninteractive
install='apt-get install -y -q --no-install-recommends'

step build
apt-get -q update
$install build-essential debhelper cmake lintian pkgconf
cd /home/newcomer/xpoll
version=$(sed -n '1s/.*(\(.*\)-.*/\1/p' packaging/debian/changelog)
mkdir /home/newcomer/packages
cd /home/newcomer/packages
tree=xpoll-$version
cp -R ../xpoll "$tree"
rm -rf "$tree/.git"
tar -czf "xpoll_$version.orig.tar.gz" "$tree"
cp -R "$tree/packaging/debian" "$tree/debian"
chown -R newcomer: .
(cd "$tree" && setpriv --reuid=newcomer --regid=newcomer --init-groups \
	env DEB_BUILD_OPTIONS=noautodbgsym dpkg-buildpackage -us -uc)

# The address and the bug that a first package closes are for whoever uploads it.
step lintian
lintian --version
ours=bogus-mail-host,bogus-mail-host-in-debian-changelog,initial-upload-closes-no-bugs
lintian --allow-root --fail-on error,warning --suppress-tags "$ours,unreleased-changes" ./*.changes

files() {
	find / -xdev \( -path /proc -o -path /home -o -path /var/cache -o -path /var/lib \
		-o -path /var/log -o -path /tmp \) -prune -o -print | sort
}

step install
files >/tmp/before
$install ./*.deb
(cd "$tree" && sh debian/tests/build)

# The same, one version later.
step upgrade
mkdir later
for package in *.deb; do
	dpkg-deb -R "$package" unpacked
	sed -i "s/$version-1/$version-2/g" unpacked/DEBIAN/control
	dpkg-deb -b unpacked later >/dev/null
	rm -rf unpacked
done
$install ./later/*.deb
[ "$(dpkg-query -W -f '${Version}' libxpoll1)" = "$version-2" ]
(cd "$tree" && sh debian/tests/build)

step remove
apt-get purge -y -q $(dpkg-query -W -f '${Package}\n' | grep xpoll)
files >/tmp/after
diff /tmp/before /tmp/after
step passed
END
}

failed=0
for suite; do
	log=$folder/$suite-debian.log
	make_base "$suite" || { failed=1; continue; }
	copy_base "$suite"
	steps >"$root/steps"
	inside 'sh /steps' >"$log" 2>&1 || true
	if [ "$(sed -n 's/^step: //p' "$log" | tail -1)" = passed ]; then
		say "$suite: built, looked at, installed, used, upgraded and removed"
	else
		say "$suite: FAILED in $(sed -n 's/^step: //p' "$log" | tail -1), see $log"
		failed=1
	fi
	rm -rf "$root"
done
exit $failed
