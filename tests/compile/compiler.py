# SPDX-License-Identifier: Apache-2.0
"""Running the compiler under test: shared by the scripts of this folder.

The command comes after `--` on a script's command line, as Meson found it.
"""

import concurrent.futures
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
INCLUDE = ROOT / "include"
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wnon-virtual-dtor",
            "-Wimplicit-fallthrough", "-Werror"]
JOBS = min(2, os.cpu_count() or 1)


def split_command(arguments):
    """The script's own arguments, and the compiler command after `--` (default: c++)."""
    if "--" in arguments:
        cut = arguments.index("--")
        return arguments[:cut], arguments[cut + 1:] or ["c++"]
    return arguments, ["c++"]


def headers():
    """Names as they are included, found now and not when the build was configured."""
    return [p.relative_to(INCLUDE).as_posix() for p in sorted(INCLUDE.rglob("*.hpp"))]


def compile_text(command, text, flags):
    """(exit status, output) of compiling `text` as a C++20 source."""
    run = subprocess.run(
        [*command, "-std=c++20", f"-I{INCLUDE}", *flags, "-x", "c++", "-"],
        input=text, capture_output=True, text=True, cwd=ROOT,
        env={**os.environ, "LC_ALL": "C"})
    return run.returncode, run.stdout + run.stderr


def run_cases(cases):
    """Runs (name, function returning what is wrong or None); prints, counts as Catch2 does, exits.

    The last line is what tests/summarise.py reads.
    """
    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        results = list(pool.map(lambda case: (case[0], case[1]()), cases))
    failures = [(name, wrong) for name, wrong in results if wrong]
    for name, wrong in failures:
        print(f"FAILED {name}\n{wrong}\n")
    passed = len(results) - len(failures)
    if not results:
        print("there was nothing to compile")
    print(f"test cases: {len(results)} | {passed} passed | {len(failures)} failed")
    sys.exit(1 if failures or not results else 0)
