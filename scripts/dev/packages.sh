# Part of ./dev: what the machine must have, and how its package manager brings it.

manager=none column=0
for candidate in apt-get dnf apk pacman zypper pkg; do
	column=$((column + 1))
	if have "$candidate"; then
		manager=$candidate
		break
	fi
done

case $manager in
apt-get) install="apt-get install -y --no-install-recommends" ;;
dnf) install="dnf install -y" ;;
apk) install="apk add -U" ;;
pacman) install="pacman -Sy --needed --noconfirm" ;;
zypper) install="zypper -n install" ;;
pkg) install="pkg install -y" ;;
esac

# Which packages bring a tool.  One that has no line here is in a package of its own name;
# so says "=".  "-" is where there is none, or none needed.  A comma joins several.
table() {
	clang=$(clang -dumpversion 2>/dev/null || true)
	cat <<END
#            apt-get           dnf              apk           pacman   zypper           pkg
cc           gcc,libc6-dev     gcc,glibc-devel  gcc,musl-dev,linux-headers gcc gcc,glibc-devel llvm
c++          g++               gcc-c++          g++           gcc      gcc-c++          llvm
ninja        ninja-build       ninja-build      samurai       =        =                =
pkg-config   =                 pkgconf-pkg-config pkgconf     pkgconf  pkgconf-pkg-config pkgconf
python3      =                 =                =             python   =                =
groff        groff-base        =                =             =        =                =
setpriv      util-linux        util-linux       =             util-linux util-linux     -
sanitizers   -                 libasan,libubsan,libtsan -     -        -                -
libfuzzer    libclang-rt-${clang%%.*}-dev compiler-rt compiler-rt -    -                -
python-tests python3-venv,python3-dev,^libpython3.[0-9]+-testsuite\$ \
	python3-devel,python3-test python3-dev - python3-devel,python3-testsuite -
java         openjdk-25-jdk-headless,maven java-25-openjdk-devel,maven openjdk25-jdk,maven \
	jdk-openjdk,maven java-25-openjdk-devel,maven openjdk25,maven
openssl      libssl-dev        openssl-devel    -             -        openssl-devel    -
glib-2.0     libglib2.0-dev    glib2-devel      -             -        glib2-devel      -
libuv        libuv1-dev        libuv-devel      -             -        libuv-devel      -
rivals       libevent-dev,libuv1-dev libevent,libuv libevent,libuv libevent,libuv \
	libevent,libuv libevent,libuv
mingw-w64    gcc-mingw-w64-x86-64-posix -       -             -        -                -
wine         wine,wine64       =                =             =        =                =
qemu-user    =                 -                -             -        -                -
i686-gcc     gcc-i686-linux-gnu,libc6-dev-i386-cross       -  -        -        -       -
aarch64-gcc  gcc-aarch64-linux-gnu,libc6-dev-arm64-cross   -  -        -        -       -
riscv64-gcc  gcc-riscv64-linux-gnu,libc6-dev-riscv64-cross -  -        -        -       -
s390x-gcc    gcc-s390x-linux-gnu,libc6-dev-s390x-cross     -  -        -        -       -
END
}

packages_of() {
	tool=$1
	set -- $(table | grep "^$tool ") # On purpose unquoted: words.
	[ $# -eq 0 ] || shift "$column"
	case $manager:${1:-=} in
	none:* | *:=) echo "$tool" ;;
	*:-) ;;
	*) echo "$1" | tr , ' ' ;;
	esac
}

# Has this Python what the tests of the binding need?
python_is_whole() {
	"$1" -c 'import ensurepip, pathlib, sys, sysconfig, test.test_selectors
sys.exit(not pathlib.Path(sysconfig.get_path("include"), "Python.h").exists())' 2>/dev/null
}

