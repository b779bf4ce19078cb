#!/bin/sh
# run.sh VENV ARGUMENT...: python in the environment that ./dev makes.  Exit code 77
# means to CTest that the test was skipped.
python=$1/bin/python
shift
[ -x "$python" ] || {
	echo "SKIP: there is no build/venv; ./dev check makes it"
	exit 77
}
"$python" "$@"
code=$?
# pytest: nothing was left to run.
if [ "$code" -eq 5 ]; then exit 77; fi
exit "$code"
