// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/planner/timeline/memory.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <map>
#include <string>
#include <thread>
#include <tuple>

#include <fmt/format.h>

#include "core/base/format.h"
#include "core/experiment/counts.h"
#include "core/experiment/model_size.h"
#include "core/planner/timeline/evaluator.h"
#include "core/planner/timeline/handed_parts.h"

namespace skippipe {

namespace {

std::string bytes_text(double bytes) { return format_si(bytes, "B"); }

/// The first number of a file, after `key` where one is given; infinite where there is none.
double number_in(const char* path, const std::string& key = {}) {
    std::ifstream file(path);
    double number = 0;
    if (key.empty()) return file >> number ? number : std::numeric_limits<double>::infinity();
    for (std::string line; std::getline(file, line);)
        if (line.starts_with(key)) return std::stod(line.substr(key.size()));
    return std::numeric_limits<double>::infinity();
}

/// Most microbatches that a node holds between the start of their I and the end of their W, by the plan's timeline; of
/// each node.
PerNode<int> most_between(const Problem& problem, const Plan& plan) {
    PerNode<std::vector<std::pair<double, int>>> changes(problem.node_ids.size());
    for (const auto& span : evaluate(problem, plan).spans) {
        if (span.kind == SpanKind::input_gradient) changes[span.node].emplace_back(span.start_s, 1);
        if (span.kind == SpanKind::weight_gradient) changes[span.node].emplace_back(span.end_s, -1);
    }
    PerNode<int> most(changes.size(), 0);
    for (NodeIndex node = 0; node < problem.nodes(); ++node) {
        std::sort(changes[node].begin(), changes[node].end());
        int held = 0;
        for (const auto& [time_s, change] : changes[node]) most[node] = std::max(most[node], held += change);
    }
    return most;
}

/// Of each node, fp32, what it hands on in an iteration: every node of a path sends one message forward and one back;
/// the first sends the loss' gradient to the last.
PerNode<double> handed_on_bytes(const Experiment& experiment, const Problem& problem, const Plan& plan) {
    PerNode<double> bytes(problem.node_ids.size(), 0);
    const double message_bytes =
        4.0 * experiment.pipeline.microbatch_samples * experiment.model.sequence * experiment.model.width;
    for (const auto& path : plan.paths)
        for (const NodeIndex node : path.nodes)
            bytes[node] += 2 * problem.relative_size(path.microbatch) * message_bytes;
    return bytes;
}

/// What int8's error feedback keeps from one iteration to the next, of each node: a number in fp32 for each of every
/// message that it sends.
PerNode<double> feedback_bytes(const Experiment& experiment, const Problem& problem, const Plan& plan) {
    const bool sends = !plan.paths.empty() && plan.paths.front().nodes.size() > 1;
    if (experiment.costs.wire != WireType::int8 || !sends) return PerNode<double>(problem.node_ids.size(), 0);
    return handed_on_bytes(experiment, problem, plan);
}

/// A node's of state_bytes, where its stage's gradients travel as int8 between replicas: what error feedback keeps, as
/// it was and as it will be (8 bytes a parameter), and the sum as it travels (1).
double gradient_feedback_bytes(const Experiment& experiment, const Problem& problem, std::size_t replicas,
                               double state) {
    const bool rounds = problem.plan_reductions && experiment.training.gradient_wire == WireType::int8 && replicas > 1;
    return rounds ? 9 * state / 16 : 0;
}

/// A checkpoint is written from a copy: of every stage weights and two moments, once, and of each node what error
/// feedback keeps of its gradients.
double copied_bytes(const Experiment& experiment, const Problem& problem, const Plan& plan) {
    double bytes = 12 * model_parameters(experiment.model);
    for (StageIndex stage = 0; at(stage) < plan.stages.size(); ++stage) {
        const auto replicas = plan.stages[stage].size();
        const double state = state_bytes(experiment, plan.blocks[stage], stage == 0);
        bytes +=
            4.0 / 9 * static_cast<double>(replicas) * gradient_feedback_bytes(experiment, problem, replicas, state);
    }
    return bytes;
}

/// Bytes that a node holds more (or less) of from a time on.
struct Change {
    double time_s = 0, bytes = 0;
};

double most_at_once(std::vector<Change>& changes) {
    // What goes at a time goes before what comes then.
    std::sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) {
        return a.time_s != b.time_s ? a.time_s < b.time_s : a.bytes < b.bytes;
    });
    double held = 0, most = 0;
    for (const auto& change : changes) most = std::max(most, held += change.bytes);
    return most;
}

/// What operation a message is for: of a node and microbatch there is one of each.
enum class Use { forward, loss, backward };
using UseKey = std::tuple<NodeIndex, MicrobatchIndex, Use>;

