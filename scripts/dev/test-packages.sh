#!/bin/sh
# What ./dev asks for on a machine that has nothing, by each package manager: all of it at
# once, in one line that works as it is.  The managers are stand-ins that do nothing.
set -eu
cd -- "$(dirname -- "$0")/../.."
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
failed=0

stand_in() {
	printf '#!/bin/sh\n%s\n' "$2" >"$here/$1"
	chmod +x "$here/$1"
}

# A PATH with these tools, a user of this number and this package manager, and no others.
machine() {
	rm -rf "${here:?}"/*
	for tool in sh sed cat grep dirname tr env chmod; do
		ln -s "$(command -v "$tool")" "$here/$tool"
	done
	stand_in id "echo $1"
	[ "$2" = none ] || stand_in "$2" "${3:-exit 1}"
}

asked() {
	PATH=$here sh -c '
		say() { printf "%s\n" "$*"; }
		die() { say "$*"; exit 1; }
		have() { case $1 in /*) return 1 ;; *) command -v "$1" >/dev/null 2>&1 ;; esac; }
		. ./scripts/dev/packages.sh
		sh() { return 1; } # There is no JDK to be found.
		need "$@"' sh "$@" 2>&1 </dev/null
}

# expect MANAGER LINE TOOL...: as an ordinary user without sudo.
expect() {
	manager=$1 expected=$2
	shift 2
	machine 1000 "$manager"
	got=$(asked "$@") || true
	got=${got#*something is missing; as root, run: }
	[ "$got" = "$expected" ] && return
	printf '%s, %s:\n  got      %s\n  expected %s\n' "$manager" "$*" "$got" "$expected"
	failed=1
}

apt='apt-get install -y --no-install-recommends'
for_build="cc cmake ninja"
for_tests="$for_build c++ python3 pkg-config"
expect apt-get "apt-get update && $apt gcc libc6-dev cmake ninja-build" $for_build
expect dnf 'dnf install -y gcc glibc-devel cmake ninja-build' $for_build
expect apk 'apk add -U gcc musl-dev linux-headers cmake samurai' $for_build
expect pacman 'pacman -Sy --needed --noconfirm gcc cmake ninja gcc python pkgconf' $for_tests
expect zypper 'zypper -n install gcc glibc-devel cmake ninja gcc-c++ python3 pkgconf-pkg-config; '\
'zypper -n install python3-devel python3-testsuite' $for_tests -- python-tests
expect pkg 'pkg install -y llvm cmake ninja llvm python3 pkgconf; pkg install -y openjdk25 maven' \
	$for_tests -- java
expect none 'no package manager is known here; please install: cc cmake ninja' $for_build
# What a release has not got stands by itself, so that it does not stop the others.
more="$apt python3-venv python3-dev ^libpython3.[0-9]+-testsuite\$; \
$apt openjdk-25-jdk-headless maven"
tests='gcc libc6-dev cmake ninja-build g++ python3 pkg-config'
expect apt-get "apt-get update && $apt $tests; $more" $for_tests -- python-tests java

# As root the same is installed, by so many calls, and those of the extra ones may fail.
machine 0 apt-get 'echo "apt-get $*" >>'"$here"'/calls
case $* in
*update*) ;;
*venv* | *jdk*) exit 1 ;;
*) cd '"$here"'; for tool in cc cmake ninja; do echo >$tool; chmod +x $tool; done ;;
esac'
asked $for_build -- python-tests java >"$here/said"
printf '%s\n' 'apt-get update -q' "$apt gcc libc6-dev cmake ninja-build" \
	"${more%;*}" "${more#*; }" >"$here/expected"
if ! diff "$here/expected" "$here/calls" || ! grep -q '^going on without java' "$here/said"; then
	cat "$here/said"
	failed=1
fi

# A Python that can make no environment says so in build, which a fresh clone has not.
machine 0 none
stand_in python3 'echo "no venv here"; exit 1'
for tool in mkdir rm getconf; do ln -s "$(command -v $tool)" "$here/$tool"; done
mkdir -p "$here/scripts/dev"
cp scripts/dev/*.sh "$here/scripts/dev"
touch "$here/requirements"
(cd "$here" && PATH=$here && . ./scripts/dev/start.sh && . ./scripts/dev/build.sh &&
	! venv venv-none requirements none 2>/dev/null) || failed=1
[ "$(cat "$here/build/venv-none.log")" = "no venv here" ] || failed=1

# What no test here calls may still name a function that is gone.
for name in $(grep -ohE '^[[:space:]]*(need|bench|build|[a-z]+_steps)[a-z_]*' \
	dev scripts/dev/*.sh scripts/*.sh | sort -u); do
	grep -q "^$name()" scripts/dev/*.sh scripts/*.sh || { echo "no function $name"; failed=1; }
done
exit $failed
