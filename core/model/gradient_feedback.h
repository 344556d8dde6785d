// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "core/engine/compute.h"

namespace skippipe {

/// Error feedback of gradients that replicas hand on as int8. Of each node it keeps what rounding took away from what
/// that node handed on of its stage's gradient, in fp32 [the stage's parameters]: whatever it hands on next of the same
/// values, its part or a sum, has that added first. A piece is handed on by a node once an iteration, so one number a
/// parameter is enough, and another plan's pieces find what was owed under the last one's.
///
/// What is encoded counts once the iteration's step is taken (commit). Until then the same asked again gives the same,
/// and an iteration that is given up has changed nothing. From one thread at a time.
class GradientFeedback {
public:
    /// Nothing was encoded since the last commit.
    void give_up();
    /// Values [begin, begin + size) of what the node hands on of its stage's `stage_size`; `to` holds
    /// gradient_wire_bytes.
    void encode(int node, std::int64_t stage_size, std::int64_t begin, const float* values, std::int64_t size,
                std::byte* to);
    /// What a node owes is added to the gradient of its stage, which nobody else has: nothing is handed on.
    void add_alone(int node, float* gradient, std::int64_t stage_size);
    /// The step is taken with what the node has handed on.
    void commit(int node);
    /// The node is lost, with what it owed.
    void lose(int node) { nodes_.erase(node); }
    void clear() { nodes_.clear(); }

    /// Of each node that owes something, by node; null: it owes nothing.
    const std::vector<float>* owed(int node) const;
    /// Adds to what the node owes.
    void owe(int node, const std::vector<float>& values);

private:
    struct Node {
        std::vector<float> owed, next;
        bool pending = false;  ///< `next` is what is owed after this iteration
    };
    Node& begin(int node, std::int64_t stage_size);

    std::map<int, Node> nodes_;
};

}  // namespace skippipe