/// When each operation starts.
std::map<UseKey, double> starts_of(const Timeline& timeline) {
    std::map<UseKey, double> starts;
    for (const auto& span : timeline.spans) {
        if (span.kind == SpanKind::forward) starts[{span.node, span.microbatch, Use::forward}] = span.start_s;
        if (span.kind == SpanKind::loss) starts[{span.node, span.microbatch, Use::loss}] = span.start_s;
        if (span.kind == SpanKind::backward || span.kind == SpanKind::input_gradient)
            starts[{span.node, span.microbatch, Use::backward}] = span.start_s;
    }
    return starts;
}

/// Most bytes of messages at each node by the plan's timeline: under way, at its sender; come and not yet used, at its
/// receiver.
PerNode<double> message_bytes(const Problem& problem, const Plan& plan) {
    const auto timeline = evaluate(problem, plan);
    const auto starts = starts_of(timeline);
    std::map<MicrobatchIndex, NodeIndex> data_node;  // of each microbatch
    for (const auto& path : plan.paths) data_node[path.microbatch] = path.nodes.front();
    PerNode<std::vector<Change>> changes(problem.node_ids.size());
    for (const auto& span : timeline.spans) {
        if (!is_transfer(span.kind)) continue;
        auto& sender = changes[span.node];
        auto& receiver = changes[span.to_node];
        sender.push_back({span.ready_s, span.bytes});
        sender.push_back({span.end_s, -span.bytes});
        const auto use = span.kind == SpanKind::transfer_backward        ? Use::backward
                         : span.to_node == data_node.at(span.microbatch) ? Use::loss
                                                                         : Use::forward;
        const auto used = starts.find({span.to_node, span.microbatch, use});
        if (used == starts.end() || used->second <= span.end_s) continue;
        receiver.push_back({span.end_s, span.bytes});
        receiver.push_back({used->second, -span.bytes});
    }
    PerNode<double> most;
    for (auto& of_node : changes) most.push_back(most_at_once(of_node));
    return most;
}

/// Most bytes of planned reductions at each node by the plan's timeline, where they travel from rank to rank: under
/// way, at their sender; parts that have come, at their receiver until it has all sums.
PerNode<double> part_bytes(const Problem& problem, const Plan& plan) {
    const auto timeline = evaluate(problem, plan);
    PerNode<double> reduced_s(problem.node_ids.size(), 0);
    for (const auto& span : timeline.spans)
        if (span.kind == SpanKind::all_reduce) reduced_s[span.node] = span.end_s;
    PerNode<std::vector<Change>> changes(problem.node_ids.size());
    const auto hold = [&](NodeIndex node, double from_s, double until_s, double bytes) {
        changes[node].push_back({from_s, bytes});
        changes[node].push_back({until_s, -bytes});
    };
    for (const auto& part : handed_parts(problem, plan, summed_pieces(problem, plan), timeline)) {
        hold(part.from, part.ready_s, part.arrival_s, part.bytes);
        if (!part.part.sum) hold(part.to, part.arrival_s, reduced_s[part.to], part.bytes);
    }
    PerNode<double> most;
    for (auto& of_node : changes) most.push_back(most_at_once(of_node));
    return most;
}

}  // namespace

std::size_t posted_ahead(std::size_t edges, double largest_bytes) {
    constexpr double most = 8;  // so that small messages do not wait for each other's round trips
    const double all = static_cast<double>(edges) * largest_bytes;
    return all > 0 ? static_cast<std::size_t>(std::clamp(posted_bytes / all, 1.0, most))
                   : static_cast<std::size_t>(most);
}

double posted_memory(const Experiment& experiment, const Problem& problem, const Plan* plan) {
    const int ranks = experiment.execution.clock == Clock::wall ? experiment.execution.ranks : 1;
    double relative = 1;  // of the largest microbatch
    for (MicrobatchIndex m = 0; at(m) < problem.sizes.size(); ++m)
        relative = std::max(relative, problem.relative_size(m));
    double largest = relative * std::max(problem.forward_bytes, problem.backward_bytes);
    const auto pieces = plan != nullptr ? summed_pieces(problem, *plan) : PerStage<Pieces>();
    for (StageIndex stage = 0; at(stage) < pieces.size(); ++stage)
        for (const Piece& piece : pieces[stage])
            largest = std::max(largest, piece.share * problem.gradient_bytes[stage]);
    const auto edges = static_cast<std::size_t>(std::max(0, ranks - 1));
    return ranks * static_cast<double>(edges * posted_ahead(edges, largest)) * largest;
}

