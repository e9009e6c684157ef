#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The version in meson.build and the macros in base/version.hpp are the same."""

import re

import lintlib

HEADER = "include/neuronbook/base/version.hpp"


def check(root):
    build = re.search(r"project\(.*?\bversion:\s*'([^']+)'", lintlib.read(root / "meson.build"), re.S)
    if not build:
        return ["meson.build:1: no project version"]
    if not (root / HEADER).is_file():
        return [f"{HEADER}:1: is missing"]
    text = lintlib.read(root / HEADER)
    parts = []
    for name in ("MAJOR", "MINOR", "PATCH"):
        found = re.search(rf"^#define NEURONBOOK_VERSION_{name}[ \t]+(\d+)\s*$", text, re.M)
        if not found:
            return [f"{HEADER}:1: NEURONBOOK_VERSION_{name} is not defined"]
        parts.append(found[1])
    header = ".".join(parts)
    if header != build[1]:
        return [f"{HEADER}:1: says {header}, meson.build says {build[1]}"]
    return []


def tree(build, *numbers):
    names = ("MAJOR", "MINOR", "PATCH")
    return {
        "meson.build": f"project('neuronbook', 'cpp',\n  version: '{build}')\n",
        HEADER: "".join(f"#define NEURONBOOK_VERSION_{n} {v}\n" for n, v in zip(names, numbers)),
    }


GOOD = tree("0.1.0", 0, 1, 0)
BAD = [
    ("minor differs", tree("0.2.0", 0, 1, 0), "says 0.1.0, meson.build says 0.2.0"),
    ("patch missing", tree("0.1.0", 0, 1), "VERSION_PATCH is not defined"),
    ("no header", {"meson.build": "project('x', version: '1')"}, "is missing"),
]

if __name__ == "__main__":
    lintlib.run(check, BAD, GOOD)
