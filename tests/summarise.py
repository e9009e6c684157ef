#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sums Meson's test logs. The last line is `N passed, N failed`, exactly; what was skipped, because
a tool is not installed, is named on the line before it.

    summarise.py LOG...        each LOG a meson-logs/testlog.json; exit 1 if a test failed, if
                               none ran, or if a log is missing
    summarise.py --self-test

A test that prints Catch2's totals counts as that many test cases, any other test as one. A test
that ends badly although its totals show no failure (a crash, a leak report, a timeout) is one
failure more.
"""

import json
import re
import sys
import tempfile

ALL_PASSED = re.compile(r"^All tests passed \(\d+ assertions? in (\d+) test cases?\)", re.M)
TOTALS = re.compile(r"^test cases:\s*\d+\s*\|(.*)$", re.M)
PART = re.compile(r"(\d+) (passed|failed as expected|failed|skipped)")
LAST_LINE = re.compile(r"\d+ passed, \d+ failed")
GOOD = {"OK", "EXPECTEDFAIL"}


def strip_colour(text):
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def count(test):
    """(passed, failed, skipped) of one line of the log."""
    result = test["result"]
    if result == "SKIP":
        return 0, 0, 1
    output = strip_colour(test.get("stdout") or "")
    passed = sum(int(number) for number in ALL_PASSED.findall(output))
    failed = skipped = 0
    for line in TOTALS.findall(output):
        for number, what in PART.findall(line):
            if what == "failed":
                failed += int(number)
            elif what == "skipped":
                skipped += int(number)
            else:
                passed += int(number)
    if result in GOOD:
        # Totals in a test that Meson calls good are its own business only if nothing failed.
        return (passed, failed, skipped) if passed + failed + skipped else (1, 0, 0)
    return passed, max(failed, 1), skipped


def summarise(logs):
    """The lines, and whether all is well."""
    totals, skips = [0, 0, 0], []
    for log in logs:
        try:
            with open(log, encoding="utf-8") as file:
                tests = [json.loads(line) for line in file if line.strip()]
        except (OSError, ValueError) as error:
            print(f"{log}: {error}", file=sys.stderr)
            totals[1] += 1
            continue
        for test in tests:
            counted = count(test)
            totals = [a + b for a, b in zip(totals, counted)]
            if counted[2]:
                skips.append(test["name"].split(" / ")[-1])
    passed, failed, skipped = totals
    lines = [f"{skipped} skipped: {', '.join(skips)}"] if skipped else []
    return lines + [f"{passed} passed, {failed} failed"], failed == 0 and passed > 0


def self_test():
    catch = "All tests passed (7 assertions in 3 test cases)\n"
    mixed = "test cases: 5 | 3 passed | 1 failed | 1 failed as expected\nassertions: 9 | 9 passed\n"
    cases = [
        ("a plain test", [("OK", "")], "1 passed, 0 failed", True),
        ("a plain failure", [("FAIL", "boom")], "0 passed, 1 failed", False),
        ("test cases", [("OK", catch), ("OK", "")], "4 passed, 0 failed", True),
        ("one test case", [("OK", "All tests passed (1 assertion in 1 test case)\n")],
         "1 passed, 0 failed", True),
        ("mixed", [("FAIL", mixed)], "4 passed, 1 failed", False),
        ("failures in a good test", [("OK", mixed)], "4 passed, 1 failed", False),
        ("colour", [("FAIL", "\x1b[1mtest cases: \x1b[0m2 | \x1b[32m1 passed\x1b[0m | "
                             "\x1b[31m1 failed\x1b[0m")], "1 passed, 1 failed", False),
        ("a leak after all passed", [("FAIL", catch)], "3 passed, 1 failed", False),
        ("a crash half way", [("ERROR", "...")], "0 passed, 1 failed", False),
        ("a timeout", [("TIMEOUT", None)], "0 passed, 1 failed", False),
        ("an unexpected pass", [("UNEXPECTEDPASS", "")], "0 passed, 1 failed", False),
        ("an expected failure", [("EXPECTEDFAIL", "")], "1 passed, 0 failed", True),
        ("skipped", [("OK", ""), ("SKIP", "")], "1 skipped: t1\n1 passed, 0 failed", True),
        ("only skipped", [("SKIP", "")], "1 skipped: t0\n0 passed, 0 failed", False),
        ("a skipped test case",
         [("OK", "test cases: 3 | 2 passed | 1 skipped\n"), ("SKIP", "")],
         "2 skipped: t0, t1\n2 passed, 0 failed", True),
        ("nothing ran", [], "0 passed, 0 failed", False),
        ("no test case ran", [("FAIL", "No tests ran\n")], "0 passed, 1 failed", False),
    ]
    failures = 0
    for name, tests, line, good in cases:
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            for i, (result, output) in enumerate(tests):
                test = {"name": f"project:suite / t{i}", "result": result, "stdout": output}
                file.write(json.dumps(test) + "\n")
            file.flush()
            lines, well = summarise([file.name])
        got = ("\n".join(lines), well)
        if got != (line, good) or not LAST_LINE.fullmatch(lines[-1]):
            failures += 1
            print(f"FAILED {name}: expected {(line, good)}, got {got}")
    got = summarise(["/nonexistent/testlog.json"])
    if got != (["0 passed, 1 failed"], False):
        failures += 1
        print(f"FAILED a missing log: got {got}")
    total = len(cases) + 1
    print(f"test cases: {total} | {total - failures} passed | {failures} failed")
    return 1 if failures else 0


def main():
    if sys.argv[1:] == ["--self-test"]:
        sys.exit(self_test())
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    lines, good = summarise(sys.argv[1:])
    print("\n".join(lines))
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
