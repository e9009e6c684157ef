#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes sources that include several test files each: most of what a test costs to compile is the
headers, and what they instantiate, once a file.

usage: bundle.py -I DIR... --output FILE... -- TEST...

Each test stands in a namespace of its own, so that two may have helpers of one name; what it
includes comes first, outside, and is skipped inside (every header here is guarded). A test that says
what only the outermost namespace may say (an explicit instantiation) stands there.
"""

import argparse
import re
from pathlib import Path

INCLUDE = re.compile(r'^#\s*include\s+(["<])([^">]+)[">]', re.MULTILINE)
OUTERMOST = re.compile(r"^template (class|struct)\b", re.MULTILINE)


def included(test, folders):
    """What a test includes, so that it is found from another place."""
    for kind, name in INCLUDE.findall(test.read_text()):
        if kind == "<":
            yield f"<{name}>"
        elif (test.parent / name).is_file() and not any((each / name).is_file()
                                                         for each in folders):
            yield f'"{(test.parent / name).resolve()}"'
        else:
            yield f'"{name}"'


def bundle(tests, folders):
    heads = dict.fromkeys(head for test in tests for head in included(test, folders))
    lines = [f"#include {head}" for head in heads]
    for number, test in enumerate(tests):
        body = f'#include "{test.resolve()}"'
        outermost = OUTERMOST.search(test.read_text())
        lines += [body] if outermost else [f"namespace test_{number} {{", body, "}"]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-I", dest="folders", action="append", type=Path, default=[])
    parser.add_argument("--output", nargs="+", type=Path, required=True)
    parser.add_argument("tests", nargs="+", type=Path)
    options = parser.parse_args()
    for number, output in enumerate(options.output):
        share = options.tests[number::len(options.output)]
        output.write_text(bundle(share, options.folders))


if __name__ == "__main__":
    main()
