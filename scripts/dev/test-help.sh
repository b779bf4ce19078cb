#!/bin/sh
# Does each script answer --help by its usage, and make nothing?  wine.sh hands its
# arguments on.  And are those that ./dev help names there, and its verbs?
set -eu
cd -- "$(dirname -- "$0")/../.."

./dev dist --help </dev/null | grep -q '^usage: ./dev' ||
	{ echo "./dev dist --help does not show the usage"; exit 1; }
for script in scripts/*.sh; do
	name=${script##*/}
	[ "$name" != wine.sh ] || continue
	usage=$(timeout 60 sh "$script" --help </dev/null | grep -cE "^ +(sh )?$script")
	[ "$usage" = 1 ] || { echo "$script --help does not show its usage"; exit 1; }
	echo "$script"
done

for script in $(./dev help | grep -oE '^  (scripts|tests)/[^ ]+'); do
	timeout 60 "./$script" --help </dev/null | grep -q "${script##*/}" ||
		{ echo "./dev help names $script, which has no help"; exit 1; }
done
verbs=$(./dev help | sed -n 's/^  \([a-z][a-z]*\) .*/\1/p' | sort -u)
cases=$(sed -n '/^case/,$s/^\([a-z][a-z]*\)\( |.*\)*).*/\1/p' dev | sort -u)
[ "$verbs" = "$cases" ] ||
	{ echo "./dev help lists:" $verbs "and dev has:" $cases; exit 1; }
