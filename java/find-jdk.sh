#!/bin/sh
# Prints the folder of a JDK that is new enough, also when the default java is
# older: JAVA_HOME, the PATH, and where systems install them.  Exits with 1 when
# there is none.
#
#   find-jdk.sh [OLDEST]
set -u
oldest=${1:-22}

# "17.0.15" or "25", of a folder with a compiler in it; 0 for anything else.
version_of() {
	[ -x "$1/bin/javac" ] || { echo 0; return; }
	version=$("$1/bin/javac" -version 2>&1 | sed -n 's/^javac \([0-9]*\).*/\1/p')
	echo "${version:-0}"
}

folder_of_path() {
	javac=$(command -v javac) || return 0
	javac=$(readlink -f "$javac" 2>/dev/null) || return 0
	dirname "$(dirname "$javac")"
}

best=0
found=
for folder in "${JAVA_HOME:-}" "$(folder_of_path)" /usr/lib/jvm/* /usr/lib64/jvm/* \
	/usr/local/openjdk* /opt/java/* /opt/jdk* \
	/opt/homebrew/opt/openjdk* /usr/local/opt/openjdk* \
	/Library/Java/JavaVirtualMachines/*/Contents/Home; do
	[ -n "$folder" ] && [ -d "$folder" ] || continue
	version=$(version_of "$folder")
	# What was chosen by hand is taken if it will do; else the newest.
	if [ "$version" -ge "$oldest" ] && [ "$folder" = "${JAVA_HOME:-}" ]; then
		echo "$folder"
		exit 0
	fi
	if [ "$version" -ge "$oldest" ] && [ "$version" -gt "$best" ]; then
		best=$version
		found=$folder
	fi
done
[ -n "$found" ] || exit 1
echo "$found"
