# Part of ./dev: what the machine must have, and how each package manager brings it.

find_manager() {
	for manager in apt-get dnf apk brew pkg pkgin pkg_add; do
		have "$manager" && return
	done
	manager=none
}

# The package that brings a tool; the tool's own name where they agree.
package_of() {
	case $manager:$1 in
	apt-get:cc) echo gcc libc6-dev ;;
	apk:cc) echo gcc musl-dev linux-headers ;;
	dnf:cc) echo gcc glibc-devel ;;
	brew:cc | pkg:cc) echo llvm ;; # Normally part of the system.
	dnf:c++) echo gcc-c++ ;;
	pkg:c++) echo llvm ;;
	*:c++) echo g++ ;;
	apt-get:x86_64-w64-mingw32-gcc-posix) echo gcc-mingw-w64-x86-64-posix ;;
	apt-get:wine) echo wine wine64 ;;
	apt-get:groff) echo groff-base ;;
	apt-get:ninja | dnf:ninja) echo ninja-build ;;
	apk:ninja) echo samurai ;;
	pkgin:ninja) echo ninja-build ;;
	apt-get:pkg-config) echo pkg-config ;;
	*:pkg-config) echo pkgconf ;;
	*:setpriv) echo util-linux ;;
	apt-get:i686-linux-gnu-gcc) echo gcc-i686-linux-gnu libc6-dev-i386-cross ;;
	apt-get:aarch64-linux-gnu-gcc) echo gcc-aarch64-linux-gnu libc6-dev-arm64-cross ;;
	apt-get:*-linux-gnu-gcc)
		echo "gcc-${1%-gcc}" "libc6-dev-${1%-linux-gnu-gcc}-cross" ;;
	apt-get:qemu-*) echo qemu-user ;;
	dnf:sanitizers) echo libasan libubsan libtsan ;;
	*:sanitizers) ;; # They come with the compiler.
	*) echo "$1" ;;
	esac
}

install_packages() {
	case $manager in
	apt-get) line="apt-get install -y --no-install-recommends $*" ;;
	dnf) line="dnf install -y $*" ;;
	apk) line="apk add $*" ;;
	brew) line="brew install $*" ;;
	pkg) line="pkg install -y $*" ;;
	pkgin) line="pkgin -y install $*" ;;
	pkg_add) line="pkg_add -I $*" ;;
	none) die "please install: $*" ;;
	esac

	as_root=
	if [ "$manager" != brew ] && [ "$(id -u)" -ne 0 ]; then
		have sudo || die "missing tools; as root, run: $line"
		# Without a terminal a password prompt would hang.
		if [ -t 0 ]; then as_root=sudo; else as_root='sudo -n'; fi
	fi
	say "installing: $line"
	DEBIAN_FRONTEND=noninteractive
	export DEBIAN_FRONTEND
	if [ "$manager" = apt-get ]; then
		# One unreachable source of several must not stop us.
		$as_root apt-get update -q >/dev/null || say "apt-get update failed; going on"
	fi
	$as_root $line </dev/null >&2 || die "could not install; as root, run: $line"
}

# need TOOL...: install those that are not there, all at once.
need() {
	packages=
	find_manager
	for tool; do
		have "$tool" || packages="$packages $(package_of "$tool")"
	done
	# On purpose unquoted: a list.
	[ -z "$packages" ] || install_packages $packages
	for tool; do
		have "$tool" || die "'$tool' is still missing after the installation"
	done
}

need_build() {
	need cc cmake ninja
	version=$(cmake --version | sed -n '1s/[^0-9]*\([0-9]*\.[0-9]*\).*/\1/p')
	[ "${version%%.*}" -gt 3 ] || [ "${version#*.}" -ge 20 ] ||
		die "cmake $version is too old: 3.20 or later is needed"
}

need_test() {
	need_build
	need c++ python3 pkg-config
	need_python
	need_java
}

# Has this Python what the tests of the binding need?
python_is_whole() {
	"$1" -c 'import ensurepip, pathlib, sys, sysconfig, test.test_selectors
sys.exit(not pathlib.Path(sysconfig.get_path("include"), "Python.h").exists())' 2>/dev/null
}

python_packages() {
	case $manager in
	apt-get)
		echo python3-venv python3-dev
		/usr/bin/python3 -c 'import sys
print("libpython%d.%d-testsuite" % sys.version_info[:2])' ;;
	dnf) echo python3-devel python3-test ;;
	apk) echo python3-dev ;;
	esac
}

# The system's own Python as well: an ordinary user may have no other.  Without
# these packages tests are skipped, so this is no reason to stop.
need_python() {
	for python in python3 /usr/bin/python3; do
		if have "$python" && ! python_is_whole "$python"; then
			packages=$(python_packages)
			[ -z "$packages" ] || (install_packages $packages) || say "going on without"
			return
		fi
	done
}

# The newest JDK of at least 22 that the package manager has, if it has one.
jdk_package() {
	for release in 25 24 23 22; do
		case $manager in
		apt-get) package=openjdk-$release-jdk-headless; query="apt-cache show" ;;
		dnf) package=java-$release-openjdk-devel; query="dnf -q info" ;;
		apk) package=openjdk$release-jdk; query="apk info" ;;
		brew) package=openjdk; query="brew info" ;;
		pkg) package=openjdk$release; query="pkg search -q -e -S name" ;;
		*) return 1 ;;
		esac
		if $query "$package" >/dev/null 2>&1; then
			echo "$package"
			return
		fi
	done
	return 1
}

# Without it the tests of the Java binding are skipped, so this is no reason to stop.
need_java() {
	find_manager
	if ! sh java/find-jdk.sh >/dev/null; then
		package=$(jdk_package) || {
			say "no JDK 22 or later here, nor in the package manager: Java's tests are"
			say "skipped; install one and set JAVA_HOME to its folder"
			return
		}
		(install_packages "$package") || { say "going on without"; return; }
	fi
	if ! have mvn; then (install_packages maven) || say "going on without"; fi
}

# The oldest compiler that the Rust crates promise.  Without it one test is skipped.
need_oldest_rust() {
	have rustup || return 0
	oldest=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' rust/Cargo.toml)
	rustc "+$oldest" --version >/dev/null 2>&1 ||
		rustup toolchain install --profile minimal "$oldest" >&2 ||
		say "no Rust $oldest: going on without"
}

# Only where the packages are known: elsewhere the cross build is left out.
need_cross_windows() {
	find_manager
	[ "$manager" = apt-get ] && [ "$(uname -m)" = x86_64 ] || return 1
	need_build
	need x86_64-w64-mingw32-gcc-posix wine
}

need_check() {
	need_test
	need_oldest_rust
	need valgrind mandoc groff bash zsh
	if [ "$manager" = dnf ]; then install_packages $(package_of sanitizers); fi
}
