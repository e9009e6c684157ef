#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write the inputs of the corpus that ask for every request in every size, and those that ask each
machine for every request, with memory that is there and mapped, and those that copy in every way.

    make_seeds.py FOLDER

An input is three bytes for the machine and then steps; a step here is a request with a plain
argument: step, file, row of kWords, number of the size in kSizes, way of the argument (run.hpp).
"""
import itertools
import pathlib
import re
import sys

MACHINES = [0, 1, 2, 3, 4, 5, 6, 7, 0xE0, 0xE1]
DRIVERS = 3
OWN_SIZE = 0xFF
STEPS = 370  # of one input; a run takes 400 at most


def uses(names, first):
    """Steps: a chunk and its address, a mapping of it, another chunk, a request."""
    def ask(name):
        return bytes([0, 0, names.index(name), OWN_SIZE, 0])
    map_it = bytes([0xFA, 0, 0, 0, 8])
    chunk = ask("MEM_ALLOC_V2MT64")
    before = chunk + ask("MEM_GET_PA") + map_it + chunk
    return b"".join(before + ask(name) for name in names[first:first + STEPS // 5])


NEWEST, BUFFER, CONTEXT, OPERATIONS, BATCHES = 0x10, 6, 7, 10, 11  # a handle, then slots
PAGE, MEBIBYTE, MINUS_1 = 0x73, 0x6A, 0x65  # edges of Input::number()


def copies(names):
    """Steps: each way to copy, some with numbers; time passes; completions are read."""
    def ask(name, *values):
        return bytes([0, 0, names.index(name), OWN_SIZE, 1, *values])
    def plain(name):
        return bytes([0, 0, names.index(name), OWN_SIZE, 0])
    hour = bytes([12, 0xA7])  # 2 to the power of way % 42
    text = plain("MEM_ALLOC_V2MT64")
    text += ask("H2T_DMA_ALLOC_QUEUES", 1, 0, 2, 1, 0, 0, 0)
    text += bytes([15, OPERATIONS, 1, 0, 63, BUFFER])
    text += bytes([15, BATCHES, 0, NEWEST, 0, OPERATIONS, 1, 0, 0, CONTEXT])
    for number, inward, queue in itertools.product((0, 1, 2), (1, 0), (MINUS_1, 2)):
        rest = (0, inward, 0, queue, 0)
        text += ask("MEM_BUF_ZEROCOPY64", NEWEST, BUFFER, PAGE, *rest, number, CONTEXT)
        text += ask("MEM_BUF_ZEROCOPY64_DEPRECATED", NEWEST, BUFFER, PAGE, *rest)
        text += ask("MEM_BUF_ZEROCOPY64_BATCHES", number, BATCHES, 1, inward, queue, 0)
        text += ask("MEM_COPY64", NEWEST, NEWEST, PAGE, 0, 0, number, CONTEXT)
        text += hour + plain("GET_ASYNC_H2T_DMA_COMPL_QUEUES")
    text += ask("MEM_COPY_ASYNC64", NEWEST, NEWEST, PAGE, 0, 0, 0, 0, 0)
    text += ask("MEM_COPY_ASYNC_WAIT", NEWEST, NEWEST, 1)
    text += ask("HOST_MEM_PIN", BUFFER, PAGE, 0) * 2 + ask("HOST_MEM_UNPIN", BUFFER)
    text += ask("MEM_ALLOC_V2MT64", MEBIBYTE, 0, 0, 0, 0, 0, 0, 4, 0)
    for fill in ("MEMSET64", "MEMSET"):
        text += ask(fill, NEWEST, 0, 0x5A, MEBIBYTE) + hour
    return text


def main():
    text = pathlib.Path(__file__).with_name("words.hpp").read_text()
    names = re.findall(r"Word\{0x.* // (\w+)", text)
    words = len(names)
    sizes = int(re.search(r"array<std::uint32_t, (\d+)> kSizes", text).group(1))
    steps = [bytes([0, 0, row, size, 0]) for row in range(words) for size in range(sizes)]
    folder = pathlib.Path(sys.argv[1])
    for number, first in enumerate(range(0, len(steps), STEPS)):
        machine = bytes([number % 2, number // 2 % 3, 1])
        (folder / f"sizes-{number:02}").write_bytes(machine + b"".join(steps[first:first + STEPS]))
    for machine, driver, first in itertools.product(MACHINES, range(DRIVERS),
                                                    range(0, words, STEPS // 5)):
        start = bytes([machine, driver, 0])
        (folder / f"uses-{machine:02x}-{driver}-{first:03}").write_bytes(start + uses(names, first))
    for machine, driver in itertools.product(MACHINES, range(DRIVERS)):
        (folder / f"copies-{machine:02x}-{driver}").write_bytes(
            bytes([machine, driver, 0]) + copies(names))


if __name__ == "__main__":
    main()
