#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Who may include whom below include/neuronbook/, and what every header must have.

The rules are the tables below; CONTRIBUTING.md says them in words.
"""

import re

import lintlib

RANKS = {
    "base": 0, "backend": 1, "topology": 2, "dmem": 3, "model": 4, "tensor": 5,
    "runtime": 6, "runtime_options.hpp": 6, "process_runtime.hpp": 6, "runtime.hpp": 6,
    "neuronbook.hpp": 7,
}
UMBRELLA = "neuronbook.hpp"
# Above backend/ only its concepts are visible; the umbrella names the default driver.
BACKEND_DOOR = "backend/driver.hpp"
# Headers of the operating system, for backend/ and for what threads need of Linux.
SYSTEM_USERS = ("backend/", "base/bell.hpp", "base/process_barrier.hpp", "base/thread_id.hpp")
SYSTEM_ONLY_BACKEND = re.compile(r"(sys|linux|asm|asm-generic)/.*|fcntl\.h|unistd\.h")
# Slow to compile, or not a library's business.
NEVER = {"iostream", "regex", "functional", "thread", "chrono"}
# Third parties: where a path starting with this may include them.
THIRD_PARTIES = {
    "absl/": ("model/", UMBRELLA),
    "boost/intrusive/": ("base/node_table.hpp", "dmem/", "model/", "tensor/"),
    "tl/": ("base/result.hpp",),
}
FOREIGN = re.compile(r"^[a-z0-9_]+/.*$")  # any other <folder/header> is not a standard header

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
NAMESPACE = re.compile(
    r"namespace\s+neuronbook\s*\{\s*inline\s+namespace\s+v0\b"
    r"|namespace\s+neuronbook\s*::\s*inline\s+v0\b")
SPDX = "// SPDX-License-Identifier: Apache-2.0"


def rank(name):
    return RANKS.get(name.split("/")[0])


def own_include(name, target):
    """What is wrong with header `name` including our own header `target`, or None."""
    mine, theirs = rank(name), rank(target)
    if theirs is None:
        return f"{target} is in no layer"
    if theirs > mine:
        return f"includes upward: {target}"
    if target.startswith("backend/") and not name.startswith("backend/"):
        if name != UMBRELLA and target != BACKEND_DOOR:
            return f"above backend/ only {BACKEND_DOOR} may be included, not {target}"
    if "/detail/" in target and name.split("/")[0] != target.split("/")[0]:
        return f"the detail of another layer: {target}"
    return None


def foreign_include(name, target):
    """What is wrong with header `name` including somebody else's header `target`, or None."""
    if target in NEVER:
        return f"<{target}> is not for headers"
    if SYSTEM_ONLY_BACKEND.fullmatch(target):
        return None if name.startswith(SYSTEM_USERS) else f"<{target}> belongs in backend/"
    for prefix, places in THIRD_PARTIES.items():
        if target.startswith(prefix):
            if name.startswith(places):
                return None
            return f"<{target}> may only be included from {', '.join(places)}"
    if FOREIGN.match(target):
        return f"<{target}> is no dependency of this library"
    return None


def cycles(graph):
    """One message per header that reaches itself."""
    messages = []
    for start in sorted(graph):
        seen, todo = set(), list(graph[start])
        while todo:
            name = todo.pop()
            if name not in seen:
                seen.add(name)
                todo.extend(graph.get(name, ()))
        if start in seen:
            messages.append(f"include/neuronbook/{start}:1: includes itself through others")
    return messages


def check(root):
    findings, graph = [], {}
    for name, path in lintlib.headers(root):
        def report(line, message):
            findings.append(f"include/neuronbook/{name}:{line}: {message}")

        text = lintlib.read(path)
        lines = text.splitlines()
        graph[name] = set()
        if rank(name) is None:
            report(1, "is in no layer")
            continue
        if not lines or lines[0] != SPDX:
            report(1, f"the first line must be {SPDX}")
        if "#pragma once" not in lines:
            report(1, "has no #pragma once")
        if not NAMESPACE.search(text):
            report(1, "declares nothing in neuronbook's inline namespace v0")
        for number, line in enumerate(lines, 1):
            found = INCLUDE.match(line)
            if not found:
                continue
            bracket, target = found.groups()
            if target.startswith("neuronbook/"):
                target = target.removeprefix("neuronbook/")
                graph[name].add(target)
                wrong = own_include(name, target)
                if bracket == "<":
                    wrong = wrong or "our own headers are included in quotes"
            elif bracket == '"':
                wrong = f'own headers are written "neuronbook/...", not "{target}"'
            else:
                wrong = foreign_include(name, target)
            if wrong:
                report(number, wrong)
    return findings + cycles(graph)


