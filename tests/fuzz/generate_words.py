#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write words.hpp, the fuzzer's table of requests, from ioctl-abi.json.

    generate_words.py --abi ../abi/ioctl-abi.json            write words.hpp beside this script
    generate_words.py --abi ../abi/ioctl-abi.json --check    end with 1 when it is out of date

A structure's layout becomes a text with a letter for each member in order: 1 2 4 8 a number of so
many bytes, p a pointer, a an address, h a handle, s and t a size of 8 and of 4 bytes, z the structure's own size, _ one byte of
a hole, * all that is left. What is behind the 4th element of an array is left out.
"""
import argparse
import json
import pathlib
import re
import sys

HEAD = """// SPDX-License-Identifier: Apache-2.0
// Every request word, the size of its argument and what the argument is made of; made by
// generate_words.py, which says what the letters mean.
#pragma once

#include <array>
#include <cstdint>

namespace fuzz {

struct Word {
    std::uint32_t word;
    std::uint32_t size; ///< of the argument
    const char* layout;
};

// clang-format off
"""
TARGETS = ["neuron_memcpy_batch", "nrt_tensor_batch_op", "neuron_ioctl_dma_queue_init"]
MOST_ELEMENTS = 4


def letter(name, field):
    if "*" in field["type"]:
        return "p"
    if name == "sz":
        return "z"
    if name == "va":
        return "a"
    if field["size"] == 8 and name.endswith("handle"):
        return "h"
    if name == "size":
        return {4: "t", 8: "s"}.get(field["size"], str(field["size"]))
    return str(field["size"])


def layout(abi, name):
    struct = abi["structs"][name]
    text, at = "", 0
    for field in struct["fields"]:
        if field.get("flexible"):
            continue
        text += "_" * (field["offset"] - at)
        at = field["offset"] + field["size"]
        inner = re.match(r"struct (\w+)|(neuron_memcpy_batch|nrt_tensor_batch_op)_t(?! \*)",
                         field["type"])
        count = field.get("count", 1)
        if inner and "*" not in field["type"]:
            one = layout(abi, inner.group(1) or inner.group(2))
        elif field["size"] // count in (1, 2, 4, 8):
            one = letter(field["name"], dict(field, size=field["size"] // count))
        else:
            one = "1" * (field["size"] // count)
        text += one * min(count, MOST_ELEMENTS)
        if count > MOST_ELEMENTS:
            return text + "*"
    return text + "_" * min(struct["size"] - at, 8)


def rows(abi):
    for request in abi["ioctls"]:
        size = request["arg_struct_size"] or 0
        struct = request["arg_struct"]
        text = layout(abi, struct) if struct else {1: "1", 4: "4"}.get(size, "")
        yield int(request["request"], 16), size, text, request["name"]


def table(abi):
    lines = [HEAD, "inline constexpr std::array kWords{\n"]
    for word, size, text, name in rows(abi):
        short = name.removeprefix("NEURON_IOCTL_")
        lines.append(f'    Word{{0x{word:08X}u, {size}, "{text}"}}, // {short}\n')
    lines.append("};\n\n/// What pointers of arguments point to.\ninline constexpr std::array kTargets{\n")
    for name in TARGETS:
        lines.append(f'    Word{{0, {abi["structs"][name]["size"]}, "{layout(abi, name)}"}}, // {name}\n')
    sizes = sorted({request["encoded_size"] for request in abi["ioctls"]})
    lines.append("};\n\n/// Every size that some request word encodes.\n")
    lines.append(f"inline constexpr std::array<std::uint32_t, {len(sizes)}> kSizes{{\n    ")
    lines.append(", ".join(map(str, sizes)) + "};\n// clang-format on\n\n} // namespace fuzz\n")
    return "".join(lines)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--abi", required=True)
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    text = table(json.loads(pathlib.Path(args.abi).read_text()))
    path = pathlib.Path(__file__).with_name("words.hpp")
    if not args.check:
        path.write_text(text)
    elif path.read_text() != text:
        sys.exit(f"{path} is out of date: run {pathlib.Path(__file__).name} --abi {args.abi}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
