#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Line budgets: headers and test files are noted above 300 lines and fail above 400; a file of
examples/ fails above 120.

A header that grows past 300 lines moves its bodies into <layer>/detail/ and keeps the contracts; a
test file is split by topic.
"""

import sys

import lintlib

NOTE_ABOVE = 300
LIMIT = 400
EXAMPLE_LIMIT = 120
SUFFIXES = (".hpp", ".cpp", ".py")
EXEMPT = {"backend/uapi.hpp"}  # a table of structures and pins, not logic


def lines_of(path):
    return len(lintlib.read(path).splitlines())


def measure(root):
    """(findings, notes)."""
    budgets = [("include/neuronbook/" + name, path, LIMIT)
               for name, path in lintlib.headers(root) if name not in EXEMPT]
    for folder, limit in [("tests", LIMIT), ("examples", EXAMPLE_LIMIT)]:
        budgets += [(path.relative_to(root).as_posix(), path, limit)
                    for path in lintlib.sources(root, [folder], SUFFIXES)]
    findings, notes = [], []
    for name, path, limit in budgets:
        count = lines_of(path)
        if count > limit:
            findings.append(f"{name}:{count}: more than {limit} lines")
        elif count > NOTE_ABOVE:
            notes.append(f"note: {name} has {count} lines; aim for under {NOTE_ABOVE}")
    return findings, notes


def check(root):
    findings, notes = measure(root)
    for note in notes:
        print(note, file=sys.stderr)
    return findings


def with_notes(root):
    """For the self-test, which must see the notes too."""
    findings, notes = measure(root)
    return findings + notes


AT = "include/neuronbook/"
GOOD = {
    AT + "base/a.hpp": "\n" * 300,
    AT + "backend/uapi.hpp": "\n" * 900,
    "tests/base/a_test.cpp": "\n" * 300,
    "examples/a/main.cpp": "\n" * 120,
}
BAD = [
    ("header to be noted", {AT + "base/a.hpp": "\n" * 400}, "note: include/neuronbook/base/a.hpp"),
    ("long header", {AT + "base/a.hpp": "\n" * 401}, "base/a.hpp:401"),
    ("uapi elsewhere", {AT + "dmem/uapi.hpp": "\n" * 401}, "dmem/uapi.hpp:401"),
    ("test to be noted", {"tests/base/a_test.cpp": "\n" * 301}, "note: tests/base/a_test.cpp has"),
    ("long test", {"tests/base/a_test.cpp": "\n" * 401}, "a_test.cpp:401"),
    ("long example", {"examples/a/parts.hpp": "\n" * 121}, "examples/a/parts.hpp:121: more than"),
]

if __name__ == "__main__":
    lintlib.run(with_notes if "--self-test" in sys.argv else check, BAD, GOOD)
