# SPDX-License-Identifier: Apache-2.0
"""What the lint scripts share: walking the tree, reporting, and testing themselves.

A script defines check(root) -> list of "path:line: what is wrong" and BAD, a list of
(name, {path: text}, words the report must contain). `run(check, BAD, GOOD)` does the rest:

    check_x.py [ROOT]        exit 1 and print the findings if there are any
    check_x.py --self-test   build each bad tree in a temporary directory; it must be reported,
                             and the GOOD tree must not be
"""

import pathlib
import subprocess
import sys
import tempfile

SKIP = 77  # the exit status Meson reads as "skipped"


def repository():
    return pathlib.Path(__file__).resolve().parents[2]


def headers(root):
    """Every public header, as (path below include/neuronbook, full path)."""
    base = root / "include" / "neuronbook"
    return [(p.relative_to(base).as_posix(), p) for p in sorted(base.rglob("*.hpp"))]


def sources(root, folders, suffixes=(".hpp", ".cpp")):
    return [
        path
        for folder in folders
        for path in sorted((root / folder).rglob("*"))
        if path.suffix in suffixes and path.is_file()
    ]


def repository_files(root):
    """What git tracks or would add; without git, everything outside build folders."""
    try:
        listing = subprocess.run(
            ["git", "-c", f"safe.directory={root}", "-C", str(root), "ls-files", "-z",
             "--cached", "--others", "--exclude-standard"],
            capture_output=True, check=True).stdout.decode()
        names = sorted(name for name in listing.split("\0") if name)
        files = [root / name for name in names if (root / name).is_file()]
        if files:
            return files
    except (OSError, subprocess.CalledProcessError):
        pass
    return [
        path for path in sorted(root.rglob("*"))
        if path.is_file()
        and not any(part == ".git" or part.startswith("build") or part == "__pycache__"
                    for part in path.relative_to(root).parts)
    ]


def read(path):
    return path.read_text(encoding="utf-8", errors="replace")


def write_tree(root, files):
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def self_test(check, bad, good):
    """Counts in the form of Catch2, so that tests/summarise.py sees every case."""
    failures = 0
    cases = [("the good tree", good, None)] + bad
    for name, files, words in cases:
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            write_tree(root, files)
            found = "\n".join(check(root))
        if words is None and found:
            failures += 1
            print(f"FAILED {name}: nothing should be reported, but:\n{found}")
        elif words is not None and words not in found:
            failures += 1
            print(f"FAILED {name}: {words!r} should be reported, got:\n{found or '(nothing)'}")
    passed = len(cases) - failures
    print(f"test cases: {len(cases)} | {passed} passed | {failures} failed")
    return 1 if failures else 0


def run(check, bad, good):
    arguments = sys.argv[1:]
    if "--self-test" in arguments:
        sys.exit(self_test(check, bad, good))
    root = pathlib.Path(arguments[0]).resolve() if arguments else repository()
    findings = check(root)
    for finding in findings:
        print(finding)
    print(f"{pathlib.Path(sys.argv[0]).name}: {len(findings)} findings")
    sys.exit(1 if findings else 0)
