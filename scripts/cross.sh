#!/bin/sh
# Compile the library for other kernels and processors, with warnings as errors:
#
#   scripts/cross.sh [TARGET...]
#
# The compiler is "zig cc", which has the headers and the C libraries of these systems;
# the script installs it in build/venv-zig.  For Linux it also links the drop-in for
# kqueue(2), and for other kernels that for epoll(7), and the tests that ./dev test would run
# there.  Nothing is run.  The result is in build/cross/TARGET.  The exit status is 77 if the
# compiler is not available.
#
# scripts/dist.py adds flags for the compiler, options for CMake and targets to build, in
# XPOLL_CROSS_FLAGS, XPOLL_CROSS_OPTIONS and XPOLL_CROSS_TARGETS.
set -eu
cd -- "$(dirname -- "$0")/.."
. ./scripts/dev/start.sh
. ./scripts/dev/build.sh

FEW="x86_64-freebsd x86_64-macos"
ALL="$FEW aarch64-freebsd x86_64-netbsd.11.0 x86_64-openbsd
	aarch64-macos x86_64-linux-musl x86_64-linux-gnu.2.17
	aarch64-linux-gnu.2.36 riscv64-linux-gnu.2.36 s390x-linux-gnu.2.36"

# CMake's name of the system.
system_of() {
	case $1 in
	*-freebsd*) echo FreeBSD ;;
	*-netbsd*) echo NetBSD ;;
	*-openbsd*) echo OpenBSD ;;
	*-macos*) echo Darwin ;;
	*-linux-*) echo Linux ;;
	*) say "$1: unknown target"; return 1 ;;
	esac
}

# The program itself, without the Python in front of it.
zig_program() {
	build/venv-zig/bin/python -c 'if True:
		import os, ziglang
		print(os.path.join(os.path.dirname(ziglang.__file__), "zig"))'
}

# wrapper FILE ZIG_ARGUMENT...
wrapper() {
	file=$1
	shift
	printf '#!/bin/sh\nexec "%s" %s "$@"\n' "$zig" "$*" >"$file"
	chmod +x "$file"
}

# What runs the clean-up handlers of a cancelled thread is in gcc's library, which every
# system with glibc has and this compiler has not.  Nothing of it is linked but the names.
gcc_library() {
	cat >"$1/gcc_s.c" <<'END'
void _Unwind_Resume(void) {}
void __gcc_personality_v0(void) {}
END
	echo 'GCC_3.0 { _Unwind_Resume; }; GCC_3.3.1 { __gcc_personality_v0; };' >"$1/gcc_s.map"
	"$1/cc" -w -shared -nostdlib -Wl,-soname,libgcc_s.so.1 "-Wl,--version-script,$1/gcc_s.map" \
		-o "$1/libgcc_s.so.1" "$1/gcc_s.c"
}

compile() {
	target=$1
	folder=$PWD/build/cross/$target
	system=$(system_of "$target") || return 1
	tests=ON programs=all
	[ "$system" != Linux ] || tests=OFF programs=xpoll_kqueue
	mkdir -p "$folder"
	wrapper "$folder/cc" cc -target "$target" -Wno-unused-command-line-argument \
		${XPOLL_CROSS_FLAGS:-}
	libraries=
	case $target in
	*-linux-gnu*) gcc_library "$folder" || return 1; libraries=$folder/libgcc_s.so.1 ;;
	esac
	wrapper "$folder/ar" ar
	wrapper "$folder/ranlib" ranlib
	cmake -S . -B "$folder" -G Ninja -D CMAKE_SYSTEM_NAME="$system" \
		-D CMAKE_SYSTEM_PROCESSOR="${target%%-*}" \
		-D CMAKE_C_COMPILER="$folder/cc" -D CMAKE_AR="$folder/ar" \
		-D CMAKE_RANLIB="$folder/ranlib" -D CMAKE_C_COMPILER_LAUNCHER= \
		-D XPOLL_WERROR=ON -D XPOLL_TOOLS=OFF -D XPOLL_TESTS="$tests" \
		-D XPOLL_PYTHON=OFF -D XPOLL_JAVA=OFF \
		-D CMAKE_SHARED_LINKER_FLAGS="$libraries" \
		-D CMAKE_MODULE_LINKER_FLAGS="$libraries" \
		${XPOLL_CROSS_OPTIONS:-} >"$folder/configure.log" 2>&1 ||
		{ tail -20 "$folder/configure.log" >&2; return 1; }
	cmake --build "$folder" --target xpoll ${XPOLL_CROSS_TARGETS-xpoll_static} $programs \
		>"$folder/build.log" 2>&1 ||
		{ tail -40 "$folder/build.log" >&2; return 1; }
}

[ "${1:-}" != --few ] || { shift; set -- $FEW; }
[ $# -gt 0 ] || set -- $ALL
for target; do
	system_of "$target" >/dev/null || exit 2
done
venv venv-zig scripts/cross-requirements.txt ziglang || { say "SKIP: no zig"; exit 77; }
zig=$(zig_program)
failed=
for target; do
	if compile "$target"; then
		say "$target: compiled"
	else
		say "$target: FAILED"
		failed="$failed $target"
	fi
done
[ -z "$failed" ]
