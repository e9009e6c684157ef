#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds everything in build/ and runs every test. The last line is `N passed, N failed`, exactly;
# the line before it names what was skipped, where a tool is not installed. Arguments go to
# `meson setup`.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

build=build
log=$build/meson-logs/testlog.json

prepare() {
    local again=()
    [ -f $build/build.ninja ] && again=(--reconfigure)
    rm -f $log
    scripts/setup.sh && meson setup "${again[@]}" $build -Dtests=enabled "$@" && meson compile -C $build
}

if ! prepare "$@"; then
    echo "the build failed"
    echo "0 passed, 1 failed"
    exit 1
fi

status=0
meson test -C $build --no-rebuild --print-errorlogs || status=$?
python3 tests/summarise.py $log || status=1
exit $status
