#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds a stress program against headers with a named bug in them; it must find the bug.

    run.py [--seconds N] [BUG...] [-- COMPILER...]

A bug is a file BUG.txt beside this script:

    What is wrong, in words.
    program: NAME MODE          tests/mutants/NAME.cpp, run as NAME MODE SECONDS
    header: PATH                below include/neuronbook/
    -a line of the header       lines that follow each other there, once and no more,
    +a line in its place        and what stands there instead; again for other places
    expect: WORDS               that the program must print, with exit status 1

The lines must be in the header as they stand here: a header that changes takes its bugs along.
Each program is also built against the headers as they are and must find nothing.
"""

import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SKIP = 77
ATTEMPTS = 10  # a bug needs an unlucky moment: a busy machine may need another try


class Bug:
    def __init__(self, path):
        self.name, self.changes, before = path.stem, [], ""
        for line in path.read_text(encoding="utf-8").splitlines():
            if line.startswith("-"):
                if not self.changes or self.changes[-1][1] or before != "-":
                    self.changes.append(([], []))
                self.changes[-1][0].append(line[1:])
            elif line.startswith("+"):
                self.changes[-1][1].append(line[1:])
            else:
                word, _, value = line.partition(": ")
                if word in ("program", "header", "expect"):
                    setattr(self, word, value)
            before = line[:1]

    def plant(self, include):
        """Changes the copy of the header; exits if a line is not there exactly once."""
        header = include / "neuronbook" / self.header
        lines = header.read_text(encoding="utf-8").splitlines()
        for old, new in self.changes:
            places = [i for i in range(len(lines)) if lines[i:i + len(old)] == old]
            if len(places) != 1:
                sys.exit(f"{self.name}: {len(places)} places in {self.header} read\n"
                         + "\n".join(old))
            lines[places[0]:places[0] + len(old)] = new
        header.write_text("\n".join(lines) + "\n", encoding="utf-8")


def build(command, program, include, folder):
    binary = folder / "program"
    done = subprocess.run([*command, "-std=c++20", "-O2", "-pthread", f"-I{include}",
                           str(HERE / f"{program}.cpp"), "-o", str(binary)],
                          capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{program} does not compile:\n{done.stderr}")
    return binary


def run(binary, mode, seconds):
    done = subprocess.run([str(binary), mode, str(seconds)], capture_output=True, text=True,
                          timeout=60 + seconds)
    return done.returncode, done.stdout.strip()


def finds(bug, command, seconds):
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        shutil.copytree(ROOT / "include", folder / "include")
        bug.plant(folder / "include")
        program, mode = bug.program.split()
        binary = build(command, program, folder / "include", folder)
        for _ in range(ATTEMPTS):
            status, text = run(binary, mode, seconds)
            if status != 0:
                break
    if status == SKIP:
        print(f"{bug.name}: skipped, {text}")
        return True
    found = status == 1 and bug.expect in text
    print(f"{bug.name}: {text}{'' if found else ': NOT FOUND'}")
    return found


def finds_nothing(program, command, seconds):
    name, mode = program.split()
    with tempfile.TemporaryDirectory() as folder:
        binary = build(command, name, ROOT / "include", pathlib.Path(folder))
        status, text = run(binary, mode, seconds)
    print(f"{program} as it is: {text}")
    return status in (0, SKIP)


def main():
    words, command = sys.argv[1:], ["c++"]
    if "--" in words:
        at = words.index("--")
        words, command = words[:at], words[at + 1:]
    seconds = 2
    if words[:1] == ["--seconds"]:
        seconds, words = int(words[1]), words[2:]
    bugs = [Bug(path) for path in sorted(HERE.glob("*.txt"))
            if not words or path.stem in words]
    wrong = sum(not finds(bug, command, seconds) for bug in bugs)
    wrong += sum(not finds_nothing(program, command, seconds)
                 for program in sorted({bug.program for bug in bugs}))
    sys.exit(wrong != 0 or not bugs)


if __name__ == "__main__":
    main()
