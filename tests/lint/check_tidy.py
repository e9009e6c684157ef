#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""clang-tidy-19 with .clang-tidy over one translation unit that includes the umbrella, and its rules
for names over the programs in examples/*/ and the tests in tests/examples/.

Those stand for all the others, which would take minutes. Until there is an umbrella, every header
is included. Skipped where that version is not installed.
"""

import re
import shutil
import subprocess
import sys
import tempfile

import lintlib

TOOL = "clang-tidy-19"


NAMES = "-*,readability-identifier-naming"


def tidy(root, source, *arguments):
    """The findings in one translation unit."""
    run = subprocess.run(
        [TOOL, "--quiet", f"--config-file={root / '.clang-tidy'}", *arguments, str(source), "--",
         "-std=c++20", f"-I{root / 'include'}", f"-I{root / 'tests'}", f"-I{root / 'examples'}"],
        capture_output=True, text=True)
    pattern = rf"^{re.escape(str(root))}/(\S+?:\d+):\d+: (?:error|warning): (.*)$"
    found = [f"{place}: {what}" for place, what in re.findall(pattern, run.stdout, re.M)]
    if run.returncode and not found:
        return [(run.stdout + run.stderr).strip() or f"{TOOL} failed"]
    return found


def check(root):
    umbrella = root / "include/neuronbook/neuronbook.hpp"
    names = ["neuronbook.hpp"] if umbrella.is_file() else [n for n, _ in lintlib.headers(root)]
    unit = "".join(f'#include "neuronbook/{name}"\n' for name in names)
    with tempfile.TemporaryDirectory() as folder:
        source = f"{folder}/unit.cpp"
        with open(source, "w", encoding="utf-8") as file:
            file.write(unit)
        found = tidy(root, source)
    for source in [*sorted(root.glob("examples/*/*.cpp")),
                   *sorted(root.glob("tests/examples/*.cpp"))]:
        found += tidy(root, source, f"--checks={NAMES}",
                      f"--header-filter=^{re.escape(str(root))}/(examples|tests)/")
    return sorted(set(found))


USERS = {"example": "examples/a/main.cpp", "part": "examples/a/part.hpp",
         "test": "tests/examples/a_test.cpp", "support": "tests/support/a.hpp"}


def with_rules(text, **users):
    rules = lintlib.read(lintlib.repository() / ".clang-tidy")
    return {".clang-tidy": rules, "include/neuronbook/neuronbook.hpp": "#pragma once\n" + text,
            **{USERS[which]: program for which, program in users.items()}}


GOOD = with_rules("""#define NEURONBOOK_X 1
namespace neuronbook {
template <class T> concept Small = sizeof(T) < 9;
inline constexpr int kLimit = 3;
enum class Mode { Fast, Slow };
template <int NumMla, Small Payload> class ContextTree {
public:
    using value_type = Payload;
    static constexpr int kDevices = NumMla;
    int find_core(int core_index) const { const int twice = core_index * 2; return twice + used_; }
private:
    int used_ = 0;
};
struct Pair { int first; int second; };
}
""", part="struct Part { int size; };\n", support="inline int half(int n) { return n / 2; }\n",
    example='#include "part.hpp"\nint main() { return Part{0}.size; }\n',
    test='#include "a/part.hpp"\n#include "support/a.hpp"\nint twice(const Part& part) '
         '{ return half(4 * part.size); }\n')
BAD = [
    ("class", with_rules("class context_tree {};\n"), "invalid case style for class"),
    ("function", with_rules("int FindCore();\n"), "invalid case style for function"),
    ("method", with_rules("struct A { int findCore(); };\n"), "invalid case style for method"),
    ("member", with_rules("class A { int used = 0; };\n"), "invalid case style for private member"),
    ("public member", with_rules("struct A { int used_; };\n"), "case style for public member"),
    ("constant", with_rules("inline constexpr int LIMIT = 3;\n"), "case style for global constant"),
    ("class constant", with_rules("struct A { static constexpr int limit = 3; };\n"),
     "case style for class constant"),
    ("concept", with_rules("template <class T> concept is_small = true;\n"), "style for concept"),
    ("parameter", with_rules("template <int num_mla> struct A {};\n"), "template parameter"),
    ("namespace", with_rules("namespace Detail {}\n"), "invalid case style for namespace"),
    ("macro", with_rules("#define limit 3\n"), "invalid case style for macro definition"),
    ("example", with_rules("", example="int LoadAll();\n"),
     "examples/a/main.cpp:1: invalid case style for function"),
    ("example's header", with_rules("", part="struct part {};\n", example='#include "part.hpp"\n'),
     "examples/a/part.hpp:1: invalid case style for struct"),
    ("test", with_rules("", test="int checkAll();\n"),
     "tests/examples/a_test.cpp:1: invalid case style for function"),
    ("test's support", with_rules("", support="struct small {};\n",
                                  test='#include "support/a.hpp"\n'), "tests/support/a.hpp:1"),
    ("broken example", with_rules("", example="int main( {\n"), "examples/a/main.cpp:1"),
    ("broken", with_rules("int f( {\n"), "expected"),
]

if __name__ == "__main__":
    if not shutil.which(TOOL):
        print(f"{TOOL} is not installed")
        sys.exit(lintlib.SKIP)
    lintlib.run(check, BAD, GOOD)
