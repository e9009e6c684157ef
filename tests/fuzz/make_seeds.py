#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write the inputs of the corpus that ask for every request in every size.

    make_seeds.py FOLDER

An input is three bytes for the machine and then steps; a step here is a request with a plain
argument: step, file, row of kWords, number of the size in kSizes, way of the argument (run.hpp).
"""
import pathlib
import re
import sys

STEPS = 370  # of one input; a run takes 400 at most


def main():
    text = pathlib.Path(__file__).with_name("words.hpp").read_text()
    words = len(re.findall(r"Word\{0x", text))
    sizes = int(re.search(r"array<std::uint32_t, (\d+)> kSizes", text).group(1))
    steps = [bytes([0, 0, row, size, 0]) for row in range(words) for size in range(sizes)]
    folder = pathlib.Path(sys.argv[1])
    for number, first in enumerate(range(0, len(steps), STEPS)):
        machine = bytes([number % 2, number // 2 % 3, 1])
        (folder / f"sizes-{number:02}").write_bytes(machine + b"".join(steps[first:first + STEPS]))


if __name__ == "__main__":
    main()
