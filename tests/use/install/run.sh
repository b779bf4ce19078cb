#!/bin/sh
# Goal: a program outside this tree builds and runs with what we install.
# Method: install into a temporary prefix, move that elsewhere (nothing may hold
# an absolute path), compile the programs of consumer/ against it and run them.
#
# usage: run.sh WAY BUILD_DIR, where WAY is one of the last lines
set -eu

way=$1 build=$2
here=$(cd -- "$(dirname -- "$0")" && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/xpoll-install.XXXXXX")
trap 'rm -rf "$work"' EXIT
flags='-Wall -Wextra -Wpedantic -Werror'
# What only headers have to bear.
strict="$flags -Wshadow -Wconversion"

skip() { echo "SKIP: $*"; exit 77; }
fail() { echo "FAIL: $*"; exit 1; }
want() { command -v "$1" >/dev/null 2>&1 || skip "$1 is not installed; ./dev check installs it"; }

install_moved() {
	cmake --install "$build" --prefix "$work/first" >"$work/log" ||
		{ cat "$work/log"; exit 1; }
	mv "$work/first" "$work/prefix"
	libdir=$(dirname "$(find "$work/prefix" -name libxpoll.a)")
	export LD_LIBRARY_PATH="$libdir" DYLD_LIBRARY_PATH="$libdir"
	if grep -rIl "$work/first" "$work/prefix" | grep .; then
		fail "the files above hold the prefix of the installation"
	fi
}

check_tree() {
	for file in include/xpoll.h include/xpoll.hpp include/xpoll_tree.hpp \
		share/man/man3/xpoll_event.3 share/man/man1/xpoll.1 \
		share/bash-completion/completions/xpoll share/zsh/site-functions/_xpoll \
		share/doc/xpoll/DIFFERENCES.md share/doc/xpoll/docs/guide/from-epoll.md; do
		[ -f "$work/prefix/$file" ] || fail "$file is not installed"
	done
	python3 "$here/../../../scripts/docs.py" --installed "$work/prefix/share/doc/xpoll" ||
		fail "the links above lead nowhere"
	for page in "$work"/prefix/share/man/man?/*; do
		[ -s "$page" ] || fail "$page is empty, or leads nowhere"
	done
	[ -e "$work/prefix/share/man/man3/xpoll_create.3" ] || fail "a page's other name is missing"
	"$work/prefix/bin/xpoll" info >/dev/null || fail "the installed command does not run"
	case $build in
	*asan | *tsan) ;; # A library with a sanitizer in it loads into no other program.
	*) "$work/prefix/bin/xpoll" run --poll true || fail "the drop-in is not found" ;;
	esac
	"$work/prefix/bin/xpoll" selftest --backend none >"$work/selftest.out" 2>&1 || true
	grep -q 'selftest: --backend none: not usable here; usable: ' "$work/selftest.out" ||
		fail "the selftest does not run: $(cat "$work/selftest.out")"
	check_jars
}

# Where they were made they are there, and run by "java -jar" alone.
check_jars() {
	version=$("$work/prefix/bin/xpoll" --version | sed 's/.* //')
	[ -f "$build/java/xpoll-$version-demo.jar" ] || return 0
	jar=$(find "$work/prefix" -path "*/java/xpoll-$version-demo.jar")
	[ -n "$jar" ] && [ -f "${jar%-demo.jar}.jar" ] &&
		[ -f "${jar%/*}/xpoll-nio-$version.jar" ] || fail "the jars are not installed"
	java_home=$(sh "$here/../../../java/find-jdk.sh") || return 0
	"$java_home/bin/java" -jar "$jar" --help >"$work/help" || fail "java -jar"
	grep -q '^usage: java -jar' "$work/help" || fail "the demo jar does not tell its usage"
}

# Is a C++ compiler here?  Without it the programs in C++ are a skipped case.
with_cxx() {
	command -v c++ >/dev/null 2>&1 && return
	[ -n "${no_cxx:-}" ] || echo "  skip  cxx: c++ is not installed; ./dev check installs it"
	no_cxx=yes
	return 1
}

use_pkg_config() {
	want pkg-config
	install_moved
	check_tree
	export PKG_CONFIG_PATH="$libdir/pkgconfig"
	compile=$(pkg-config --cflags xpoll)
	shared=$(pkg-config --libs xpoll)
	# Both libraries are in one folder, so the static one has to be named.
	static="$libdir/libxpoll.a $(pkg-config --static --libs xpoll | sed 's/-lxpoll//')"

	# The variables hold lists of words, hence no quotes.
	${CC:-cc} -std=c11 $strict $compile "$here/consumer/main.c" -o "$work/c-shared" $shared
	${CC:-cc} -std=c11 $strict $compile "$here/consumer/main.c" -o "$work/c-static" $static
	run "$work/c-shared" "$work/c-static"
	if with_cxx; then
		compile="c++ -std=c++17 $strict $compile $here/consumer/main.cpp"
		$compile -o "$work/cxx-shared" $shared
		$compile -o "$work/cxx-static" $static
		run "$work/cxx-shared" "$work/cxx-static"
	fi
	drop_in_by_pkg_config kqueue "c99 c11 gnu17"
	drop_in_by_pkg_config epoll "c99 c11 gnu17"
	epoll_in_a_library
}

# A library calls epoll(7), and the program calls nothing but this library: also with --as-needed
# the drop-in has to come before the C library.
epoll_in_a_library() {
	[ -f "$libdir/pkgconfig/xpoll-epoll.pc" ] || return 0
	${CC:-cc} -shared -fPIC -Dmain=library_main $(pkg-config --cflags xpoll-epoll) \
		"$here/consumer/epoll.c" -o "$work/libinside.so" $(pkg-config --libs xpoll-epoll)
	echo 'int library_main(void); int main(void) { return library_main(); }' >"$work/main.c"
	${CC:-cc} -Wl,--as-needed "$work/main.c" -o "$work/epoll-inside" -L"$work" -linside \
		-Wl,-rpath,"$work" $(pkg-config --libs xpoll-epoll)
	run "$work/epoll-inside"
	# Where there is an archive of the C library, a static program is refused.
	${CC:-cc} -static $(pkg-config --cflags xpoll-epoll) "$here/consumer/epoll.c" \
		-o "$work/epoll-refused" "$libdir/libxpoll-epoll.a" -pthread 2>/dev/null || return 0
	! "$work/epoll-refused" 2>"$work/log" || fail "a static program runs"
	grep -q 'linked with -static' "$work/log" || fail "$(cat "$work/log")"
}

# drop_in_by_pkg_config NAME STANDARDS: consumer/NAME.c with libxpoll-NAME, if that is installed.
drop_in_by_pkg_config() {
	[ -f "$libdir/pkgconfig/xpoll-$1.pc" ] || return 0
	compile=$(pkg-config --cflags "xpoll-$1")
	shared=$(pkg-config --libs "xpoll-$1")
	static="$libdir/libxpoll-$1.a"
	static="$static $(pkg-config --static --libs "xpoll-$1" | sed "s/-lxpoll-$1//")"

	for standard in $2; do
		${CC:-cc} -std=$standard $strict $compile "$here/consumer/$1.c" \
			-o "$work/$1-$standard" $shared
		run "$work/$1-$standard"
	done
	${CC:-cc} $strict $compile "$here/consumer/$1.c" -o "$work/$1-static" $static
	run "$work/$1-static"
	if with_cxx; then
		c++ -x c++ $strict $compile "$here/consumer/$1.c" -o "$work/$1-cxx" $shared
		run "$work/$1-cxx"
	fi
	# The drop-in's copy of the library is hidden, so both fit into one program.
	if nm -D --defined-only "$libdir/libxpoll-$1.so" | grep ' xp' | grep -v "$own_names"; then
		fail "the names above are not hidden"
	fi
	if nm -g --defined-only "$libdir/libxpoll-$1.a" | grep ' xp' | grep -v "$own_names"; then
		fail "the names above are not local"
	fi
}
# The functions of the drop-in for epoll(7) have these names on systems that have them.
own_names=' xpoll_\(epoll\|eventfd\|timerfd\|signalfd\)'

use_find_package() {
	with_cxx || true # The project below leaves its C++ programs out as well.
	install_moved
	find_package_in "$libdir/cmake/xpoll"
}

# The archive that cpack makes holds the same tree.
use_package() {
	(cd "$build" && cpack -G TGZ -B "$work/packages" >"$work/log") ||
		{ cat "$work/log"; exit 1; }
	mkdir "$work/prefix"
	tar -xzf "$work"/packages/xpoll-*.tar.gz -C "$work/prefix" --strip-components=1
	check_tree
}

# The two files for programs that embed the library.
use_amalgamation() {
	want python3
	python3 -B "$here/../../../scripts/amalgamate.py" "$work/two"
	# Beside the program, as README has it.
	cp "$here/consumer/main.c" "$work/two"
	(cd "$work/two" && ${CC:-cc} -std=c11 $flags -O2 -pthread -I. main.c xpoll.c -o embedded)
	run "$work/two/embedded"
	cp "$here/../../../examples/tree-changes.c" "$work/two"
	(cd "$work/two" && ${CC:-cc} -std=c11 $flags -pthread -I. tree-changes.c xpoll.c -o tree)
	"$work/two/tree" "$work/none" 2>&1 | grep -q 'No such file' || fail "tree-changes"
}

# quiet COMMAND...: what it prints is shown if it fails.
quiet() {
	"$@" >"$work/log" 2>&1 || { cat "$work/log"; fail "$*"; }
}

# Folders with a place of their own, and a static library only.
use_layout() {
	want pkg-config
	want c++
	tree=$(cd "$here/../../.." && pwd)
	quiet cmake -G Ninja -S "$tree" -B "$work/library" -D CMAKE_BUILD_TYPE=Debug \
		-D CMAKE_INSTALL_PREFIX="$work/prefix" -D CMAKE_INSTALL_LIBDIR="$work/libraries" \
		-D CMAKE_INSTALL_INCLUDEDIR="$work/headers" -D BUILD_SHARED_LIBS=OFF \
		-D XPOLL_TOOLS=OFF
	quiet cmake --build "$work/library"
	quiet cmake --install "$work/library"
	[ -f "$work/headers/xpoll.h" ] || fail "the header is elsewhere"
	[ ! -e "$work/prefix/include" ] || fail "headers are in two places"
	[ ! -e "$work/libraries/java" ] || fail "there is a folder for jars, and no jar"
	[ ! -e "$work/libraries/libxpoll.so" ] || \
		fail "BUILD_SHARED_LIBS=OFF installs a shared library"

	export PKG_CONFIG_PATH="$work/libraries/pkgconfig"
	[ "$(pkg-config --variable=libdir xpoll)" = "$work/libraries" ] || fail "libdir of xpoll.pc"
	for name in xpoll:main.c xpoll-kqueue:kqueue.c; do
		[ -f "$PKG_CONFIG_PATH/${name%:*}.pc" ] || continue
		${CC:-cc} -std=c11 $strict $(pkg-config --cflags "${name%:*}") \
			"$here/consumer/${name#*:}" -o "$work/program" \
			$(pkg-config --libs "${name%:*}")
		run "$work/program"
	done
	find_package_in "$work/libraries/cmake/xpoll"
}

# find_package_in FOLDER: the programs of consumer/ with the CMake package there.
find_package_in() {
	quiet cmake -G Ninja -S "$here/consumer" -B "$work/build" -D xpoll_DIR="$1" \
		-D CMAKE_C_FLAGS="$strict" -D CMAKE_CXX_FLAGS="$strict"
	cmake --build "$work/build"
	for name in c-shared c-static cxx-shared cxx-static kqueue-shared kqueue-static \
		epoll-shared epoll-static; do
		[ ! -x "$work/build/$name" ] || run "$work/build/$name"
	done
}

# As a part of somebody else's project, which says that libraries are shared and
# numbers of bytes long.
use_parent() {
	quiet cmake -G Ninja -S "$here/parent" -B "$work/build" -D CMAKE_BUILD_TYPE=Debug \
		-D CMAKE_INSTALL_PREFIX="$work/prefix" -D CMAKE_INSTALL_LIBDIR=lib \
		-D BUILD_SHARED_LIBS=ON -D CMAKE_C_FLAGS=-D_FILE_OFFSET_BITS=64
	# Of xpoll it compiles the library alone.
	count=$(compilations "$work/build")
	[ "$count" -le 3 ] || fail "a part of another project has $count compilations"
	quiet cmake --build "$work/build"
	run "$work/build/program"
	quiet cmake --install "$work/build"
	(cd "$work/prefix" && find . ! -type d) >"$work/found"
	[ "$(cat "$work/found")" = ./bin/program ] ||
		{ cat "$work/found"; fail "more than the parent's program is installed"; }

	quiet cmake -D XPOLL_INSTALL=ON "$work/build"
	quiet cmake --build "$work/build"
	quiet cmake --install "$work/build"
	[ -f "$work/prefix/lib/pkgconfig/xpoll.pc" ] || fail "XPOLL_INSTALL=ON installs nothing"
	[ ! -e "$work/prefix/lib/libxpoll.a" ] || fail "BUILD_SHARED_LIBS=ON installs an archive"

	# The library alone is small: no pages of what is not here, no documents if unwanted.
	quiet cmake -D XPOLL_DOCS=OFF "$work/build"
	rm -rf "$work/prefix"
	quiet cmake --install "$work/build"
	(cd "$work/prefix" && find . ! -type d) >"$work/found"
	if grep -E 'man1|man2|xpoll-poll|kqueue|\.md$' "$work/found"; then
		fail "the library alone has what is above"
	fi
	case $build in
	*release)
		strip -o "$work/strip" "$build/lib/libxpoll.so"
		mv "$work/strip" "$work/prefix/lib/libxpoll.so.1.0.0"
		size=$(tar -cz -C "$work/prefix" --exclude=bin . | wc -c)
		[ "$size" -lt 400000 ] || fail "the package of the library alone has $size bytes"
		;;
	esac
}

