# Part of ./dev: what the machine must have, and how its package manager brings it.

for manager in apt-get dnf apk pacman zypper pkg none; do
	! have "$manager" || break
done

# How packages are installed; and, as TOOL=PACKAGE,..., those that bring a tool, where that
# is not one package of its name.  Nothing after "=": none does, or none is needed.
install= names=
case $manager in
apt-get)
	install="apt-get install -y --no-install-recommends"
	clang=$(clang -dumpversion 2>/dev/null || true)
	names="cc=gcc,libc6-dev c++=g++ ninja=ninja-build groff=groff-base setpriv=util-linux
		python-tests=python3-venv,python3-dev,^libpython3.[0-9]+-testsuite\$
		java=openjdk-25-jdk-headless,maven libfuzzer=libclang-rt-${clang%%.*}-dev
		openssl.pc=libssl-dev glib-2.0.pc=libglib2.0-dev
		libevent.pc=libevent-dev libuv.pc=libuv1-dev pgrep=procps
		libev.so.4=libev4 libkqueue.so.0=libkqueue0
		x86_64-w64-mingw32-gcc-posix=gcc-mingw-w64-x86-64-posix wine=wine,wine64
		qemu-s390x=qemu-user i686-linux-gnu-gcc=gcc-i686-linux-gnu,libc6-dev-i386-cross
		aarch64-linux-gnu-gcc=gcc-aarch64-linux-gnu,libc6-dev-arm64-cross
		riscv64-linux-gnu-gcc=gcc-riscv64-linux-gnu,libc6-dev-riscv64-cross
		s390x-linux-gnu-gcc=gcc-s390x-linux-gnu,libc6-dev-s390x-cross" ;;
dnf)
	install="dnf install -y"
	names="cc=gcc,glibc-devel c++=gcc-c++ ninja=ninja-build pkg-config=pkgconf-pkg-config
		setpriv=util-linux sanitizers=libasan,libubsan,libtsan libfuzzer=compiler-rt
		python-tests=python3-devel,python3-test python3-dbg=
		java=java-25-openjdk-devel,maven openssl.pc=openssl-devel glib-2.0.pc=glib2-devel
		libevent.pc=libevent-devel libuv.pc=libuv-devel libev.so.4=libev libkqueue.so.0=" ;;
apk)
	install="apk add -U"
	names="cc=gcc,musl-dev,linux-headers c++=g++ ninja=samurai pkg-config=pkgconf
		python-tests=python3-dev python3-dbg= java=openjdk25-jdk,maven libfuzzer=compiler-rt
		openssl.pc=openssl-dev glib-2.0.pc=glib-dev
		libevent.pc=libevent-dev libuv.pc=libuv-dev libev.so.4=libev libkqueue.so.0=" ;;
pacman)
	install="pacman -Sy --needed --noconfirm"
	names="cc=gcc c++=gcc pkg-config=pkgconf python3=python python-tests= python3-dbg=
		setpriv=util-linux java=jdk-openjdk,maven libfuzzer= glib-2.0.pc=glib2" ;;
zypper)
	install="zypper -n install"
	names="cc=gcc,glibc-devel c++=gcc-c++ pkg-config=pkgconf-pkg-config setpriv=util-linux
		python-tests=python3-devel,python3-testsuite python3-dbg=
		java=java-25-openjdk-devel,maven libfuzzer= openssl.pc=libopenssl-devel
		glib-2.0.pc=glib2-devel libevent.pc=libevent-devel libuv.pc=libuv-devel
		libev.so.4=libev4 libkqueue.so.0=" ;;
pkg)
	install="pkg install -y"
	names="cc=llvm c++=llvm make=gmake pkg-config=pkgconf python-tests= python3-dbg=
		java=openjdk25,maven libfuzzer= glib-2.0.pc=glib" ;;
esac

packages_of() {
	for name in $names; do
		case $name in
		"$1="*) echo "${name#*=}" | tr , ' '; return ;;
		esac
	done
	echo "${1%.pc}"
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
	*.so.*) # A library that is loaded when it is needed.
		ls /lib/"$1" /lib64/"$1" /usr/lib/"$1" /usr/lib64/"$1" /usr/lib/*/"$1" \
			/usr/local/lib/"$1" 2>/dev/null | grep -q . ;;
	*.pc) pkg-config --exists "${1%.pc}" 2>/dev/null ;;
	sanitizers) [ "$manager" != dnf ] || rpm -q $(packages_of sanitizers) >/dev/null ;;
	libfuzzer)
		mkdir -p build
		echo 'int LLVMFuzzerTestOneInput(const char *d, long n) { return !d && n; }' |
			clang -fsanitize=fuzzer,address -x c - -o build/can-fuzz 2>/dev/null ;;
	*) have "$1" ;;
	esac
}

# Has this system packages of it?  Only the lists of apt-get are asked, where they are here.
offered() {
	[ "$manager" != none ] || return 1
	set -- $(packages_of "$1")
	[ $# -gt 0 ] || return 1
	[ "$manager" != apt-get ] || ! apt-cache show gcc >/dev/null 2>&1 ||
		apt-cache show "$1" >/dev/null 2>&1
}

# run_as_root LINE: nobody is asked anything but a password, and Debian starts no servers.
# 1 where this user cannot become root.
run_as_root() {
	become=
	if [ "$(id -u)" -ne 0 ]; then
		have sudo || return 1
		# Without a terminal a password prompt would hang.
		if [ -t 0 ]; then become=sudo; else become='sudo -n'; fi
	fi
	say "installing: $1"
	$become env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 ASSUME_ALWAYS_YES=yes sh -c "$1" \
		</dev/null >&2 || say "not all of it could be installed"
}

# need TOOL... [-- EXTRA...]: installs what is missing, or asks for it in one line.  Without
# an EXTRA all goes on, with fewer tests.  What a system has not got stands by itself in
# the line, so that it does not stop the others.
need() {
	missing= packages= extras= line= extra=
	for tool; do
		if [ "$tool" = -- ]; then
			extra=yes
		elif there "$tool"; then
			continue
		elif [ -z "$extra" ]; then
			missing="$missing $tool" packages="$packages $(packages_of "$tool")"
		elif offered "$tool"; then
			extras="$extras $tool" line="$line; $install $(packages_of "$tool")"
		else
			say "going on without $tool: no package here brings it"
		fi
	done
	[ -n "$missing$extras" ] || return 0
	[ "$manager" != none ] || die "no package manager is known here; please install:$missing"
	[ -z "$packages" ] || line="; $install$packages$line"
	# One unreachable source of several must not stop the rest.
	[ "$manager" != apt-get ] || line="; apt-get update -q$line"
	line=${line#; }
	if ! run_as_root "$line"; then
		[ -z "$missing" ] || die "something is missing; as root, run: $line"
		say "going on without$extras; for them, as root, run: $line"
		return
	fi
	for tool in $missing; do
		there "$tool" || die "'$tool' is still missing; as root, run: $line"
	done
	for tool in $extras; do
		there "$tool" || say "going on without $tool"
	done
}
