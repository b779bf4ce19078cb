#!/bin/sh
# What ./dev asks for on a machine that has nothing, by each package manager: all of
# it at once, in one line that works as it is.  The managers are stand-ins that only
# say what they were called with.
set -u
cd -- "$(dirname -- "$0")/../.."
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
failed=0

# A PATH with these and no others.
tools() {
	rm -rf "$here/bin"
	mkdir "$here/bin"
	for tool in sh sed cat grep dirname; do
		ln -s "$(command -v "$tool")" "$here/bin/$tool"
	done
}

# stand_in NAME BODY
stand_in() {
	printf '#!/bin/sh\n%s\n' "$2" >"$here/bin/$1"
	chmod +x "$here/bin/$1"
}

# asked VERB_FUNCTION: runs it in a shell of its own, and shows what it said.
asked() {
	PATH=$here/bin sh -c '
		say() { printf "%s\n" "$*"; }
		die() { say "$*"; exit 1; }
		have() { case $1 in /*) return 1 ;; *) command -v "$1" >/dev/null 2>&1 ;; esac; }
		. ./scripts/dev/packages.sh
		python_is_whole() { return 1; }
		python_version() { echo "3.[0-9]+"; }
		sh() { return 1; } # There is no JDK to be found.
		'"$1" 2>&1 </dev/null | sed 's/^something is missing; //'
}

# expect MANAGER FUNCTION LINE
expect() {
	got=$(asked "$2" | grep -v '^no JDK\|^skipped; install')
	[ "$got" = "$3" ] && return
	printf '%s, %s:\n  got      %s\n  expected %s\n' "$1" "$2" "$got" "$3"
	failed=1
}

# As an ordinary user without sudo, and no JDK to be found.
as_user() {
	tools
	stand_in "$1" 'exit 1'
	stand_in id 'echo 1000'
	expect "$@"
}

apt='apt-get install -y --no-install-recommends'
as_user apt-get need_build "as root, run: apt-get update && $apt gcc libc6-dev cmake ninja-build"
as_user dnf need_build 'as root, run: dnf install -y gcc glibc-devel cmake ninja-build'
as_user apk need_build 'as root, run: apk add -U gcc musl-dev linux-headers cmake samurai'
as_user pacman need_build 'as root, run: pacman -Sy --needed --noconfirm gcc cmake ninja'
as_user zypper need_build 'as root, run: zypper -n install gcc glibc-devel cmake ninja'
as_user pkg need_build 'as root, run: pkg install -y llvm cmake ninja'
as_user pacman need_test 'as root, run: pacman -Sy --needed --noconfirm gcc cmake ninja gcc'\
' python pkgconf'
as_user zypper need_test 'as root, run: zypper -n install gcc glibc-devel cmake ninja gcc-c++'\
' python3 pkgconf-pkg-config; zypper -n install python3-devel python3-testsuite'

# Debian's line begins with the lists, and a group that a release has not got stands
# by itself, so that it does not stop the others.
tools
stand_in apt-get 'exit 1'
stand_in id 'echo 1000'
python="python3-venv python3-dev ^libpython3.[0-9]+-testsuite\$"
expect apt-get need_test "as root, run: apt-get update && $apt gcc libc6-dev cmake ninja-build \
g++ python3 pkg-config; $apt $python; $apt openjdk-25-jdk-headless maven"

expect apt-get need_check "as root, run: apt-get update && $apt gcc libc6-dev cmake ninja-build \
g++ python3 pkg-config valgrind mandoc groff-base bash zsh; $apt libssl-dev; $apt libglib2.0-dev; \
$apt libuv1-dev; $apt $python; $apt openjdk-25-jdk-headless maven"

# As root the same packages are installed, by so many calls, and the extra ones may fail.
tools
stand_in id 'echo 0'
stand_in apt-get 'echo "$*" >>'"$here"'/calls
case $* in *venv*|*jdk*) exit 1 ;; esac
for tool in cc cmake ninja c++ python3 pkg-config; do
	[ "$1" = update ] || printf "#!/bin/sh\necho version 3.25\n" >'"$here"'/bin/$tool
	[ "$1" = update ] || chmod +x '"$here"'/bin/$tool
done'
ln -s "$(command -v chmod)" "$here/bin/chmod"
asked need_test >"$here/said"
printf '%s\n' 'update -q' "${apt#apt-get } gcc libc6-dev cmake ninja-build g++ python3 pkg-config" \
	"${apt#apt-get } $python" "${apt#apt-get } openjdk-25-jdk-headless maven" >"$here/expected"
if ! diff "$here/expected" "$here/calls" || ! grep -q 'going on without' "$here/said"; then
	cat "$here/said"
	failed=1
fi

# A machine of another kind is given the names of the tools.
tools
stand_in id 'echo 1000'
expect none need_build 'no package manager is known here; please install: cc cmake ninja'

# In a fresh clone there is no folder for what is built; a Python that cannot is said so there.
tools
stand_in python3 'echo "no venv here"; exit 1'
for tool in mkdir rm; do ln -s "$(command -v $tool)" "$here/bin/$tool"; done
touch "$here/requirements"
PATH=$here/bin sh -c '
	say() { :; }
	. ./scripts/dev/build.sh
	cd -- "$0" && ! venv venv-none requirements none' "$here" || failed=1
[ "$(cat "$here/build/venv-none.log")" = "no venv here" ] || failed=1

# What no test here calls may still name a function that is gone.
called='^[[:space:]]*(need|want|make|build|bench|run)_[a-z_]+'
for name in $(grep -ohE "$called" dev scripts/dev/*.sh | sort -u); do
	grep -q "^$name()" dev scripts/dev/*.sh || { echo "no function $name"; failed=1; }
done
exit $failed
