#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs the Debian packages that are missing; needs no network and no rights when none is.
#
#   scripts/setup.sh                 what building and testing need
#   scripts/setup.sh --quickstart    what quickstart.sh needs
#   scripts/setup.sh --ci            the first, and the pinned compilers, linters and benchmark tools
set -euo pipefail

build=(g++ meson ninja-build pkg-config python3 libboost-dev libabsl-dev libexpected-dev)
tests=(cmake catch2)
ci=(clang-19 clang-tidy-19 clang-format-16 libclang-rt-19-dev)
protocol=(spin gcc libc6-dev) # spin writes a C program, which checks the protocol
bench=(libbenchmark-dev valgrind binutils) # valgrind counts the instructions of bench/ratios
quickstart=(tesseract-ocr-eng)

case "${1:-}" in
    "") wanted=("${build[@]}" "${tests[@]}") ;;
    --ci) wanted=("${build[@]}" "${tests[@]}" "${ci[@]}" "${protocol[@]}" "${bench[@]}") ;;
    --quickstart) wanted=("${build[@]}" "${quickstart[@]}") ;;
    *)
        echo "usage: scripts/setup.sh [--quickstart | --ci]" >&2
        exit 2
        ;;
esac

if ! command -v dpkg-query >/dev/null; then
    echo "setup: not a Debian system; provide these yourself: ${wanted[*]}" >&2
    exit 0
fi

missing=()
for package in "${wanted[@]}"; do
    state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
    [ "$state" = installed ] || missing+=("$package")
done
if [ ${#missing[@]} -eq 0 ]; then
    exit 0
fi

as_root=()
if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
        echo "setup: neither root nor sudo; ask somebody to install: ${missing[*]}" >&2
        exit 1
    fi
    as_root=(sudo)
fi
echo "setup: installing ${missing[*]}"
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update -q
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -q -y --no-install-recommends "${missing[@]}" </dev/null
