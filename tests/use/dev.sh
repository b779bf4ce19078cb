#!/bin/sh
# ./dev, the front door.  On a machine that has nothing it asks for all at once, by each
# package manager, in one line that works as it is; the managers here are stand-ins.  And
# what ./dev help names is there, and has a help of its own.
set -eu
cd -- "$(dirname -- "$0")/../.."
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
failed=0
wrong() { printf '%s\n' "$@"; failed=1; }

stand_in() {
	printf '#!/bin/sh\n%s\n' "$2" >"$here/$1"
	chmod +x "$here/$1"
}

# machine USER_NUMBER MANAGER [WHAT_IT_DOES]: a PATH with these tools, and no others.
machine() {
	rm -rf "${here:?}"/*
	for tool in sh sed cat tr env chmod; do
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
		sh() { case $1 in java/*) return 1 ;; *) command sh "$@" ;; esac; } # No JDK.
		need "$@"' sh "$@" 2>&1 </dev/null
}

# expect MANAGER LINE TOOL...: as an ordinary user without sudo.
expect() {
	manager=$1 expected=$2
	shift 2
	machine 1000 "$manager"
	got=$(asked "$@") || true
	got=${got#*something is missing; as root, run: }
	[ "$got" = "$expected" ] ||
		wrong "$manager, $*:" "  got      $got" "  expected $expected"
}

update='apt-get update -q'
apt='apt-get install -y --no-install-recommends'
for_build=$(sed -n 's/^for_build="\(.*\)"$/\1/p' scripts/dev/build.sh)
for_check="$for_build python3 pkg-config c++"
expect apt-get "$update; $apt gcc libc6-dev cmake ninja-build make" $for_build
expect dnf 'dnf install -y gcc glibc-devel cmake ninja-build make' $for_build
expect apk 'apk add -U gcc musl-dev linux-headers cmake samurai make' $for_build
expect pacman 'pacman -Sy --needed --noconfirm gcc cmake ninja make python pkgconf gcc' $for_check
expect zypper 'zypper -n install gcc glibc-devel cmake ninja make python3 '\
'pkgconf-pkg-config gcc-c++; zypper -n install python3-devel python3-testsuite' \
	$for_check -- python-tests
expect pkg 'pkg install -y llvm cmake ninja gmake python3 pkgconf llvm; '\
'pkg install -y openjdk25 maven' \
	$for_check -- java
expect none 'no package manager is known here; please install: cc cmake ninja make' $for_build
# What a release has not got stands by itself, so that it does not stop the others.
venv="$apt python3-venv python3-dev ^libpython3.[0-9]+-testsuite\$"
java="$apt openjdk-25-jdk-headless maven"
tests='gcc libc6-dev cmake ninja-build make python3 pkg-config g++'
expect apt-get "$update; $apt $tests; $venv; $java" $for_check -- python-tests java

# As root the same is installed, by so many calls, and those of the extra ones may fail.
machine 0 apt-get 'echo "apt-get $*" >>'"$here"'/calls
case $* in
*update* | *venv* | *jdk*) exit 1 ;;
*) cd '"$here"'; for tool in cc cmake ninja make; do echo >$tool; chmod +x $tool; done ;;
esac'
asked $for_build -- python-tests java >"$here/said" || failed=1
printf '%s\n' "$update" "$apt gcc libc6-dev cmake ninja-build make" "$venv" "$java" \
	>"$here/expected"
if ! diff "$here/expected" "$here/calls" || ! grep -q '^going on without java' "$here/said"; then
	wrong "$(cat "$here/said")"
fi
# What is missing after that is named.
machine 0 apt-get 'exit 1'
asked $for_build | grep -qF "'cc' is still missing; as root, run: $update; $apt gcc" ||
	wrong "a failed installation is not named"

# A Python that can make no environment says so in build, which a fresh clone has not.
machine 0 none
stand_in python3 'echo "no venv here"; exit 1'
for tool in basename mkdir rm getconf; do ln -s "$(command -v $tool)" "$here/$tool"; done
mkdir -p "$here/scripts/dev"
cp scripts/dev/*.sh "$here/scripts/dev"
touch "$here/requirements"
(cd "$here" && PATH=$here && . ./scripts/dev/start.sh && . ./scripts/dev/build.sh &&
	! venv venv-none requirements none 2>/dev/null) || failed=1
[ "$(cat "$here/build/venv-none.log")" = "no venv here" ] || failed=1

# What no test here calls may still name a function that is gone.
for name in $(grep -ohE '^[[:space:]]*(need|build|[a-z]+_steps)[a-z_]*' \
	dev scripts/dev/*.sh scripts/*.sh | sort -u); do
	grep -q "^$name()" scripts/dev/*.sh scripts/*.sh || wrong "no function $name"
done

# Each script answers --help by its usage, and makes nothing; wine.sh hands its
# arguments on.  So do those that ./dev help names, and its verbs are those of dev.
./dev dist --help </dev/null | grep -q '^usage: ./dev' || wrong "./dev dist --help: no usage"
for script in scripts/*.sh; do
	[ "$script" != scripts/wine.sh ] || continue
	usage=$(timeout 60 sh "$script" --help </dev/null | grep -cE "^ +(sh )?$script")
	[ "$usage" = 1 ] || wrong "$script --help does not show its usage"
done
for script in $(./dev help | grep -oE '^  (scripts|tests)/[^ ]+'); do
	timeout 60 "./$script" --help </dev/null | grep -q "${script##*/}" ||
		wrong "./dev help names $script, which has no help"
done
verbs=$(./dev help | sed -n 's/^  \([a-z][a-z]*\) .*/\1/p' | sort -u)
cases=$(sed -n '/^case/,$s/^\([a-z][a-z]*\)\( |.*\)*).*/\1/p' dev | sort -u)
[ "$verbs" = "$cases" ] || wrong "./dev help lists" "$verbs" "and dev has" "$cases"
exit $failed
