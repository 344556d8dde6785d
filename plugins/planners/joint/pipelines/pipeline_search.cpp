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

/// Of a core's time, at least: with less, what else is tried gets further.
constexpr double least_s_a_node = 0.008;
/// When which shape is worth while is known, the best two are designed, and the orders of all pipelines are searched.
constexpr double shapes_end = 0.1, designs_end = 0.55, orders_end = 0.88;
constexpr std::size_t designs = 2;
/// A longer design gains a few hundredths: so much longer than what there is, a short one is not worth it.
constexpr double hopeless = 1.15;
/// Of the pipelines, whose orders are searched once more.
constexpr double longest_share = 0.25;
/// What a core does in a second: changes of a design, and operations of timelines of which only what a change of an
/// order moves is followed.
constexpr double changes_a_second = 1.5e6, followed_a_second = 3e8, dispatched_a_second = 2e5;
/// Of a design, before its longest pipelines are relieved.
constexpr double design_share = 0.35;

std::function<double()> clock_of(const Budget& budget) {
    if (!budget.by_clock()) return {};
    return [&budget] { return budget.clock_fraction(); };
}

double operations_of(const Problem& problem) {
    return static_cast<double>(problem.microbatches) * (2 * problem.path_length + 1);
}

}  // namespace

bool may_be_piped(const Problem& problem) {
    return problem.placement.empty() && problem.stage_sizes.empty() && !problem.plan_blocks &&
           problem.sizes.size() <= 1 && problem.balance_data_nodes && !problem.split_backward &&
           problem.path_length > 1;
}

PipelineSearch::PipelineSearch(const Problem& problem, const Network& network, PipelineEffort effort,
                               std::function<void(double)> tell)
    : problem_(problem), effort_(std::move(effort)), tell_(std::move(tell)), groups_(near_groups(problem, network)) {}

/// Runs `search(k, budget, seconds of a core)` for each of so many, in as many waves as threads leave.
void PipelineSearch::side_by_side(std::size_t count, double begin, double end,
                                  const std::function<void(std::size_t, const Budget&, double core_s)>& search) const {
    if (count == 0) return;
    const int threads = std::max(1, effort_.threads), all = static_cast<int>(count);
    const int waves = (all + threads - 1) / threads;
    std::mutex one_at_a_time;
    int ready = 0;
    parallel_for(all, threads, [&](int k) {
        PlanRequest own;
        own.seconds = effort_.seconds * (end - begin) / waves;
        own.stop = effort_.stop;
        const Budget budget(own, 0, 1);
        search(at(k), budget, effort_.core_s * (end - begin) / all);
        const std::lock_guard lock(one_at_a_time);
        tell_(begin + (end - begin) * ++ready / all);
    });
}

std::optional<PipelinePlan> PipelineSearch::plan_of(const PipelineShape& shape, std::uint64_t stream,
                                                    const Budget& budget, double core_s) const {
    auto routes = pipeline_routes(problem_, shape);
    if (!routes) return std::nullopt;
    const Problem weighted = with_crossing(problem_, shape.crossing);
    const Network network(weighted);
    PipelineDesign design(weighted, network, groups_, shape, std::move(*routes), effort_.seed, stream);
    const Budget designs = budget.part(0, design_share);
    design.run(static_cast<std::int64_t>(core_s * design_share * changes_a_second), clock_of(designs),
               [&](double fraction) { return designs.go_on(fraction); });
    if (effort_.stop.stop_requested()) return std::nullopt;
    auto plan = pipeline_plan(weighted, design);
    if (!plan) return plan;
    const auto most = static_cast<std::int64_t>(core_s * (1 - design_share) * dispatched_a_second /
                                                operations_of(plan->parts.front().problem));
    relieve_longest(weighted, design, *plan, effort_.seed, [&](std::int64_t tried) {
        return budget.by_clock() ? budget.go_on(0) : tried < most && !effort_.stop.stop_requested();
    });
    merge(problem_, *plan);
    return plan;
}

