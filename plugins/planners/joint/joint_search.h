// SPDX-License-Identifier: GPL-3.0-or-later
// How skippipe-joint goes about it: a start, rounds of annealing over paths and then over orders, and, where there is
// time, replica exchanges of chains that exchange what they have. What steps say is the same on any number of threads.
#pragma once
#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "plugins/planners/common/network.h"
#include "plugins/planners/joint/paths/path_annealer.h"
#include "plugins/planners/joint/orders/order_annealer.h"
#include "plugins/planners/joint/run_chains.h"
#include "plugins/planners/joint/starts/start_search.h"
#include "plugins/planners/skippipe/skipping.h"

namespace skippipe::planners::joint {

/// How a search is divided.
struct SearchShares {
    int chains;          ///< of a search by steps: the smaller the problem, the more often it begins anew
    double paths_share;  ///< part of the steps that is spent on placement and paths; the rest is on the nodes' orders
    double paths_time;   ///< the same of the time
    double near_best;    ///< orders are searched for the ends of all chains that came as near to the best
    double steps_per_s;  ///< on orders, about
};

class JointSearch {
public:
    /// Has a first plan then. Keeps a reference to the problem. What the request's progress is told never gets longer.
    /// Throws InputError where no plan can exist.
    JointSearch(const Problem& problem, const PlanRequest& request);
    JointSearch(const JointSearch&) = delete;
    JointSearch& operator=(const JointSearch&) = delete;

    /// Begins with this plan as well. Before plan().
    void begin_besides(const Plan& plan);
    /// Of the whole search, where steps say how long it is.
    std::int64_t steps() const { return steps_; }
    /// Iteration of the best plan so far.
    double best_s() const { return best_s_; }

    /// By the clock: what comes after the first plan has this time. Before plan().
    void have_left(double seconds);

    Plan plan(const std::string& planner);

    static constexpr double start_end = 0.1;  ///< of the time and the progress: the first plan

private:
    /// A part of the time, of the whole request, and of the steps.
    struct Round {
        int number = 0;
        double begin = 0, end = 1;
        std::int64_t steps = 0;
        bool by_steps = false;      ///< whatever the clock says, unless it is over
        bool orders_alone = false;  ///< of the best plan so far
    };

    /// The figures that the search goes by are of the authors' 20 nodes: of so many operations.
    static constexpr double usual_operations = 270;
    /// From so many on, partitions are planned first.
    static constexpr double large = 1500;

    bool begin_timed();
    void begin_published();
    void take_warm_start();
    bool sizes_are_open() const;
    void choose_sizes(const Budget& budget, std::int64_t steps);
    struct Started {
        double end = start_end;     ///< when that part of the search has ended, of the time
        bool may_part = true;       ///< whether partitions are worth planning then
        bool orders_alone = false;  ///< what is left is for the orders of the best plan
    };
    Started search_starts(double plain_end);
    double change_starts(std::vector<std::unique_ptr<StartSearch>>& chains, double begin, double end);
    void take_start(const TimedStart& start);
    bool take_if_shorter(const TimedStart& start);
    bool may_be_parted() const;
    bool plan_partitions(const Budget& budget, std::int64_t steps);
    bool plan_pipelines(double begin, double end);
    bool run_pipelines(const Budget& budget, double core_s, bool anew);
    void anneal_rounds(double plain_end);
    void anneal(const Round& round);
    std::vector<PlanCandidate> anneal_paths(const Round& round, const Budget& budget, std::int64_t steps);
    void anneal_orders(const Round& round, const Budget& budget, std::int64_t steps, std::vector<PlanCandidate> ends);
    bool uses_replicas(double plain_end) const;
    void search_with_replicas(double plain_end);
    PlanCandidate start_of_exchange(int number) const;
    std::int64_t exchange_replicas(int number, PlanCandidate from, const Budget& budget, std::int64_t most_rounds);
    /// Where steps say how far the search is.
    double fraction_of(std::int64_t steps) const {
        return first_.by_clock() ? 0 : static_cast<double>(steps) / static_cast<double>(steps_);
    }
    double operations() const { return operations_of(problem_); }
    double scale() const { return std::max(1.0, operations() / usual_operations); }
    void make_robust(const Budget& budget);
    static SearchShares shares_of(const Problem& problem, double operations);
    std::int64_t default_steps() const;
    std::int64_t steps_in(double seconds) const;
    std::int64_t paths_steps(std::int64_t steps) const;
    Budget part(const Round& round, double begin, double end) const;
    int chains(const Budget& budget) const;
    /// Adds the steps of the chains, and takes over the best of them where it is better.
    template <typename Chain>
    void take_best(const Chains<Chain>& all) {
        for (const auto& chain : all) {
            done_ += chain->steps();
            if (chain->best_s() < best_s_) take(chain->best(), chain->best_s());
        }
    }
    void take(const PlanCandidate& candidate, double seconds);

    const Problem& problem_;
    PlanRequest request_;
    Budget first_;
    const SearchShares shares_;
    const RelativeTemperatures temperatures_;
    Network network_;
    SkipCandidate best_;
    double best_s_ = std::numeric_limits<double>::infinity();
    bool warm_ = false;
    std::optional<TimedStart> timed_start_;  ///< of many nodes: the best
    std::int64_t steps_, done_ = 0;
    std::vector<PlanCandidate> starts_;  ///< what paths begin with, no order is bound: the first, and where it is worth
                                         ///< it, some with stages of other sizes
    std::optional<PlanCandidate> besides_;  ///< the last of them, also where sizes were chosen
    PlanCandidate paths_;                   ///< the best without a bound order
    double paths_s_;
};

}  // namespace skippipe::planners::joint
