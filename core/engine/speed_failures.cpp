// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/engine/speed_failures.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/base/index.h"
#include "core/engine/shaping.h"
#include "core/engine/transport.h"

namespace skippipe {

namespace {

bool changes_speed(FailureKind kind) {
    return kind == FailureKind::slow_down || kind == FailureKind::link_degraded || kind == FailureKind::jitter;
}

}  // namespace

bool has_speed_failures(const Experiment& experiment) {
    return std::any_of(experiment.failures.begin(), experiment.failures.end(),
                       [](const Failure& failure) { return changes_speed(failure.kind); });
}

SpeedChange speed_change(const Problem& problem, const NetworkChange& change, std::uint64_t seed) {
    SpeedChange made{.of_line = change.of_line(), .index = change.node};
    if (made.of_line) made.index = problem.hop(change.node, change.to).line;
    if (change.slows()) {
        made.factor = change.factor;
    } else {
        made.deviation = change.factor;
        made.seed = seed;
    }
    return made;
}

void SpeedFailures::add(const FailureEvent& event, double until_s) {
    lasting_.push_back({speed_change(problem_, event.disturbance.change, event.disturbance.seed), until_s});
}

std::vector<SpeedChange> SpeedFailures::in_force(int iteration, double network_s,
                                                 const PerStage<std::vector<NodeIndex>>& stages) {
    const auto failure_of = [&](const FailureEvent& event) -> const Failure& {
        return experiment_.failures[event.failure];
    };
    const auto by_time = [&](const FailureEvent& event) {
        return failure_of(event).at_s || failure_of(event).rate_per_hour;
    };
    const auto visit = [&](int of, double from_s, double lasts_s, const auto& work) {
        for (const auto& event : schedule_.of_iteration(of, from_s, lasts_s, stages))
            if (changes_speed(failure_of(event).kind)) work(event);
    };
    if (network_s >= since_s_) {
        visit(iteration, since_s_, network_s - since_s_, [&](const FailureEvent& event) {
            if (by_time(event) && event.disturbance.at_s <= network_s - since_s_) add(event, event.back_s);
        });
        since_s_ = std::nextafter(network_s, std::numeric_limits<double>::infinity());
    }
    for (; next_ <= iteration; ++next_)
        visit(next_, network_s, 0, [&](const FailureEvent& event) {
            const auto& back_s = failure_of(event).rejoin_after_s;
            if (!by_time(event) && (next_ == iteration || !back_s))
                add(event, network_s + back_s.value_or(std::numeric_limits<double>::infinity()));
        });
    std::erase_if(lasting_, [&](const Lasting& one) { return one.until_s <= network_s; });
    std::vector<SpeedChange> changes;
    for (const auto& one : lasting_) changes.push_back(one.change);
    return changes;
}

std::string to_text(const std::vector<SpeedChange>& changes) {
    auto list = nlohmann::json::array();
    for (const auto& c : changes) list.push_back({c.of_line, c.index, c.factor, c.deviation, c.seed});
    return list.dump();
}

std::vector<SpeedChange> read_speed_changes(const std::string& text, const Problem& problem) try {
    std::vector<SpeedChange> changes;
    for (const auto& one : nlohmann::json::parse(text)) {
        SpeedChange change{one.at(0).get<bool>(), one.at(1).get<int>(), one.at(2).get<double>(),
                           one.at(3).get<double>(), one.at(4).get<std::uint64_t>()};
        const auto count = change.of_line ? problem.line_names.size() : at(problem.nodes());
        if (change.index < 0 || at(change.index) >= count || !(change.factor > 0) || !(change.deviation >= 0))
            throw PeerFault(0, "says that something is slower that is not there");
        changes.push_back(change);
    }
    return changes;
} catch (const nlohmann::json::exception&) {
    throw PeerFault(0, "says in no words of this build what is slower");
}

std::string describe(const SpeedChange& change, const Problem& problem) {
    const auto name =
        change.of_line ? "the link " + problem.line_names[at(change.index)] : problem.node_ids[at(change.index)];
    if (change.deviation > 0) return fmt::format("{} varies by {:.0f} %", name, 100 * change.deviation);
    return fmt::format("{} takes {:g} times as long", name, change.factor);
}

double stretch_of(const std::vector<SpeedChange>& changes, int node, const Operation& operation, int iteration) {
    double factor = 1;
    for (const auto& change : changes) {
        if (change.of_line || change.index != node) continue;
        factor *= change.factor;
        if (change.deviation > 0)
            factor *= drawn_factor(change.deviation, change.seed,
                                   {node, static_cast<int>(operation.kind), iteration, operation.microbatch});
    }
    return std::max(1.0, factor);
}

}  // namespace skippipe
