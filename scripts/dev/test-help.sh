#!/bin/sh
# Does each script answer --help by its usage, and make nothing?  wine.sh hands its
# arguments on.
set -eu
cd -- "$(dirname -- "$0")/../.."

for script in scripts/*.sh; do
	name=${script##*/}
	[ "$name" != wine.sh ] || continue
	usage=$(timeout 60 sh "$script" --help </dev/null | grep -cE "^ +(sh )?$script")
	[ "$usage" = 1 ] || { echo "$script --help does not show its usage"; exit 1; }
	echo "$script"
done
