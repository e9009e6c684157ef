#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Two promises about how the headers may be built.

    flavours.py no-exceptions [-- COMPILER...]   everything compiles with -fno-exceptions
    flavours.py core [-- COMPILER...]            all but model/ and the top: no Abseil header is
                                                 read, and a program links without any library
"""

import pathlib
import re
import sys
import tempfile

import compiler

CORE = re.compile(r"neuronbook/(base|backend|topology|dmem|tensor)/")


def unit(names):
    return "".join(f'#include "{name}"\n' for name in names) + "int main() {}\n"


def no_exceptions(command, text):
    status, output = compiler.compile_text(
        command, text, ["-fsyntax-only", "-fno-exceptions", *compiler.WARNINGS])
    return output if status else None


def reads_no_abseil(command):
    status, output = compiler.compile_text(
        command, unit(filter(CORE.match, compiler.headers())), ["-M"])
    if status:
        return output
    found = sorted(set(re.findall(r"\S*/absl/\S+", output)))
    return "Abseil is read: " + " ".join(found[:5]) if found else None


def links_alone(command):
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder) / "program"
        status, output = compiler.compile_text(
            command, unit(filter(CORE.match, compiler.headers())), ["-o", str(program)])
        return output if status else None


def main():
    arguments, command = compiler.split_command(sys.argv[1:])
    if arguments == ["no-exceptions"]:
        program = (compiler.ROOT / "tests/consumers/consumer.cpp").read_text(encoding="utf-8")
        compiler.run_cases([
            ("every header", lambda: no_exceptions(command, unit(compiler.headers()))),
            ("a program that uses them", lambda: no_exceptions(command, program))])
    elif arguments == ["core"]:
        compiler.run_cases([("no Abseil header", lambda: reads_no_abseil(command)),
                            ("links without a library", lambda: links_alone(command))])
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
