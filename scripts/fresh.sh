#!/bin/sh
# Test what a newcomer sees: clone the last commit into a new Debian system, and run a
# command there, as root and as an ordinary user without sudo:
#
#   scripts/fresh.sh [-s SUITE]... [-w root|user]... [VERB|PATH [ARGUMENT...]]
#
# SUITE is a release of Debian; the default is bookworm, trixie and sid.  VERB is one of
# ./dev, and PATH a program in the clone; the default is demo.  The script needs root and
# debootstrap, and uses the mirror of apt's configuration.  The systems, without packages,
# stay in $XPOLL_FRESH (build/fresh) for the next time.  The command runs in a copy, with a
# mount and a process namespace of its own, so nothing of it is left.
#
# An ordinary user may be asked once to install packages; the script installs them as
# root and tries again.  A second request is a failure.  With the arguments "-s bookworm
# -w root packaging/debian/check.sh" Debian's packages are built, used and removed.
set -eu
cd -- "$(dirname -- "$0")/.."
. ./scripts/dev/start.sh

suites=
people=
while getopts s:w: option; do
	case $option in
	s) suites="$suites $OPTARG" ;;
	w) people="$people $OPTARG" ;;
	*) die "scripts/fresh.sh --help says how it is called" ;;
	esac
done
shift $((OPTIND - 1))
case ${1:-demo} in
*/*) command="./$*" name=${1##*/} ;;
*) command="./dev ${*:-demo}" name=${1:-demo} ;;
esac
folder=${XPOLL_FRESH:-$PWD/build/fresh}
[ "$(id -u)" -eq 0 ] || die "only root can make a root"
have debootstrap || die "needs debootstrap: apt-get install debootstrap"
mkdir -p "$folder"

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
	root=$folder/run-$$
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
	' "$root" "$1" </dev/null >>"$log" 2>&1
}

# attempt WHO COMMAND: sets $code and $took.
attempt() {
	begun=$(date +%s)
	code=0
	become=
	[ "$1" = root ] ||
		become="setpriv --reuid=newcomer --regid=newcomer --init-groups --reset-env"
	inside "exec $become sh -c 'cd /home/newcomer/xpoll && $2'" || code=$?
	took=$(($(date +%s) - begun))
}

# The line that the verb asked for packages with.
asked() { sed -n 's/^dev: something is missing; as root, run: //p' "$log" | tail -1; }

# row SUITE WHO PACKAGES SECONDS RESULT
row() { printf '%-10s %-5s %9s %8s  %s\n' "$@"; }

# newcomer SUITE WHO
newcomer() {
	log=$folder/$1-$2-$name.log packages=0
	: >"$log"
	copy_base "$1"
	[ "$2" = root ] || chroot "$root" chown -R newcomer: /home/newcomer/xpoll
	attempt "$2" "$command"
	line=$(asked)
	if [ "$2" = user ] && [ -n "$line" ]; then
		attempt root "$line"
		packages=$took
		mv "$log" "$log.asked"
		attempt user "$command"
		[ -z "$(asked)" ] || code="asked again"
	fi
	if [ "$code" = 0 ]; then
		row "$1" "$2" "$packages" "$took" passed
	else
		row "$1" "$2" "$packages" "$took" "FAILED ($code), see $log"
		failed=1
	fi
	rm -rf "$root"
}

failed=0
say "$command; seconds for packages (0: in those of the command) and for the command"
row suite who packages command result
for suite in ${suites:-bookworm trixie sid}; do
	make_base "$suite" || { row "$suite" - - - "FAILED (debootstrap)"; failed=1; continue; }
	for who in ${people:-root user}; do
		newcomer "$suite" "$who"
	done
done
exit $failed
