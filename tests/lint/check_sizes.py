#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Line budgets: a header fails above 400 lines and is noted above 300; a test file fails above 400.

A header that grows past 300 lines moves its bodies into <layer>/detail/ and keeps the contracts.
"""

import sys

import lintlib

NOTE_ABOVE = 300
HEADER_LIMIT = 400
TEST_LIMIT = 400
EXEMPT = {"backend/uapi.hpp"}  # a table of structures and pins, not logic


def lines_of(path):
    return len(lintlib.read(path).splitlines())


def check(root):
    findings = []
    for name, path in lintlib.headers(root):
        count = lines_of(path)
        if name in EXEMPT:
            continue
        if count > HEADER_LIMIT:
            findings.append(f"include/neuronbook/{name}:{count}: more than {HEADER_LIMIT} lines")
        elif count > NOTE_ABOVE:
            print(f"note: include/neuronbook/{name} has {count} lines; "
                  f"aim for under {NOTE_ABOVE}", file=sys.stderr)
    for path in lintlib.sources(root, ["tests"], (".hpp", ".cpp", ".py")):
        count = lines_of(path)
        if count > TEST_LIMIT:
            name = path.relative_to(root).as_posix()
            findings.append(f"{name}:{count}: more than {TEST_LIMIT} lines")
    return findings


AT = "include/neuronbook/"
GOOD = {
    AT + "base/a.hpp": "\n" * 400,
    AT + "backend/uapi.hpp": "\n" * 900,
    "tests/base/a_test.cpp": "\n" * 400,
}
BAD = [
    ("long header", {AT + "base/a.hpp": "\n" * 401}, "base/a.hpp:401"),
    ("uapi elsewhere", {AT + "dmem/uapi.hpp": "\n" * 401}, "dmem/uapi.hpp:401"),
    ("long test", {"tests/base/a_test.cpp": "\n" * 401}, "a_test.cpp:401"),
]

if __name__ == "__main__":
    lintlib.run(check, BAD, GOOD)
