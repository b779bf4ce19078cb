# Part of ./dev: what the machine must have, and how each package manager brings it.

manager=none
for candidate in apt-get dnf apk pacman zypper brew pkg pkgin pkg_add; do
	if have "$candidate"; then
		manager=$candidate
		break
	fi
done

# The package that brings a tool; the tool's own name where they agree.
package_of() {
	case $manager:$1 in
	apt-get:cc) echo gcc libc6-dev ;;
	apk:cc) echo gcc musl-dev linux-headers ;;
	dnf:cc | zypper:cc) echo gcc glibc-devel ;;
	pacman:cc | pacman:c++) echo gcc ;;
	brew:cc | pkg:cc) echo llvm ;; # Normally part of the system.
	dnf:c++ | zypper:c++) echo gcc-c++ ;;
	pkg:c++) echo llvm ;;
	*:c++) echo g++ ;;
	apt-get:x86_64-w64-mingw32-gcc-posix) echo gcc-mingw-w64-x86-64-posix ;;
	apt-get:wine) echo wine wine64 ;;
	apt-get:groff) echo groff-base ;;
	apt-get:ninja | dnf:ninja) echo ninja-build ;;
	apk:ninja) echo samurai ;;
	pkgin:ninja) echo ninja-build ;;
	apt-get:pkg-config) echo pkg-config ;;
	dnf:pkg-config | zypper:pkg-config) echo pkgconf-pkg-config ;;
	pacman:python3) echo python ;;
	*:pkg-config) echo pkgconf ;;
	*:setpriv) echo util-linux ;;
	apt-get:i686-linux-gnu-gcc) echo gcc-i686-linux-gnu libc6-dev-i386-cross ;;
	apt-get:aarch64-linux-gnu-gcc) echo gcc-aarch64-linux-gnu libc6-dev-arm64-cross ;;
	apt-get:*-linux-gnu-gcc)
		echo "gcc-${1%-gcc}" "libc6-dev-${1%-linux-gnu-gcc}-cross" ;;
	apt-get:qemu-*) echo qemu-user ;;
	*) echo "$1" ;;
	esac
}

# The command that installs these packages.
install_line() {
	case $manager in
	apt-get) echo "apt-get install -y --no-install-recommends $*" ;;
	dnf) echo "dnf install -y $*" ;;
	apk) echo "apk add -U $*" ;;
	pacman) echo "pacman -Sy --needed --noconfirm $*" ;;
	zypper) echo "zypper -n install $*" ;;
	brew) echo "brew install $*" ;;
	pkg) echo "pkg install -y $*" ;;
	pkgin) echo "pkgin -y install $*" ;;
	pkg_add) echo "pkg_add -I $*" ;;
	esac
}

# What a verb lacks is gathered first and asked for once.
required= # packages without which there is no going on
extras=   # groups of packages, a line each, without which tests are skipped

# want TOOL...
want() {
	for tool; do
		have "$tool" || required="$required $(package_of "$tool")"
	done
}

want_extra() {
	extras="$extras$*
"
}

# All of it in one line, for a machine that may have no list of packages yet.
whole_line() {
	line=
	if [ "$manager" = apt-get ]; then line='apt-get update; '; fi
	if [ -n "$required" ]; then
		line="${line%; }${line:+ && }$(install_line $required); "
	fi
	line="$line$(printf '%s' "$extras" | while read -r group; do
		printf '%s; ' "$(install_line $group)"
	done)"
	echo "${line%; }"
}

# Sets $as_root to what makes a command run as root here; 1 where nothing does.
find_root() {
	as_root=
	[ "$manager" != brew ] && [ "$(id -u)" -ne 0 ] || return 0
	have sudo || return 1
	# Without a terminal a password prompt would hang.
	if [ -t 0 ]; then as_root=sudo; else as_root='sudo -n'; fi
}

refreshed=
refresh_lists() {
	[ "$manager" = apt-get ] && [ -z "$refreshed" ] && find_root || return 0
	# One unreachable source of several must not stop us.
	$as_root apt-get update -q </dev/null >/dev/null || say "apt-get update failed; going on"
	refreshed=yes
}

# install_now PACKAGE...
install_now() {
	now=$(install_line "$@")
	say "installing: $now"
	DEBIAN_FRONTEND=noninteractive $as_root $now </dev/null >&2
}

