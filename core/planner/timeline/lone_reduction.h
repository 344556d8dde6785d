// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstdint>
#include <vector>

#include "core/planner/timeline/passage.h"
#include "core/planner/timeline/reduction_machine.h"

namespace skippipe {

/// Planned reductions on lines that nothing else uses: exact where lines are unlimited, and else what they would take
/// if microbatches left the lines to them. Reuses its memory; keeps a reference to the problem.
class LoneReduction {
public:
    explicit LoneReduction(const Problem& problem)
        : problem_(problem), line_free_s_(problem.line_names.size()), queues_(problem) {}

    /// When the last node has its sums, seconds. `own_s`: when each node's own part is there; negative: of one that no
    /// path visits, at 0 s where another of its stage is visited.
    double end_s(const PerStage<std::vector<NodeIndex>>& stages, const PerStage<Pieces>& pieces,
                 const PerNode<double>& own_s);

private:
    /// `slot` is a node, whose own part is there; a slot of the reduction, whose part or sum arrives; or an index of
    /// passing_, whose head is at its next queue.
    enum class What : std::uint8_t { own_part, arrives, head };
    struct Event {
        double time_s;
        std::uint32_t number, slot;
        What what;
        bool operator>(const Event& other) const {
            return time_s != other.time_s ? time_s > other.time_s : number > other.number;
        }
    };
    struct Passing {
        Passage passage;
        std::uint32_t slot;
    };
    void push(Event event);
    void hand_over(NodeIndex from, NodeIndex to, double bytes, std::uint32_t slot, double now_s);
    void enter_next_queue(std::uint32_t index, std::uint32_t number, double now_s);

    const Problem& problem_;
    ReductionMachine machine_;
    std::vector<double> line_free_s_;
    PassageQueues queues_;
    std::vector<Passing> passing_;
    std::vector<Event> events_;  ///< a heap, earliest first
    std::uint32_t number_ = 0;
};

}  // namespace skippipe
