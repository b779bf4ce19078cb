#!/bin/sh
# What a newcomer sees: this checkout, as committed, cloned into a fresh Debian, and a
# verb of ./dev run there as root and as an ordinary user without sudo:
#
#   scripts/fresh.sh [-s SUITE]... [-w root|user]... [VERB [ARGUMENT...]]
#
# SUITE is a release of Debian (bookworm, trixie and sid if not said), VERB is demo if
# not said.  Needs root, debootstrap and Debian's mirror, which is the one that apt
# uses here.  The roots, without packages, stay in $XPOLL_FRESH (build/fresh) for the
# next time; what runs is a copy, in a mount and a process namespace of its own, so
# that nothing of it is left.
#
# As a user the first try may ask for packages, once: what it asks for is run by root,
# and a second question is a failure.
set -eu
cd -- "$(dirname -- "$0")/.."

say() { printf '%s\n' "fresh: $*" >&2; }
die() { say "$*"; exit 1; }

suites=
people=
while getopts s:w: option; do
	case $option in
	s) suites="$suites $OPTARG" ;;
	w) people="$people $OPTARG" ;;
	*) die "usage: scripts/fresh.sh [-s SUITE]... [-w root|user]... [VERB [ARGUMENT...]]" ;;
	esac
done
shift $((OPTIND - 1))
[ $# -gt 0 ] || set -- demo
folder=${XPOLL_FRESH:-$PWD/build/fresh}
[ "$(id -u)" -eq 0 ] || die "only root can make a root"
command -v debootstrap >/dev/null || die "needs debootstrap: apt-get install debootstrap"
mkdir -p "$folder"

# The first source of packages that apt has here, of its main archive.
mirror_here() {
	apt-get indextargets --format '$(LABEL) $(REPO_URI)' 'Created-By: Packages' |
		sed -n 's/^Debian //p' | head -1
}

# make_base SUITE
make_base() {
	[ ! -f "$folder/$1.made" ] || return 0
	say "$1: debootstrap"
	rm -rf "${folder:?}/$1"
	debootstrap --variant=minbase "$1" "$folder/$1" "$(mirror_here)" \
		>"$folder/$1.log" 2>&1 || { tail -3 "$folder/$1.log" >&2; return 1; }
	# A newcomer's machine has as a rule no lists of packages that are of today.
	rm -rf "$folder/$1"/var/lib/apt/lists/* "$folder/$1"/var/cache/apt/archives/*.deb
	touch "$folder/$1.made"
}

# copy_base SUITE: into $root; with the checkout, and how this machine reaches the
# package indexes.
copy_base() {
	root=$folder/run
	rm -rf "$root"
	cp -a "$folder/$1" "$root"
	for file in /etc/resolv.conf /etc/pip.conf /usr/local/share/ca-certificates \
		/etc/ssl/certs/ca-certificates.crt; do
		[ -e "$file" ] || continue
		mkdir -p "$root${file%/*}"
		cp -aL "$file" "$root${file%/*}/"
	done
	chroot "$root" useradd -m newcomer
	git clone -q --no-hardlinks . "$root/home/newcomer/xpoll"
	chroot "$root" chown -R newcomer: /home/newcomer/xpoll
}

# inside COMMAND: a shell of root's in $root.
inside() {
	unshare --mount --pid --fork --kill-child sh -c '
		root=$0
		mount -t proc proc "$root/proc"
		mount -t tmpfs -o mode=755 dev "$root/dev"
		for name in null zero full random urandom tty; do
			touch "$root/dev/$name"
			mount --bind "/dev/$name" "$root/dev/$name"
		done
		mkdir "$root/dev/pts" "$root/dev/shm"
		mount -t devpts -o newinstance,ptmxmode=666,mode=620 devpts "$root/dev/pts"
		ln -s pts/ptmx "$root/dev/ptmx"
		ln -s /proc/self/fd "$root/dev/fd"
		mount -t tmpfs -o mode=1777 shm "$root/dev/shm"
		exec env -u CMAKE_C_COMPILER_LAUNCHER -u CMAKE_CXX_COMPILER_LAUNCHER -u JAVA_HOME \
			HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin chroot "$root" sh -c "$1"
	' "$root" "$1" </dev/null
}

# try WHO COMMAND: sets $code and $took.
try() {
	begun=$(date +%s)
	code=0
	if [ "$1" = user ]; then
		inside "exec setpriv --reuid=newcomer --regid=newcomer --init-groups --reset-env \
			sh -c 'cd ~/xpoll && $2'" >>"$log" 2>&1 || code=$?
	else
		inside "cd /home/newcomer/xpoll && $2" >>"$log" 2>&1 || code=$?
	fi
	took=$(($(date +%s) - begun))
}

# The line that the verb asked for packages with.
asked() { sed -n 's/^dev: something is missing; as root, run: //p' "$log" | tail -1; }

# row SUITE WHO PACKAGES SECONDS RESULT
row() { printf '%-10s %-5s %9s %8s  %s\n' "$@"; }

# newcomer SUITE WHO VERB [ARGUMENT...]
newcomer() {
	suite=$1 who=$2
	shift 2
	log=$folder/$suite-$who-$1.log packages=0
	: >"$log"
	copy_base "$suite"
	[ "$who" = user ] || inside 'chown -R root: /home/newcomer/xpoll'
	try "$who" "./dev $*"
	line=$(asked)
	if [ "$who" = user ] && [ -n "$line" ]; then
		try root "$line"
		packages=$took
		: >"$log.asked"
		mv "$log" "$log.asked"
		try user "./dev $*"
		[ -z "$(asked)" ] || code="asked again"
	fi
	if [ "$code" = 0 ]; then
		row "$suite" "$who" "$packages" "$took" passed
	else
		row "$suite" "$who" "$packages" "$took" "FAILED ($code), see $log"
		failed=1
	fi
	rm -rf "$root"
}

failed=0
say "./dev $*; seconds for packages (0: in those of the verb) and for the verb"
row suite who packages verb result
for suite in ${suites:-bookworm trixie sid}; do
	make_base "$suite" || { row "$suite" - - - "FAILED (debootstrap)"; failed=1; continue; }
	for who in ${people:-root user}; do
		newcomer "$suite" "$who" "$@"
	done
done
exit $failed
