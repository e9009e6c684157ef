#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the quickstart and loads the real weights of an OCR model into a simulated trn2.48xlarge.
# Needs no Neuron hardware. Arguments go to the program: ./quickstart.sh --help
set -euo pipefail
caller=$PWD
cd "$(dirname "${BASH_SOURCE[0]}")"

build=build-quickstart

scripts/setup.sh --quickstart

if [ ! -f $build/build.ninja ]; then
    meson setup $build --buildtype=release \
        -Dexamples=enabled -Dtests=disabled -Dbench=disabled >$build.log 2>&1 ||
        { cat $build.log; exit 1; }
    rm -f $build.log
fi
meson compile -C $build quickstart

model=$(dpkg -L tesseract-ocr-eng 2>/dev/null | grep '/eng\.traineddata$' || true)
python3 examples/quickstart/unpack_traineddata.py \
    "${model:-/usr/share/tesseract-ocr/5/tessdata/eng.traineddata}" $build/components

# Files are named as seen from where the script was called.
words=()
for word in "$@"; do
    [ "$caller" != "$PWD" ] && [ -f "$caller/$word" ] && word=$caller/$word
    words+=("$word")
done
exec $build/examples/quickstart --instance trn2.48xlarge "${words[@]}" $build/components/*
