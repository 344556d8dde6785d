// SPDX-License-Identifier: GPL-3.0-or-later
// The part of skippipe-joint that anneals: paths, then orders for what came of them.
#include <algorithm>
#include <cmath>

#include "core/base/index.h"
#include "plugins/planners/common/dispatch_order.h"
#include "plugins/planners/joint/joint_search.h"
#include "plugins/planners/joint/joint_start.h"

namespace skippipe::planners::joint {

namespace {

/// Orders alone are searched down to so much cooler where there are fewer steps than operations, so as not to lose what
/// the plan has.
constexpr double coolest = 0.25;

/// The best of each chain that came near to the best of all, that one first.
std::vector<PlanCandidate> ends_of(const Chains<PathAnnealer>& all, double near_best) {
    std::vector<const PathAnnealer*> chains;
    for (const auto& chain : all) chains.push_back(chain.get());
    std::stable_sort(chains.begin(), chains.end(),
                     [](const auto* a, const auto* b) { return a->best_s() < b->best_s(); });
    std::vector<PlanCandidate> ends;
    for (const auto* chain : chains)
        if (chain->best_s() < chains.front()->best_s() * near_best || ends.empty()) ends.push_back(chain->best());
    return ends;
}

}  // namespace

/// Returns what orders are searched for.
std::vector<PlanCandidate> JointSearch::anneal_paths(const Round& round, const Budget& budget, std::int64_t steps) {
    const int count = chains(budget);
    Chains<PathAnnealer> all;
    for (int c = 0; c < count; ++c) {
        PlanCandidate from = starts_[at(c) % starts_.size()];
        if (c > 1) scatter(problem_, Rng(request_.seed, at(c) + 301 + 1000 * at(round.number)), from);
        // Where there are several, the first searches as it would if the blocks were given: freedom to move them must
        // not make a plan longer.
        all.push_back(std::make_unique<PathAnnealer>(problem_, network_, from, request_.seed,
                                                     at(c) + 1 + 1000 * at(round.number),
                                                     PathOptions{.hold_blocks = count > 1 && c == 0}));
    }
    run_chains(all, steps, request_.threads, budget, from_start(temperatures_));
    const double before_s = best_s_;
    const PlanCandidate before = best_.candidate;
    take_best(all);
    auto ends = ends_of(all, shares_.near_best);
    if (const double end_s = iteration_s(problem_, ends.front()); end_s < paths_s_) {
        paths_ = ends.front();
        paths_s_ = end_s;
    }
    if (round.number == 0 && best_s_ == before_s) ends.insert(ends.begin(), before);
    return ends;
}

/// Binds every node's order, first as it comes, and improves it, beginning with each of `ends` in turn. A plan that
/// gains nothing stays without an order.
void JointSearch::anneal_orders(const Round& round, const Budget& budget, std::int64_t steps,
                                std::vector<PlanCandidate> ends) {
    for (auto& end : ends)
        if (end.schedule.order.empty()) end.schedule.order = dispatch_order(problem_, end);
    std::erase_if(ends, [](const PlanCandidate& end) { return end.schedule.order.empty(); });
    if (ends.empty() || !std::isfinite(best_s_)) return;
    const int count = chains(budget);
    const double chain_steps =
        budget.by_clock() ? budget.seconds() * shares_.steps_per_s : static_cast<double>(steps) / count;
    const OrderHeat heat = OrderHeat::of(chain_steps, operations());
    Chains<OrderAnnealer> all;
    for (int c = 0; c < count; ++c)
        all.push_back(std::make_unique<OrderAnnealer>(problem_, ends[at(c) % ends.size()], request_.seed,
                                                      at(c) + 101 + 1000 * at(round.number)));
    const double base_s = best_s_ * (round.orders_alone ? std::clamp(chain_steps / operations(), coolest, 1.0) : 1);
    const auto schedule = TemperatureSchedule::between(base_s * temperatures_.first * heat.first,
                                                       base_s * temperatures_.last * heat.last);
    run_chains(all, steps, request_.threads, budget, [&](const OrderAnnealer&) { return schedule; });
    take_best(all);
}

}  // namespace skippipe::planners::joint
