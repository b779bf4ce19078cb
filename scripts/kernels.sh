#!/bin/sh
# Run the contract suite and the tests of sources on Debian's kernels.  QEMU boots each
# with static test programs and nothing else; tests/lib/runner is the first process:
#
#   scripts/kernels.sh [-t REGEX] [SUITE...]
#
# SUITE is a release of Debian, of which the newest kernel is used; the default is
# bullseye (5.10), bookworm (6.1), trixie (6.12) and sid.  REGEX selects tests by their
# names.  The script needs musl-tools, qemu-system-x86, busybox-static and cpio, and uses
# the mirror of apt's configuration.  It ends with a table; the whole output is in
# build/kernels/SUITE.log.  Without KVM each kernel takes 10 minutes or more.
set -eu
cd -- "$(dirname -- "$0")/.."
. ./scripts/dev/start.sh

only=.
if [ "${1:-}" = -t ]; then
	only=$2
	shift 2
fi
[ $# -gt 0 ] || set -- bullseye bookworm trixie sid
for tool in musl-gcc qemu-system-x86_64 busybox cpio; do
	have "$tool" ||
		die "no $tool: apt-get install musl-tools qemu-system-x86 busybox-static cpio"
done
folder=$PWD/build/kernels
mkdir -p "$folder"

# apt_of SUITE COMMAND...: apt with that release as its only source, and lists apart.
apt_of() {
	from=$folder/$1
	shift
	"$@" -o Dir::Etc::SourceList="$from/sources.list" -o Dir::Etc::SourceParts=- \
		-o Dir::Etc::Preferences=- -o Dir::Etc::PreferencesParts=- \
		-o Dir::State::Lists="$from/lists" -o Dir::Cache="$from/cache"
}

# kernel_of SUITE: the file of its newest kernel, for machines that are emulated.
kernel_of() {
	from=$folder/$1
	if [ ! -f "$from/kernel" ]; then
		mkdir -p "$from/lists/partial" "$from/cache/archives/partial" "$from/files"
		echo "deb $(mirror_here) $1 main" >"$from/sources.list"
		apt_of "$1" apt-get -q update >"$from/apt.log" 2>&1 || return 1
		# Newer releases have the image in a package of its own.
		package=$(apt_of "$1" apt-cache pkgnames linux- |
			sed -n 's/^linux-\(image\|binary\)-\([0-9].*-cloud-amd64\)$/\2 \1/p' |
			sort -V | awk '
				$1 != last || $2 == "binary" { kind = $2 }
				{ last = $1 }
				END { print "linux-" kind "-" last }')
		(cd "$from" && apt_of "$1" apt-get -q download "$package") \
			>>"$from/apt.log" 2>&1 || return 1
		dpkg-deb -x "$from"/linux-*.deb "$from/files"
		find "$from/files" -name 'vmlinuz*' -exec mv {} "$from/kernel" \;
	fi
	echo "$from/kernel"
}

# The file system that the kernel begins with.
make_initrd() {
	rm -rf "$folder/initrd"
	for part in tests dev tmp bin; do
		mkdir -p "$folder/initrd/$part"
	done
	cp "$(command -v busybox)" "$folder/initrd/bin/sh" # One test runs a shell.
	# Those with the library of another system in front need shared ones.
	sed -nE '/^(contract|source)\.[^ ]*\.(epoll|poll|select)(\.threads)? /p' \
		build/musl/tests/bin/tests.list |
		grep -E -- "$only" >"$folder/initrd/tests/tests.list"
	cp build/musl/tests/bin/contract_* build/musl/tests/bin/source_* "$folder/initrd/tests"
	cp build/musl/tests/bin/runner "$folder/initrd/init"
	strip "$folder"/initrd/tests/*_* "$folder/initrd/init"
	mknod "$folder/initrd/dev/console" c 5 1 2>/dev/null || true # by root alone
	(cd "$folder/initrd" && find . | cpio -o --quiet -H newc) | gzip -1 >"$folder/initrd.gz"
}

# boot SUITE: cmpxchg16b is what QEMU 7 gets wrong.
boot() {
	timeout 7200 qemu-system-x86_64 -accel tcg -cpu max,cx16=off -smp 2 -m 1536 -nographic \
		-no-reboot -nic none -kernel "$folder/$1/kernel" -initrd "$folder/initrd.gz" \
		-append "console=ttyS0 quiet panic=-1" </dev/null 2>&1 |
		tr -d '\r' >"$folder/$1.log"
}

say "building static programs"
cmake --preset musl >"$folder/configure.log" 2>&1 || die "see $folder/configure.log"
cmake --build build/musl --target runner all_contract all_source >"$folder/build.log" 2>&1 ||
	die "see $folder/build.log"
make_initrd
failed=0
for suite; do
	kernel_of "$suite" >/dev/null ||
		{ say "$suite: no kernel, see $folder/$suite/apt.log"; failed=1; continue; }
	say "$suite: booting"
	boot "$suite"
	sum=$(grep -E '^Linux .*: [0-9]+ passed' "$folder/$suite.log") ||
		sum="$suite: did not get to the end"
	sed -n '/^failed:/,/^$/p' "$folder/$suite.log"
	printf '%-10s %s\n' "$suite" "$sum"
	case $sum in *' 0 failed'*) ;; *) failed=1 ;; esac
done
exit $failed
