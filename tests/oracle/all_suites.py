#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Run every suite of the probe on every kind of machine: each ends well.

    all_suites.py PROBE [--suite NAME] [--jobs N]

No answer is compared (run.py does that where there is a recording). The table that is printed marks
the runs in which a real kernel would have come down. The suites that move much memory run under one
release only. A suite that looks for its child by name would find other probes, and runs in a
process namespace of its own; it is left out where there are none.
"""

import argparse
import concurrent.futures
import os
import signal
import subprocess
import sys
import tempfile

MACHINES = ["trn1.2xlarge", "trn1.32xlarge", "inf2.24xlarge", "inf2.48xlarge", "trn2.3xlarge",
            "trn2.48xlarge", "trn3pd98.3xlarge", "trn3p.48xlarge"]
RELEASES = ["2.24.7.0", "2.26.5.0", "2.30.2.0"]
SLOW = {"copy", "enomem", "ringleak"}
LEFT_OUT = {"hold"}  # waits to be ended
BY_NAME = {"procs"}
ALONE = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc"]
TIMEOUT = 15


def suites(probe):
    listed = subprocess.run([probe, "list"], capture_output=True, text=True, check=True)
    left_out = set(LEFT_OUT)
    if subprocess.run([*ALONE, "true"], capture_output=True, check=False).returncode != 0:
        left_out |= BY_NAME
        print("left out, no process namespaces here:", *sorted(BY_NAME))
    return [name for name in listed.stdout.split() if name not in left_out]


def cases(names):
    for machine in MACHINES:
        for release in RELEASES:
            if machine.startswith("trn3") and release == "2.24.7.0":
                continue  # there was no such driver
            for name in names:
                if name not in SLOW or release == "2.26.5.0":
                    yield machine, release, name


def read_back(file):
    file.seek(0)
    return file.buffer.read().decode(errors="replace").splitlines()


def run(probe, case):
    """(what went wrong, what a real kernel would have suffered) for one suite on one machine."""
    machine, release, name = case
    environment = dict(os.environ, NDPROBE_INSTANCE=machine, NDPROBE_DRIVER=release,
                       NDPROBE_NOTES="1")
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as notes:
        command = [*(ALONE if name in BY_NAME else []), probe, name]
        probed = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL,
                                  stdout=out, stderr=notes, start_new_session=True)
        try:
            code = probed.wait(TIMEOUT)
        except subprocess.TimeoutExpired:
            code = None
            os.killpg(probed.pid, signal.SIGKILL)  # its children too, which it would have ended
            probed.wait()
        printed, noted = (read_back(file) for file in (out, notes))
    crashes = {line for line in noted if line.startswith("would have crashed: ")}
    if code is None:
        return f"not over after {TIMEOUT} s", crashes
    if code != 0:
        return f"ended with {code}", crashes
    return ("" if len(printed) > 2 else "printed nothing"), crashes


def table(names, results):
    """A line for each suite, a column for each machine and release: . good, F failed, x crashes."""
    columns = sorted({case[:2] for case in results}, key=lambda c: (MACHINES.index(c[0]), c[1]))
    for number, (machine, release) in enumerate(columns):
        print(f"{number:>4} {machine} {release}")
    print(" " * 14 + "".join(f"{number:>3}" for number in range(len(columns))))
    for name in names:
        line = f"{name:<14}"
        for column in columns:
            failed, crashes = results.get((*column, name), (None, None))
            line += "   " if failed is None else "  F" if failed else "  x" if crashes else "  ."
        print(line.rstrip())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("probe")
    parser.add_argument("--suite", action="append")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    args = parser.parse_args()

    names = [name for name in suites(args.probe) if not args.suite or name in args.suite]
    every = list(cases(names))
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        results = dict(zip(every, pool.map(lambda case: run(args.probe, case), every)))
    table(names, results)
    failures = {case: failed for case, (failed, _) in results.items() if failed}
    for case, failed in failures.items():
        print(f"{' '.join(case)}: {failed}")
    print(f"{len(results)} runs, {len(failures)} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