install_wanted() {
	[ -n "$required$extras" ] || return 0
	all=$(whole_line)
	[ "$manager" != none ] || die "no package manager is known here; please install:$required"
	if ! find_root; then
		[ -z "$required" ] || die "something is missing; as root, run: $all"
		say "going on without some tests; for them, as root, run: $all"
		extras=
		return
	fi
	refresh_lists
	# On purpose unquoted: lists.
	[ -z "$required" ] || install_now $required || die "could not install; as root, run: $all"
	while [ -n "$extras" ]; do
		group=${extras%%"
"*}
		extras=${extras#*"
"}
		install_now $group || say "going on without $group"
	done
	required=
}

# need TOOL...: install those that are not there, all at once.
need() {
	want "$@"
	install_wanted
	for tool; do
		have "$tool" || die "'$tool' is still missing after the installation"
	done
}

# need_build [TOOL...]; so do the next two.
need_build() {
	need cc cmake ninja "$@"
	version=$(cmake --version | sed -n '1s/[^0-9]*\([0-9]*\.[0-9]*\).*/\1/p')
	[ "${version%%.*}" -gt 3 ] || [ "${version#*.}" -ge 20 ] ||
		die "cmake $version is too old: 3.20 or later is needed"
}

need_test() {
	want_python
	want_java
	need_build c++ python3 pkg-config "$@"
}

need_check() {
	want_libraries
	if [ "$manager" = dnf ]; then
		rpm -q libasan libubsan libtsan >/dev/null || required=" libasan libubsan libtsan"
	fi
	need_test valgrind mandoc groff bash zsh "$@"
	need_oldest_rust
}

# Has this Python what the tests of the binding need?
python_is_whole() {
	"$1" -c 'import ensurepip, pathlib, sys, sysconfig, test.test_selectors
sys.exit(not pathlib.Path(sysconfig.get_path("include"), "Python.h").exists())' 2>/dev/null
}

# As a pattern, before there is one.
python_version() {
	/usr/bin/python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null ||
		echo '3.[0-9]+'
}

python_packages() {
	case $manager in
	apt-get) echo python3-venv python3-dev "^libpython$(python_version)-testsuite\$" ;;
	dnf) echo python3-devel python3-test ;;
	zypper) echo python3-devel python3-testsuite ;;
	apk) echo python3-dev ;;
	esac
}

# The system's own Python as well: an ordinary user may have no other.
want_python() {
	for python in python3 /usr/bin/python3; do
		[ "$python" = python3 ] || have "$python" || continue
		if ! python_is_whole "$python"; then
			packages=$(python_packages)
			[ -z "$packages" ] || want_extra "$packages"
			return
		fi
	done
}

lists_here() {
	[ "$manager" != apt-get ] || apt-cache show gcc >/dev/null 2>&1
}

# The newest JDK of at least 22 that the package manager has, if it has one.
jdk_package() {
	# Without lists nothing is known: the one that most releases have.
	lists_here || { echo openjdk-25-jdk-headless; return; }
	for release in 25 24 23 22; do
		case $manager in
		apt-get) package=openjdk-$release-jdk-headless; query="apt-cache show" ;;
		dnf) package=java-$release-openjdk-devel; query="dnf -q info" ;;
		zypper) package=java-$release-openjdk-devel; query="zypper -n -q info" ;;
		apk) package=openjdk$release-jdk; query="apk info" ;;
		pacman) package=jdk-openjdk; query="pacman -Si" ;;
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

want_java() {
	packages=
	if ! sh java/find-jdk.sh >/dev/null; then
		lists_here || refresh_lists
		packages=$(jdk_package) || {
			say "no JDK 22 or later here, nor in the package manager: Java's tests are"
			say "skipped; install one and set JAVA_HOME to its folder"
			return
		}
	fi
	have mvn || packages="$packages maven"
	[ -z "$packages" ] || want_extra "$packages"
}

# The oldest compiler that the Rust crates promise.  Without it one test is skipped.
need_oldest_rust() {
	have rustup || return 0
	oldest=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' rust/Cargo.toml)
	rustc "+$oldest" --version >/dev/null 2>&1 ||
		rustup toolchain install --profile minimal "$oldest" >&2 ||
		say "no Rust $oldest: going on without"
}

# The libraries that some examples are about; no other test needs them.
want_libraries() {
	for pair in openssl:libssl-dev:openssl-devel glib-2.0:libglib2.0-dev:glib2-devel \
		libuv:libuv1-dev:libuv-devel; do
		! pkg-config --exists "${pair%%:*}" 2>/dev/null || continue
		pair=${pair#*:}
		case $manager in
		apt-get) want_extra "${pair%:*}" ;;
		dnf | zypper) want_extra "${pair#*:}" ;;
		esac
	done
}
