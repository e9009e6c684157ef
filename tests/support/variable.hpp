// SPDX-License-Identifier: Apache-2.0
// An environment variable while it lives.
#pragma once

#include <cstdlib>

namespace neuronbook::test {

struct Variable {
    Variable(const char* n, const char* value) : name(n) { ::setenv(n, value, 1); }
    Variable(const Variable&) = delete;
    Variable& operator=(const Variable&) = delete;
    ~Variable() { ::unsetenv(name); }
    const char* name;
};

} // namespace neuronbook::test