def header(*includes, head=SPDX + "\n#pragma once\n", body=None):
    body = "namespace neuronbook {\ninline namespace v0 {\n} // namespace v0\n}\n" \
        if body is None else body
    return head + "".join(f"#include {i}\n" for i in includes) + body


AT = "include/neuronbook/"
GOOD = {
    AT + "base/ids.hpp": header("<cstdint>"),
    AT + "base/result.hpp": header("<tl/expected.hpp>"),
    AT + "base/node_table.hpp": header("<boost/intrusive/list.hpp>"),
    AT + "backend/driver.hpp": header('"neuronbook/base/ids.hpp"'),
    AT + "backend/uapi.hpp": header("<sys/ioctl.h>", "<linux/types.h>"),
    AT + "dmem/allocator.hpp": header('"neuronbook/backend/driver.hpp"'),
    AT + "model/database.hpp": header("<absl/container/flat_hash_map.h>"),
    AT + "runtime/counts.hpp": header('"neuronbook/topology/claim.hpp"'),
    AT + "runtime.hpp": header('"neuronbook/dmem/allocator.hpp"', '"neuronbook/runtime/counts.hpp"',
                               body="namespace neuronbook::inline v0 {}\n"),
    AT + "neuronbook.hpp": header('"neuronbook/runtime.hpp"', '"neuronbook/backend/uapi.hpp"'),
}
BAD = [
    ("upward", {AT + "base/a.hpp": header('"neuronbook/dmem/block.hpp"')}, "includes upward"),
    ("the runtime upward", {AT + "runtime.hpp": header('"neuronbook/neuronbook.hpp"')},
     "includes upward"),
    ("a part of the runtime upward",
     {AT + "runtime/counts.hpp": header('"neuronbook/neuronbook.hpp"')}, "includes upward"),
    ("a layer up to a part of the runtime",
     {AT + "topology/a.hpp": header('"neuronbook/runtime/counts.hpp"')}, "includes upward"),
    ("past the backend's door", {AT + "dmem/a.hpp": header('"neuronbook/backend/uapi.hpp"')},
     "only backend/driver.hpp"),
    ("the runtime past the door",
     {AT + "runtime.hpp": header('"neuronbook/backend/ioctl_driver.hpp"')},
     "only backend/driver.hpp"),
    ("foreign detail", {AT + "dmem/a.hpp": header('"neuronbook/base/detail/x.hpp"')},
     "detail of another layer"),
    ("ioctl above backend", {AT + "dmem/a.hpp": header("<sys/ioctl.h>")}, "belongs in backend/"),
    ("linux above backend", {AT + "base/a.hpp": header("<linux/types.h>")}, "belongs in backend/"),
    ("mman above backend", {AT + "tensor/a.hpp": header("<sys/mman.h>")}, "belongs in backend/"),
    ("fcntl in the umbrella", {AT + "neuronbook.hpp": header("<fcntl.h>")}, "belongs in backend/"),
    ("unistd", {AT + "topology/a.hpp": header("<unistd.h>")}, "belongs in backend/"),
    ("absl in dmem", {AT + "dmem/a.hpp": header("<absl/container/flat_hash_map.h>")},
     "may only be included from"),
    ("intrusive in backend", {AT + "backend/a.hpp": header("<boost/intrusive/list.hpp>")},
     "may only be included from"),
    ("other boost", {AT + "dmem/a.hpp": header("<boost/any.hpp>")}, "no dependency"),
    ("iostream", {AT + "base/a.hpp": header("<iostream>")}, "not for headers"),
    ("chrono, indented", {AT + "base/a.hpp": header().replace("namespace", " # include <chrono>\n"
                                                              "namespace", 1)},
     "not for headers"),
    ("no pragma", {AT + "base/a.hpp": header(head=SPDX + "\n")}, "no #pragma once"),
    ("no licence", {AT + "base/a.hpp": header(head="#pragma once\n")}, "first line must be"),
    ("no inline namespace", {AT + "base/a.hpp": header(body="namespace neuronbook {}\n")},
     "inline namespace v0"),
    ("relative", {AT + "base/a.hpp": header('"ids.hpp"')}, 'own headers are written'),
    ("brackets", {AT + "base/a.hpp": header("<neuronbook/base/ids.hpp>")}, "in quotes"),
    ("no layer", {AT + "utils/a.hpp": header()}, "in no layer"),
    ("cycle", {AT + "base/a.hpp": header('"neuronbook/base/b.hpp"'),
               AT + "base/b.hpp": header('"neuronbook/base/a.hpp"')}, "includes itself"),
]

if __name__ == "__main__":
    lintlib.run(check, BAD, GOOD)
