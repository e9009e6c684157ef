#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads what the memory examples print; usage: memory_examples_test.py REPORT TRACE."""

import csv
import io
import json
import subprocess
import sys

REPORT, TRACE = sys.argv[1:]


def run(*words):
    return subprocess.run(words, capture_output=True, text=True, check=True, timeout=60).stdout


def report_as_json():
    (device,) = json.loads(run(REPORT))
    assert device["device"] == 0 and device["books_agree"] in (True, None), device
    first, second = device["hbms"]
    assert second["own"] == 5001216 and second["limit"] == 17179869184, second
    assert second["others"] == 0 or second["others"] > 0
    assert first["own"] == 0 and first["free"] <= first["limit"] - 16777216
    assert {"id": 1001, "core": 1, "bytes": 5001216, "blocks": 1} in device["owners"]


def report_as_csv():
    rows = list(csv.DictReader(io.StringIO(run(REPORT, "--csv"))))
    assert rows == [{"device": "0", "core": "1", "usage": "weights", "bytes": "5001216"}], rows


def trace_of_every_block():
    events = [event for event in json.loads(run(TRACE)) if event]
    begun = [e for e in events if e["ph"] == "b"]
    ended = [e for e in events if e["ph"] == "e"]
    counters = [e for e in events if e["ph"] == "C"]
    assert len(begun) == 8 and len(ended) == 8 and len(counters) == 16
    assert {e["id"] for e in begun} == {e["id"] for e in ended}
    assert max(e["args"]["bytes"] for e in counters) == 4 * 2**20 + 65536
    assert all(e["ts"] > 0 for e in events)


CASES = [report_as_json, report_as_csv, trace_of_every_block]
for case in CASES:
    case()
    print("ok", case.__name__)
