#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/libnrt-names.md and the `libnrt:` lines of the headers agree, both ways.

A header says in a comment which name of the original it stands for:

    /// libnrt: tdrv_ctx_t, mla (the device part)      remarks in parentheses are not names;
    /// libnrt: RID. Any text after a full stop        a comma at the end continues on the next line

The document has tables with a column headed `libnrt`, same notation, backticks allowed. A row with
a cell that starts with the word `later` names what has no header yet; a cell `-` names nothing.
"""

import re

import lintlib

DOCUMENT = "docs/libnrt-names.md"
TAG = re.compile(r"//.*?\blibnrt:\s*(.*?)\s*$")
COMMENT = re.compile(r"^\s*//[/!]?\s*(.*?)\s*$")
NOTHING = {"", "-", "–", "—"}


def split_names(text):
    text = re.sub(r"\([^()]*\)", "", text.replace("`", ""))
    text = re.split(r"\.(?:\s|$)", text, maxsplit=1)[0]
    names = (re.sub(r"\s+", " ", part).strip(" ;") for part in text.split(","))
    return [name for name in names if name not in NOTHING]


def tags(root):
    """(place, name) for every name in a header's libnrt: line."""
    found = []
    for name, path in lintlib.headers(root):
        lines = lintlib.read(path).splitlines()
        for number, line in enumerate(lines):
            tag = TAG.search(line)
            if not tag:
                continue
            text, following = tag[1], number + 1
            while text.endswith(",") and following < len(lines):
                more = COMMENT.match(lines[following])
                if not more:
                    break
                text, following = f"{text} {more[1]}", following + 1
            place = f"include/neuronbook/{name}:{number + 1}"
            found.extend((place, each) for each in split_names(text))
    return found


def rows(root):
    """(line number, names, is it marked later) for every row of a table with a libnrt column."""
    column = None
    for number, line in enumerate(lintlib.read(root / DOCUMENT).splitlines(), 1):
        if not line.lstrip().startswith("|"):
            column = None
            continue
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))]
        if column is None:
            heads = [cell.lower() for cell in cells]
            column = next((i for i, head in enumerate(heads)
                           if re.match(r"`?libnrt\b", head)), -1)
        elif 0 <= column < len(cells) and not re.fullmatch(r":?-+:?", cells[column]):
            later = any(re.match(r"later\b", cell, re.I) for cell in cells)
            yield number, split_names(cells[column]), later


def check(root):
    if not (root / DOCUMENT).is_file():
        return [f"{DOCUMENT}:1: does not exist, so the libnrt: lines have no table to agree with"]
    in_headers = tags(root)
    tagged = {name for _, name in in_headers}
    in_table = list(rows(root))
    listed = {name for _, names, _ in in_table for name in names}
    if not listed:
        return [f"{DOCUMENT}:1: has no table with a column headed libnrt"]
    findings = [f"{place}: libnrt name {name!r} is not in {DOCUMENT}"
                for place, name in in_headers if name not in listed]
    for number, names, later in in_table:
        findings += [f"{DOCUMENT}:{number}: {name!r} has no libnrt: line in a header"
                     for name in names if name not in tagged and not later]
    return findings


HEADER = "include/neuronbook/topology/context_tree.hpp"
TABLE = "# Names\n\n| ours | libnrt | differs |\n|---|---|---|\n"
GOOD = {
    HEADER: "// Layer: topology.  libnrt: `tdrv_ctx_t`, mla (a part),\n//   tpb. More words, here.\n",
    DOCUMENT: TABLE + "| ContextTree | `tdrv_ctx_t`, mla | x |\n| Core | tpb | - |\n"
                      "| Model | `model_t` | later |\n| Undo | - | |\n",
}
BAD = [
    ("no document", {HEADER: "// libnrt: mla\n"}, "does not exist"),
    ("no table", {HEADER: "", DOCUMENT: "# Names\n"}, "no table with a column"),
    ("tag without row", {HEADER: "/// libnrt: mla, tpb\n", DOCUMENT: TABLE + "| a | mla | |\n"},
     "context_tree.hpp:1: libnrt name 'tpb' is not in"),
    ("tag on the second line without row",
     {HEADER: "/// libnrt: mla,\n///  tpb\n", DOCUMENT: TABLE + "| a | mla | |\n"}, "'tpb'"),
    ("row without tag", {HEADER: "/// libnrt: mla\n",
                         DOCUMENT: TABLE + "| a | mla | |\n| b | tpb | sooner or later |\n"},
     f"{DOCUMENT}:6: 'tpb' has no libnrt: line"),
]

if __name__ == "__main__":
    lintlib.run(check, BAD, GOOD)
