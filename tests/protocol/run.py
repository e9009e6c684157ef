#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Model-checks a protocol with Spin: it holds as it is, and each seeded bug is found.

    run.py MODEL.pml BUG...     a bug is the name of a macro

Skipped where spin or a C compiler is not installed.
"""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SKIP = 77  # the exit status Meson reads as "skipped"


def errors(model, bug):
    """(errors found, states stored, the checker's report)."""
    with tempfile.TemporaryDirectory() as folder:
        def run(*command):
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
            if done.returncode:
                sys.exit(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
            return done.stdout

        run("spin", *([f"-D{bug}"] if bug else []), "-a", str(model))
        run("cc", "-O2", "-w", "-DSAFETY", "-DCOLLAPSE", "-o", "pan", "pan.c")
        report = run("./pan", "-m1000000", "-w24")
    found = re.search(r"errors: (\d+)", report)
    states = re.search(r"(\d+) states, stored", report)
    if not found or not states or "search depth too small" in report:
        sys.exit(f"the checker did not finish:\n{report}")
    return int(found[1]), int(states[1]), report


def main():
    model, bugs = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2:]
    for tool in ("spin", "cc"):
        if not shutil.which(tool):
            print(f"{tool} is not installed: scripts/setup.sh --ci brings it")
            sys.exit(SKIP)
    wrong = 0
    for bug in [None, *bugs]:
        found, states, report = errors(model, bug)
        right = found == 0 if bug is None else found > 0
        wrong += not right
        first = re.search(r"pan:1: (.*)", report)
        print(f"{bug or 'as it is'}: {found} errors in {states} states"
              f"{f' ({first[1]})' if first else ''}{'' if right else ': WRONG'}")
        if not right:
            print(report)
    sys.exit(wrong != 0)


if __name__ == "__main__":
    main()
