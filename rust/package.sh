#!/bin/sh
# Writes the crates as cargo publishes them, into FOLDER/target/package, and builds each
# from there; xpoll-sys with the library's sources inside.  `cargo publish` is run in
# FOLDER, too.
#
#   package.sh FOLDER
set -eu
here=$(cd "$(dirname "$0")" && pwd)
rm -rf "$1"
mkdir -p "$1"
folder=$(cd "$1" && pwd)

cp -R "$here/Cargo.toml" "$here/xpoll-sys" "$here/xpoll" "$folder"
rm -rf "$folder/xpoll-sys/vendor"
python3 "$here/../scripts/amalgamate.py" "$folder/xpoll-sys/vendor"
for crate in xpoll-sys xpoll; do
	cp "$here/../LICENSE" "$folder/$crate"
done

cd "$folder"
CARGO_TARGET_DIR=$folder/target
export CARGO_TARGET_DIR
# Not the system's library: the build is to find all it needs in the packages.
PKG_CONFIG=/nonexistent
export PKG_CONFIG
# cargo would build xpoll with the xpoll-sys that it has unpacked before, as the version is the
# same. Folders of registries on this machine begin with a dash.
unpacked() {
	rm -rf "${CARGO_HOME:-$HOME/.cargo}"/registry/*/-*/xpoll-sys-*
}
trap unpacked EXIT
unpacked
cargo package --allow-dirty --workspace --features vendored