# How many files a build by ninja compiles.
compilations() { ninja -C "$1" -t commands all | grep -c ' -c ' || true; }

# Without options: the library, the command and the drop-ins, and nothing else.
use_plain() {
	want ninja
	tree=$(cd "$here/../../.." && pwd)
	quiet cmake -G Ninja -S "$tree" -B "$work/build"
	count=$(compilations "$work/build")
	[ "$count" -le 110 ] || fail "a plain build has $count compilations; 110 are allowed"
	for target in libxpoll.so libxpoll.a libxpoll-kqueue.so libxpoll-poll.so bin/xpoll; do
		ninja -C "$work/build" -t targets all | grep -q "$target: " ||
			fail "a plain build does not make $target"
	done
	if ninja -C "$work/build" -t commands all |
		grep -oE ' -o (tests|examples|python|java|rust)/[^ ]*'; then
		fail "a plain build makes what is above"
	fi
	ninja -C "$work/build" -t commands all | grep -q -- '-O3.* -c ' || fail "it has no -O3"
	# The line of docs/guide/packaging.md for the smallest package.
	quiet cmake -G Ninja -S "$tree" -B "$work/small" -D BUILD_SHARED_LIBS=ON \
		-D XPOLL_TOOLS=OFF -D XPOLL_DROPINS=OFF -D XPOLL_DOCS=OFF
	# Without the drop-ins nothing may include <sys/event.h>, which one of them has.
	quiet cmake -G Ninja -S "$tree" -B "$work/without" -D XPOLL_DROPINS=OFF
	if ninja -C "$work/without" -t commands all | grep -oE ' -o bench/[^ ]*'; then
		fail "a build without drop-ins makes what is above"
	fi
	ninja -C "$work/without" -t targets all | grep -q 'bin/xpoll: ' ||
		fail "a build without drop-ins has no command"
}

