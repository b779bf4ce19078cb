#!/bin/sh
# PostgreSQL's own tests, a part of them, while its latches wait by kevent(2) of the drop-in.
#
#   postgresql.sh FOLDER, where get-postgresql.sh has built it
set -u
skip() { echo "SKIP: $*"; exit 77; }
[ -e "$1/built" ] || skip "PostgreSQL has not been built for kqueue; scripts/nightly.sh builds it"
cd "$1" || exit 1
nm -D src/backend/postgres | grep -q ' U kevent' || { echo "it does not call kevent"; exit 1; }

# It refuses to run as root, and writes into its own folder.
as=
if [ "$(id -u)" -eq 0 ]; then
	chown -R nobody . || exit 1
	as="setpriv --reuid=nobody --regid=nogroup --clear-groups"
	$as test -w src/test/regress || skip "another user cannot read this folder"
fi
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! $as env HOME="$PWD" make -C src/test/regress check-tests \
	TESTS="test_setup boolean int4 numeric strings date timestamp async advisory_lock lock" \
	>"$log" 2>&1; then
	tail -n 60 "$log"
	exit 1
fi
grep -E '^ *All [0-9]+ tests passed' "$log" || { tail -n 60 "$log"; exit 1; }
