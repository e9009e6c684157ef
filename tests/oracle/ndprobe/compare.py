#!/usr/bin/env python3
"""Compare one ndprobe run with the recorded answers of the real driver.

usage: compare.py SUITE OUTPUT [--part N] [--transcript FILE] [--show N]

Both texts are normalised first: host physical addresses, handle numbers, process ids, durations and kernel addresses differ
from run to run and are replaced by their order of appearance or by a placeholder. What is left must be equal line by line.
"""
import argparse
import difflib
import os
import re
import sys

HOST_PA = re.compile(r'0x1[0-9a-f]{11}\b|0x4[0-9a-f]{11}\b')
RULES = [
    (re.compile(r'\b(after|in) [0-9.]+ s\b'), r'\1 T s'),
    (re.compile(r'host pieces: \d+'), 'host pieces: N'),
    (re.compile(r'^   values .*'), '   values'),
    (re.compile(r'last handle \d+'), 'last handle H'),
    (re.compile(r'\bpid[ =]\d+'), 'pid P'),
    (re.compile(r'app_pid gave \d+'), 'app_pid gave P'),
    (re.compile(r'whole run took.*'), 'whole run took T'),
    (re.compile(r'bar0=\S+'), 'bar0=B'),
    (re.compile(r'0xffff[0-9a-f]{12}'), 'KADDR'),
    (re.compile(r'host_mem\S* = .*'), 'host_mem'),
]


def section(lines, suite, part):
    """The lines of a suite; `part` picks the n-th section of that name (1-based)."""
    found = 0
    for i, line in enumerate(lines):
        if line.strip() == '#### ' + suite:
            found += 1
            if found == part:
                end = i + 1
                while end < len(lines) and not re.match(r'#### |====|------ |-- exit', lines[end]):
                    end += 1
                return lines[i + 1:end]
    sys.exit('compare: no section %d of suite %s' % (part, suite))


def normal(lines):
    names = {}

    def handle(m):
        key = int(m.group(2), 0)
        return m.group(1) + 'H%d' % names.setdefault(key, len(names))

    out = []
    for line in lines:
        line = line.rstrip()
        if not line or line.startswith('#### ') or line.startswith('-- exit') or line.startswith('exit='):
            continue
        line = HOST_PA.sub('HOSTPA', line)
        line = re.sub(r'\b(h=)(0x[0-9a-f]+|\d+)', handle, line)
        for rule, text in RULES:
            line = rule.sub(text, line)
        out.append(line)
    return out


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    p = argparse.ArgumentParser()
    p.add_argument('suite')
    p.add_argument('output')
    p.add_argument('--part', type=int, default=1)
    p.add_argument('--transcript', default=os.path.join(here, '..', 'real-driver-transcript.txt'))
    p.add_argument('--show', type=int, default=60)
    a = p.parse_args()
    want = normal(section(open(a.transcript, errors='replace').read().split('\n'), a.suite, a.part))
    got = normal(open(a.output, errors='replace').read().split('\n'))
    diff = [d for d in difflib.unified_diff(want, got, 'real driver', 'this run', lineterm='', n=0) if not d.startswith('@@')]
    bad = sum(1 for d in diff if d[0] in '+-' and d[:3] not in ('+++', '---'))
    for d in diff[:a.show]:
        print(d)
    same = len(want) - sum(1 for d in diff if d.startswith('-') and not d.startswith('---'))
    print('%s: %d of %d answers equal the real driver, %d differing lines' % (a.suite, same, len(want), bad))
    return 1 if bad else 0


if __name__ == '__main__':
    sys.exit(main())
