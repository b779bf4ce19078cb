#!/bin/sh
# entr's own tests: it runs programs when files change, by kevent(2) of the drop-in.
#
#   entr.sh FOLDER, where get-entr.sh has built it
set -u
skip() { echo "SKIP: $*"; exit 77; }
[ -x "$1/entr" ] || skip "entr has not been built for kqueue; ./dev ci builds it"
cd "$1" || exit 1
for tool in bash file git vim tmux gawk pgrep nm; do
	command -v "$tool" >/dev/null || skip "entr's tests need $tool, which is not installed"
done
nm -D entr | grep -q ' U kevent' || { echo "it does not call kevent"; exit 1; }
home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT
HOME=$home PATH=$PWD/bin:$PATH bash -u ./system_test.sh
