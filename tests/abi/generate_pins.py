#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Hold backend/uapi.hpp and ioctl-abi.json together, in both directions.

--output FILE writes a C++ file of static_asserts made from the json: what the header says wrongly
or lacks does not compile. --check reads the header and names everything in it that the json does
not know, everything it lacks, and every version remark that the json's history denies.
"""
import argparse
import json
import os
import re
import sys

sys.dont_write_bytecode = True  # the source tree stays as it is
from abi_names import (ENUMS, FEATURE_ENUM, FORMS, LAST_SERVED, camel, constants, cpp_type,
                       feature_name, first_release, requests, served_words, short, struct_name,
                       structs, version)

HERE = os.path.dirname(os.path.abspath(__file__))
DIRECTIONS = {'NONE': 0, 'WRITE': 1, 'READ': 2, 'READ|WRITE': 3}

# --- Writing the pins -----------------------------------------------------------------------------


class Pins:
    def __init__(self):
        self.lines = []

    def same(self, what, value):
        self.lines.append('static_assert(%s == %s);' % (what, value))

    def holds(self, what):
        self.lines.append('static_assert(%s);' % what)

    def section(self, title):
        self.lines += ['', '// ' + title]


def pin_layout(pins, name, size, fields):
    pins.same('sizeof(u::%s)' % name, size)
    for f in fields:
        if not f.get('flexible'):
            pins.same('offsetof(u::%s, %s)' % (name, f['name']), f['offset'])
            pins.same('sizeof(u::%s::%s)' % (name, f['name']), f['size'])


def pin_struct(pins, abi, name, struct):
    pins.section('struct ' + name)
    pin_layout(pins, name, struct['size'], struct['fields'])
    pins.same('alignof(u::%s)' % name, struct['align'])
    pins.holds('std::is_standard_layout_v<u::%s>' % name)
    pins.holds('std::is_trivially_copyable_v<u::%s>' % name)
    pins.holds('std::has_unique_object_representations_v<u::%s>' % name)  # no unnamed hole
    for f in struct['fields']:
        ctype = cpp_type(abi, f)
        if f.get('flexible'):  # C++ has no such member: the elements start where the struct ends
            pins.same('sizeof(u::%s)' % name, f['offset'])
            pins.same('sizeof(%s)' % ctype, f['elem_size'])
        else:
            pins.holds('std::is_same_v<decltype(u::%s::%s), %s>' % (name, f['name'], ctype))


def shape_of(struct):
    return [(f['name'], f['offset'], f['size']) for f in struct['fields']]


def pin_older_layouts(pins, abi, name, struct):
    """A layout of the same size has other names at the same places; one of another size has another
    structure."""
    for old in struct['layout_history'][:-1]:
        if old['size'] == struct['size']:
            at = {f['offset']: f['name'] for f in struct['fields']}
            fields = [dict(f, name=at.get(f['offset'], f['name'])) for f in old['fields']]
            target = name
        else:
            fields = old['fields']
            target = next((n for n, s in structs(abi).items()
                           if s['size'] == old['size'] and shape_of(s) == shape_of(old)), None)
            if target is None:
                sys.exit('generate_pins: no structure for %s as of %s' % (name, old['since']))
        pins.section('%s as of %s' % (name, old['since']))
        pin_layout(pins, target, old['size'], fields)


def generate(abi):
    pins = Pins()
    words, shapes = requests(abi), structs(abi)
    pins.section('requests')
    for name, (word, argument, request) in words.items():
        pins.same('u::' + name, '0x%08Xu' % word)
        pins.holds('std::is_same_v<decltype(u::%s), const std::uint32_t>' % name)
        pins.same('(u::%s & 0xFFu)' % name, request['nr'])
        pins.same('(u::%s >> 8 & 0xFFu)' % name, 'u::kIoctlType')
        pins.same('(u::%s >> 30)' % name, DIRECTIONS[request['dir']])
        if request['size_is_of'] == 'struct':
            pins.same('(u::%s >> 16 & 0x3FFFu)' % name, 'sizeof(u::%s)' % struct_name(argument))
        else:
            pins.same('(u::%s >> 16 & 0x3FFFu)' % name, request['encoded_size'])
    for name, since, word in served_words(abi):
        holder = next((n for n, (w, _, _) in words.items() if w == word), None)
        if holder is None:
            sys.exit('generate_pins: no constant for %s as of %s' % (name, since))
    fields = 0
    for name, struct in shapes.items():
        pin_struct(pins, abi, name, struct)
        fields += sum(not f.get('flexible') for f in struct['fields'])
        if 'layout_history' in struct:
            pin_older_layouts(pins, abi, name, struct)
    pins.section('features')
    for flag in abi['feature_flags']:
        name = feature_name(flag['name'])
        pins.same('u::' + name, '%su' % flag['mask'])
        pins.same('u::' + name, 'std::uint64_t{1} << %d' % flag['bit'])
        pins.same('u::' + name, '%du' % abi['enums'][FEATURE_ENUM]['values'][flag['name']])
        pins.holds('std::is_same_v<decltype(u::%s), const std::uint64_t>' % name)
    pins.section('limits and special values')
    for name, (ctype, value) in constants(abi).items():
        pins.same('u::' + name, value)
        pins.holds('std::is_same_v<decltype(u::%s), const std::%s>' % (name, ctype))
    for name, (source, prefix, base) in ENUMS.items():
        pins.section('enum ' + name)
        pins.holds('std::is_same_v<std::underlying_type_t<u::%s>, std::%s>' % (name, base))
        for key, value in abi['enums'][source]['values'].items():
            pins.same('static_cast<std::%s>(u::%s::%s)' % (base, name, camel(short(key, prefix))),
                      value)
    report = ('%d requests and %d older form, %d structures with %d fields, %d features, '
              '%d other constants, %d enums: as driver %s has them' %
              (len(abi['ioctls']), len(FORMS), len(shapes), fields, len(abi['feature_flags']),
               len(constants(abi)), len(ENUMS), abi['about']['newest_driver']))
    return '\n'.join(
        ['// Generated by generate_pins.py; do not edit.', '#include <cstddef>',
         '#include <cstdint>', '#include <cstdio>', '#include <type_traits>', '',
         '#include "neuronbook/backend/uapi.hpp"', '', 'namespace u = neuronbook::uapi;'] +
        pins.lines + ['', 'int main() { std::puts("%s"); }' % report, ''])


# --- Reading the header ---------------------------------------------------------------------------

CONSTANT = re.compile(r'^inline constexpr std::\w+ (k\w+) = ([\w-]+);[ \t]*(?://[ \t]*(.*))?$',
                      re.M)
STRUCT = re.compile(r'^struct (?:alignas\(\d+\) )?(\w+) \{\n(.*?)^\};', re.S | re.M)
ENUM = re.compile(r'^enum class (\w+) : std::\w+ \{\n(.*?)^\};', re.S | re.M)
MEMBER = re.compile(r'^    (?:const )?[\w:]+\*? (\w+)(?:\[\d+\])? = (?:0|nullptr|\{\});$', re.M)
ENUMERATOR = re.compile(r'^    (\w+) = -?\d+,$', re.M)
FRAME = re.compile(r'^(?:#pragma once|#include <\w+>|(?:inline )?namespace \w+ \{|\})$', re.M)


def read_header(path, errors):
    """Constants, members and enumerators of the header; whatever else it holds is an error."""
    with open(path, encoding='utf-8') as f:
        text = f.read()
    found = {m[1]: (m[2], m[3] or '') for m in CONSTANT.finditer(text)}
    text = re.sub(r'[ \t]*//.*', '', text)
    rest = text
    for pattern in (CONSTANT, ENUM, STRUCT, FRAME):
        rest = pattern.sub('', rest)
    members, enumerators = {}, {}
    for name, body in STRUCT.findall(text):
        members[name] = MEMBER.findall(body)
        rest += MEMBER.sub('', body)
    for name, body in ENUM.findall(text):
        enumerators[name] = ENUMERATOR.findall(body)
        rest += ENUMERATOR.sub('', body)
    errors += ['no entry of a table: ' + line for line in rest.split('\n') if line.strip()]
    return found, members, enumerators


def compare(kind, have, want, errors):
    errors += ['%s %s: not in ioctl-abi.json' % (kind, n) for n in have if n not in want]
    errors += ['%s %s: missing in uapi.hpp' % (kind, n) for n in want if n not in have]


def check_remarks(abi, found, errors):
    """The comment beside a request or feature begins with the first release that has it."""
    since = {n: first_release(abi, r) for n, (_, _, r) in requests(abi).items() if n not in FORMS}
    since.update({n: '%d.%d' % version(s)[:2] for n, (_, s, _) in FORMS.items()})
    since.update({feature_name(f['name']): '%d.%d' % version(f['since'])[:2]
                  for f in abi['feature_flags']})
    for name, first in since.items():
        last = LAST_SERVED.get(name)
        text = first if last is None else first + (' only' if last == 'only' else '-' + last)
        remark = found[name][1] if name in found else text
        if re.match(r'[\d.]+(?:-[\d.]+| only)?|', remark)[0] != text:
            errors.append('constant %s: remark "%s" should begin with "%s"' % (name, remark, text))


def check(abi, path):
    errors = []
    found, members, enumerators = read_header(path, errors)
    known = {**requests(abi), **constants(abi)}
    known.update({feature_name(f['name']): f for f in abi['feature_flags']})
    compare('constant', found, known, errors)
    shapes = structs(abi)
    compare('struct', members, shapes, errors)
    for name in members.keys() & shapes.keys():
        have = ['%s::%s' % (name, m) for m in members[name] if not re.fullmatch(r'reserved\d+', m)]
        want = ['%s::%s' % (name, f['name']) for f in shapes[name]['fields']
                if not f.get('flexible')]
        compare('field', have, want, errors)
    compare('enum', enumerators, ENUMS, errors)
    for name in enumerators.keys() & ENUMS.keys():
        source, prefix, _ = ENUMS[name]
        compare('enumerator', ['%s::%s' % (name, e) for e in enumerators[name]],
                ['%s::%s' % (name, camel(short(k, prefix)))
                 for k in abi['enums'][source]['values']], errors)
    by_word = {}
    for name in requests(abi):
        if name in found:
            other = by_word.setdefault(found[name][0], name)
            if other != name:
                errors.append('constants %s and %s: the same word' % (other, name))
    spare = set(abi['enums']) - {s for s, _, _ in ENUMS.values()} - {FEATURE_ENUM}
    errors += ['enum %s of ioctl-abi.json: no name for the header' % e for e in spare]
    check_remarks(abi, found, errors)
    return sorted(errors)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('--abi', default=os.path.join(HERE, 'ioctl-abi.json'))
    parser.add_argument('--header', default=os.path.join(
        HERE, '..', '..', 'include', 'neuronbook', 'backend', 'uapi.hpp'))
    parser.add_argument('--output', help='write the pins to this file')
    parser.add_argument('--check', action='store_true', help='look for what the json lacks')
    args = parser.parse_args()
    if not args.output and not args.check:
        parser.error('nothing to do: give --output or --check')
    with open(args.abi, encoding='utf-8') as f:
        abi = json.load(f)
    if args.output:
        with open(args.output, 'w', encoding='utf-8') as f:
            f.write(generate(abi))
    if args.check:
        errors = check(abi, args.header)
        for error in errors:
            print('uapi.hpp: ' + error)
        if errors:
            return 1
        print('uapi.hpp and ioctl-abi.json know the same things')
    return 0


if __name__ == '__main__':
    sys.exit(main())
