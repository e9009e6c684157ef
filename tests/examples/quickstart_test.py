#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the quickstart on real files and on bad input; usage: quickstart_test.py PROGRAM."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

PROGRAM = sys.argv[1]
CLEAN = {"PATH": "/usr/bin:/bin"}


def run(*words, env=None):
    done = subprocess.run([PROGRAM, *words], capture_output=True, text=True,
                          env={**CLEAN, **(env or {})}, timeout=300)
    return done.returncode, done.stdout, done.stderr


CASES = []


def case(function):
    CASES.append(function)
    return function


@case
def stages_verifies_and_returns_everything(folder):
    status, out, _ = run("--instance", "trn2.48xlarge", *files(folder, 5))
    assert status == 0, out
    assert out.splitlines()[-1] == "outstanding: 0 bytes", out
    assert "16 devices, 128 cores" in out
    assert len(re.findall(r"checksum [0-9a-f]{16} same", out)) == 5
    assert "Shared" in out and "Profiler" in out and "24.000GB" in out
    pages = sum(-(-size // 4096) * 4096 for size in sizes(5))
    assert f"held: {pages} bytes in the ledger, {pages} bytes in the driver's list" in out, out
    assert "left: 0 bytes in the ledger, 0 bytes in the driver's list" in out, out


@case
def several_models_share_a_core_when_files_outnumber_cores(folder):
    status, out, _ = run("--instance", "trn1.2xlarge", "--driver", "2.24.7", *files(folder, 7))
    assert status == 0, out
    assert len(re.findall(r"^  ND 0 NC 0 .*checksum", out, re.M)) == 4
    assert len(re.findall(r"^  ND 0 NC 1 .*checksum", out, re.M)) == 3


@case
def shows_progress_when_all_files_together_are_above_64_mib(folder):
    paths = []
    for name in ("first", "second"):
        paths.append(str(folder / name))
        (folder / name).write_bytes(b"neuron" * (6 << 20))
    status, out, err = run("--instance", "trn1.2xlarge", *paths)
    assert status == 0, out
    for phase in ("staging", "reading back"):
        assert f"{phase}: 72.000MB of 72.000MB (100%)" in err, err
    status, _, err = run("--instance", "trn1.2xlarge", paths[0])
    assert status == 0 and not err, err


@case
def d12_a_machine_without_devices_says_so(folder):
    if pathlib.Path("/sys/module/neuron").exists():
        return
    status, out, err = run("--posix", *files(folder, 1))
    assert status == 1 and not out
    assert "/sys/module/neuron" in err and len(err.splitlines()) == 1, err


@case
def refuses_bad_input_with_the_value(folder):
    good = files(folder, 1)
    huge = folder / "huge"
    with open(huge, "wb") as file:
        file.truncate(25 << 30)
    kept = folder / "kept"
    kept.write_bytes(b"x")
    kept.chmod(0)
    empty = folder / "empty"
    empty.write_bytes(b"")
    for words, said in [
        (["--instance", "trn9.large", *good], "trn9.large"),
        (["--instance", "inf1.xlarge", *good], "inf1.xlarge"),
        (["--driver", "1.2.3", *good], "1.2.3"),
        (["--instance", "trn3p.48xlarge", "--driver", "2.24.7", *good], "2.24.7"),
        ([str(folder / "nowhere")], "nowhere cannot be read (ENOENT)"),
        ([str(folder)], "cannot be read (EISDIR)"),
        ([str(kept)], "kept cannot be read (EACCES)"),
        ([str(empty)], "empty is empty"),
        ([str(huge)], "25.000GB"),
        ([*good, str(huge)], "25.000GB"),
    ]:
        if words == [str(kept)] and os.access(kept, os.R_OK):
            continue  # root is not asked for permission
        status, _, err = run(*words)
        assert status == 1 and said in err, (words, status, err)
        assert "left behind" not in err, (words, err)
    for words in [[], ["--what", *good], ["--instance"]]:
        assert run(*words)[0] == 2, words


@case
def variables_that_choose_cores_are_honoured_and_bad_ones_quoted(folder):
    status, _, err = run(*files(folder, 1), env={"NEURON_RT_VISIBLE_CORES": "3,5,6"})
    assert status == 1 and "'3,5,6' leaves a gap" in err, err
    status, _, err = run(*files(folder, 1), env={"NEURON_RT_VISIBLE_CORES": "63,64"})
    assert status == 1 and "'63,64' goes up to logical core 64" in err, err
    assert "left behind" not in err, err
    status, out, err = run(*files(folder, 1), env={"NEURON_RT_NUM_CORES": "2"})
    assert status == 0, (out, err)


def sizes(count):
    return [5000 + 70000 * i for i in range(count)]


def files(folder, count):
    paths = []
    for i, size in enumerate(sizes(count)):
        path = folder / f"weights{i}"
        path.write_bytes(bytes((i * 31 + k) % 251 for k in range(size)))
        paths.append(str(path))
    return paths


failed = 0
for test in CASES:
    with tempfile.TemporaryDirectory() as name:
        try:
            test(pathlib.Path(name))
        except Exception as error:  # any way of failing is a failed case
            failed += 1
            print(f"FAILED {test.__name__}: {error!r}")
print(f"test cases: {len(CASES)} | {len(CASES) - failed} passed | {failed} failed")
sys.exit(1 if failed else 0)
