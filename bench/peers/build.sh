#!/bin/sh
# Build the rivals that are programs into FOLDER, if there is a compiler of Rust.
#
#   bench/peers/build.sh FOLDER
#
# What `xpoll bench` cannot load as a library runs as a process of its own: Rust's mio
# and polling, and the crate xpoll beside them (xpoll-rust).
# It looks for them in the folder that XPOLL_BENCH_PEERS names, and names those that
# are missing.  ./dev bench does both.
#
#   NAME looptest N 1 MS   one token goes round N pipes, as in `xpoll bench looptest`
#   NAME serve N K MS      K of N pipes get a byte and are read, as in `xpoll bench active`
#
# runs for MS milliseconds and prints "READS NS": how many reads, in how much processor time.
set -u
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1" || exit 1
folder=$(cd "$1" && pwd)

if command -v cargo >/dev/null; then
	if cargo build --quiet --release --manifest-path "$here/rust/Cargo.toml" \
		--target-dir "$folder/rust" 2>"$folder/cargo.log"; then
		for name in mio polling xpoll-rust; do
			cp "$folder/rust/release/peers" "$folder/$name"
		done
	else
		echo "peers: cargo failed; $folder/cargo.log says why" >&2
	fi
else
	echo "peers: no cargo here: neither mio nor polling" >&2
fi
