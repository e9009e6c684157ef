#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The repository speaks of the project alone.

No numbers of a tracker that a reader of the source does not have, no absolute paths of somebody's
machine, no package hosts: what is needed comes from the distribution, by package name.
"""

import re

import lintlib

# Written so that this file does not match itself.
RULES = [
    (re.compile(r"\b(?:issues?|tickets?|bugs?|pull requests?|PR|fix|fixes|fixed|close|closes|closed|"
                r"see)\s*#\d+\b", re.I), "a tracker number"),
    # Without the sign: "fix 2 of them" is fine, so only after the nouns.
    (re.compile(r"\b(?:issues?|tickets?|bugs?|pull requests?|(?-i:PR|GH|MR))"
                r"(?:\s+|-)(?:(?:no\.?|nr\.?|number)\s*)?\d+\b", re.I), "a tracker number"),
    (re.compile(r"(?<![\w.])/wor[k]/"), "an absolute path"),
    (re.compile(r"(?<![\w.])/hom[e]/\w"), "an absolute path"),
    (re.compile(r"https?:/[/][^\s)>\"'`]*?(?:registry|mirror|deb\.)", re.I), "a package host"),
]


def check(root):
    findings = []
    for path in lintlib.repository_files(root):
        data = path.read_bytes()
        if b"\0" in data:
            continue
        for number, line in enumerate(data.decode("utf-8", "replace").splitlines(), 1):
            for pattern, what in RULES:
                if pattern.search(line):
                    name = path.relative_to(root).as_posix()
                    findings.append(f"{name}:{number}: {what}: {line.strip()[:80]}")
    return findings


GOOD = {
    "README.md": "Work is in homework/ and artwork/; tables.md #7; docs at https:/" + "/example.org/\n"
                 "A fix for 2 of them; see 4.2; issued 3 requests; pr 5.\n",
    "a.sh": "sudo apt-get install meson\ncd build/network/\n",
}
BAD = [
    ("tracker number", {"README.md": "as said in issue " + "#12\n"}, "README.md:1: a tracker"),
    ("no sign", {"a.cpp": "// as in issue " + "12 of theirs\n"}, "a.cpp:1: a tracker"),
    ("several", {"a.cpp": "// Issues " + "3 and 4\n"}, "a.cpp:1: a tracker"),
    ("number in words", {"a.py": "# bug no. " + "77\n"}, "a.py:1: a tracker"),
    ("request", {"a.py": "# pull request " + "5\n"}, "a.py:1: a tracker"),
    ("short form", {"a.py": "# GH-" + "5, PR " + "6\n"}, "a.py:1: a tracker"),
    ("closing word", {"a.cpp": "// Fixes " + "#3\n"}, "a.cpp:1: a tracker"),
    ("path", {"a.py": "open('/wor" + "k/data')\n"}, "a.py:1: an absolute path"),
    ("home", {"a.py": "\nopen('/hom" + "e/me/x')\n"}, "a.py:2: an absolute path"),
    ("registry", {"s.sh": "curl https:/" + "/registry.example.org/x\n"}, "s.sh:1: a package host"),
    ("mirror", {"s.sh": "curl http:/" + "/my.mirror.example/x\n"}, "s.sh:1: a package host"),
    ("debian host", {"s.sh": "curl http:/" + "/deb.example.org/x\n"}, "s.sh:1: a package host"),
]

if __name__ == "__main__":
    lintlib.run(check, BAD, GOOD)
