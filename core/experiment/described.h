// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <type_traits>

#include "core/experiment/describe.h"

namespace skippipe {

struct DescribeProbe {
    template <class T>
    void operator()(const char*, T&, const Info&) {}
};

/// The types that describe.h lists the members of.
template <class T>
concept Described = requires(DescribeProbe& probe, T& value) {
    describe(probe, value);
};

}  // namespace skippipe
