#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every test, benchmark and example source is named in a meson.build, so none is silently left out.

A *_test.cpp must be named in the meson.build of its own folder; a .cpp below examples/ or bench/ in
one of its folders up to there. A *_test.cpp that meson.build names must exist.
"""

import re

import lintlib

NAMED = re.compile(r"'([\w./-]*)'")


def names_in(build):
    """The quoted words of a meson.build, with `foreach`-style bare names completed."""
    if not build.is_file():
        return set()
    text = re.sub(r"#.*", "", lintlib.read(build))
    return set(NAMED.findall(text))


def named(root, path):
    folder = path.parent
    while folder != root:
        name = path.relative_to(folder).as_posix()
        words = names_in(folder / "meson.build")
        if name in words or name.removesuffix(".cpp") in words:
            return True
        folder = folder.parent
    return False


def check(root):
    findings = []
    tests = [p for p in lintlib.sources(root, ["tests"], (".cpp",)) if p.name.endswith("_test.cpp")]
    for path in tests:
        if path.name not in names_in(path.parent / "meson.build"):
            name = path.relative_to(root).as_posix()
            findings.append(f"{name}:1: is not named in the meson.build beside it")
    for path in lintlib.sources(root, ["examples", "bench"], (".cpp",)):
        if not named(root, path):
            findings.append(f"{path.relative_to(root).as_posix()}:1: is in no meson.build")
    for build in sorted((root / "tests").rglob("meson.build")):
        for name in sorted(names_in(build)):
            if name.endswith("_test.cpp") and not (build.parent / name).is_file():
                findings.append(f"{build.relative_to(root).as_posix()}:1: {name} does not exist")
    return findings


GOOD = {
    "tests/base/meson.build": "sources = files('a_test.cpp')  # 'b_test.cpp'\n",
    "tests/base/a_test.cpp": "",
    "bench/meson.build": "foreach n : ['churn']\nendforeach\n",
    "bench/churn.cpp": "",
    "examples/meson.build": "executable('q', 'q/main.cpp')\n",
    "examples/q/main.cpp": "",
}
BAD = [
    ("unlisted test", {"tests/base/meson.build": "# 'a_test.cpp'\n", "tests/base/a_test.cpp": ""},
     "tests/base/a_test.cpp:1: is not named"),
    ("test without meson.build", {"tests/new/a_test.cpp": ""}, "tests/new/a_test.cpp:1"),
    ("unlisted bench", {"bench/meson.build": "", "bench/churn.cpp": ""}, "bench/churn.cpp:1"),
    ("unlisted example", {"examples/q/main.cpp": ""}, "examples/q/main.cpp:1"),
    ("gone", {"tests/base/meson.build": "files('a_test.cpp')\n"}, "a_test.cpp does not exist"),
]

if __name__ == "__main__":
    lintlib.run(check, BAD, GOOD)
