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
#include "plugins/planners/order_search.h"
#include "plugins/planners/planners.h"
#include "plugins/planners/skipping.h"

namespace skippipe {

namespace {

/// How a search is divided, found by trial: small problems on those whose optimum is known, larger ones on the authors' 20 nodes.
struct Division {
    int chains;          ///< of a search by steps: the smaller the problem, the more often it begins anew
    double paths_share;  ///< part of the steps that is spent on placement and paths; the rest is on the nodes' orders
    double near_best;    ///< orders are searched for the ends of all chains that came as near to the best
};
Division division_of(const Problem& problem) {
    const bool uneven = problem.plan_blocks || problem.sizes.size() > 1;
    return problem.microbatches * (2 * problem.path_length + 1) < 100 ? Division{uneven ? 12 : 8, 0.5, 1.3} : Division{2, 0.85, 1.05};
}

/// As long a search for every problem: a step costs about as much as the operations of a timeline.
std::int64_t default_steps(const Problem& problem) {
    const double operations = static_cast<double>(problem.microbatches) * (2 * problem.path_length + 1);
    return std::clamp<std::int64_t>(static_cast<std::int64_t>(400'000 * 270 / operations), 2'000, 400'000);
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
        const double plain_end = request.robust ? 0.4 : 1, orders_begin = 0.1 + (plain_end - 0.1) * division.paths_share;
        const Budget rest = first.part(0.1, orders_begin);
        double start_s = iteration_s(problem, start.draft);
        warm_start(problem, request, start, start_s);
        const Network network(problem);
        const std::int64_t steps = request.steps > 0 ? request.steps : default_steps(problem);
        Draft chain_start = start.draft;
        chain_start.schedule.order.clear();
        std::vector<std::unique_ptr<AnnealingChain>> all;
        // By the clock, each chain needs a thread of its own.
        const int count = rest.by_clock() ? std::clamp(request.threads, 1, division.chains) : division.chains;
        for (int c = 0; c < count; ++c) {
            if (c > 1) scatter(problem, Rng(request.seed, at(c) + 301), chain_start);
            all.push_back(std::make_unique<AnnealingChain>(problem, network, chain_start, request.seed, at(c) + 1));
        }
        // Where there are several, the first searches as it would if the blocks were given: freedom to move them must not make a plan longer.
        if (count > 1) all.front()->hold_blocks();
        const auto for_paths = static_cast<std::int64_t>(static_cast<double>(steps) * division.paths_share);
        const Cooling cooling = Cooling::of(problem);
        run_all(all, for_paths, request, rest, [&](AnnealingChain& chain, std::int64_t own, const auto& clock, const auto& go_on) { chain.run(own, cooling, clock, go_on); });
        std::int64_t done = take_best(all, start, start_s);
        const Budget last = first.part(orders_begin, plain_end);
        std::vector<Draft> ends{start.draft};
        for (const auto& chain : all)
            if (chain->best_s() > start_s && chain->best_s() < start_s * division.near_best && static_cast<int>(ends.size()) < count) ends.push_back(chain->best());
        done += search_orders(problem, request, last, steps - for_paths, cooling, ends, start, start_s);
        if (request.robust) done += make_robust(problem, network, request, first.part(plain_end, 1), steps, count, cooling, start);
        if (request.progress) request.progress({1, start_s});
        return make_plan(problem, start.draft, name(), request, rest.by_clock() ? done : steps, start.note);
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

    /// Takes over a given plan where it is valid here and better.
    static void warm_start(const Problem& problem, const PlanRequest& request, SkipDraft& start, double& start_s) {
        if (request.warm_start == nullptr || !check_structure(problem, *request.warm_start).empty()) return;
        if (static_cast<int>(request.warm_start->paths.front().nodes.size()) != problem.path_length) return;
        if (!check_plan(problem, *request.warm_start, evaluate(problem, *request.warm_start)).empty()) return;
        Draft given = draft_of(problem, *request.warm_start);
        const double given_s = iteration_s(problem, given);
        if (!(given_s < start_s)) return;
        start_s = given_s;
        start.draft = std::move(given);
        start.note = request.warm_start->note;
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

    /// Binds every node's order, first as it comes, and improves it, beginning with each of `ends` in turn. A plan that gains nothing
    /// stays without an order.
    static std::int64_t search_orders(const Problem& problem, const PlanRequest& request, const Budget& budget, std::int64_t steps, const Cooling& cooling,
                                      std::vector<Draft>& ends, SkipDraft& start, double& start_s) {
        for (auto& end : ends)
            if (end.schedule.order.empty()) end.schedule.order = dispatch_order(problem, end);
        std::erase_if(ends, [](const Draft& end) { return end.schedule.order.empty(); });
        if (ends.empty() || !std::isfinite(start_s)) return 0;
        std::vector<std::unique_ptr<OrderChain>> all;
        const int chains = division_of(problem).chains, count = budget.by_clock() ? std::clamp(request.threads, 1, chains) : chains;
        for (int c = 0; c < count; ++c)
            all.push_back(std::make_unique<OrderChain>(problem, ends[at(c) % ends.size()], request.seed, at(c) + 101));
        run_all(all, steps, request, budget, [&](OrderChain& chain, std::int64_t own, const auto& clock, const auto& go_on) {
            chain.run(own, start_s * cooling.first, start_s * cooling.last, clock, go_on);
        });
        return take_best(all, start, start_s);
    }

    /// From the plan for the network as drawn, as many steps again against drawn networks. What it found is taken where a fresh and
    /// larger sample confirms it, so that the plan is never worse for having been asked for. Returns the steps taken.
    static std::int64_t make_robust(const Problem& problem, const Network& network, const PlanRequest& request, const Budget& budget, std::int64_t steps,
                                    int count, const Cooling& cooling, SkipDraft& start) {
        const auto scenarios = draw_scenarios(problem, request.robust->jitter, request.seed);
        Draft chain_start = start.draft;
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