run() {
	for program; do
		"$program" || fail "$program: exit code $?"
	done
}

# A program that was built with 1.0, as its header and the list of its names have it.
use_released() {
	list=$here/../../../scripts/abi-1.0.txt
	sed -n 's/^function \([^ ]*\) XPOLL_1.0$/void \1(void);\nvoid \1(void) {}/p' "$list" \
		>"$work/names.c"
	echo "XPOLL_1.0 { $(sed -n 's/^function \([^ ]*\) XPOLL_1.0$/\1;/p' "$list") };" \
		>"$work/names.map"
	${CC:-cc} $flags -shared -fPIC -Wl,-soname,libxpoll.so.1 \
		-Wl,--version-script="$work/names.map" "$work/names.c" -o "$work/libxpoll.so"
	${CC:-cc} -std=c11 $strict -I"$here/released" "$here/released/main.c" -o "$work/program" \
		"$work/libxpoll.so"
	nm -D --undefined-only "$work/program" | sed -n 's/ *U \(xpoll_.*\)/\1/p' | sort \
		>"$work/used"
	sed -n 's/^function \([^ ]*\) \(XPOLL_1.0\)$/\1@\2/p' "$list" | sort |
		diff "$work/used" - ||
		fail "it has to call every function of 1.0"
	export LD_LIBRARY_PATH="$build/lib"
	run "$work/program"
}

