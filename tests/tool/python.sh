#!/bin/sh
# Run a Python test, or skip where there is no Python 3.8.
if ! python3 -c 'import sys; sys.exit(sys.version_info < (3, 8))' 2>/dev/null; then
	echo "SKIP: python3 (3.8 or later) is not installed"
	exit 77
fi
exec python3 -B "$@"
