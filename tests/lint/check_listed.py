#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every test, benchmark and example source is named in a meson.build, so none is silently left out.

A source is named by its path from the meson.build, with or without `.cpp` (in a list that a loop
completes). A *_test.cpp that a meson.build names must exist.
"""

import os.path
import re

import lintlib

FOLDERS = ["tests", "examples", "bench"]
NAMED = re.compile(r"'([\w./-]+)'")


def named(root):
    """{path below root: the meson.build that names it}, for every quoted word that may be a path."""
    found = {}
    for folder in FOLDERS:
        for build in sorted((root / folder).rglob("meson.build")):
            beside = build.parent.relative_to(root).as_posix()
            for word in NAMED.findall(re.sub(r"#.*", "", lintlib.read(build))):
                path = os.path.normpath(f"{beside}/{word}")
                found[path] = build.relative_to(root).as_posix()
    return found


def is_unit(path):
    """tests/ also holds sources that scripts compile; only *_test.cpp must be in a program there."""
    return path.suffix == ".cpp" and ("tests" not in path.parts or path.stem.endswith("_test"))


def check(root):
    findings, names = [], named(root)
    for path in lintlib.sources(root, FOLDERS, (".cpp",)):
        name = path.relative_to(root)
        if is_unit(name) and name.as_posix() not in names \
                and name.with_suffix("").as_posix() not in names:
            findings.append(f"{name.as_posix()}:1: is in no meson.build")
    for name, build in sorted(names.items()):
        if name.endswith("_test.cpp") and not (root / name).is_file():
            findings.append(f"{build}:1: {name} does not exist")
    return findings


GOOD = {
    "tests/base/meson.build": "sources = files('a_test.cpp')  # 'b_test.cpp'\n",
    "tests/base/a_test.cpp": "",
    "bench/meson.build": "foreach n : ['churn']\nendforeach\n",
    "bench/churn.cpp": "",
    "examples/meson.build": "executable('q', 'q/main.cpp', '../tests/examples/q_test.cpp')\n",
    "examples/q/main.cpp": "",
    "tests/examples/q_test.cpp": "",
}
BAD = [
    ("unlisted test", {"tests/base/meson.build": "# 'a_test.cpp'\n", "tests/base/a_test.cpp": ""},
     "tests/base/a_test.cpp:1: is in no"),
    ("test without meson.build", {"tests/new/a_test.cpp": ""}, "tests/new/a_test.cpp:1"),
    ("unlisted bench", {"bench/meson.build": "", "bench/churn.cpp": ""}, "bench/churn.cpp:1"),
    ("unlisted example", {"examples/q/main.cpp": ""}, "examples/q/main.cpp:1"),
    ("gone", {"tests/base/meson.build": "files('a_test.cpp')\n"}, "a_test.cpp does not exist"),
]

if __name__ == "__main__":
    lintlib.run(check, BAD, GOOD)
