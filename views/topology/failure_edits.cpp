// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/topology/failure_edits.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "core/experiment/checker.h"
#include "core/experiment/failure_text.h"
#include "views/theme/numbers.h"

namespace skippipe {
namespace {

constexpr int usual_iteration = 1;
constexpr double usual_s = 60, usual_chance = 0.03, usual_rate = 1;
constexpr double usual_factor = 2, usual_jitter = 0.2;
constexpr double usual_outage_iterations = 2;
constexpr std::size_t most_pairs = 400;  // in a list to choose from; others may be typed

bool is_link(FailureKind kind) { return kind == FailureKind::link_cut || kind == FailureKind::link_degraded; }

bool names_line(const std::string& target) { return target.find("->") != std::string::npos; }

/// Drawn links that something is sent over, each direction, then pairs of nodes that have a line without a link: within
/// a region, or all of a matrix of hops, which goes before links.
void add_lines(const Topology& topology, std::vector<std::string>& targets) {
    const bool has_matrix = !topology.hop_matrix_s.empty();
    const TopologyIndex index(topology);
    std::set<std::string> drawn;
    for (const auto& link : topology.links)
        for (const auto& [from, to] : {std::pair{link.from, link.to}, {link.to, link.from}}) {
            std::string line = from;
            line.append("->").append(to);
            if (!has_matrix && index.is_line(from, to) && drawn.insert(line).second) targets.push_back(std::move(line));
            if (!link.both_ways) break;
        }
    std::size_t pairs = 0;
    for (const auto& a : topology.nodes)
        for (const auto& b : topology.nodes) {
            const bool has_line = has_matrix || (!a.region.empty() && a.region == b.region);
            if (a.id == b.id || !has_line || pairs == most_pairs || drawn.contains(a.id + "->" + b.id)) continue;
            targets.push_back(a.id + "->" + b.id);
            ++pairs;
        }
}

template <class Wanted>
std::vector<std::size_t> failures_where(const Experiment& experiment, const Wanted& wanted) {
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < experiment.failures.size(); ++i)
        if (wanted(experiment.failures[i])) found.push_back(i);
    return found;
}

}  // namespace

Trigger trigger_of(const Failure& failure) {
    if (failure.at_s) return Trigger::time;
    if (failure.at_iteration) return Trigger::iteration;
    if (failure.probability_per_iteration) return Trigger::chance;
    return failure.rate_per_hour ? Trigger::rate : Trigger::iteration;
}

void set_trigger(Failure& failure, Trigger trigger) {
    const Failure was = failure;
    failure.at_s.reset();
    failure.at_iteration.reset();
    failure.probability_per_iteration.reset();
    failure.rate_per_hour.reset();
    switch (trigger) {
        case Trigger::time: failure.at_s = was.at_s.value_or(usual_s); break;
        case Trigger::iteration: failure.at_iteration = was.at_iteration.value_or(usual_iteration); break;
        case Trigger::chance:
            failure.probability_per_iteration = was.probability_per_iteration.value_or(usual_chance);
            break;
        case Trigger::rate: failure.rate_per_hour = was.rate_per_hour.value_or(usual_rate); break;
    }
}

void keep_trigger(Failure& failure, const std::string& entered_key) {
    constexpr std::array<std::pair<const char*, Trigger>, 4> keys{{{"at_s", Trigger::time},
                                                                   {"at_iteration", Trigger::iteration},
                                                                   {"probability_per_iteration", Trigger::chance},
                                                                   {"rate_per_hour", Trigger::rate}}};
    for (const auto& [key, trigger] : keys) {
        const bool given = (trigger == Trigger::time && failure.at_s) ||
                           (trigger == Trigger::iteration && failure.at_iteration) ||
                           (trigger == Trigger::chance && failure.probability_per_iteration) ||
                           (trigger == Trigger::rate && failure.rate_per_hour);
        if (entered_key == key && given) return set_trigger(failure, trigger);
    }
}

std::vector<std::string> failure_targets(const Experiment& experiment, FailureKind kind) {
    std::vector<std::string> targets;
    if (kind == FailureKind::coordinator_loss) return targets;
    if (kind == FailureKind::stage_loss) {
        targets.push_back(any_target);
        for (int stage = 0; stage < experiment.pipeline.stages; ++stage) targets.push_back(std::to_string(stage));
        return targets;
    }
    if (kind == FailureKind::crash || kind == FailureKind::slow_down) targets = {any_target, any_data_node};
    if (!is_link(kind))
        for (const auto& node : experiment.topology.nodes) targets.push_back(node.id);
    if (is_link(kind) || kind == FailureKind::jitter) add_lines(experiment.topology, targets);
    return targets;
}

void set_kind(const Experiment& experiment, Failure& failure, FailureKind kind) {
    const bool was_jitter = failure.kind == FailureKind::jitter;
    failure.kind = kind;
    const auto targets = failure_targets(experiment, kind);
    const bool keeps_line = (is_link(kind) || kind == FailureKind::jitter) && names_line(failure.target);
    if (targets.empty())
        failure.target.clear();
    else if (!keeps_line && std::find(targets.begin(), targets.end(), failure.target) == targets.end())
        failure.target = targets.front();
    if ((kind == FailureKind::jitter) != was_jitter || !has_factor(kind))
        failure.factor = kind == FailureKind::jitter ? usual_jitter : usual_factor;
}

Failure new_failure(const Experiment& experiment, FailureKind kind, const std::string& target, double iteration_s) {
    Failure failure{.target = target, .at_iteration = usual_iteration};
    set_kind(experiment, failure, kind);
    if (kind != FailureKind::coordinator_loss)
        failure.rejoin_after_s = iteration_s > 0 ? nice_step(usual_outage_iterations * iteration_s) : usual_s;
    return failure;
}

std::vector<std::size_t> failures_of_node(const Experiment& experiment, const std::string& id, int stage) {
    return failures_where(experiment, [&](const Failure& failure) {
        if (failure.kind == FailureKind::stage_loss) return stage >= 0 && failure.target == std::to_string(stage);
        return !is_link(failure.kind) && failure.kind != FailureKind::coordinator_loss && failure.target == id;
    });
}

std::vector<std::size_t> failures_of_link(const Experiment& experiment, const Link& link) {
    const auto there = link.from + "->" + link.to, back = link.to + "->" + link.from;
    return failures_where(experiment, [&](const Failure& failure) {
        return (is_link(failure.kind) || failure.kind == FailureKind::jitter) &&
               (failure.target == there || (link.both_ways && failure.target == back));
    });
}

void remove_failure(Experiment& experiment, std::size_t index) {
    if (index < experiment.failures.size())
        experiment.failures.erase(experiment.failures.begin() + static_cast<std::ptrdiff_t>(index));
}

std::optional<std::size_t> followed_failure(const std::vector<Failure>& before, const std::vector<Failure>& after,
                                            std::size_t index) {
    if (index >= before.size()) return std::nullopt;
    // One that was edited keeps its place; others only move when one before them comes or goes.
    if (before.size() == after.size()) return index;
    const auto same_up_to = std::mismatch(before.begin(), before.end(), after.begin(), after.end());
    if (index < static_cast<std::size_t>(same_up_to.first - before.begin())) return index;
    const auto found = std::find(after.begin(), after.end(), before[index]);
    if (found == after.end()) return std::nullopt;
    return static_cast<std::size_t>(found - after.begin());
}

}  // namespace skippipe
