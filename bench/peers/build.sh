#!/bin/sh
# Build the peers that are programs into FOLDER, as far as there are compilers.
#
#   bench/peers/build.sh FOLDER
set -u
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1" || exit 1
folder=$(cd "$1" && pwd)

if command -v cargo >/dev/null; then
	if cargo build --quiet --release --manifest-path "$here/rust/Cargo.toml" \
		--target-dir "$folder/rust" 2>"$folder/cargo.log"; then
		cp "$folder/rust/release/mio" "$folder/rust/release/polling" \
			"$folder/rust/release/xpoll-rust" "$folder"
	else
		echo "peers: cargo failed; $folder/cargo.log says why" >&2
	fi
else
	echo "peers: no cargo here: neither mio nor polling" >&2
fi

if command -v javac >/dev/null; then
	if javac -d "$folder/java" "$here/java/Nio.java" 2>"$folder/javac.log"; then
		printf '#!/bin/sh\nexec java -XX:+UseSerialGC -cp "%s/java" Nio "$@"\n' "$folder" \
			>"$folder/nio"
		chmod +x "$folder/nio"
	else
		echo "peers: javac failed; $folder/javac.log says why" >&2
	fi
else
	echo "peers: no JDK here: no nio" >&2
fi