# Two runs give the same bytes, and what they say is in it; the parts that take minutes
# are left out.
use_dist() {
	want python3
	want git
	git -C "$here" rev-parse HEAD >"$work/commit" 2>&1 || skip "this is no clone"
	for run in first second; do
		quiet python3 -B "$here/../../../scripts/dist.py" "$work/$run" two-files
	done
	diff -r "$work/first" "$work/second" || fail "two runs differ"
	(cd "$work/first" && quiet sha256sum --check SHA256SUMS)
	for archive in "$work"/first/*.tar.gz; do
		tar -xzf "$archive" -C "$work"
		grep -Fq "./${archive##*/}" "$work"/first/xpoll-*.spdx.json ||
			fail "the bill of materials lacks $archive"
	done
	test -f "$work"/xpoll-*-two-files/xpoll.c
	git -C "$here/../../.." ls-tree -r --name-only HEAD | sort >"$work/committed"
	(cd "$work"/xpoll-*[0-9] && find . -type f -o -type l) | sed 's,^\./,,' | sort |
		diff "$work/committed" - || fail "the archive is not the commit"
}

# A compiler, a C library or a system that will not do: CMake says what is needed.
use_needs() {
	refused "needed: gcc or clang" stdatomic.h
	refused "needed: the C library's headers" pthread.h
	if [ "$(uname)" = Linux ]; then refused "needed: the headers of glibc" sys/epoll.h; fi
	refused "does not know Haiku" none.h -D CMAKE_SYSTEM_NAME=Haiku
}

# refused WORDS HEADER OPTION...: they are said where there is no such header.
refused() {
	words=$1 missing=$work/without/$2
	shift 2
	mkdir -p "${missing%/*}"
	echo "#error" >"$missing"
	if cmake -G Ninja -S "$here/../../.." -B "$work/build" -D CMAKE_C_FLAGS="-I$work/without" \
		"$@" >"$work/log" 2>&1; then
		fail "it does not say: $words"
	fi
	grep "^  .*$words" "$work/log" || { cat "$work/log"; fail "it does not say: $words"; }
	rm -rf "$missing" "$work/build"
}

case $way in
pkg-config) use_pkg_config ;;
find-package) use_find_package ;;
package) use_package ;;
amalgamation) use_amalgamation ;;
layout) use_layout ;;
parent) use_parent ;;
dist) use_dist ;;
released) use_released ;;
needs) use_needs ;;
plain) use_plain ;;
*) fail "unknown way $way" ;;
esac