# Is this tool here?
there() {
	case $1 in
	python-tests) # The system's own as well: an ordinary user may have no other.
		python_is_whole python3 &&
			{ ! have /usr/bin/python3 || python_is_whole /usr/bin/python3; } ;;
	java) sh java/find-jdk.sh >/dev/null && have mvn ;;
	openssl | glib-2.0 | libuv) pkg-config --exists "$1" 2>/dev/null ;;
	sanitizers) [ "$manager" != dnf ] || rpm -q $(packages_of sanitizers) >/dev/null ;;
	libfuzzer)
		mkdir -p build
		echo 'int LLVMFuzzerTestOneInput(const char *d, long n) { return !d && n; }' \
			>build/can-fuzz.c
		clang -fsanitize=fuzzer,address build/can-fuzz.c -o build/can-fuzz 2>/dev/null ;;
	rivals) [ "$(ldconfig -p 2>/dev/null | grep -oE "$rivals" | sort -u | wc -l)" -ge 2 ] ;;
	mingw-w64) have x86_64-w64-mingw32-gcc-posix ;;
	qemu-user) have qemu-s390x ;;
	*-gcc) have "${1%-gcc}-linux-gnu-gcc" ;;
	*) have "$1" ;;
	esac
}
rivals='libevent_core-2\.1\.so\.7|libuv\.so\.1'

# Has this system packages of it?  Only the lists of apt-get are asked, where they are here.
offered() {
	set -- $(packages_of "$1")
	[ $# -gt 0 ] || return 1
	[ "$manager" != apt-get ] || ! apt-cache show gcc >/dev/null 2>&1 ||
		apt-cache show "$1" >/dev/null 2>&1
}

# Sets $as_root to what makes a command run as root here; 1 where nothing does.
find_root() {
	as_root=
	[ "$(id -u)" -ne 0 ] || return 0
	have sudo || return 1
	# Without a terminal a password prompt would hang.
	if [ -t 0 ]; then as_root=sudo; else as_root='sudo -n'; fi
}

# install_now COMMAND: nobody is asked anything, and Debian starts no servers.
install_now() {
	say "installing: $1"
	$as_root env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 ASSUME_ALWAYS_YES=yes $1 \
		</dev/null >&2
}

# need TOOL... [-- EXTRA...]: installs what is missing, or asks for it in one line.  Without
# an EXTRA all goes on, with fewer tests.
need() {
	missing= required= extras= line= extra=
	for tool; do
		if [ "$tool" = -- ]; then
			extra=yes
		elif there "$tool"; then
			continue
		elif [ -z "$extra" ]; then
			missing="$missing $tool" required="$required $(packages_of "$tool")"
		elif [ "$manager" != none ] && offered "$tool"; then
			extras="$extras $tool" line="$line; $install $(packages_of "$tool")"
		else
			say "going on without $tool: no package here brings it"
		fi
	done
	[ -n "$missing$extras" ] || return 0
	[ "$manager" != none ] || die "no package manager is known here; please install:$missing"
	[ -z "$required" ] || line="; $install$required$line"
	line=${line#; }
	[ "$manager" != apt-get ] || line="apt-get update && $line"
	if ! find_root; then
		[ -z "$missing" ] || die "something is missing; as root, run: $line"
		say "going on without$extras; for them, as root, run: $line"
		return
	fi
	if [ "$manager" = apt-get ] && [ -z "$updated" ]; then
		# One unreachable source of several must not stop us.
		install_now "apt-get update -q" || say "apt-get update failed; going on"
		updated=yes
	fi
	[ -z "$required" ] || install_now "$install$required" ||
		die "could not install; as root, run: $line"
	for tool in $extras; do
		install_now "$install $(packages_of "$tool")" || say "going on without $tool"
	done
	for tool in $missing; do
		there "$tool" || die "'$tool' is still missing after the installation"
	done
}
updated=

# The oldest compiler that the Rust crates promise.  Without it one test is skipped.
need_oldest_rust() {
	have rustup || return 0
	oldest=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' rust/Cargo.toml)
	rustc "+$oldest" --version >/dev/null 2>&1 ||
		rustup toolchain install --profile minimal "$oldest" >&2 ||
		say "no Rust $oldest: going on without"
}
