#!/bin/sh
# The programs of java/examples and of the guide; see examples.py.
#
#   examples.sh BUILD_FOLDER
set -u
here=$(cd "$(dirname "$0")" && pwd)
java_home=$(sh "$here/../find-jdk.sh") || { echo "SKIP: no JDK 22 or later"; exit 77; }
[ -n "$(ls "$1"/xpoll-*.jar 2>/dev/null)" ] || { echo "SKIP: Maven has made no jar"; exit 77; }
exec python3 "$here/examples.py" "$java_home" "$1"
