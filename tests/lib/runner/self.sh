#!/bin/sh
# The runner itself: tests that pass, fail, skip, hang and crash, as its table has them.
set -eu
runner=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

program() { # NAME, its body on standard input
	{ echo '#!/bin/sh'; cat; } >"$folder/$1"
	chmod +x "$folder/$1"
}

program passes <<'END'
echo "  skip  one_case: a reason"
echo "nothing of this is shown"
[ "$WANTED" = yes ] && [ "$*" = "--backend poll" ]
END
program fails <<'END'
echo "all of this is shown"
exit 1
END
program skips <<'END'
echo "skip: a reason"
exit 77
END
program hangs <<'END'
sleep 1000 &
wait
END
program crashes <<'END'
kill -SEGV $$
END
cat >"$folder/tests.list" <<'END'
suite.one.poll 20 WANTED=yes passes --backend poll
suite.two.poll 20 fails
suite.three.select 20 skips
suite.four.select 1 hangs
other.five 20  crashes
other.six 20 is-not-there
END

code=0
"$runner" "$folder" >"$folder/all" || code=$?
cat "$folder/all"
has() { grep -Eq -- "$1" "$folder/all" || { echo "not there: $1"; exit 1; }; }
[ $code -eq 1 ]
has '^suite\.one\.poll +passed'
has '^all of this is shown'
if grep -q 'nothing of this' "$folder/all"; then exit 1; fi
has 'not over after 1 seconds'
has 'ended by signal 11'
has '^suite\.poll +1 +1 +0$'
has '^suite\.select +0 +1 +1$'
has '^other +0 +2 +0$'
has '^ +2  a reason$'
has '^  other\.six$'
has ': 1 passed, 4 failed, 1 skipped$'

"$runner" "$folder" one three >"$folder/all"
has ': 1 passed, 0 failed, 1 skipped$'
