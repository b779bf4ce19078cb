#!/bin/sh
# Test what a newcomer sees: clone the last commit into a new Debian system, and run a
# command there, as root and as an ordinary user without sudo:
#
#   scripts/fresh.sh [-b] [-s SUITE]... [-w root|user]... [VERB|PATH [ARGUMENT...]]
#
# SUITE is a release of Debian; the default is bookworm, trixie and sid.  VERB is one of
# ./dev, and PATH a program in the clone; the default is demo.  The script needs root and
# debootstrap, and uses the mirror of apt's configuration.  The systems, without the
# packages of the command, stay in $XPOLL_FRESH (build/fresh) for the next time.  The
# command runs in a copy, with a mount and a process namespace of its own, so nothing of
# it is left.
#
# A system has what an ordinary desktop or server has: gcc, but neither make nor ninja,
# man-db with groff, and a user whose language is not English.  With -b it is bare:
# Debian's smallest system, which has none of these.
#
# An ordinary user may be asked once to install packages; the script installs them as
# root and tries again.  A second request is a failure.  With the arguments "-s bookworm
# -w root packaging/debian/check.sh" Debian's packages are built, used and removed.
set -eu
cd -- "$(dirname -- "$0")/.."
. ./scripts/dev/start.sh

suites=
people=
kind=ordinary
while getopts bs:w: option; do
	case $option in
	b) kind=bare ;;
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

# What an ordinary system has, and the language of its user.
ordinary="gcc libc6-dev man-db groff locales"
language=C.UTF-8
[ "$kind" = bare ] || language=de_DE.UTF-8

# make_base SUITE: $folder/SUITE-$kind
make_base() {
	base=$folder/$1-$kind
	[ ! -f "$base.made" ] || return 0
	say "$1: debootstrap"
	rm -rf "${base:?}"
	debootstrap --variant=minbase "$1" "$base" "$(mirror_here)" \
		>"$base.log" 2>&1 || { tail -3 "$base.log" >&2; return 1; }
	if [ "$kind" = ordinary ]; then
		reach_indexes "$base"
		root=$base log=$base.log
		inside "apt-get update -q && DEBIAN_FRONTEND=noninteractive \
			apt-get install -y --no-install-recommends $ordinary &&
			localedef -i ${language%.*} -f ${language#*.} $language" ||
			{ tail -3 "$base.log" >&2; return 1; }
	fi
	# A newcomer's machine has as a rule no lists of packages that are of today.
	rm -rf "$base"/var/lib/apt/lists/* "$base"/var/cache/apt/archives/*.deb
	touch "$base.made"
}

# reach_indexes ROOT: how this machine reaches the package indexes.
reach_indexes() {
	for file in /etc/resolv.conf /etc/pip.conf /usr/local/share/ca-certificates \
		/etc/ssl/certs/ca-certificates.crt; do
		[ -e "$file" ] || continue
		mkdir -p "$1${file%/*}"
		cp -aL "$file" "$1${file%/*}/"
	done
}

# copy_base SUITE: into $root; with the checkout.
copy_base() {
	root=$folder/run-$$
	rm -rf "$root"
	cp -a "$folder/$1-$kind" "$root"
	reach_indexes "$root"
	chroot "$root" useradd -m newcomer
	git clone -q --no-hardlinks . "$root/home/newcomer/xpoll"
	size=$(size_of)
}

# MB of the programs and libraries in $root.
size_of() { du -sm "$root/usr" | sed 's/[^0-9].*//'; }

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
			LC_ALL= LANG="$2" HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin \
			chroot "$root" sh -c "$1; code=\$?; times >/tmp/times; exit \$code"
	' "$root" "$1" "$language" </dev/null >>"$log" 2>&1
}

# attempt WHO COMMAND: sets $code, $took by the clock, and $busy of the processors.
attempt() {
	begun=$(date +%s)
	code=0
	become=
	[ "$1" = root ] || become="setpriv --reuid=newcomer --regid=newcomer --init-groups \
		--reset-env env LANG=$language"
	inside "$become sh -c 'cd /home/newcomer/xpoll && $2'" || code=$?
	took=$(($(date +%s) - begun))
	busy=$(tr 'ms' '  ' <"$root/tmp/times" |
		awk 'NR == 2 { printf "%d", 60 * $1 + $2 + 60 * $3 + $4 }')
}

# The line that the verb asked for packages with.
asked() { sed -n 's/^dev: something is missing; as root, run: //p' "$log" | tail -1; }

# row SUITE WHO PACKAGES SECONDS BUSY MB RESULT
row() { printf '%-10s %-5s %9s %8s %6s %5s  %s\n' "$@"; }

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
	result=passed
	[ "$code" = 0 ] || result="FAILED ($code), see $log" failed=1
	row "$1" "$2" "$packages" "$took" "$busy" $(($(size_of) - size)) "$result"
	rm -rf "$root"
}

failed=0
say "$command, in $kind systems; seconds for packages (0: in those of the command), for the
command by the clock, and of all processors; MB that were installed"
row suite who packages command busy MB result
for suite in ${suites:-bookworm trixie sid}; do
	make_base "$suite" || { row "$suite" - - - - - "FAILED (debootstrap)"; failed=1; continue; }
	for who in ${people:-root user}; do
		newcomer "$suite" "$who"
	done
done
exit $failed
