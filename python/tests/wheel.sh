#!/bin/sh
# wheel.sh VENV SOURCE WORK: build a wheel from the tree and one from a source
# distribution, install each where nothing else is, and use it.
set -eu
python=$1/bin/python source=$2 work=$3
[ -x "$python" ] || {
	echo "SKIP: there is no build/venv; ./dev test makes it"
	exit 77
}
rm -rf "$work"
mkdir -p "$work"
cd "$work"

# wheel FOLDER SOURCE [OPTION...]
wheel() {
	folder=$1 from=$2
	shift 2
	"$python" -m pip wheel --quiet --no-deps --no-build-isolation --no-index \
		--wheel-dir "$folder" "$@" "$from"
}

# use NAME FILE SOURCE: install the wheel into an empty folder and run the source's tests.
use() {
	source=$3
	"$python" -m pip install --quiet --no-deps --no-index --target "$work/$1" "$2"
	for part in __init__.py _xpoll.abi3.so _xpoll.pyi py.typed; do
		test -e "$work/$1/xpoll/$part"
	done
	test -e "$(echo "$work/$1"/xpoll-*.dist-info/licenses/LICENSE)"
	PYTHONPATH=$work/$1 "$python" -m pytest -q -c "$source/pyproject.toml" \
		--rootdir "$source" "$source/tests/test_queue.py" "$source/tests/test_selector.py"
}

wheel from-tree "$source"
use tree from-tree/xpoll-*.whl "$source"

for folder in "$work" "$work/again"; do
	"$python" -c 'import sys, os; os.chdir(sys.argv[1]); sys.path.insert(0, ".")
import build_backend; build_backend.build_sdist(sys.argv[2])' "$source" "$folder"
done
test ! -e "$source/library"
cmp xpoll-*.tar.gz again/xpoll-*.tar.gz
tar -xzf xpoll-*.tar.gz
# Here it matters that nothing is missing, which is found out faster without an optimiser.
wheel from-sdist xpoll-*.tar.gz --config-settings=cmake.build-type=Debug
# With the tests that it brings along.
use sdist from-sdist/xpoll-*.whl "$(echo "$work"/xpoll-*[0-9])"

# Only the module's entry is visible: no clash with another libxpoll in the process.
if command -v nm >/dev/null; then
	symbols=$(nm -D --defined-only tree/xpoll/_xpoll.abi3.so | sed 's/.* //')
	test "$symbols" = PyInit__xpoll
fi
