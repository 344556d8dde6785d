// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/planners/joint/pipelines/pipeline_search.h"

#include <algorithm>
#include <limits>
#include <mutex>
#include <numeric>

#include "core/base/fault.h"
#include "core/base/index.h"
#include "core/base/parallel.h"
#include "plugins/planners/joint/orders/order_annealer.h"
#include "plugins/planners/joint/starts/group_placement.h"

namespace skippipe::planners::joint {

namespace {

/// Of least_core_s: a node, and an operation of each shape.
constexpr double least_s_a_node = 0.008, least_s_an_operation = 1e-5;
/// When which shapes are worth while is known, the best are designed, it is known which of them orders gain more for,
/// and the orders of all its pipelines are searched; what is left is for the longest.
constexpr double shapes_end = 0.1, designs_end = 0.5, contest_end = 0.65, orders_end = 0.9;
constexpr std::size_t designs = 2;
/// A longer design gains a few hundredths: so much longer than what there is, a short one is not worth it.
constexpr double hopeless = 1.15;
/// Of the pipelines, whose orders are searched once more.
constexpr double longest_share = 0.25;
/// What a core does in a second: changes of a design, and operations of timelines, whole ones and such of which only
/// what a change of an order moves is followed.
constexpr double changes_a_second = 1.5e6, dispatched_a_second = 2e5, followed_a_second = 3e8;
/// Of a design, before its longest pipelines are relieved.
constexpr double design_share = 0.35;

/// Those first that promise to be the shortest; no more of them than are designed.
void keep_best(std::vector<PipelinePlan>& plans) {
    std::stable_sort(plans.begin(), plans.end(),
                     [](const PipelinePlan& a, const PipelinePlan& b) { return a.promised_s < b.promised_s; });
    plans.resize(std::min(plans.size(), designs));
}

PlanRequest request_of(const PipelineEffort& effort) {
    PlanRequest request;
    request.seconds = effort.seconds;
    request.stop = effort.stop;
    return request;
}

}  // namespace

bool may_be_piped(const Problem& problem) {
    const bool alike = problem.sizes.empty() || (problem.sizes.size() == 1 && problem.sizes[0] == problem.samples);
    return problem.placement.empty() && problem.stage_sizes.empty() && !problem.plan_blocks && alike &&
           problem.balance_data_nodes && !problem.split_backward && !problem.has_uplinks() && problem.path_length > 1;
}

double least_core_s(const Problem& problem) {
    const auto shapes = static_cast<double>(pipeline_shapes(problem).size());
    return std::max(least_s_a_node * problem.nodes(), least_s_an_operation * operations_of(problem) * shapes);
}

PipelineSearch::PipelineSearch(const Problem& problem, const Network& network, PipelineEffort effort,
                               std::function<void(double)> tell)
    : problem_(problem),
      effort_(std::move(effort)),
      tell_(std::move(tell)),
      request_(request_of(effort_)),
      budget_(request_, 0, 1),
      network_(network) {}

/// Runs `search(k, budget, seconds of a core)` for each of so many, in as many waves as threads leave; by the clock
/// none that no time is left for.
void PipelineSearch::side_by_side(std::size_t count, double begin, double end,
                                  const std::function<void(std::size_t, const Budget&, double core_s)>& search) const {
    if (count == 0) return;
    const int threads = std::max(1, effort_.threads), all = static_cast<int>(count);
    const int waves = (all + threads - 1) / threads;
    const Budget phase = budget_.part(begin, end);
    std::mutex one_at_a_time;
    int ready = 0;
    parallel_for(all, threads, [&](int k) {
        PlanRequest own = request_;
        own.seconds = phase.seconds_left() / std::max(1, waves - k / threads);
        const bool has_time = own.seconds > 0 || !budget_.by_clock();
        if (has_time && !stopped()) search(at(k), Budget(own, 0, 1), effort_.core_s * (end - begin) / all);
        const std::lock_guard lock(one_at_a_time);
        tell_(begin + (end - begin) * ++ready / all);
    });
}

std::optional<PipelinePlan> PipelineSearch::design_of(const PipelineShape& shape, std::uint64_t stream,
                                                      const Budget& budget, double core_s) const {
    auto routes = pipeline_routes(problem_, shape);
    if (!routes) return std::nullopt;
    const Problem weighted = with_crossing(problem_, shape.crossing);
    const Network network(weighted);
    PipelineDesign design(weighted, network, groups_, shape, std::move(*routes), effort_.seed, stream);
    const Budget dealing = budget.part(0, design_share);
    design.run(static_cast<std::int64_t>(core_s * design_share * changes_a_second), dealing.clock(),
               [&](double fraction) { return dealing.go_on(fraction); });
    const PartProblems parts(weighted);
    auto plan = pipeline_plan(parts, design, [&] { return !stopped(); });
    if (!plan) return plan;
    const auto most = static_cast<std::int64_t>(core_s * (1 - design_share) * dispatched_a_second /
                                                operations_of(plan->parts.front().problem));
    relieve_longest(parts, design, *plan, effort_.seed, [&](std::int64_t tried) {
        return budget.by_clock() ? budget.go_on(0) : tried < most && !stopped();
    });
    merge(problem_, *plan);
    return plan;
}

/// The best of them.
std::vector<PipelinePlan> PipelineSearch::designs_of(const std::vector<PipelineShape>& shapes, std::uint64_t stream,
                                                     double begin, double end) const {
    std::vector<std::optional<PipelinePlan>> found(shapes.size());
    side_by_side(shapes.size(), begin, end, [&](std::size_t k, const Budget& budget, double core_s) {
        try {
            found[k] = design_of(shapes[k], stream + k, budget, core_s);
        } catch (const InputError&) {
            found[k].reset();  // stages cannot be used evenly by so few
        }
    });
    std::vector<PipelinePlan> plans;
    for (auto& plan : found)
        if (plan) plans.push_back(std::move(*plan));
    keep_best(plans);
    return plans;
}

std::optional<PipelinePlan> PipelineSearch::search(double best_s) {
    const auto shapes = pipeline_shapes(problem_);
    if (!may_be_piped(problem_) || effort_.core_s < least_core_s(problem_)) return std::nullopt;
    groups_ = near_groups(problem_, network_);
    auto plans = designs_of(shapes, 951, 0, shapes_end);
    if (plans.empty() || plans.front().promised_s > hopeless * best_s) return std::nullopt;
    std::vector<PipelineShape> best;
    for (const auto& plan : plans) best.push_back(plan.shape);
    for (auto& longer : designs_of(best, 981, shapes_end, designs_end)) plans.push_back(std::move(longer));
    keep_best(plans);
    std::erase_if(plans, [&](const PipelinePlan& plan) { return std::min(plan.promised_s, plan.seconds) >= best_s; });
    if (plans.empty()) return std::nullopt;
    const double each = (contest_end - designs_end) / static_cast<double>(plans.size());
    for (std::size_t k = 0; k < plans.size(); ++k) {
        const double begin = designs_end + each * static_cast<double>(k);
        search_orders(plans[k], 1, 1001 + 10000 * k, begin, begin + each);
    }
    auto& plan = *std::min_element(plans.begin(), plans.end(),
                                   [](const PipelinePlan& a, const PipelinePlan& b) { return a.seconds < b.seconds; });
    search_orders(plan, 1, 31001, contest_end, orders_end);
    search_orders(plan, longest_share, 41001, orders_end, 1);
    return std::move(plan);
}

/// Of this share of its parts, the longest. The plan never gets longer.
void PipelineSearch::search_orders(PipelinePlan& plan, double share, std::uint64_t stream, double begin,
                                   double end) const {
    PipelinePlan next = plan;
    std::vector<std::size_t> parts(plan.parts.size());
    std::iota(parts.begin(), parts.end(), std::size_t{0});
    std::stable_sort(parts.begin(), parts.end(),
                     [&](std::size_t a, std::size_t b) { return plan.parts[a].seconds > plan.parts[b].seconds; });
    parts.resize(std::max(std::size_t{1}, static_cast<std::size_t>(share * static_cast<double>(parts.size()))));
    std::vector<std::int64_t> steps_of(parts.size(), 0);
    side_by_side(parts.size(), begin, end, [&](std::size_t k, const Budget& budget, double core_s) {
        PipelinePart& part = next.parts[parts[k]];
        const double operations = operations_of(part.problem);
        const double steps = (budget.by_clock() ? budget.seconds() : core_s) * followed_a_second / operations;
        OrderAnnealer chain(part.problem, part.candidate, effort_.seed, stream + parts[k], order_moves_within_stages());
        const OrderHeat heat = OrderHeat::of(steps, operations);
        const auto paths = RelativeTemperatures::of_paths(part.problem);
        chain.run(budget.by_clock() ? std::numeric_limits<std::int64_t>::max() : static_cast<std::int64_t>(steps),
                  TemperatureSchedule::between(chain.best_s() * paths.first * heat.first,
                                               chain.best_s() * paths.last * heat.last),
                  budget.clock(), [&](double fraction) { return budget.go_on(fraction); });
        part.candidate = chain.best();
        part.seconds = chain.best_s();
        steps_of[k] = chain.steps();
    });
    next.steps = plan.steps = std::accumulate(steps_of.begin(), steps_of.end(), plan.steps);
    merge(problem_, next);
    if (next.seconds < plan.seconds) plan = std::move(next);
}

}  // namespace skippipe::planners::joint
