#!/bin/sh
# The tests that ./dev ci runs as an ordinary user, by clang, in a copy of that user's.
set -eu
cd -- "$(dirname -- "$0")/../.."
. ./scripts/dev/start.sh

build_with_venv clang
repeat="--repeat until-pass:2"
run_suite user build/clang -LE 'static|once'
verdict
