#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Run one suite of the probe against the simulated kernel; its answers must be the real driver's.

    run.py PROBE SUITE --transcript FILE --instance NAME --driver VERSION [--part N] [--except WORD]
           [--section TEXT] [--faults NAME] [--until WORD]

--except leaves out lines, on both sides, that contain WORD: what cannot be equal. --section keeps,
on both sides, only what comes below a heading that contains TEXT; several may be named. --until
ends a recorded section before the first line that contains WORD: what follows was another run.
--faults says what is wrong with the device: copies_hang.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

COMPARE = pathlib.Path(__file__).with_name("ndprobe") / "compare.py"

PRODUCT = "Standard PC (Q35 + ICH9, 2009)"  # of the virtual machine that was recorded


def without(text, words):
    return "".join(line for line in text.splitlines(keepends=True)
                   if not any(word in line for word in words))


def only(text, sections):
    """The lines below the named headings; those that begin a suite or a part stay."""
    kept = []
    inside = not sections
    for line in text.splitlines(keepends=True):
        if line.startswith(("####", "====", "------", "-- exit")):
            kept.append(line)
            inside = not sections
            continue
        if line.startswith("== "):
            inside = not sections or any(section in line for section in sections)
        if inside:
            kept.append(line)
    return "".join(kept)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("probe")
    parser.add_argument("suite")
    parser.add_argument("--transcript", required=True)
    parser.add_argument("--instance", required=True)
    parser.add_argument("--driver", required=True)
    parser.add_argument("--part", default="1")
    parser.add_argument("--except", dest="excluded", action="append", default=[])
    parser.add_argument("--faults", default="")
    parser.add_argument("--until")
    parser.add_argument("--section", dest="sections", action="append", default=[])
    args = parser.parse_args()

    environment = dict(os.environ, NDPROBE_INSTANCE=args.instance, NDPROBE_DRIVER=args.driver,
                       NDPROBE_FAULTS=args.faults, NDPROBE_PRODUCT=PRODUCT)
    run = subprocess.run([args.probe, args.suite], env=environment, capture_output=True,
                         text=True, errors="replace", timeout=300)
    sys.stderr.write(run.stderr)
    if run.returncode != 0:
        sys.exit(f"{args.probe} {args.suite}: ended with {run.returncode}")
    recorded = pathlib.Path(args.transcript).read_text(errors="replace")
    with tempfile.TemporaryDirectory() as folder:
        output = pathlib.Path(folder) / "output"
        transcript = pathlib.Path(folder) / "transcript"
        output.write_text(only(without(run.stdout, args.excluded), args.sections))
        if args.until:
            recorded = re.sub(f"^(.*{re.escape(args.until)})", r"====\n\1", recorded, flags=re.M)
        transcript.write_text(only(without(recorded, args.excluded), args.sections))
        return subprocess.run([sys.executable, COMPARE, args.suite, output, "--part", args.part,
                               "--transcript", transcript], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
