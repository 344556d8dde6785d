// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/planners/common/search.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include <fmt/format.h>

#include "core/base/fault.h"
#include "core/planner/plan/paths.h"
#include "plugins/planners/common/feasibility.h"
#include "plugins/planners/common/list_order.h"

namespace skippipe::planners {

namespace {

double clock_s() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

}  // namespace

Budget::Budget(const PlanRequest& request, double begin, double end)
    : request_(request), begin_(begin), end_(end), started_s_(clock_s()) {}

Budget Budget::part(double begin, double end) const {
    Budget other(request_, begin, end);
    other.started_s_ = started_s_;
    return other;
}

Budget Budget::by_steps() const {
    Budget other(*this);
    other.by_steps_ = true;
    return other;
}

void Budget::end_now() { started_s_ = clock_s() - end_ * request_.seconds; }

double Budget::used() const {
    if (request_.seconds <= 0) return 0;
    if (end_ <= begin_) return 1;  // what came before has taken all of it
    return std::max(0.0, clock_s() - started_s_ - begin_ * request_.seconds) / (request_.seconds * (end_ - begin_));
}

double Budget::clock_fraction() const { return by_clock() ? used() : 0; }

std::function<double()> Budget::clock() const {
    if (!by_clock()) return {};
    return [this] { return clock_fraction(); };
}

double Budget::seconds_left() const { return std::max(0.0, request_.seconds * end_ - (clock_s() - started_s_)); }

bool Budget::go_on(double fraction, double best_s) const {
    if (request_.stop.stop_requested()) return false;
    const double gone = used(), shown = request_.seconds > 0 && by_steps_ ? gone : std::max(fraction, gone);
    if (request_.progress) request_.progress({begin_ + (end_ - begin_) * std::min(1.0, shown), best_s});
    return gone < 1;
}

void cool_down(std::int64_t steps, int operations, double first_s, double ratio,
               const std::function<double()>& clock_fraction, const std::function<bool(double)>& go_on,
               const std::function<void(double)>& step) {
    const int batch = std::clamp(64 * 1024 / std::max(1, operations), 1, 256);
    for (std::int64_t done = 0; done < steps;) {
        const double fraction =
            clock_fraction ? clock_fraction() : static_cast<double>(done) / static_cast<double>(steps);
        if (!go_on(fraction)) break;
        const double temperature_s = first_s * std::pow(ratio, std::min(1.0, fraction));
        const auto until = std::min<std::int64_t>(steps, done + batch);
        for (; done < until; ++done) step(temperature_s);
    }
}

PlanCandidate full_pipeline_candidate(const Problem& problem, const PlanRequest& request) {
    check_solvable(problem);
    const Network network(problem);
    const auto sequences = balanced_sequences(problem, problem.stages);
    const RouteRules blind{.aware = false, .balanced = true};
    auto candidate = make_candidate(problem, listed_placement(problem), problem.stages);
    try {
        route(problem, network, sequences, blind, request.seed, candidate);
    } catch (const InputError&) {
        if (!problem.placement.empty()) throw;
        const PlacementCost cost(problem, network, stage_flow(problem, sequences));
        const auto found = genetic_placement(problem, cost, {50, 2000}, request.seed, [](double) { return true; });
        candidate = make_candidate(problem, found.placement, problem.stages);
        route(problem, network, sequences, blind, request.seed, candidate);
    }
    return candidate;
}

void ensure_complete(const Problem& problem, PlanCandidate& candidate, std::string& note) {
    if (std::isfinite(iteration_s(problem, candidate))) return;
    candidate.schedule.order =
        list_order(problem, candidate.schedule, {.limit = problem.memory, .weights_last = false, .reserve = true});
    if (!note.empty()) note += "; ";
    note +=
        "first come, first served would deadlock on memory (TC1), so every node's order is bound, and a microbatch "
        "starts once all nodes "
        "of its path have a place for it";
}

std::string throttle_note(const Problem& problem) {
    const auto [least, most] = std::minmax_element(problem.memory.begin(), problem.memory.end());
    if (*least == unlimited_memory) return {};
    if (*least == *most) return fmt::format("throttled by M = {}", *least);
    return *most == unlimited_memory ? fmt::format("throttled by M = {} and more", *least)
                                     : fmt::format("throttled by M = {} to {}", *least, *most);
}

}  // namespace skippipe::planners