std::vector<NodeMemory> memory_needed(const Experiment& experiment, const Problem& problem, const Plan& plan) {
    PerNode<int> visits(problem.node_ids.size());
    for (const auto& path : plan.paths)
        for (const NodeIndex node : path.nodes) ++visits[node];
    const auto between = plan.split_backward ? most_between(problem, plan) : PerNode<int>(problem.node_ids.size(), 0);
    const auto feedback = feedback_bytes(experiment, problem, plan);
    auto messages =
        keeps_inputs(experiment) ? handed_on_bytes(experiment, problem, plan) : message_bytes(problem, plan);
    const auto& how = experiment.execution;
    if (problem.plan_reductions && how.clock == Clock::wall) {
        const auto parts = part_bytes(problem, plan);
        for (NodeIndex node = 0; node < problem.nodes(); ++node) messages[node] += parts[node];
    }
    const bool sums_apart = how.clock == Clock::wall && (how.ranks > 1 || problem.plan_reductions);
    std::vector<NodeMemory> needs;
    for (StageIndex stage = 0; at(stage) < plan.stages.size(); ++stage)
        for (const NodeIndex node : plan.stages[stage]) {
            const int blocks = plan.blocks[stage], held = std::min(problem.memory[node], visits[node]);
            // What one microbatch leaves between I and W belongs to the worker that runs them one after the other;
            // further ones wait.
            const double apart = between_bytes(experiment, blocks),
                         waiting = std::max(0, std::min(held, between[node]) - 1);
            const double state = state_bytes(experiment, blocks, stage == 0);
            // The sum of a stage's gradients, of the four numbers a parameter one more; once a rank.
            const double owed = gradient_feedback_bytes(experiment, problem, plan.stages[stage].size(), state);
            needs.push_back({node, state + (sums_apart ? state / 4 : 0) + owed,
                             held * (activation_bytes(experiment, blocks) - apart) + waiting * apart + feedback[node],
                             workspace_bytes(experiment, blocks, stage == 0) + apart, messages[node]});
        }
    return needs;
}

double memory_together(const std::vector<NodeMemory>& nodes, int workers) {
    double bytes = 0, workspace = 0;
    for (const auto& node : nodes) {
        bytes += node.state + node.activations + node.messages;
        workspace = std::max(workspace, node.workspace);
    }
    return bytes + std::min(workers, static_cast<int>(nodes.size())) * workspace;
}

namespace {

std::vector<NodeMemory> needed_here(const Experiment& experiment, const Problem& problem, const Plan& plan) {
    auto needs = memory_needed(experiment, problem, plan);
    std::erase_if(needs,
                  [&](const NodeMemory& need) { return experiment.topology.nodes[at(need.node)].device != "cpu"; });
    return needs;
}

int workers_of_all_ranks(const Execution& execution) {
    const int ranks = execution.clock == Clock::wall ? execution.ranks : 1;
    if (execution.threads > 0) return ranks * execution.threads;
    return std::max(ranks, static_cast<int>(std::thread::hardware_concurrency()));
}

}  // namespace

double training_memory(const Experiment& experiment, const Problem& problem, const Plan& plan) {
    const auto needs = needed_here(experiment, problem, plan);
    if (needs.empty()) return 0;
    const double copy = experiment.training.checkpoint_every > 0 ? copied_bytes(experiment, problem, plan) : 0;
    return memory_together(needs, workers_of_all_ranks(experiment.execution)) + copy;
}

Faults check_memory_fits(const Experiment& experiment, const Problem& problem, const Plan& plan, double available) {
    const auto needs = needed_here(experiment, problem, plan);
    const double together =
        training_memory(experiment, problem, plan) + (needs.empty() ? 0 : posted_memory(experiment, problem, &plan));
    if (together <= available) return {};
    NodeMemory largest;
    double state = 0;
    for (const auto& need : needs) {
        state += need.state;
        if (need.total() > largest.total()) largest = need;
    }
    const double once = state_bytes(experiment, experiment.model.blocks, true);
    return {
        {"/model",
         fmt::format("{} parameters do not fit: {} nodes need {} (weights, gradients and AdamW state {}, "
                     "activations and messages about {}; the largest, {}, {}), and {} are available: {} are missing",
                     format_si(model_parameters(experiment.model), ""), needs.size(), bytes_text(together),
                     bytes_text(state), bytes_text(together - state), problem.node_ids[largest.node],
                     bytes_text(largest.total()), bytes_text(available), bytes_text(together - available)),
         "every node drawn has its own copy of its stage, and all of them share this machine's memory",
         fmt::format("Choose a smaller model (`skippipe models`), fewer nodes (one a stage: {} of state), smaller "
                     "microbatches or memory_microbatches, or use --ignore-memory",
                     bytes_text(once))}};
}

double available_memory() {
    const double kibibytes = number_in("/proc/meminfo", "MemAvailable:");
    const double group = number_in("/sys/fs/cgroup/memory.max") -
                         number_in("/sys/fs/cgroup/memory.current");  // NaN where neither is there
    const double machine = 1024 * kibibytes;
    return group >= 0 ? std::min(machine, group) : machine;
}

}  // namespace skippipe
