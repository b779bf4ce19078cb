#!/bin/sh
# Run a Python test, with tests/lib to import from; or skip without Python 3.8.
if ! python3 -c 'import sys; sys.exit(sys.version_info < (3, 8))' 2>/dev/null; then
	echo "SKIP: python3 (3.8 or later) is not installed"
	exit 77
fi
PYTHONPATH=$(dirname "$0") exec python3 -B "$@"
