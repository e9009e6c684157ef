#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds and runs consumer.cpp the way a user would, from an installation or as a subproject.

    run.py subproject | pkg-config | cmake  --version X.Y.Z [--meson MESON] [-- COMPILER...]

Everything happens in a temporary folder. Exits 77 (skipped) where a tool is not installed.
"""

import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SKIP = 77

MESON_PROJECT = """project('consumer', 'cpp', default_options: ['cpp_std=c++20'])
neuronbook = dependency('neuronbook')
executable('consumer', 'consumer.cpp', dependencies: neuronbook)
"""
CMAKE_PROJECT = """cmake_minimum_required(VERSION 3.20)
project(consumer CXX)
find_package(neuronbook {series} REQUIRED)
add_executable(consumer consumer.cpp)
target_link_libraries(consumer PRIVATE neuronbook::neuronbook)
"""
# Without Abseil: asked for by component, in a scope where Abseil cannot be found.
CMAKE_CORE_PROJECT = """cmake_minimum_required(VERSION 3.20)
project(core CXX)
set(CMAKE_DISABLE_FIND_PACKAGE_absl TRUE)
find_package(neuronbook {series} REQUIRED COMPONENTS core)
add_executable(core core.cpp)
target_link_libraries(core PRIVATE neuronbook::core)
"""
CORE_PROGRAM = """#include <neuronbook/base/version.hpp>
#include <neuronbook/base/result.hpp>
int main() { return neuronbook::kVersion.major; }
"""


class Work:
    def __init__(self, folder, arguments):
        self.folder = folder
        self.meson = arguments.meson
        self.version = arguments.version
        self.series = ".".join(arguments.version.split(".")[:2])
        self.compiler = arguments.compiler or ["c++"]
        self.environment = {**os.environ, "CXX": " ".join(self.compiler)}
        for name in ("CXXFLAGS", "CPPFLAGS", "LDFLAGS", "DESTDIR"):
            self.environment.pop(name, None)

    def run(self, *command, **extra):
        command = [str(word) for word in command]
        print("+", " ".join(command), flush=True)
        environment = {**self.environment, **extra}
        result = subprocess.run(command, cwd=self.folder, env=environment, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        print(result.stdout, flush=True)
        if result.returncode:
            sys.exit(f"failed: {' '.join(command)}")
        return result.stdout

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def install(self):
        prefix = self.folder / "prefix"
        self.run(self.meson, "setup", "install-build", ROOT, f"--prefix={prefix}",
                 "-Dtests=disabled", "-Dexamples=disabled", "-Dbench=disabled")
        self.run(self.meson, "install", "-C", "install-build")
        return prefix

    def check(self, program):
        output = self.run(program)
        if f"neuronbook {self.version}" not in output:
            sys.exit(f"the consumer should print neuronbook {self.version}")


def subproject(work):
    """A Meson project that has the source tree below subprojects/."""
    work.write("meson.build", MESON_PROJECT)
    shutil.copy(HERE / "consumer.cpp", work.folder)
    (work.folder / "subprojects").mkdir()
    (work.folder / "subprojects/neuronbook").symlink_to(ROOT)
    log = work.run(work.meson, "setup", "build", "--wrap-mode=nodownload", "-Dwerror=true")
    if "Executing subproject neuronbook" not in log:
        sys.exit("the dependency did not come from the subproject")
    if "Build targets in project: 1\n" not in log:
        sys.exit("a subproject must not build its own tests, examples or benchmarks")
    work.run(work.meson, "compile", "-C", "build")
    work.check(work.folder / "build/consumer")


def pkg_config(work):
    """The compiler by hand, with the flags pkg-config gives; also without Abseil."""
    prefix = work.install()
    path = {"PKG_CONFIG_PATH": f"{prefix}/share/pkgconfig"}
    flags = work.run("pkg-config", "--cflags", "--libs", "neuronbook", **path).split()
    work.run(*work.compiler, "-std=c++20", HERE / "consumer.cpp", "-o", "consumer", *flags)
    work.check(work.folder / "consumer")

    core = work.run("pkg-config", "--cflags", "--libs", "neuronbook-core", **path).split()
    if any("absl" in flag for flag in core):
        sys.exit("neuronbook-core must not ask for Abseil")
    work.write("core.cpp", CORE_PROGRAM)
    work.run(*work.compiler, "-std=c++20", "core.cpp", "-o", "core", *core)
    work.run(work.folder / "core")
    work.run("pkg-config", f"--exact-version={work.version}", "neuronbook", **path)


def cmake(work):
    """find_package, from an installation that has been moved since."""
    prefix = work.install()
    moved = work.folder / "moved"
    prefix.rename(moved)
    work.write("src/CMakeLists.txt", CMAKE_PROJECT.format(series=work.series))
    shutil.copy(HERE / "consumer.cpp", work.folder / "src")
    work.write("core/CMakeLists.txt", CMAKE_CORE_PROJECT.format(series=work.series))
    work.write("core/core.cpp", CORE_PROGRAM)
    for source, program in (("src", "consumer"), ("core", "core")):
        build = f"build-{source}"
        work.run("cmake", "-S", source, "-B", build, "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={moved}")
        work.run("cmake", "--build", build)
        if program == "consumer":
            work.check(work.folder / build / program)
        else:
            work.run(work.folder / build / program)


WAYS = {"subproject": (subproject, []), "pkg-config": (pkg_config, ["pkg-config"]),
        "cmake": (cmake, ["cmake", "ninja"])}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("way", choices=WAYS)
    parser.add_argument("--version", required=True)
    parser.add_argument("--meson", default="meson")
    words = sys.argv[1:]
    cut = words.index("--") if "--" in words else len(words)
    arguments = parser.parse_args(words[:cut])
    arguments.compiler = words[cut + 1:]
    way, tools = WAYS[arguments.way]
    missing = [tool for tool in tools if not shutil.which(tool)]
    if missing:
        print("not installed:", *missing)
        sys.exit(SKIP)
    with tempfile.TemporaryDirectory() as folder:
        way(Work(pathlib.Path(folder).resolve(), arguments))


if __name__ == "__main__":
    main()
