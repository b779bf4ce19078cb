#!/bin/sh
# free_threaded.sh SOURCE WORK: install the binding for a free-threaded CPython as a user
# would, and run its tests there.  XPOLL_FREE_THREADED names the interpreter.
set -eu
source=$1 work=$2

python=
for name in ${XPOLL_FREE_THREADED:-python3.14t python3.13t}; do
	[ -n "$python" ] || python=$(command -v "$name") || python=
done
[ -n "$python" ] || { echo "SKIP: no free-threaded CPython"; exit 77; }

rm -rf "$work"
mkdir -p "$work"
log=$work/environment.log
environment() {
	"$python" -m venv "$work/venv" &&
		grep -e pytest -e hypothesis -e scikit "$source/requirements-test.txt" \
			>"$work/requirements.txt" &&
		"$work/venv/bin/pip" install --only-binary :all: -r "$work/requirements.txt"
}
if ! environment >"$log" 2>&1; then
	cat "$log"
	echo "SKIP: no environment for free-threaded CPython"
	exit 77
fi
cd "$work"
venv/bin/pip wheel --quiet --no-deps --no-build-isolation --no-index --wheel-dir . "$source"
ls xpoll-*-cp3??-cp3??t-*.whl
venv/bin/pip install --quiet --no-deps --no-index xpoll-*.whl
# Those that remain are about the tree, and are tested with the ordinary interpreter.
set --
for name in event queue sources poll udata threads parallel signals selector leaks fork run aio \
	flags register inside stdlib_selectors stdlib_asyncio; do
	set -- "$@" "$source/tests/test_$name.py"
done
exec venv/bin/python -m pytest -q -c "$source/pyproject.toml" --rootdir "$source" "$@"
