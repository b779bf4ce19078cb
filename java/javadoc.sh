#!/bin/sh
# Makes the HTML of the Java binding's documentation; a warning is an error.
#
#   javadoc.sh FOLDER
set -u
here=$(cd "$(dirname "$0")" && pwd)
JAVA_HOME=$(sh "$here/find-jdk.sh") || { echo "SKIP: no JDK 22 or later"; exit 77; }
rm -rf "$1"
"$JAVA_HOME/bin/javadoc" -quiet -Werror -Xdoclint:all -d "$1" --release 22 \
	-windowtitle "xpoll for Java" -notimestamp \
	"$here"/src/main/java/module-info.java "$here"/src/main/java/org/xpoll/*.java
