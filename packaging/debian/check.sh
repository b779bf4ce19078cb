#!/bin/sh
# Builds Debian's packages from a checkout in /home/newcomer/xpoll, checks them with
# lintian, and installs, uses (tests beside this), upgrades and removes them.  It is root
# in a system that it may fill: scripts/fresh.sh --help has the line.
set -eu
step() { printf 'step: %s\n' "$*"; }
export DEBIAN_FRONTEND=noninteractive
install='apt-get install -y -q --no-install-recommends'

step build
apt-get -q update
$install build-essential debhelper cmake lintian pkgconf
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
