// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <array>
#include <vector>

#include "core/analysis/idle.h"

namespace skippipe {

/// Time of some nodes: what they worked, and what they idled by cause. The parts add up to all of it.
struct IdleSplit {
    double busy_s = 0;
    std::array<double, idle_causes> idle_s{};

    double idle() const;
    double whole_s() const { return busy_s + idle(); }
    double idle_share() const { return whole_s() > 0 ? idle() / whole_s() : 0; }
    /// Of all of it, by cause; add up to idle_share().
    std::array<double, idle_causes> shares() const;
    /// The cause of most idle seconds; nothing idled: fill_drain.
    IdleCause worst() const;
    IdleSplit& operator+=(const IdleSplit& other);
};

/// Of each node, from what each idled and worked.
std::vector<IdleSplit> split_nodes(const std::vector<std::array<double, idle_causes>>& node_idle_s,
                                   const std::vector<double>& node_busy_s);
/// Of each stage the sum of its nodes; nodes of no stage are in none.
std::vector<IdleSplit> split_stages(const std::vector<IdleSplit>& nodes, const std::vector<int>& stage_of_node);
IdleSplit sum_of(const std::vector<IdleSplit>& parts);

}  // namespace skippipe
