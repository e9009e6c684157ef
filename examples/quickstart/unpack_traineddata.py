#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Unpacks a .traineddata file of the Tesseract OCR engine into one file per component.

    unpack_traineddata.py eng.traineddata FOLDER

The file begins with a count (32 bits) and that many offsets (64 bits, -1 where the component is
absent), all little endian; a component reaches to the next offset present or the end of the file.
The weights of the network are component 17.
"""

import pathlib
import struct
import sys

NAMES = [
    "config", "unicharset", "unicharambigs", "inttemp", "pffmtable", "normproto", "punc-dawg",
    "word-dawg", "number-dawg", "freq-dawg", "fixed-length-dawgs", "cube-unicharset",
    "cube-word-dawg", "shapetable", "bigram-dawg", "unambig-dawg", "params-model", "lstm",
    "lstm-punc-dawg", "lstm-word-dawg", "lstm-number-dawg", "lstm-unicharset", "lstm-recoder",
    "version",
]


def components(data):
    """(name, bytes) of every component present."""
    if len(data) < 4:
        raise ValueError("shorter than its own count")
    (count,) = struct.unpack_from("<i", data)
    first = 4 + 8 * count
    if not 0 < count <= 1000 or first > len(data):
        raise ValueError(f"{count} components do not fit the file")
    offsets = struct.unpack_from(f"<{count}q", data, 4)
    present = sorted(offset for offset in offsets if offset != -1)
    if any(not first <= offset <= len(data) for offset in present):
        raise ValueError("a component lies outside the file")
    ends = dict(zip(present, present[1:] + [len(data)]))
    for index, offset in enumerate(offsets):
        if offset != -1:
            name = NAMES[index] if index < len(NAMES) else f"component-{index}"
            yield name, data[offset:ends[offset]]


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    source, folder = map(pathlib.Path, sys.argv[1:])
    try:
        parts = list(components(source.read_bytes()))
    except (OSError, ValueError) as error:
        sys.exit(f"{source}: {error}")
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in parts:
        (folder / name).write_bytes(data)


if __name__ == "__main__":
    main()
