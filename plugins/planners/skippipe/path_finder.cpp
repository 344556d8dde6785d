// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/planners/skippipe/path_finder.h"

#include <algorithm>

#include "core/base/index.h"
#include "core/planner/plan/paths.h"

namespace skippipe::planners {

namespace {

constexpr std::size_t beam = 96;
constexpr std::size_t ends_walked = 4;  ///< ends that are walked there and back exactly

}  // namespace

PathFinder::PathFinder(const Problem& problem, const Network& network, const Placement& stages, int length)
    : problem_(problem), network_(network), stages_(stages), length_(length), layers_(at(length)) {}

double PathFinder::free_from(const PathConstraints& constraints, NodeIndex node, double time_s,
                             double duration_s) const {
    for (bool moved = true; moved;) {
        moved = false;
        for (const auto& taken : constraints.reservations) {
            if (taken.node != node || taken.to_s <= time_s || taken.from_s >= time_s + duration_s) continue;
            time_s = taken.to_s;
            moved = true;
        }
    }
    return time_s;
}

/// What a path that has come to a label of the hop before cannot visit any more.
void PathFinder::close_stages(int hop, int parent, const PathConstraints& constraints) {
    closed_.assign(at(problem_.stages), 0);
    for (const StageIndex stage : constraints.stages) closed_[stage] = 1;
    for (int before = hop - 1; before > 0; --before) {
        const auto& label = layers_[at(before)][at(parent)];
        closed_[label.stage] = 1;
        parent = label.parent;
    }
}

void PathFinder::extend(int hop, int parent, NodeIndex data_node, const PathConstraints& constraints) {
    const Label& label = layers_[at(hop - 1)][at(parent)];
    const bool last = hop == length_ - 1;
    close_stages(hop, parent, constraints);
    for (StageIndex stage = 1; stage < problem_.stages; ++stage) {
        if (closed_[stage] != 0) continue;
        PathProgress progress{label.furthest, label.swaps};
        if (!advance(problem_.constraints, progress, stage)) continue;
        for (const NodeIndex node : stages_[stage]) {
            const double round_s = network_.round_s(label.node, node);
            if (round_s >= unreachable_s || (last && network_.round_s(node, data_node) >= unreachable_s)) continue;
            if (std::find(constraints.nodes.begin(), constraints.nodes.end(), node) != constraints.nodes.end())
                continue;
            const double forward_s = problem_.forward_s(node, stage);
            const double start_s = free_from(constraints, node, label.time_s + round_s / 2, forward_s);
            const double home_s = last ? network_.round_s(node, data_node) : 0;
            next_.push_back({node, stage, progress.furthest, parent, progress.swaps, start_s + forward_s,
                             label.back_s + round_s / 2 + forward_s * problem_.backward_factor + home_s});
        }
    }
}

TimedPath PathFinder::best_path(NodeIndex data_node, double release_s, const PathConstraints& constraints) {
    const double first_s = problem_.forward_s(data_node, 0);
    layers_[0] = {{data_node, 0, 0, -1, 0, free_from(constraints, data_node, release_s, first_s) + first_s, 0}};
    const auto sooner = [](const Label& a, const Label& b) { return a.time_s + a.back_s < b.time_s + b.back_s; };
    for (int hop = 1; hop < length_; ++hop) {
        next_.clear();
        for (std::size_t k = 0; k < layers_[at(hop - 1)].size(); ++k)
            extend(hop, static_cast<int>(k), data_node, constraints);
        const std::size_t keep = std::min(beam, next_.size());
        std::partial_sort(next_.begin(), next_.begin() + static_cast<std::ptrdiff_t>(keep), next_.end(), sooner);
        next_.resize(keep);
        layers_[at(hop)] = next_;
    }
    TimedPath best;
    for (std::size_t k = 0; k < std::min(ends_walked, layers_.back().size()); ++k)
        if (auto path = walk(data_node, release_s, static_cast<int>(k), constraints);
            best.nodes.empty() || path.end_s < best.end_s)
            best = std::move(path);
    return best;
}

TimedPath PathFinder::walk(NodeIndex data_node, double release_s, int label, const PathConstraints& constraints) const {
    TimedPath path;
    path.nodes.assign(at(length_), data_node);
    std::vector<double> forward_s(at(length_), problem_.forward_s(data_node, 0));
    for (int hop = length_ - 1; hop > 0; --hop) {
        const auto& there = layers_[at(hop)][at(label)];
        path.nodes[at(hop)] = there.node;
        forward_s[at(hop)] = problem_.forward_s(there.node, there.stage);
        label = there.parent;
    }
    double now_s = release_s;
    const auto work = [&](NodeIndex node, double duration_s) {
        const double from_s = free_from(constraints, node, now_s, duration_s);
        now_s = from_s + duration_s;
        path.works.push_back({node, from_s, now_s});
    };
    for (int hop = 0; hop < length_; ++hop) {
        if (hop > 0) now_s += network_.round_s(path.nodes[at(hop - 1)], path.nodes[at(hop)]) / 2;
        work(path.nodes[at(hop)], forward_s[at(hop)]);
    }
    const double home_s = network_.round_s(path.nodes.back(), data_node) / 2;
    now_s += home_s;
    work(data_node, problem_.loss_s(data_node));
    now_s += home_s;
    for (int hop = length_ - 1; hop >= 0; --hop) {
        work(path.nodes[at(hop)], problem_.backward_factor * forward_s[at(hop)]);
        if (hop > 0) now_s += network_.round_s(path.nodes[at(hop - 1)], path.nodes[at(hop)]) / 2;
    }
    path.end_s = now_s;
    return path;
}

}  // namespace skippipe::planners
