#!/bin/sh
# Runs Maven on the Java binding, both jars, with a JDK that is new enough.  Exits with 77,
# and says why, where that cannot be done: no JDK, no Maven, or Maven cannot
# fetch its own parts.
#
#   maven.sh BUILD_FOLDER GOAL...
set -u
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
made=$(cd "$1" && pwd)
shift

skip() { echo "SKIP: $*"; exit 77; }

JAVA_HOME=$(sh "$here/find-jdk.sh") || skip "no JDK 22 or later; ./dev check installs one"
export JAVA_HOME
command -v mvn >/dev/null 2>&1 || skip "no Maven; ./dev check installs it"

# An ordinary user of this machine may have no folder of its own for Maven.
repository=
if [ ! -w "${HOME:-/nowhere}" ]; then
	repository="-Dmaven.repo.local=$made/repository"
fi

# ./dev test fetches nothing; ./dev check does.
offline=
[ -z "${XPOLL_OFFLINE:-}" ] || offline=-o

log=$made/maven.log
mvn $offline -B -ntp -f "$here/all.xml" "-Dxpoll.build=$made" $repository "$@" >"$log" 2>&1
code=$?
unfetched='Could not (resolve|transfer|find)|ResolutionException|offline mode'
if [ $code -ne 0 ] && grep -qE "$unfetched" "$log"; then
	grep -m1 -E "$unfetched" "$log" >&2
	skip "Maven cannot fetch its plug-ins (see $log); ./dev check fetches them"
fi
# What it prints beside the outcome is for those who look for a failure.
if [ $code -ne 0 ]; then cat "$log"; else grep -E 'Tests run|BUILD' "$log"; fi
exit $code
