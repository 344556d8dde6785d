// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/planner/plan/hops.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <utility>

namespace skippipe {

namespace {

std::vector<int> every_node_apart(std::size_t pairs) {
    std::vector<int> groups(static_cast<std::size_t>(std::lround(std::sqrt(static_cast<double>(pairs)))));
    std::iota(groups.begin(), groups.end(), 0);
    return groups;
}

}  // namespace

Hops::Hops(std::vector<Hop> pairs) {
    auto groups = every_node_apart(pairs.size());
    *this = Hops(std::move(groups), std::move(pairs));
}

Hops::Hops(std::vector<int> group_of, std::vector<Hop> ways) : group_of_(std::move(group_of)), ways_(std::move(ways)) {
    const int groups = group_of_.empty() ? 0 : *std::max_element(group_of_.begin(), group_of_.end()) + 1;
    members_.assign(at(groups), 0);
    for (const int group : group_of_) place_of_.push_back(members_[at(group)]++);
    if (ways_.size() != members_.size() * members_.size())
        throw std::logic_error("a way for each pair of groups is wanted");
}

std::vector<Hop>& Hops::take_apart() {
    if (members_.size() == group_of_.size()) return ways_;
    std::vector<Hop> pairs;
    pairs.reserve(size());
    for (NodeIndex a = 0; a < nodes(); ++a)
        for (NodeIndex b = 0; b < nodes(); ++b) pairs.push_back(of(a, b));
    *this = Hops(std::move(pairs));
    return ways_;
}

}  // namespace skippipe
