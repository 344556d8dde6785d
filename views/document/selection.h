// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>

namespace skippipe {

/// A link by its ends; positions in the list move when others are deleted.
struct LinkKey {
    std::string from, to;
    auto operator<=>(const LinkKey&) const = default;
};

/// What is selected, the same in all views.
struct Selection {
    std::set<std::string> nodes, regions;
    std::set<LinkKey> links;
    std::optional<int> stage, microbatch;
    std::optional<std::size_t> failure;  ///< place in Experiment::failures

    bool operator==(const Selection&) const = default;
    bool empty() const { return *this == Selection{}; }
};

}  // namespace skippipe
