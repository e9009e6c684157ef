#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Accept/reject pairs: what must compile, and what must not, for the right reason.

    run.py FOLDER... [-- COMPILER...]      every .cpp in the folders is a pair
    run.py --self-test [-- COMPILER...]

A pair is one file. Its first line is `// expect: text`. Without REJECT it must compile; with
REJECT defined it must fail, and the text must be in what the compiler prints. Where g++ and clang
word it differently: `// expect: text of one || text of the other`.
"""

import functools
import pathlib
import re
import sys
import tempfile

import compiler

PREFIX = "// expect:"
QUOTED = re.compile(r"\s*\d*\s*\|")


def wrong_with(path, command):
    """What is wrong with the pair at `path`, or None."""
    text = path.read_text(encoding="utf-8")
    first = text.split("\n", 1)[0]
    expected = [part.strip() for part in first.removeprefix(PREFIX).split("||")]
    if not first.startswith(PREFIX) or not all(expected):
        return f"the first line must be '{PREFIX} text', not: {first}"
    if "REJECT" not in text:
        return "has no REJECT arm"
    flags = ["-fsyntax-only", "-Wall", "-Wextra"]
    status, output = compiler.compile_text(command, text, [*flags, "-Werror"])
    if status:
        return f"the accept arm must compile:\n{output}"
    status, output = compiler.compile_text(command, text, [*flags, "-DREJECT"])
    if not status:
        return "the reject arm must not compile, but it does"
    # The compiler quotes the source it complains about; only its own words count.
    said = "\n".join(line for line in output.splitlines() if not QUOTED.match(line))
    if not any(part in said for part in expected):
        return f"the reject arm fails, but nothing says {' or '.join(map(repr, expected))}:\n{output}"
    return None


def self_test(command):
    cases = [
        ("good", "// expect: must be small\n#ifdef REJECT\nstatic_assert(sizeof(int) < 2, "
                 "\"must be small\");\n#endif\n", None),
        ("either wording", "// expect: never said || must be small\n#ifdef REJECT\n"
                           "static_assert(sizeof(int) < 2, \"must be small\");\n#endif\n", None),
        ("accept arm broken", "// expect: x\n#ifndef REJECT\nint f( {\n#endif\n",
         "accept arm must compile"),
        ("reject arm compiles", "// expect: x\n#ifdef REJECT\nint f();\n#endif\n",
         "must not compile"),
        ("wrong reason", "// expect: must be small\n#ifdef REJECT\nint f( {\n#endif\n",
         "nothing says"),
        ("only quoted", "// expect: must be small\n#ifdef REJECT\nint f( { static_assert(true, "
                        "\"must be small\");\n#endif\n", "nothing says"),
        ("no expectation", "#ifdef REJECT\nint f( {\n#endif\n", "first line"),
        ("empty expectation", "// expect:\n#ifdef REJECT\nint f( {\n#endif\n", "first line"),
        ("no reject arm", "// expect: x\nint f();\n", "no REJECT arm"),
    ]

    def judge(text, words):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "pair.cpp"
            path.write_text(text, encoding="utf-8")
            wrong = wrong_with(path, command)
        if words is None:
            return wrong
        return None if words in (wrong or "") else f"should say {words!r}, says {wrong!r}"

    compiler.run_cases([(name, functools.partial(judge, text, words))
                        for name, text, words in cases])


def main():
    arguments, command = compiler.split_command(sys.argv[1:])
    if "--self-test" in arguments:
        self_test(command)
    pairs = [path for folder in arguments for path in sorted(pathlib.Path(folder).glob("*.cpp"))]
    compiler.run_cases([(path.name, functools.partial(wrong_with, path, command))
                        for path in pairs])


if __name__ == "__main__":
    main()
