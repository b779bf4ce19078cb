#!/bin/sh
# debug_build.sh PYTHON ARGUMENT...: run a program with a debug build of CPython, such as
# python3-dbg of Debian.  It loads the module that was made for the limited API.
python=$1
shift
"$python" -c 'import sys, sysconfig
sys.exit(sys.version_info < (3, 11) or not sysconfig.get_config_var("Py_DEBUG"))' 2>/dev/null || {
	echo "SKIP: no debug build of CPython"
	exit 77
}
exec "$python" "$@"
