#!/bin/sh
# Test what a newcomer sees: clone the last commit into a new Debian system, and run a
# verb of ./dev there, as root and as an ordinary user without sudo:
#
#   scripts/fresh.sh [-s SUITE]... [-w root|user]... [VERB [ARGUMENT...]]
#
# SUITE is a release of Debian; the default is bookworm, trixie and sid.  The default of
# VERB is demo.  The script needs root and debootstrap, and uses the mirror of apt's
# configuration.  The systems, without packages, stay in $XPOLL_FRESH (build/fresh) for
# the next time.  The verb runs in a copy, with a mount and a process namespace of its
# own, so nothing of it is left.
#
# An ordinary user may be asked once to install packages; the script installs them as
# root and tries again.  A second request is a failure.
set -eu
cd -- "$(dirname -- "$0")/.."
. ./scripts/dev/help.sh
. ./scripts/dev/root.sh

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
begin_roots

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
