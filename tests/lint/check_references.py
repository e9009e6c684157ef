#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What is referred to exists.

A `name.hpp` in a comment of include/neuronbook/ is a header there, by the end of its path; `*` is
any text. A document that a comment or a page names (`name.md`, `name.json`) is a file of the
repository, or docs/sources.md says what it stands for. A case id of a test (`"D12: ..."`, `[D12]`)
or a correction (`"E1: ..."`) has a line in docs/sources.md, and no case there is without a test. A
relative link of the README, CONTRIBUTING, bench/README.md or docs/ leads to a file, and to a
heading if it has `#`.
"""

import fnmatch
import re

import lintlib

SOURCES = "docs/sources.md"
PAGES = ["README.md", "CONTRIBUTING.md", "bench/README.md"]
COMMENT = re.compile(r"//(.*)|/\*(.*?)\*/")
HEADER = re.compile(r"(?<![\w/.<\"*-])[\w/*.-]*[\w*]\.hpp\b")
DOCUMENT = re.compile(r"(?<![\w/.*-])[a-z][\w-]*\.(?:md|json)\b")
CASE = re.compile(r'\[([A-H]\d\d)\]|"((?:[A-H]\d\d|E\d)(?:, [A-H]\d\d)*): ')
PYTHON_CASE = re.compile(r"^def ([a-h]\d\d)_", re.M)
CASE_ROW = re.compile(r"^\| ([A-H]\d\d|E\d) \|", re.M)
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")


def comments(path):
    """(line number, text) of every comment, `//` and `/* */` on one line."""
    for number, line in enumerate(lintlib.read(path).splitlines(), 1):
        for found in COMMENT.finditer(line):
            yield number, found[1] or found[2] or ""


def check_headers(root):
    names = [f"/{name}" for name, _ in lintlib.headers(root)]
    for name, path in lintlib.headers(root):
        for number, text in comments(path):
            for mention in HEADER.findall(text):
                if not fnmatch.filter(names, f"*/{mention}"):
                    yield f"include/neuronbook/{name}:{number}: there is no header {mention}"


def explained(root):
    """The documents that docs/sources.md explains: the first cells of its tables, in backticks."""
    page = root / SOURCES
    return set(re.findall(r"^\| `([^`]+)` \|", lintlib.read(page), re.M)) if page.is_file() else set()


def check_documents(root):
    known = explained(root) | {path.name for path in lintlib.repository_files(root)}
    mentions = [(path, number, text)
                for path in lintlib.sources(root, ["include", "tests", "examples", "bench"])
                for number, text in comments(path)]
    mentions += [(page, number, line) for page in pages(root)
                 for number, line in enumerate(lintlib.read(page).splitlines(), 1)]
    for path, number, text in mentions:
        for document in DOCUMENT.findall(text):
            if document not in known:
                place = f"{path.relative_to(root).as_posix()}:{number}"
                yield f"{place}: {document} is neither here nor explained in {SOURCES}"


def check_cases(root):
    used = {}
    for path in lintlib.sources(root, ["tests"], (".hpp", ".cpp", ".py")):
        if path.parent == root / "tests/lint":
            continue  # their bad trees are no tests
        text = lintlib.read(path)
        cases = [case.upper() for case in PYTHON_CASE.findall(text)]
        cases += [case for found in CASE.findall(text) for case in "".join(found).split(", ")]
        for case in cases:
            used.setdefault(case, path.relative_to(root).as_posix())
    page = root / SOURCES
    told = set(CASE_ROW.findall(lintlib.read(page))) if page.is_file() else set()
    for case in sorted(used.keys() - told):
        yield f"{used[case]}:1: case {case} is not in {SOURCES}"
    for case in sorted(case for case in told - used.keys() if len(case) > 2):
        yield f"{SOURCES}:1: no test has case {case}"


def anchors(path):
    """The headings of a page, as links name them."""
    heads = re.findall(r"^#+ (.*?)\s*$", lintlib.read(path), re.M)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


def pages(root):
    return [page for page in [*(root / name for name in PAGES), *sorted((root / "docs").glob("*.md"))]
            if page.is_file()]


def check_links(root):
    for page in pages(root):
        for number, line in enumerate(lintlib.read(page).splitlines(), 1):
            for link in LINK.findall(line):
                if re.match(r"[a-z]+:", link):
                    continue
                name, _, anchor = link.partition("#")
                target = page.parent / name if name else page
                place = f"{page.relative_to(root).as_posix()}:{number}"
                if not target.exists():
                    yield f"{place}: the link {link} leads nowhere"
                elif anchor and anchor not in anchors(target):
                    yield f"{place}: {name or page.name} has no heading #{anchor}"


def check(root):
    return [finding for each in (check_headers, check_documents, check_cases, check_links)
            for finding in each(root)]


AT = "include/neuronbook/"
GOOD = {
    AT + "base/ids.hpp": "// See units.hpp, base/units.hpp, un*.hpp and <boost/intrusive/list.hpp>.\n",
    AT + "base/units.hpp": "// Source: tables.md 2, names.md\n",
    "docs/names.md": "# Some names, here\n[a](#some-names-here) [b](sources.md#cases)\n",
    SOURCES: "## Cases\n| `tables.md` | facts |\n\n| A01 | x |\n| A02 | y |\n| D12 | z |\n",
    "README.md": "[names](docs/names.md) [out](https:" + "//example.org/a)\n",
    "tests/base/a_test.cpp": 'TEST_CASE("A01, A02: it works", "[base]")\n',
    "tests/examples/a_test.py": "def d12_says_so():\n",
}


def but(name, text):
    return {**GOOD, name: text}


BAD = [
    ("dead header", but(AT + "base/ids.hpp", "/// \\n what (unit.hpp)\n"),
     "base/ids.hpp:1: there is no header unit.hpp"),
    ("dead path", but(AT + "base/ids.hpp", "int a; // dmem/units.hpp\n"), "header dmem/units.hpp"),
    ("end of a name", but(AT + "base/ids.hpp", "\n/* nits.hpp */ int a;\n"), "ids.hpp:2: there is no"),
    ("dead pattern", but(AT + "base/ids.hpp", "// v*.hpp\n"), "no header v*.hpp"),
    ("unknown document", but("tests/base/b.hpp", "// more.md 3\n"),
     "tests/base/b.hpp:1: more.md is neither"),
    ("document of a page", but("README.md", "as in rows.json\n"), "README.md:1: rows.json"),
    ("unexplained case", but("tests/base/b_test.cpp", 'TEST_CASE("x", "[base][B06]")\n'),
     "tests/base/b_test.cpp:1: case B06 is not"),
    ("unexplained correction", but("tests/base/b_test.cpp", 'TEST_CASE("E7: x")\n'), "case E7"),
    ("second case of a name", but("tests/base/b_test.cpp", 'SECTION("A01, B07: x")\n'), "case B07"),
    ("unexplained case of a script", but("tests/base/b_test.py", "def c01_works():\n"), "case C01"),
    ("case without a test", but("tests/examples/a_test.py", ""), f"{SOURCES}:1: no test has case D12"),
    ("no sources at all", {"tests/base/b.hpp": "// tables.md 3\n"}, "tables.md is neither"),
    ("dead link", but("README.md", "\n[a](docs/gone.md)\n"), "README.md:2: the link docs/gone.md"),
    ("dead anchor", but("README.md", "[a](docs/names.md#more)\n"), "no heading #more"),
    ("dead anchor of its own", but("docs/names.md", "[a](#more)\n"), "names.md has no heading #more"),
]

if __name__ == "__main__":
    lintlib.run(check, BAD, GOOD)
