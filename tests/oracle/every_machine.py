#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Run suites of the probe on every instance type and release that the simulated kernel knows.

    every_machine.py PROBE INSTANCES SUITE...

INSTANCES is the header with the instance table. A run must end well and meet no moment at which a
kernel would have come down.
"""

import os
import pathlib
import re
import subprocess
import sys

RELEASES = ("2.24.7.0", "2.26.5.0", "2.30.2.0")
BAD = re.compile(r"^would have crashed: ")


def run(probe, suite, instance, release):
    environment = dict(os.environ, NDPROBE_INSTANCE=instance, NDPROBE_DRIVER=release,
                       NDPROBE_PRODUCT=instance, NDPROBE_NOTES="1")
    done = subprocess.run([probe, suite], env=environment, capture_output=True, text=True,
                          errors="replace", timeout=120)
    notes = [line for line in done.stderr.splitlines() if BAD.match(line)]
    if done.returncode != 0:
        notes.append(f"ended with {done.returncode}: {done.stderr.strip()[-200:]}")
    return [f"{suite} on {instance} of {release}: {note}" for note in notes]


def main():
    probe, header, *suites = sys.argv[1:]
    rows = re.findall(r'Instance\{"([^"]+)",\s*InstanceFamily::\w+,\s*Architecture::(\w+)',
                      pathlib.Path(header).read_text())
    machines = [(name, release) for name, generation in rows for release in RELEASES
                if generation != "Invalid"
                and not (generation == "Mariana" and release == RELEASES[0])]
    findings = []
    for name, release in machines:
        for suite in suites:
            findings += run(probe, suite, name, release)
    print("\n".join(findings))
    print(f"{len(machines)} machines, {len(findings)} findings")
    return 1 if findings or len(machines) < 60 else 0


if __name__ == "__main__":
    sys.exit(main())
