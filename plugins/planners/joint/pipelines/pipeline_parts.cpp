// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/planners/joint/pipelines/pipeline_parts.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "core/base/index.h"
#include "plugins/planners/common/dispatch_order.h"
#include "plugins/planners/common/part_plan.h"
#include "plugins/planners/joint/starts/reserved_paths.h"

namespace skippipe::planners::joint {

namespace {

constexpr PathWeights tried_weights[] = {{.work = 0.02, .rest = 0},
                                         {.work = 0.02, .rest = 0.1},
                                         {.work = 0.5, .rest = 0.1},
                                         {.work = 1, .rest = 0},
                                         {.work = 1, .rest = 0.3}};

/// What is of no node and no line.
Problem without_network(Problem problem) {
    problem.node_ids.clear();
    problem.seconds_per_sample_per_block.clear();
    problem.memory.clear();
    problem.memory_bytes.clear();
    problem.hops = {};
    problem.line_names.clear();
    return problem;
}

template <class T>
void keep_stages(const std::vector<StageIndex>& stages, PerStage<T>& of_each) {
    if (of_each.empty()) return;
    PerStage<T> kept;
    for (const StageIndex stage : stages) kept.push_back(of_each[stage]);
    of_each = std::move(kept);
}

/// The stage of each place's nodes, in the order in which they stand there; nothing where a diversion has no node.
std::optional<std::vector<std::pair<StageIndex, NodeIndex>>> staged_nodes(const Problem& problem,
                                                                          const FixedPipeline& pipeline,
                                                                          const PipelineRoute& route,
                                                                          int microbatches) {
    std::vector<std::pair<StageIndex, NodeIndex>> staged;
    for (std::size_t p = 0; p < pipeline.size(); ++p) {
        const std::size_t first = staged.size();
        for (const NodeIndex node : pipeline[p]) staged.emplace_back(route.stages[p], node);
        for (const auto& [place, stage, visits] : route.diversions) {
            if (place != p) continue;
            if (pipeline[p].size() < 2) return std::nullopt;
            staged[first + diverted_node(problem, pipeline[p], static_cast<double>(visits) / microbatches)].first =
                stage;
        }
    }
    std::stable_sort(staged.begin(), staged.end(),
                     [](const auto& a, const auto& b) { return int{a.first} < int{b.first}; });
    return staged;
}

/// Of each microbatch, in the part's numbers; those that are diverted are spread evenly over all.
std::vector<std::vector<StageIndex>> sequences_of(const PipelinePart& part, const PipelineRoute& route,
                                                  int microbatches) {
    std::vector<std::vector<StageIndex>> sequences;
    for (std::int64_t i = 0; i < microbatches; ++i) {
        auto& sequence = sequences.emplace_back(route.stages);
        for (const auto& [place, stage, visits] : route.diversions)
            if ((i + 1) * visits / microbatches > i * visits / microbatches) sequence[place] = stage;
        for (StageIndex& stage : sequence)
            stage = StageIndex(std::ranges::find(part.stages, stage) - part.stages.begin());
    }
    return sequences;
}

}  // namespace

PartProblems::PartProblems(const Problem& whole) : whole_(whole), frame_(without_network(whole)) {
    frame_.line_names = {"any"};
    frame_.shared_links = frame_.charge_all_reduce = frame_.plan_reductions = false;
    // How often a stage is visited stays as it is; a path passes over the other of two stages that share a place.
    frame_.constraints.uniform_execution = false;
    frame_.constraints.bounded_disorder = true;
    frame_.constraints.max_swaps = 0;
}

Problem PartProblems::of(const std::vector<NodeIndex>& nodes, const std::vector<StageIndex>& stages,
                         int microbatches) const {
    Problem part = frame_;
    for (const NodeIndex node : nodes) {
        part.node_ids.push_back(whole_.node_ids[node]);
        part.seconds_per_sample_per_block.push_back(whole_.seconds_per_sample_per_block[node]);
        part.memory.push_back(whole_.memory[node]);
    }
    std::vector<Hop> pairs;
    pairs.reserve(nodes.size() * nodes.size());
    for (const NodeIndex from : nodes)
        for (const NodeIndex to : nodes) {
            pairs.push_back(whole_.hop(from, to));
            if (pairs.back().line != no_line) pairs.back().line = 0;
        }
    part.hops = std::move(pairs);
    part.stages = static_cast<int>(stages.size());
    part.microbatches = microbatches;
    keep_stages(stages, part.blocks);
    keep_stages(stages, part.gradient_bytes);
    part.constraints.max_passed_over = part.stages > part.path_length ? 1 : 0;
    return part;
}

std::optional<PipelinePart> pipeline_part(const PartProblems& problems, const FixedPipeline& pipeline,
                                          const PipelineRoute& route, int microbatches) {
    const auto staged = staged_nodes(problems.whole(), pipeline, route, microbatches);
    if (!staged) return std::nullopt;
    PipelinePart part;
    Placement placement;
    for (const auto& [stage, node] : *staged) {
        if (part.stages.empty() || part.stages.back() != stage) {
            part.stages.push_back(stage);
            placement.emplace_back();
        }
        placement.back().emplace_back(part.nodes.size());
        part.nodes.push_back(node);
    }
    part.problem = problems.of(part.nodes, part.stages, microbatches);
    const Network network(part.problem);
    ReservedPaths paths(part.problem, network, std::vector<int>(part.nodes.size(), 0),
                        sequences_of(part, route, microbatches));
    PlanCandidate candidate = candidate_without_pieces(part.problem, placement, part.problem.path_length);
    for (const PathWeights& weights : tried_weights) {
        if (!std::isfinite(paths.fill(candidate, weights))) continue;
        candidate.schedule.order.clear();
        const double seconds = iteration_s(part.problem, candidate);
        if (!(seconds < part.seconds)) continue;
        part.seconds = seconds;
        part.candidate = candidate;
    }
    if (!std::isfinite(part.seconds)) return std::nullopt;
    part.candidate.schedule.order = dispatch_order(part.problem, part.candidate);
    return part;
}

PlanCandidate merge_parts(const Problem& problem, const std::vector<PipelinePart>& parts) {
    Placement placement(at(problem.stages));
    for (const auto& part : parts)
        for (StageIndex s = 0; at(s) < part.candidate.stages.size(); ++s)
            for (const NodeIndex node : part.candidate.stages[s])
                placement[part.stages[at(s)]].push_back(part.nodes[at(node)]);
    for (StageIndex s = 0; s < problem.stages; ++s) order_ring(problem, placement[s], s);
    PlanCandidate whole = make_candidate(problem, placement, problem.path_length);
    whole.schedule.order.resize(at(problem.nodes()));
    for (std::size_t k = 0; k < parts.size(); ++k) {
        const auto number_of = [&](ReleaseIndex i) { return ReleaseIndex(at(i) * parts.size() + k); };
        take_over(parts[k].candidate.schedule, parts[k].nodes, number_of, whole.schedule);
    }
    return whole;
}

}  // namespace skippipe::planners::joint
