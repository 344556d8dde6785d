// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <concepts>
#include <cstddef>

namespace skippipe {

/// An index, never negative here, as containers want it: `blocks[at(stage)]`.
template <std::integral Index>
constexpr std::size_t at(Index index) {
    return static_cast<std::size_t>(index);
}

}  // namespace skippipe