/// Those first that promise to be the shortest.
std::vector<PipelinePlan> PipelineSearch::plans_of(const std::vector<PipelineShape>& shapes, std::uint64_t stream,
                                                   double begin, double end) const {
    std::vector<std::optional<PipelinePlan>> found(shapes.size());
    side_by_side(shapes.size(), begin, end, [&](std::size_t k, const Budget& budget, double core_s) {
        try {
            found[k] = plan_of(shapes[k], stream + k, budget, core_s);
        } catch (const InputError&) {
            found[k].reset();  // stages cannot be used evenly by so few
        }
    });
    std::vector<PipelinePlan> plans;
    for (auto& plan : found)
        if (plan) plans.push_back(std::move(*plan));
    std::stable_sort(plans.begin(), plans.end(),
                     [](const PipelinePlan& a, const PipelinePlan& b) { return a.promised_s < b.promised_s; });
    return plans;
}

std::optional<PipelinePlan> PipelineSearch::design(double best_s) const {
    if (!may_be_piped(problem_) || effort_.core_s < least_s_a_node * problem_.nodes()) return std::nullopt;
    auto plans = plans_of(pipeline_shapes(problem_), 951, 0, shapes_end);
    if (plans.empty() || plans.front().promised_s > hopeless * best_s) return std::nullopt;
    std::vector<PipelineShape> best;
    for (std::size_t k = 0; k < std::min(designs, plans.size()); ++k) best.push_back(plans[k].shape);
    auto longer = plans_of(best, 981, shapes_end, designs_end);
    if (!longer.empty() && longer.front().promised_s < plans.front().promised_s) return std::move(longer.front());
    return std::move(plans.front());
}

void PipelineSearch::search_orders(PipelinePlan& plan) const {
    std::vector<std::size_t> parts(plan.parts.size());
    std::iota(parts.begin(), parts.end(), std::size_t{0});
    search_orders_of(parts, 1001, designs_end, orders_end, plan);
    std::stable_sort(parts.begin(), parts.end(),
                     [&](std::size_t a, std::size_t b) { return plan.parts[a].seconds > plan.parts[b].seconds; });
    parts.resize(std::max(std::size_t{1}, static_cast<std::size_t>(longest_share * static_cast<double>(parts.size()))));
    search_orders_of(parts, 2001, orders_end, 1, plan);
    merge(problem_, plan);
}

void PipelineSearch::search_orders_of(const std::vector<std::size_t>& parts, std::uint64_t stream, double begin,
                                      double end, PipelinePlan& plan) const {
    std::vector<std::int64_t> steps_of(parts.size(), 0);
    side_by_side(parts.size(), begin, end, [&](std::size_t k, const Budget& budget, double core_s) {
        PipelinePart& part = plan.parts[parts[k]];
        const Problem& problem = part.problem;
        const double steps =
            (budget.by_clock() ? budget.seconds() : core_s) * followed_a_second / operations_of(problem);
        OrderAnnealer chain(problem, part.candidate, effort_.seed, stream + parts[k], order_moves_within_stages());
        const OrderHeat heat = OrderHeat::of(steps, operations_of(problem));
        const auto paths = RelativeTemperatures::of_paths(problem);
        chain.run(budget.by_clock() ? std::numeric_limits<std::int64_t>::max() : static_cast<std::int64_t>(steps),
                  TemperatureSchedule::between(chain.best_s() * paths.first * heat.first,
                                               chain.best_s() * paths.last * heat.last),
                  clock_of(budget), [&](double fraction) { return budget.go_on(fraction); });
        part.candidate = chain.best();
        part.seconds = chain.best_s();
        steps_of[k] = chain.steps();
    });
    plan.steps = std::accumulate(steps_of.begin(), steps_of.end(), plan.steps);
}

}  // namespace skippipe::planners::joint
