// SPDX-License-Identifier: GPL-3.0-or-later
// One microbatch on its own: the path that brings it back first, under what conflicts have forbidden it.
#pragma once
#include <cstdint>
#include <vector>

#include "plugins/planners/common/network.h"
#include "plugins/planners/common/plan_candidate.h"

namespace skippipe::planners {

/// A node at work on something else.
struct Reservation {
    NodeIndex node = 0;
    double from_s = 0, to_s = 0;
};

struct PathConstraints {
    std::vector<StageIndex> stages;         ///< stages it must not visit (CC2)
    std::vector<NodeIndex> nodes;           ///< nodes it must not visit (TC1)
    std::vector<Reservation> reservations;  ///< when it must wait (TC2)
};

/// An operation of its path: when its node works on it.
struct WorkSpan {
    NodeIndex node = 0;
    double from_s = 0, to_s = 0;
};

struct TimedPath {
    std::vector<NodeIndex> nodes;  ///< empty: none is left
    std::vector<WorkSpan> works;   ///< F of each hop, L, B of each hop on the way back
    double end_s = 0;
};

/// Finds paths by a beam search over the hops, ranked by the time there and the least time back.
class PathFinder {
public:
    PathFinder(const Problem& problem, const Network& network, const Placement& stages, int length);
    TimedPath best_path(NodeIndex data_node, double release_s, const PathConstraints& constraints);

private:
    struct Label {
        NodeIndex node = 0;
        StageIndex stage = 0, furthest = 0;
        int parent = -1, swaps = 0;
        double time_s = 0, back_s = 0;
    };

    double free_from(const PathConstraints& constraints, NodeIndex node, double time_s, double duration_s) const;
    void close_stages(int hop, int parent, const PathConstraints& constraints);
    void extend(int hop, int parent, NodeIndex data_node, const PathConstraints& constraints);
    TimedPath walk(NodeIndex data_node, double release_s, int label, const PathConstraints& constraints) const;

    const Problem& problem_;
    const Network& network_;
    const Placement& stages_;
    int length_;
    std::vector<std::vector<Label>> layers_;
    std::vector<Label> next_;
    PerStage<char> closed_;  ///< visited, or banned
};

}  // namespace skippipe::planners
