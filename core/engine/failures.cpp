// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/engine/failures.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "core/base/fault.h"
#include "core/base/format.h"
#include "core/base/index.h"
#include "core/base/rng.h"

namespace skippipe {

namespace {

constexpr double seconds_per_hour = 3600;
constexpr std::size_t most_times = 100'000;       // of one failure in one iteration
constexpr std::size_t most_passed = 100'000'000;  // before it, since the one before

/// A stream of draws of a failure of its own, whatever the others draw.
Rng stream(const Experiment& experiment, std::size_t failure, std::uint64_t of) {
    return Rng(Rng(experiment.seed ^ (0x9e3779b97f4a7c15ull * (failure + 1))).next() ^ of, 17);
}

int node_index(const Problem& problem, const std::string& id) {
    const auto found = std::find(problem.node_ids.begin(), problem.node_ids.end(), id);
    return found == problem.node_ids.end() ? -1 : static_cast<int>(found - problem.node_ids.begin());
}

/// Of "a->b", by its own name (a link between regions is one line) or by two nodes that send over it; -1: none.
int line_index(const Problem& problem, const std::string& target) {
    const auto named = std::find(problem.line_names.begin(), problem.line_names.end(), target);
    if (named != problem.line_names.end()) return static_cast<int>(named - problem.line_names.begin());
    const auto arrow = target.find("->");
    if (arrow == std::string::npos) return -1;
    const int from = node_index(problem, target.substr(0, arrow)), to = node_index(problem, target.substr(arrow + 2));
    return from < 0 || to < 0 ? -1 : problem.hop(NodeIndex(from), NodeIndex(to)).line;
}

/// The first pair of nodes whose messages go over the line.
std::optional<std::pair<NodeIndex, NodeIndex>> pair_on_line(const Problem& problem, int line) {
    for (NodeIndex from = 0; from < problem.nodes(); ++from)
        for (NodeIndex to = 0; to < problem.nodes(); ++to)
            if (problem.hop(from, to).line == line) return {{from, to}};
    return {};
}

}  // namespace

double detected_s(const Recovery& recovery, double at_s) {
    return std::floor(at_s / recovery.heartbeat_s) * recovery.heartbeat_s + recovery.deadline_s;
}

FailureSchedule::FailureSchedule(const Experiment& experiment, const Problem& problem)
    : experiment_(experiment), problem_(problem), drawn_(experiment.failures.size()) {}

std::vector<double> FailureSchedule::times(std::size_t failure, double from_s, double until_s) const {
    const auto& what = experiment_.failures[failure];
    std::vector<double> times;
    if (what.at_s && *what.at_s >= from_s && *what.at_s < until_s) times.push_back(*what.at_s);
    if (!what.rate_per_hour || *what.rate_per_hour <= 0) return times;
    auto& drawn = drawn_[failure];
    if (!drawn || drawn->at_s >= from_s) drawn = Drawn{stream(experiment_, failure, 0)};
    const auto require = [&](bool holds, std::size_t most, const char* when) {
        if (!holds)
            throw InputError(fmt::format("/failures/{}", failure),
                             fmt::format("it would happen more than {} times {}", most, when),
                             fmt::format("{:g} an hour, and an iteration may take {} by now", *what.rate_per_hour,
                                         format_seconds(until_s - from_s)),
                             "Lower rate_per_hour, or give rejoin_after_s, so that the network does not get ever "
                             "slower");
    };
    std::size_t passed = 0;
    for (auto last = *drawn;;) {
        last.at_s -= std::log(1 - last.rng.uniform()) * seconds_per_hour / *what.rate_per_hour;
        if (last.at_s >= until_s) return times;
        if (last.at_s < from_s) {
            drawn = last;
            require(++passed <= most_passed, most_passed, "until an iteration begins");
            continue;
        }
        require(times.size() < most_times, most_times, "in one iteration");
        times.push_back(last.at_s);
    }
}

void FailureSchedule::add(std::size_t failure, double at_s, double offset_s, std::uint64_t draw,
                          const PerStage<std::vector<NodeIndex>>& stages, std::vector<FailureEvent>& events) const {
    const auto& what = experiment_.failures[failure];
    const double network_s = offset_s + at_s;
    FailureEvent event{.failure = failure};
    if (what.rejoin_after_s) event.back_s = network_s + *what.rejoin_after_s;
    const auto lose = [&](int node) {
        event.disturbance = {at_s,
                             {.kind = NetworkChange::Kind::node_down, .node = NodeIndex(node)},
                             std::max(at_s, detected_s(experiment_.recovery, network_s) - offset_s)};
        events.push_back(event);
    };
    const auto change = [&](NetworkChange::Kind kind, int node, int to) {
        event.disturbance = {at_s,
                             {.kind = kind, .node = NodeIndex(node), .to = NodeIndex(to), .factor = what.factor},
                             kind == NetworkChange::Kind::line_cut
                                 ? std::max(at_s, detected_s(experiment_.recovery, network_s) - offset_s)
                                 : at_s,
                             stream(experiment_, failure, draw).next()};
        events.push_back(event);
    };
    auto rng = stream(experiment_, failure, draw ^ 0x5bd1e995);
    const bool any = what.target == any_target;
    const auto named = [&] {
        if (any) return static_cast<int>(rng.below(at(problem_.nodes())));
        if (what.target == any_data_node) return static_cast<int>(stages.front()[rng.below(stages.front().size())]);
        return node_index(problem_, what.target);
    };
    switch (what.kind) {
        case FailureKind::crash: return lose(named());
        case FailureKind::slow_down: return change(NetworkChange::Kind::node_slower, named(), -1);
        case FailureKind::stage_loss: {
            const auto stage = any ? 1 + rng.below(std::max<std::size_t>(1, stages.size() - 1))
                                   : static_cast<std::size_t>(std::stoul(what.target));
            if (stage < stages.size())
                for (const int node : stages[stage]) lose(node);
            return;
        }
        case FailureKind::link_degraded:
        case FailureKind::link_cut:
        case FailureKind::jitter: {
            if (const int node = node_index(problem_, what.target); node >= 0)
                return change(NetworkChange::Kind::node_varies, node, -1);
            const int number = line_index(problem_, what.target);
            if (number < 0) return;
            const auto found = pair_on_line(problem_, number);
            if (!found) return;
            const auto kind = what.kind == FailureKind::link_cut ? NetworkChange::Kind::line_cut
                              : what.kind == FailureKind::jitter ? NetworkChange::Kind::line_varies
                                                                 : NetworkChange::Kind::line_slower;
            return change(kind, found->first, found->second);
        }
        case FailureKind::coordinator_loss: return;
    }
}

std::vector<std::pair<double, std::uint64_t>> FailureSchedule::instants(std::size_t failure, int iteration,
                                                                        double offset_s, double expected_s) const {
    // Long enough that what happens while an iteration goes on after losses is among them.
    const double until_s = offset_s + 20 * std::max(expected_s, experiment_.recovery.deadline_s);
    const auto& what = experiment_.failures[failure];
    std::vector<std::pair<double, std::uint64_t>> instants;
    for (const double at_s : times(failure, offset_s, until_s))
        instants.emplace_back(at_s - offset_s, static_cast<std::uint64_t>(std::min(at_s * 1e6, 1e18)));
    auto rng = stream(experiment_, failure, static_cast<std::uint64_t>(iteration) + 1);
    const double when = rng.uniform(), chance = rng.uniform();
    if (what.at_iteration == iteration || (what.probability_per_iteration && chance < *what.probability_per_iteration))
        instants.emplace_back(when * expected_s, static_cast<std::uint64_t>(iteration) + 1);
    return instants;
}

std::vector<CoordinatorLoss> FailureSchedule::coordinator_losses(int iteration, double offset_s,
                                                                 double expected_s) const {
    std::vector<CoordinatorLoss> losses;
    for (std::size_t k = 0; k < experiment_.failures.size(); ++k) {
        const auto& what = experiment_.failures[k];
        if (what.kind != FailureKind::coordinator_loss) continue;
        for (const auto& [at_s, draw] : instants(k, iteration, offset_s, expected_s))
            losses.push_back({at_s, what.rejoin_after_s.value_or(experiment_.recovery.restore_s), k});
    }
    return losses;
}

std::vector<FailureEvent> FailureSchedule::of_iteration(int iteration, double offset_s, double expected_s,
                                                        const PerStage<std::vector<NodeIndex>>& stages) const {
    std::vector<FailureEvent> events;
    for (std::size_t k = 0; k < experiment_.failures.size(); ++k)
        for (const auto& [at_s, draw] : instants(k, iteration, offset_s, expected_s))
            add(k, at_s, offset_s, draw, stages, events);
    std::stable_sort(events.begin(), events.end(), [](const FailureEvent& a, const FailureEvent& b) {
        return a.disturbance.at_s < b.disturbance.at_s;
    });
    return events;
}

}  // namespace skippipe
