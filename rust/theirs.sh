#!/bin/sh
# Lays the tests that polling, async-io and async-process bring in their packages into
# FOLDER, as one package in which polling is the one here.  ./cargo.sh runs them.
#
#   theirs.sh FOLDER
set -eu
here=$(cd "$(dirname "$0")" && pwd)
rm -rf "$1"
mkdir -p "$1/from/src" "$1/src" "$1/tests"
folder=$(cd "$1" && pwd)

# The versions are fixed, as a test that a later one adds is not for this commit to pass.
cat >"$folder/from/Cargo.toml" <<-END
	[package]
	name = "from"
	edition = "2021"
	[dependencies]
	polling = "=3.11.0"
	async-io = "=2.6.0"
	async-process = "=2.5.0"
	[workspace]
END
cat >"$folder/Cargo.toml" <<-END
	[package]
	name = "theirs"
	edition = "2021"
	[dependencies]
	polling = { path = "$here/polling" }
	async-io = "=2.6.0"
	async-process = "=2.5.0"
	[dev-dependencies]
	async-channel = "2"
	async-executor = "1.5.1"
	cfg-if = "1"
	easy-parallel = "3.1"
	fastrand = "2"
	futures-lite = "2"
	libc = "0.2"
	signal-hook = "0.3.17"
	socket2 = "0.6"
	tempfile = "3"
	[patch.crates-io]
	polling = { path = "$here/polling" }
	[workspace]
	[lints.rust]
	unexpected_cfgs = "allow"
END
: >"$folder/from/src/lib.rs"
: >"$folder/src/lib.rs"

cd "$folder/from"
cargo metadata --format-version 1 --filter-platform "$(rustc -vV | sed -n 's/^host: //p')" \
	>"$folder/metadata.json"
for name in polling async-io async-process; do
	package=$(python3 -c 'import json, os, sys
packages = json.load(open(sys.argv[1]))["packages"]
print(*(os.path.dirname(p["manifest_path"]) for p in packages if p["name"] == sys.argv[2]))
' "$folder/metadata.json" "$name")
	for file in "$package"/tests/*.rs; do
		cp "$file" "$folder/tests/$name-${file##*/}"
	done
done
# Of other systems; and one asserts how soon a thread runs again, which other programs decide.
rm "$folder"/tests/polling-windows_*.rs "$folder/tests/polling-precision.rs"

# Two pollings would be an error: the other one, too.
cd "$folder"
cargo tree --quiet --invert polling
