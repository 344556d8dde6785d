// SPDX-License-Identifier: GPL-3.0-or-later
// skippipe-joint: placement, paths and priorities together. Several annealing chains, as many as the plan's steps say and not
// as many as there are threads, so that threads never change the result.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <mutex>
#include <numeric>
#include <thread>

#include "core/planner/validator.h"
#include "core/planner/evaluator.h"
#include "core/base/fault.h"
#include "plugins/planners/anneal.h"
#include "plugins/planners/any_paths.h"
#include "plugins/planners/cells.h"
#include "plugins/planners/order_search.h"
#include "plugins/planners/planners.h"
#include "plugins/planners/skipping.h"

namespace skippipe {

namespace {

double operations_of(const Problem& problem) { return static_cast<double>(problem.microbatches) * (2 * problem.path_length + 1); }

/// From so many operations on, cells are planned first, of so many each at least.
constexpr double large = 1500;
constexpr int least_cell = 250;
/// Of steps and time; the rest is spent on the whole.
constexpr double cells_share = 0.85, least_seconds_a_cell = 0.05;

/// How a search is divided, found by trial: small problems on those whose optimum is known, larger ones on the authors' 20 nodes.
struct Division {
    int chains;          ///< of a search by steps: the smaller the problem, the more often it begins anew
    double paths_share;  ///< part of the steps that is spent on placement and paths; the rest is on the nodes' orders
    double paths_time;   ///< the same of the time
    double near_best;    ///< orders are searched for the ends of all chains that came as near to the best
    double steps_per_s;  ///< on orders, about
};
Division division_of(const Problem& problem) {
    const double operations = operations_of(problem);
    const bool uneven = problem.plan_blocks || problem.sizes.size() > 1;
    if (operations < 100) return {20, uneven ? 0.3 : 0.5, 0.5, 1.3, 3e8 / operations};
    // Where times follow a graph, a step on the orders costs a fifth of one on the paths, and takes the iteration further; large problems have more orders
    // than there are steps to improve them.
    return OrderTimes::exact(problem) && operations < large ? Division{2, 0.1, 0.35, 1.05, 3e8 / operations} : Division{2, 0.85, 0.85, 1.05, 3e7 / operations};
}

/// Chains begin anew, from other paths, rather than cool ever more slowly: what one ends in depends on its placement.
constexpr double seconds_a_round = 30, steps_a_round = 60'000'000;

/// How much hotter orders are begun with than paths, and end: as far as there are steps to cool again.
struct Heat {
    double first = 1, last = 1;
    static Heat of(double steps, double operations) {
        const double length = std::clamp(std::log(steps / (400 * operations)) / std::log(300.0), 0.0, 1.0);
        return {1 + 3.5 * length, 1 + 1.5 * length};
    }
};

/// Of the steps of a round; of few steps a greater part, as orders are only worth their while on paths that are.
std::int64_t paths_steps(const Problem& problem, const Division& division, std::int64_t steps) {
    const double operations = operations_of(problem);
    const double share = std::clamp(300 * operations / static_cast<double>(steps), division.paths_share, 0.85);
    return static_cast<std::int64_t>(static_cast<double>(steps) * share);
}

/// As long a search for every problem: a step costs about as much as the operations of a timeline.
std::int64_t default_steps(const Problem& problem) {
    const double operations = operations_of(problem);
    const double most = division_of(problem).paths_share < 0.5 ? 1'500'000 : 400'000;
    return static_cast<std::int64_t>(std::clamp(most * 270 / operations, 2'000.0, most));
}

class Joint final : public Planner {
public:
    std::string name() const override { return "skippipe-joint"; }
    std::string description() const override {
        return "Placement, paths and priorities searched together against the exact timeline by simulated annealing; stops at any time.";
    }
    bool full_pipeline() const override { return false; }
    bool robust() const override { return true; }

    Plan plan(const Problem& problem, const PlanRequest& request) const override {
        const Budget first(request, 0, 0.1);
        auto start = any_start(problem, request, first);
        const Division division = division_of(problem);
        const double plain_end = request.robust ? 0.4 : 1;
        double start_s = iteration_s(problem, start.draft);
        const bool warm = warm_start(problem, request, start, start_s);
        const Network network(problem);
        const std::int64_t steps = request.steps > 0 ? request.steps : default_steps(problem);
        Draft chain_start = start.draft;
        chain_start.schedule.order.clear();
        // By the clock, each chain needs a thread of its own.
        const int count = first.by_clock() ? std::clamp(request.threads, 1, division.chains) : division.chains;
        const double rounds_wanted =
            first.by_clock() ? request.seconds / (seconds_a_round * std::max(1.0, operations_of(problem) / 270)) : static_cast<double>(steps) / steps_a_round;
        const int rounds = static_cast<int>(std::clamp(rounds_wanted, 1.0, 1000.0));
        const Cooling cooling = Cooling::of(problem);
        std::int64_t done = 0;
        Draft paths = start.draft;
        double paths_s = start_s;
        double begun = 0.1;
        if (operations_of(problem) >= large && OrderTimes::exact(problem) && !warm && !request.stop.stop_requested()) {
            const double cells_end = 0.1 + (plain_end - 0.1) * cells_share;
            const auto for_cells = static_cast<std::int64_t>(static_cast<double>(steps) * cells_share);
            if (const auto taken = search_cells(problem, network, request, first.part(0.1, cells_end), for_cells, start, start_s); taken > 0) {
                done += taken;
                begun = cells_end;
            }
        }
        const bool in_cells = begun > 0.1;
        const std::int64_t left = in_cells ? std::max<std::int64_t>(1, static_cast<std::int64_t>(static_cast<double>(steps) * (1 - cells_share))) : steps;
        for (int r = 0; r < rounds && !request.stop.stop_requested(); ++r) {
            const double begin = begun + (plain_end - begun) * r / rounds, end = begun + (plain_end - begun) * (r + 1) / rounds;
            const double orders_begin = begin + (end - begin) * (in_cells ? 0 : division.paths_time);
            const std::int64_t own = left / rounds + (r < left % rounds ? 1 : 0), for_paths = in_cells ? 0 : paths_steps(problem, division, own);
            std::vector<std::unique_ptr<AnnealingChain>> all;
            Draft from = chain_start;
            for (int c = 0; c < count; ++c) {
                if (c > 1) scatter(problem, Rng(request.seed, at(c) + 301 + 1000 * at(r)), from);
                all.push_back(std::make_unique<AnnealingChain>(problem, network, from, request.seed, at(c) + 1 + 1000 * at(r)));
            }
            // Where there are several, the first searches as it would if the blocks were given: freedom to move them must not make a plan longer.
            if (count > 1) all.front()->hold_blocks();
            if (!in_cells)
                run_all(all, for_paths, request, first.part(begin, orders_begin),
                        [&](AnnealingChain& chain, std::int64_t share, const auto& clock, const auto& go_on) { chain.run(share, cooling, clock, go_on); });
            const double before_s = start_s;
            const Draft before = start.draft;
            done += take_best(all, start, start_s);
            auto ends = ends_of(all, division.near_best);
            if (const double end_s = iteration_s(problem, ends.front()); end_s < paths_s) {
                paths = ends.front();
                paths_s = end_s;
            }
            if (in_cells) ends.assign(1, start.draft);
            else if (r == 0 && start_s == before_s) ends.insert(ends.begin(), before);
            done += search_orders(problem, request, first.part(orders_begin, end), own - for_paths, cooling, 101 + 1000 * at(r), ends, start, start_s);
        }
        if (request.robust) done += make_robust(problem, network, request, first.part(plain_end, 1), steps, count, cooling, paths, start);
        if (request.progress) request.progress({1, start_s});
        return make_plan(problem, start.draft, name(), request, first.by_clock() ? done : steps, start.note);
    }

private:
    static std::uint64_t at(int chain) { return static_cast<std::uint64_t>(chain); }

    /// The published method's paths; where lines are missing and it finds none, any that are allowed.
    static SkipDraft any_start(const Problem& problem, const PlanRequest& request, const Budget& budget) {
        check_solvable(problem);
        try {
            return conflict_free_paths(problem, request, budget, default_expansions);
        } catch (const InputError&) {
            auto found = any_paths(problem, request.seed);
            if (!found) throw;
            SkipDraft start{std::move(*found), 0, {}};
            ensure_complete(problem, start.draft, start.note);
            if (!std::isfinite(iteration_s(problem, start.draft))) throw;
            return start;
        }
    }

    /// Another beginning where blocks are planned or microbatches differ in size: each block beyond the first of its stage anywhere, the microbatches in
    /// any order.
    static void scatter(const Problem& problem, Rng rng, Draft& draft) {
        const Draft before = draft;
        if (problem.plan_blocks) {
            int spare = std::accumulate(draft.blocks.begin(), draft.blocks.end(), 0) - problem.stages;
            draft.blocks.assign(draft.blocks.size(), 1);
            for (; spare > 0; --spare) ++draft.blocks[rng.below(draft.blocks.size())];
        }
        if (problem.sizes.size() > 1) rng.shuffle(draft.schedule.microbatches);
        if (!std::isfinite(iteration_s(problem, draft))) draft = before;  // memory does not take that
    }

    /// Takes over a given plan where it is valid here and better; returns whether it did.
    static bool warm_start(const Problem& problem, const PlanRequest& request, SkipDraft& start, double& start_s) {
        if (request.warm_start == nullptr || !check_structure(problem, *request.warm_start).empty()) return false;
        if (static_cast<int>(request.warm_start->paths.front().nodes.size()) != problem.path_length) return false;
        if (!check_plan(problem, *request.warm_start, evaluate(problem, *request.warm_start)).empty()) return false;
        Draft given = draft_of(problem, *request.warm_start);
        const double given_s = iteration_s(problem, given);
        if (!(given_s < start_s)) return false;
        start_s = given_s;
        start.draft = std::move(given);
        start.note = request.warm_start->note;
        return true;
    }

    /// Takes over the best of the chains where it is better; returns the steps they took.
    template <typename Chain>
    static std::int64_t take_best(const std::vector<std::unique_ptr<Chain>>& all, SkipDraft& start, double& start_s) {
        std::int64_t done = 0;
        for (const auto& chain : all) {
            done += chain->steps();
            if (!(chain->best_s() < start_s)) continue;
            start_s = chain->best_s();
            start.draft = chain->best();
            start.note.clear();
        }
        return done;
    }

    /// The best of each chain that came near to the best of all, that one first.
    static std::vector<Draft> ends_of(const std::vector<std::unique_ptr<AnnealingChain>>& all, double near_best) {
        std::vector<const AnnealingChain*> chains;
        for (const auto& chain : all) chains.push_back(chain.get());
        std::stable_sort(chains.begin(), chains.end(), [](const auto* a, const auto* b) { return a->best_s() < b->best_s(); });
        std::vector<Draft> ends;
        for (const auto* chain : chains)
            if (chain->best_s() < chains.front()->best_s() * near_best || ends.empty()) ends.push_back(chain->best());
        return ends;
    }

    /// Plans every cell on its own and takes over what they make together where it is better. Returns the steps taken; 0 where nothing was taken over.
    std::int64_t search_cells(const Problem& problem, const Network& network, const PlanRequest& request, const Budget& budget, std::int64_t steps, SkipDraft& start,
                              double& start_s) const {
        std::vector<int> sizes;
        for (const auto& stage : start.draft.stages) sizes.push_back(static_cast<int>(stage.size()));
        const auto cells = divide(problem, network, sizes, least_cell, request.seed);
        const auto count = static_cast<int>(cells.size());
        if (count < 2) return 0;
        const int threads = std::min(std::max(request.threads, 1), count), waves = (count + threads - 1) / threads;
        const double seconds = budget.seconds_left() / waves;
        if (budget.by_clock() && seconds < least_seconds_a_cell) return 0;
        std::vector<Draft> drafts(cells.size());
        std::atomic<int> next{0}, ready{0};
        std::atomic<std::int64_t> done{0};
        std::mutex one_at_a_time;
        const auto work = [&] {
            for (int k = next++; k < count; k = next++) {
                PlanRequest own;
                own.seed = request.seed + 1'000'003 * at(k);
                own.steps = steps;
                own.seconds = budget.by_clock() ? seconds : 0;
                own.stop = request.stop;
                own.progress = [&](const PlanProgress& progress) {
                    const std::lock_guard lock(one_at_a_time);
                    budget.go_on((ready + progress.fraction) / count, start_s);
                };
                try {
                    const Plan plan = this->plan(cells[at(k)].problem, own);
                    Draft draft = draft_of(cells[at(k)].problem, plan);
                    if (draft.schedule.order.empty()) draft.schedule.order = dispatch_order(cells[at(k)].problem, draft);
                    done += plan.steps;
                    drafts[at(k)] = std::move(draft);
                    ++ready;
                } catch (const InputError&) {
                    return;  // no plan without lines to other cells
                }
            }
        };
        {
            std::vector<std::jthread> others;
            for (int t = 1; t < threads; ++t) others.emplace_back(work);
            work();
        }
        if (ready < count) return 0;
        Draft whole = unite(problem, cells, drafts);
        const double whole_s = fits_everywhere(problem, whole) ? iteration_s(problem, whole) : start_s;
        if (!(whole_s < start_s)) return 0;
        start = {std::move(whole), 0, {}};
        start_s = whole_s;
        return done;
    }

    /// Binds every node's order, first as it comes, and improves it, beginning with each of `ends` in turn. A plan that gains nothing
    /// stays without an order.
    static std::int64_t search_orders(const Problem& problem, const PlanRequest& request, const Budget& budget, std::int64_t steps, const Cooling& cooling,
                                      std::uint64_t stream, std::vector<Draft>& ends, SkipDraft& start, double& start_s) {
        for (auto& end : ends)
            if (end.schedule.order.empty()) end.schedule.order = dispatch_order(problem, end);
        std::erase_if(ends, [](const Draft& end) { return end.schedule.order.empty(); });
        if (ends.empty() || !std::isfinite(start_s)) return 0;
        const Division division = division_of(problem);
        const int count = budget.by_clock() ? std::clamp(request.threads, 1, division.chains) : division.chains;
        const double operations = operations_of(problem);
        const Heat heat = Heat::of(budget.by_clock() ? budget.seconds() * division.steps_per_s : static_cast<double>(steps) / count, operations);
        std::vector<std::unique_ptr<OrderChain>> all;
        for (int c = 0; c < count; ++c) all.push_back(std::make_unique<OrderChain>(problem, ends[at(c) % ends.size()], request.seed, at(c) + stream));
        run_all(all, steps, request, budget, [&](OrderChain& chain, std::int64_t own, const auto& clock, const auto& go_on) {
            chain.run(own, start_s * cooling.first * heat.first, start_s * cooling.last * heat.last, clock, go_on);
        });
        return take_best(all, start, start_s);
    }

    /// From the best paths without bound orders, as many steps again against drawn networks. What it found is taken where a fresh and
    /// larger sample confirms it, so that the plan is never worse for having been asked for. Returns the steps taken.
    static std::int64_t make_robust(const Problem& problem, const Network& network, const PlanRequest& request, const Budget& budget, std::int64_t steps,
                                    int count, const Cooling& cooling, const Draft& paths, SkipDraft& start) {
        const auto scenarios = draw_scenarios(problem, request.robust->jitter, request.seed);
        Draft chain_start = paths;
        chain_start.schedule.order.clear();
        std::vector<std::unique_ptr<AnnealingChain>> all;
        for (int c = 0; c < count; ++c) all.push_back(std::make_unique<AnnealingChain>(problem, network, chain_start, request.seed, at(c) + 201, &scenarios));
        const Cooling gentle{cooling.first / 2, cooling.last};  // not so hot as to lose the start
        const auto run = [&](AnnealingChain& chain, std::int64_t own, const auto& clock, const auto& go_on) { chain.run(own, gentle, clock, go_on); };
        run_all(all, steps, request, budget, run, iteration_s(problem, start.draft));
        std::vector<Draft> drafts{start.draft};
        std::int64_t done = 0;
        for (const auto& chain : all) {
            done += chain->steps();
            if (std::isfinite(iteration_s(problem, chain->best()))) drafts.push_back(chain->best());
        }
        if (done > 0 || !request.stop.stop_requested()) start.draft = most_robust(problem, drafts, request, start.note);
        return done;
    }

    /// Runs every chain, on as many threads as there are, each with its share of the steps. `shown_s`: what progress shows as the best
    /// so far; 0: the chain's own.
    template <typename Chain, typename Run>
    static void run_all(std::vector<std::unique_ptr<Chain>>& all, std::int64_t steps, const PlanRequest& request, const Budget& budget, const Run& run,
                        double shown_s = 0) {
        const int count = static_cast<int>(all.size());
        std::mutex one_at_a_time;
        std::atomic<int> next{0};
        const auto clock = budget.by_clock() ? std::function<double()>([&] { return budget.clock_fraction(); }) : std::function<double()>();
        const auto work = [&] {
            for (int c = next++; c < count; c = next++) {
                auto& chain = *all[at(c)];
                const std::int64_t own = budget.by_clock() ? std::numeric_limits<std::int64_t>::max() : steps / count + (c < steps % count ? 1 : 0);
                const std::function<bool(double)> go_on = [&](double fraction) {
                    const std::lock_guard lock(one_at_a_time);
                    return budget.go_on(fraction, shown_s > 0 ? shown_s : chain.best_s());
                };
                run(chain, own, clock, go_on);
            }
        };
        std::vector<std::jthread> threads;
        for (int t = 1; t < std::min(request.threads, count); ++t) threads.emplace_back(work);
        work();
    }
};

}  // namespace

std::unique_ptr<Planner> make_skippipe_joint() { return std::make_unique<Joint>(); }

}  // namespace skippipe
