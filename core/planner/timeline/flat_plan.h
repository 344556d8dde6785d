// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/planner/plan/plan.h"

namespace skippipe {

/// A plan without its words, for the simulator: flat, cheap to copy and to change in place.
struct FlatPlan {
    int length = 0;  ///< p
    bool split_backward = false;
    PerRelease<MicrobatchIndex> microbatches;
    std::vector<NodeIndex> nodes;  ///< [T x p] in release order
    PerNode<StageIndex> stage_of;  ///< -1: left out
    /// Binding order of each node as packed operations (see pack); empty: dispatch decides.
    PerNode<std::vector<std::uint32_t>> order;
    PerStage<Pieces> reductions;  ///< where they are planned, of every stage; else empty

    int count() const { return static_cast<int>(microbatches.size()); }
    NodeIndex* path(ReleaseIndex index) { return nodes.data() + static_cast<std::ptrdiff_t>(index) * length; }
    const NodeIndex* path(ReleaseIndex index) const {
        return nodes.data() + static_cast<std::ptrdiff_t>(index) * length;
    }
};

/// A step of a microbatch: 0..p-1 forward, p loss, p+1..2p backward (input gradient where split), node of each by
/// `step_node`.
inline NodeIndex step_node(const NodeIndex* path, int length, int step) {
    return step < length ? path[step] : step == length ? path[0] : path[2 * length - step];
}
inline constexpr int weight_gradient_bit = 1 << 14;  ///< marks W of the same step in a packed operation
inline std::uint32_t pack(ReleaseIndex index, int step) {
    return static_cast<std::uint32_t>(index) << 15 | static_cast<std::uint32_t>(step);
}
inline ReleaseIndex packed_index(std::uint32_t packed) { return ReleaseIndex(packed >> 15); }
inline int packed_step(std::uint32_t packed) { return static_cast<int>(packed & 0x7FFFu); }

/// A plan without its words. `plan` must have passed check_structure.
FlatPlan flatten(const Problem& problem, const Plan& plan);

/// Each node's operations packed for a plan without its words.
PerNode<std::vector<std::uint32_t>> packed_order(const FlatPlan& flat, const PerNode<std::vector<Operation>>& order);

/// Of each line, whether several nodes hand to it, so that one's transfers wait for another's. Empty where lines are
/// unlimited.
std::vector<bool> contended_lines(const Problem& problem);
/// None is: what waits for what hangs on orders alone.
bool has_dedicated_lines(const Problem& problem);

}  // namespace skippipe
