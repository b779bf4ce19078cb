#!/bin/sh
# Runs a test of the Rust crates; exits with 77, and says why, where that cannot be done.
#
#   cargo.sh test|examples|polling|theirs|asan|miri|clippy|doc|package|msrv BUILD_FOLDER
#
# pkg-config must find the library.
set -u
what=$1
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$2"
made=$(cd "$2" && pwd)
log=$made/$what.log
case $what in
polling) cd "$here/polling" || exit 1 ;;
*) cd "$here" || exit 1 ;;
esac

skip() { echo "SKIP: $*"; exit 77; }

# loudly COMMAND...: what it prints goes into the log, and is shown if it fails.
loudly() {
	"$@" >"$log" 2>&1 || { cat "$log"; exit 1; }
}

# online COMMAND...: as loudly, but that it cannot fetch crates is no failure.
online() {
	"$@" >"$log" 2>&1 && return
	cat "$log"
	grep -qE 'failed to (download|fetch|query)|not (resolve|connect)|timed out|--offline' \
		"$log" && skip "cargo cannot fetch crates (see $log); ./dev check fetches them"
	exit 1
}

# block LANGUAGE: the first one of the guide.
block() {
	awk -v fence="$1" '/^```/ && inside { exit }
		inside { print }
		index($0, "```" fence) == 1 { inside = 1 }' ../docs/guide/rust.md
}

# The guide's first program, by the dependency that the guide names.  Doc tests only compile it.
run_guide() {
	guide=$made/guide
	mkdir -p "$guide/src"
	ln -sfn "$here/.." "$made/xpoll"
	{
		printf '[workspace]\n'
		printf '[package]\nname = "guide"\nedition = "2021"\n'
		block toml
	} >"$guide/Cargo.toml"
	block rust >"$guide/src/main.rs"
	cp Cargo.lock "$guide" 2>/dev/null || true
	online cargo build --manifest-path "$guide/Cargo.toml"
	echo >"$made/input"
	"$CARGO_TARGET_DIR/debug/guide" <"$made/input" >"$log" 2>&1 || { cat "$log"; exit 1; }
	grep -q 'READ' "$log" || { echo "the guide's program prints no READ"; cat "$log"; exit 1; }
}

command -v cargo >/dev/null || skip "no cargo; https://rustup.rs has the command that installs it"
minor=$(cargo --version | sed -n 's/^cargo 1\.\([0-9]*\)\..*/\1/p')
[ "${minor:-0}" -ge 90 ] || skip "cargo is older than 1.90"

CARGO_TARGET_DIR=$made/target
CARGO_TERM_COLOR=never
# What it chooses is to be for the oldest compiler that the crates promise.
CARGO_RESOLVER_INCOMPATIBLE_RUST_VERSIONS=fallback
export CARGO_TARGET_DIR CARGO_TERM_COLOR CARGO_RESOLVER_INCOMPATIBLE_RUST_VERSIONS
# ./dev test fetches nothing; ./dev check does.
[ -z "${XPOLL_OFFLINE:-}" ] || export CARGO_NET_OFFLINE=true
online cargo fetch --quiet

features="tokio async-io"
case $what in
test)
	RUSTDOCFLAGS="--cfg xpoll_guide"
	export RUSTDOCFLAGS
	loudly cargo test --workspace --features "$features"
	grep '^test result' "$log"
	;;
examples)
	run_guide
	loudly cargo build -p xpoll --examples
	XPOLL_LANGUAGE=rust
	XPOLL_EXAMPLES=$CARGO_TARGET_DIR/debug/examples
	export XPOLL_LANGUAGE XPOLL_EXAMPLES
	exec sh ../tests/lib/python.sh ../tests/use/examples/test_bindings.py -v
	;;
polling)
	loudly cargo test
	grep '^test result' "$log"
	XPOLL_BACKEND=poll
	export XPOLL_BACKEND
	loudly cargo test --test poller
	grep '^test result' "$log"
	;;
theirs)
	online sh ./theirs.sh "$made/theirs"
	cd "$made/theirs" || exit 1
	# Its bound is half a second, which a busy machine takes.
	loudly cargo test --no-fail-fast -- --skip interval
	grep '^test result' "$log"
	;;
asan)
	# The crate and the C library under AddressSanitizer: who owns which memory, until when.
	echo 'fn main() {}' | rustc +nightly -Zsanitizer=address -o "$made/asan" - \
		>/dev/null 2>&1 || skip "no nightly Rust with AddressSanitizer (rustup brings it)"
	command -v clang >/dev/null || skip "no clang"
	# The flags are for the target, which is named so that what only builds is without.
	RUSTFLAGS=-Zsanitizer=address
	CC=clang
	CFLAGS="-g -fsanitize=address"
	export RUSTFLAGS CC CFLAGS
	host=$(rustc -vV | sed -n 's/^host: //p')
	loudly cargo +nightly test -p xpoll --test memory --test standin \
		--features "vendored $features" --target "$host"
	grep '^test result' "$log"
	# A kernel's write into freed memory is not seen; that of a thread of the library is.
	XPOLL_AIO=threads
	export XPOLL_AIO
	loudly cargo +nightly test -p xpoll --test memory --features "vendored $features" \
		--target "$host"
	grep '^test result' "$log"
	;;
miri)
	# The same programs over a stand-in for the library, as Miri runs no C.
	cargo +nightly miri --version >/dev/null 2>&1 ||
		skip "no Miri (rustup brings it, with a nightly Rust)"
	# Files are read, and a token is a number that was a pointer for a while.
	MIRIFLAGS="-Zmiri-disable-isolation -Zmiri-permissive-provenance"
	export MIRIFLAGS
	loudly cargo +nightly miri test -p xpoll --test standin
	grep '^test result' "$log"
	;;
clippy)
	cargo clippy --version >/dev/null 2>&1 || skip "no clippy"
	if cargo fmt --version >/dev/null 2>&1; then loudly cargo fmt --check; fi
	loudly cargo clippy --workspace --all-targets --features "$features" -- -D warnings
	cd polling || exit 1
	loudly cargo clippy --all-targets -- -D warnings
	if cargo fmt --version >/dev/null 2>&1; then loudly cargo fmt --check; fi
	;;
doc)
	RUSTDOCFLAGS="-D warnings"
	export RUSTDOCFLAGS
	loudly cargo doc --workspace --no-deps --features "$features"
	;;
package)
	loudly sh ./package.sh "$made/package"
	ls "$made/package/target/package"/*.crate
	;;
msrv)
	oldest=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
	rustc "+$oldest" --version 2>/dev/null || skip "no Rust $oldest (rustup brings it)"
	# Of tokio each release has its own.
	CARGO_TARGET_DIR=$made/target-msrv
	loudly cargo "+$oldest" check --workspace --all-targets --features "$features"
	cd polling || exit 1
	loudly cargo "+$oldest" check --all-targets
	;;
*) sed -n '2,6p' "$0" >&2; exit 2 ;;
esac
