#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every header compiles as the first one included, warnings as errors, and may be included twice.

    headers.py [-- COMPILER...]
"""

import functools
import sys

import compiler


def wrong_with(name, command):
    text = f'#include "{name}"\n#include "{name}"\n'
    status, output = compiler.compile_text(command, text, ["-fsyntax-only", *compiler.WARNINGS])
    return output if status else None


def main():
    _, command = compiler.split_command(sys.argv[1:])
    compiler.run_cases([(name, functools.partial(wrong_with, name, command))
                        for name in compiler.headers()])


if __name__ == "__main__":
    main()
