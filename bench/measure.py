# SPDX-License-Identifier: Apache-2.0
"""Where the numbers of bench/ratios come from: benchmarks, callgrind, objdump, the compiler."""

import functools
import json
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


class Skipped(Exception):
    """The machine lacks what a goal needs."""


class Failed(Exception):
    """Something that should have worked did not."""


def run(*command, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True,
                          **options)
    if done.returncode != 0:
        sys.stderr.write(done.stdout[-4000:] + done.stderr[-4000:])
        raise Failed(f"{Path(command[0]).name} {command[-1]} failed")
    return done


def need(tool):
    if shutil.which(tool) is None:
        raise Skipped(f"{tool} is not installed")
    return tool


class Measure:
    """Everything is measured once and kept; forget() drops what is timed, for another try."""

    def __init__(self, build):
        self.build = Path(build).resolve()
        self.timed = {}

    def forget(self):
        self.timed.clear()

    # --- the release build -----------------------------------------------------------------------

    @functools.cached_property
    def configured(self):
        if not (self.build / "build.ninja").is_file():
            run(need("meson"), "setup", self.build, ROOT, "--buildtype=release",
                "-Dbench=enabled", "-Dtests=disabled", "-Dexamples=disabled")
        return self.build

    @functools.cache
    def program(self, name):
        run(need("ninja"), "-C", self.configured, f"bench/{name}")
        return self.build / "bench" / name

    # --- benchmarks ------------------------------------------------------------------------------

    def runs(self, name):
        """{benchmark: its repetitions}, from one run of bench_NAME."""
        if name not in self.timed:
            done = run(self.program(f"bench_{name}"), "--benchmark_format=json",
                       "--benchmark_repetitions=31", "--benchmark_min_time=0.005",
                       "--benchmark_enable_random_interleaving=true")
            found = {}
            for entry in json.loads(done.stdout)["benchmarks"]:
                if entry["run_type"] == "iteration":
                    found.setdefault(entry["name"], []).append(entry)
            self.timed[name] = found
        return self.timed[name]

    def nanoseconds(self, name, benchmark):
        """Median and minimum of one operation."""
        each = [1e9 / entry["items_per_second"] for entry in self.runs(name)[benchmark]]
        return statistics.median(each), min(each)

    def ratio(self, name, over, under):
        """Of medians, and of minima beside it."""
        a, b = self.nanoseconds(name, over), self.nanoseconds(name, under)
        return a[0] / b[0], a[1] / b[1]

    def counter(self, name, benchmark, counter):
        entry = self.runs(name)[benchmark][0]
        if entry.get("error_occurred"):
            raise Failed(entry["error_message"])
        return entry[counter]

    # --- instructions ----------------------------------------------------------------------------

    @functools.cache
    def instructions(self, name, form):
        """Of one round of `NAME FORM n`, by the difference of two lengths; exact."""
        counts = []
        for times in (50_000, 100_000):
            done = run(need("valgrind"), "--tool=callgrind", "--callgrind-out-file=/dev/null",
                       self.program(name), form, times)
            counts.append(int(re.search(r"Collected\s*: (\d+)", done.stderr)[1]))
        return (counts[1] - counts[0]) / 50_000

    @functools.cache
    def calls_and_locks(self, name, function, away=None):
        """Calls, jumps to other functions and lock prefixes. What is unlikely lies elsewhere."""
        listing = run(need("objdump"), "-d", "--no-show-raw-insn", f"--disassemble={function}",
                      self.program(name)).stdout
        code = listing.partition(f"<{function}>:\n")[2].partition("\n\n")[0]
        if "ret" not in code:
            raise Failed(f"{function} was not found in {name}")
        away = away or rf"\bcall|\block\b|\bxchg\b.*\(|\bjmp\b.*<(?!{function}[+>])"
        return len(re.findall(away, code))

    def locks(self, name, function):
        """Instructions that lock the bus or a line, and fences."""
        return self.calls_and_locks(name, function, r"\block\b|\bxchg\b.*\(|\b[mls]fence\b")

    # --- compile time ----------------------------------------------------------------------------

    def seconds(self, unit):
        """User and system seconds of the compiler, at -O0 so that it is the header that counts."""
        command = [*compiler(), "-O0", "-x", "c++", "-c", "-", "-o", os.devnull]
        with tempfile.TemporaryFile("w+") as source:
            source.write(unit)
            source.seek(0)
            process = subprocess.Popen(command, stdin=source, stderr=subprocess.DEVNULL)
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            raise Failed("a unit does not compile: " + unit.splitlines()[0])
        return used.ru_utime + used.ru_stime

    def compile_ratio(self, over, under, rounds=9):
        """Of medians and of minima; the two units take turns, in random order."""
        if (over, under) not in self.timed:
            taken = {over: [], under: []}
            for _ in range(rounds):
                for unit in random.sample([over, under], 2):
                    taken[unit].append(self.seconds(unit))
            self.timed[over, under] = taken
        a, b = self.timed[over, under].values()
        return statistics.median(a) / statistics.median(b), min(a) / min(b)

    @functools.cache
    def headers_like(self, unit, pattern):
        """How many headers a unit reads whose path matches, but for what tl/expected.hpp reads."""
        with tempfile.TemporaryDirectory() as stub:
            (Path(stub) / "tl").mkdir()
            (Path(stub) / "tl/expected.hpp").touch()
            done = run(*compiler(f"-I{stub}"), "-x", "c++", "-M", "-", input=unit)
        headers = done.stdout.replace("\\\n", " ").split()
        return len([each for each in headers if re.search(pattern, each)])


def compiler(*first):
    return [*os.environ.get("CXX", "g++").split(), "-std=c++20", *first, f"-I{ROOT}/include"]
