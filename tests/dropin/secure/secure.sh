#!/bin/sh
# In a set-user-ID program no variable of the environment has an effect.
#   secure.sh PROGRAM
# The same program without the bit shows that they have one otherwise.
set -eu
program=$1

skip() { echo "SKIP: $*"; exit 77; }
fail() { echo "FAIL: $*"; exit 1; }

[ "$(id -u)" -eq 0 ] || skip "only root can make a set-user-ID program of another user"
command -v setpriv >/dev/null || skip "setpriv is not installed"
folder=$(mktemp -d "${TMPDIR:-/tmp}/xpoll-secure.XXXXXX")
trap 'rm -rf "$folder"' EXIT
chmod 755 "$folder"

# says FILE [NAME=VALUE...]: run by another user with this environment.
says() {
	file=$1
	shift
	env -i "$@" setpriv --reuid=65534 --regid=65534 --clear-groups "$file"
}

cp "$program" "$folder/plain"
cp "$program" "$folder/secure"
chmod 755 "$folder/plain"
chmod 4755 "$folder/secure"
set -- XPOLL_BACKEND=select XPOLL_AIO=nothing XPOLL_PROC=nothing

usual=$(says "$folder/plain") || skip "another user cannot run programs of $folder"
changed=$(says "$folder/plain" "$@")
[ "$changed" = "0 select 0" ] || fail "an ordinary program says: $changed"
secure=$(says "$folder/secure" "$@")
case $secure in 0*) skip "set-user-ID has no effect in $folder" ;; esac
[ "$secure" = "1${usual#0}" ] || fail "a set-user-ID program says: $secure, not 1${usual#0}"
echo "usually: $usual; with variables: $changed; set-user-ID: $secure"
