// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/planners/joint/pipelines/pipeline_routes.h"

#include <algorithm>
#include <cmath>

#include "core/base/index.h"
#include "core/planner/plan/paths.h"
#include "core/planner/timeline/flat_plan.h"

namespace skippipe::planners::joint {

namespace {

/// Nodes of a pipeline for each place of a path, at most: more of them are worse balanced than they promise.
constexpr double most_nodes_a_place = 2;
constexpr int most_data_nodes_each = 3;
/// Of all nodes.
constexpr double most_data_nodes = 0.3;
/// Found by trial on networks of three and four regions, where most ways out of a region share a line.
constexpr double contended_crossing = 6;

/// By how much the stages up to each are visited more often than the mean: so many visits go from it on to the next to
/// make all even, or come back from that.
PerStage<double> running_excess(const PerStage<int>& visits) {
    double all = 0, more = 0;
    for (std::size_t s = 1; s < visits.size(); ++s) all += visits[StageIndex(s)];
    PerStage<double> excess(visits.size(), 0);
    for (std::size_t s = 1; s < visits.size(); ++s) {
        more += visits[StageIndex(s)] - all / static_cast<double>(visits.size() - 1);
        excess[StageIndex(s)] = more;
    }
    return excess;
}

double unevenness(const PerStage<int>& visits) {
    double sum = 0;
    for (const double excess : running_excess(visits)) sum += std::abs(excess);
    return sum;
}

/// Takes a place to another stage between its neighbours' where that evens visits. Whether it did anywhere.
bool even_out(const Problem& problem, std::vector<StageIndex>& sequence, PerStage<int>& visits) {
    bool changed = false;
    for (std::size_t place = 1; place < sequence.size(); ++place) {
        const int after = place + 1 < sequence.size() ? int{sequence[place + 1]} : problem.stages;
        for (StageIndex to(sequence[place - 1] + 1); to < after; ++to) {
            const StageIndex from = sequence[place];
            if (to == from) continue;
            sequence[place] = to;
            if (allowed_sequence(problem, sequence)) {
                const double before = unevenness(visits);
                --visits[from];
                ++visits[to];
                constexpr double rounding = 1e-9;
                if (unevenness(visits) < before - rounding) {
                    changed = true;
                    continue;
                }
                ++visits[from];
                --visits[to];
            }
            sequence[place] = from;
        }
    }
    return changed;
}

/// Their stages as far apart as they are many, each pipeline's a little further on; those of balanced_sequences where
/// CC3 forbids that.
std::vector<std::vector<StageIndex>> spread_sequences(const Problem& problem, int pipelines) {
    std::vector<std::vector<StageIndex>> sequences(at(pipelines), {0});
    const int others = problem.stages - 1, hops = problem.path_length - 1;
    bool allowed = true;
    for (int k = 0; k < pipelines; ++k) {
        for (int hop = 0; hop < hops; ++hop)
            sequences[at(k)].emplace_back(1 + (std::int64_t{hop} * pipelines + k) * others / (hops * pipelines));
        allowed = allowed && allowed_sequence(problem, sequences[at(k)]);
    }
    if (allowed) return sequences;
    Problem one_each = problem;
    one_each.microbatches = pipelines;
    return balanced_sequences(one_each, problem.path_length);
}

/// The place where a pipeline can go to one stage instead of another, with no diversion beside it.
std::optional<std::size_t> place_to_divert(const Problem& problem, const PipelineRoute& route, StageIndex from,
                                           StageIndex to) {
    auto stages = route.stages;
    const auto place = static_cast<std::size_t>(std::ranges::find(stages, from) - stages.begin());
    if (place == stages.size() || std::ranges::find(stages, to) != stages.end()) return std::nullopt;
    const bool is_beside = std::any_of(route.diversions.begin(), route.diversions.end(), [&](const Diversion& other) {
        return other.place + 1 >= place && other.place <= place + 1;
    });
    stages[place] = to;
    if (is_beside || !allowed_sequence(problem, stages)) return std::nullopt;
    return place;
}

/// Diverts so many microbatches, at pipelines that divert few as yet. Whether there are enough.
bool divert(const Problem& problem, StageIndex from, StageIndex to, int visits, std::vector<PipelineRoute>& routes) {
    const int most = problem.microbatches / static_cast<int>(routes.size()) - 1;  // one is left on the usual way
    while (visits > 0) {
        PipelineRoute* best = nullptr;
        std::size_t best_place = 0;
        for (auto& route : routes) {
            const auto place = place_to_divert(problem, route, from, to);
            if (!place || (best != nullptr && route.diversions.size() >= best->diversions.size())) continue;
            best = &route;
            best_place = *place;
        }
        if (best == nullptr || most < 1) return false;
        best->diversions.push_back({best_place, to, std::min(visits, most)});
        visits -= std::min(visits, most);
    }
    return true;
}

}  // namespace

std::vector<PipelineShape> pipeline_shapes(const Problem& problem) {
    std::vector<PipelineShape> shapes;
    const int nodes = problem.nodes(), length = problem.path_length;
    for (int each = 1; each <= most_data_nodes_each; ++each)
        for (int count = 2; count * (length - 1 + each) <= nodes; ++count) {
            const PipelineShape shape{count, each};
            const bool even = problem.microbatches % shape.data_nodes() == 0;
            const bool small = nodes <= most_nodes_a_place * count * (length - 1 + each);
            if (even && small && shape.data_nodes() <= most_data_nodes * nodes) shapes.push_back(shape);
        }
    if (has_dedicated_lines(problem)) return shapes;
    for (std::size_t k = 0, count = shapes.size(); k < count; ++k) {
        shapes.push_back(shapes[k]);
        shapes.back().crossing = contended_crossing;
    }
    return shapes;
}

Problem with_crossing(const Problem& problem, double crossing) {
    Problem weighted = problem;
    const auto contended = contended_lines(problem);
    if (crossing <= 1 || contended.empty()) return weighted;
    weighted.hops.change_alike([&](Hop& hop) {  // within a group each pair has a line of its own
        if (hop.line == no_line || !contended[at(hop.line)]) return;
        hop.seconds_per_forward *= crossing;
        hop.seconds_per_backward *= crossing;
    });
    return weighted;
}

std::optional<std::vector<PipelineRoute>> pipeline_routes(const Problem& problem, const PipelineShape& shape) {
    auto sequences = spread_sequences(problem, shape.pipelines);
    PerStage<int> visits(at(problem.stages), 0);
    for (const auto& sequence : sequences)
        for (const StageIndex stage : sequence) ++visits[stage];
    for (bool changed = true; changed;) {
        changed = false;
        for (auto& sequence : sequences) changed = even_out(problem, sequence, visits) || changed;
    }
    if (std::find(visits.begin() + 1, visits.end(), 0) != visits.end()) return std::nullopt;
    std::vector<PipelineRoute> routes;
    for (auto& sequence : sequences) routes.push_back({std::move(sequence), {}});
    if (!problem.constraints.uniform_execution) return routes;
    for (int& count : visits) count *= problem.microbatches / shape.pipelines;
    const auto excess = running_excess(visits);
    for (StageIndex s = 1; s + 1 < problem.stages; ++s) {
        const StageIndex next(s + 1);
        const auto moved = static_cast<int>(std::lround(excess[s]));
        if (!divert(problem, moved > 0 ? s : next, moved > 0 ? next : s, std::abs(moved), routes)) return std::nullopt;
    }
    std::size_t diversions = 0;
    for (const auto& route : routes) diversions += route.diversions.size();
    const int spare = problem.nodes() - shape.pipelines * (problem.path_length - 1 + shape.data_nodes_each);
    if (diversions > at(spare)) return std::nullopt;
    return routes;
}

}  // namespace skippipe::planners::joint
