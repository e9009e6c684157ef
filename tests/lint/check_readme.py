#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every C++ block of the README and docs/ that names a file is that file's code, word for word.

A block is preceded by `<!-- region: FILE -->`; the file's leading comment lines are not compared.
A C++ block without a region is reported: examples that nothing compiles go stale.
"""

import re

import lintlib

BLOCK = re.compile(r"(?:<!-- region: (\S+) -->\n)?```cpp\n(.*?)```", re.S)


def code(path):
    lines = lintlib.read(path).splitlines()
    while lines and (lines[0].startswith("//") or not lines[0].strip()):
        lines.pop(0)
    return "\n".join(lines).strip()


def check(root):
    findings = []
    for page in [root / "README.md", *sorted((root / "docs").glob("*.md"))]:
        if not page.is_file():
            continue
        text = lintlib.read(page)
        for found in BLOCK.finditer(text):
            where = f"{page.relative_to(root)}:{text.count(chr(10), 0, found.start()) + 1}"
            name, block = found.groups()
            if name is None:
                findings.append(f"{where}: a C++ block without a region")
            elif not (root / name).is_file():
                findings.append(f"{where}: {name} is missing")
            elif code(root / name) != block.strip():
                findings.append(f"{where}: differs from {name}")
    return findings


def tree(block, program):
    return {"README.md": f"Text\n<!-- region: examples/a.cpp -->\n```cpp\n{block}```\n",
            "examples/a.cpp": f"// SPDX\n// about\n{program}"}


GOOD = tree("int main() {}\n", "int main() {}\n")
BAD = [
    ("another program", tree("int main() {}\n", "int main() { return 1; }\n"), "differs from"),
    ("no such file", {"README.md": "<!-- region: x.cpp -->\n```cpp\nint x;\n```\n"}, "is missing"),
    ("no region", {"README.md": "```cpp\nint x;\n```\n"}, "without a region"),
    ("in docs", {"docs/a.md": "```cpp\nint x;\n```\n"}, "docs/a.md:1"),
]

if __name__ == "__main__":
    lintlib.run(check, BAD, GOOD)
