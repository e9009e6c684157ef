#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every C++ file is as clang-format-16 and .clang-format leave it.

To repair:  clang-format-16 -i FILE...    Skipped where that version is not installed.
"""

import re
import shutil
import subprocess
import sys

import lintlib

TOOL = "clang-format-16"
FOLDERS = ["include", "tests", "examples", "bench"]


def check(root):
    files = [path.relative_to(root).as_posix() for path in lintlib.sources(root, FOLDERS)]
    if not files:
        return []
    run = subprocess.run([TOOL, "--dry-run", "-Werror", "--ferror-limit=1", *files],
                         cwd=root, capture_output=True, text=True)
    wrong = re.findall(r"^(\S+?:\d+):\d+: error: .*$", run.stderr, re.M)
    if run.returncode and not wrong:
        return [run.stderr.strip() or f"{TOOL} failed"]
    return [f"{place}: is not formatted" for place in wrong]


def with_style(files):
    style = lintlib.read(lintlib.repository() / ".clang-format")
    return {".clang-format": style, **files}


GOOD = with_style({"include/a.hpp": "struct A {\n    int* p;\n};\n"})
BAD = [
    ("indent", with_style({"include/a.hpp": "struct A {\n  int* p;\n};\n"}),
     "include/a.hpp:1: is not formatted"),
    ("pointer", with_style({"tests/x/a.cpp": "int f(int *p);\n"}), "tests/x/a.cpp:1"),
    ("requires", with_style({"bench/a.cpp": "template <class T> requires true void f();\n"}),
     "bench/a.cpp:1"),
]

if __name__ == "__main__":
    if not shutil.which(TOOL):
        print(f"{TOOL} is not installed")
        sys.exit(lintlib.SKIP)
    lintlib.run(check, BAD, GOOD)
