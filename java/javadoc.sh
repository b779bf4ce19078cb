#!/bin/sh
# Makes the HTML of the Java binding's documentation; a warning is an error.
#
#   javadoc.sh FOLDER
set -u
here=$(cd "$(dirname "$0")" && pwd)
JAVA_HOME=$(sh "$here/find-jdk.sh") ||
	{ echo "SKIP: no JDK 22 or later; ./dev check installs one"; exit 77; }
rm -rf "$1"
# The provider of selectors extends a class that the JDK does not export: hence no release.
"$JAVA_HOME/bin/javadoc" -quiet -Werror -Xdoclint:all -d "$1" \
	-windowtitle "xpoll for Java" -notimestamp \
	--add-exports java.base/sun.nio.ch=org.xpoll.nio \
	--module-source-path "org.xpoll=$here/src/main/java" \
	--module-source-path "org.xpoll.nio=$here/nio/src/main/java" \
	--module org.xpoll,org.xpoll.nio
