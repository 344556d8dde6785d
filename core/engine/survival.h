// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "core/engine/compute.h"
#include "core/engine/failures.h"
#include "core/engine/moves.h"
#include "core/engine/plan_ahead.h"
#include "core/engine/speed_failures.h"

namespace skippipe {

/// Who is lost and what is slower between two iterations, as a checkpoint keeps it. Times of the network; infinite:
/// never.
struct Membership {
    struct Absent {
        int node = 0;
        double back_s = 0;
        int lost_as = 0;  ///< the how-manieth loss of the training
        int stage = -1;   ///< that it held
        bool operator==(const Absent&) const = default;
    };
    struct Slower {
        NetworkChange change;
        double back_s = 0;
        std::uint64_t seed = 0;  ///< of what varies
        bool operator==(const Slower&) const = default;
    };
    /// For whom nodes were placed in the stages where they are.
    struct Placed {
        std::vector<NodeIndex> without;  ///< who was absent then
        std::vector<Slower> slower;
        bool operator==(const Placed&) const = default;
    };
    std::vector<Absent> absent;
    std::vector<Slower> slower;
    Placed placed;                       ///< with everybody, at first
    double since_s = 0;                  ///< when the plan for them came into force; negative: it has not yet
    std::vector<double> squared_norms;   ///< of each stage's last gradient; negative or none: not known
    std::vector<double> learning_rates;  ///< of each stage where neighbours have made some anew; wall clock. None: 1
    bool operator==(const Membership&) const = default;
};

/// Who is there, how fast the network is, and by which plan iterations go, while failures happen and pass.
class Survival {
public:
    /// `base`: the plan by which nodes were placed, with all of them there. `planner`: plans anew for those who are
    /// left; null: nobody does. All but the plan outlive it. `operations`: of each search, as in ReplanRequest.
    Survival(const Experiment& experiment, const Problem& problem, Plan base, const Planner* planner = nullptr,
             const Membership& members = {}, std::int64_t operations = 0);

    Membership members() const;
    const Plan& base() const { return base_; }

    /// What may happen in an iteration that begins at `offset_s` of network time; of what is there.
    std::vector<FailureEvent> events(int iteration, double offset_s) const;
    /// What varies from the start of every iteration on.
    std::vector<Disturbance> variation() const;
    /// What is slower, or varies, now.
    std::vector<SpeedChange> speeds() const;
    /// When the coordinator is lost in it, if it is, and when another one is there.
    std::optional<CoordinatorLoss> coordinator_lost(int iteration, double offset_s) const;
    /// A node is lost between two iterations, and back at `back_s` of network time.
    void lose(int node, double back_s);
    /// Nodes without a stage that are lost in an iteration: nobody misses them.
    void lose_spares(int iteration, double offset_s, double lasted_s);
    /// What happens once an iteration has happened in this one.
    void note(std::size_t failure, int iteration);
    /// The first `count` of them have happened. What happens once an iteration does not happen again where that begins
    /// again.
    void happened(int iteration, const std::vector<FailureEvent>& events, std::size_t count);

    /// Nodes with a stage that are back at `network_s`; those without are there too, and what was slower until then is
    /// as before.
    std::vector<int> bring_back(double network_s);
    /// When, after `network_s`, the next lost node of a stage without any, or link that was cut, is back; infinite:
    /// none.
    double next_back_s(double network_s) const;

    bool down(int node) const { return down_.contains(node); }
    /// -1: none.
    int stage_of(int node) const { return stage_of_[at(node)]; }
    /// A node of the same stage that is there; -1: none. `among`: nodes that are not ready to give anything.
    int sibling(int node, const std::vector<int>& among) const;
    /// Weights and the two moments of the optimizer from a sibling over the line between them, idle.
    double fetch_s(int sibling, int node) const;
    /// Of whose weights the node's stage, which was lost whole, is made anew (neighbours_of).
    std::vector<RebuildSource> neighbours(int node) const;
    /// Their weights, over the slower of the lines.
    double rebuild_s(const std::vector<RebuildSource>& from, int node) const;
    /// What an iteration's reductions gave.
    void reduced(const std::vector<StageSum>& sums);

    /// The network and the plan for those who are there. Throws InputError where no plan can be: a stage has no node
    /// left and cannot be passed over.
    const Problem& network() const { return network_; }
    /// Whether it has changed since this was asked last.
    bool network_changed() { return std::exchange(network_changed_, false); }
    /// First the repaired plan, then, planning_s after it came into force, one made anew. `network_s`: where the next
    /// iteration begins.
    const Plan& plan(double network_s);
    /// Whether plan() would wait for the one that is made anew.
    bool awaits_plan(double network_s) const;
    /// From now on nodes work in a bound order: without one, what gets slower may let memory block a plan.
    void bind_order();
    /// What has to be done before plan() is gone over to, once: nodes change their stages.
    Moves take_moves() { return std::exchange(moves_, {}); }
    /// Of plan(), with nothing else going wrong.
    double expected_s() const { return expected_s_; }
    /// Until when the training waits for a plan without which it cannot go on; 0: it does not.
    double take_wait_s() { return std::exchange(waits_s_, 0); }
    /// Why plan() is one made anew; "" where that was asked before, or it is none.
    std::string take_reason() { return std::exchange(reason_, {}); }
    /// Spans that show who is down in an iteration of so many seconds, from its start; `since_s` of nodes lost in it.
    void add_down(const std::map<int, double>& since_s, double iteration_s, std::vector<Span>& spans) const;

private:
    void update_network();
    void repair_plan(std::vector<NodeIndex> down, double network_s);
    void plan_anew();
    void go_over_to(Plan better);
    void expect();
    bool same_members(const Membership& then) const;
    bool is_as_placed(const std::vector<NodeIndex>& down) const;
    std::vector<NodeIndex> spares() const;
    bool waits_for_another(int node, double network_s) const;

    const Experiment& experiment_;
    const Problem& problem_;
    FailureSchedule schedule_;
    ReplanController controller_;
    PlanAhead ahead_;
    Plan base_, plan_;
    PerNode<StageIndex> stage_of_;            ///< of base_
    Membership::Placed placed_;               ///< for whom base_ was made
    std::map<int, Membership::Absent> down_;  ///< nodes that are lost
    std::vector<Membership::Slower> slower_;
    Problem network_, uncut_;  ///< the latter with the links that are cut
    bool network_changed_ = false, binds_order_ = false;
    int losses_ = 0;
    std::set<std::pair<std::size_t, int>> happened_;     ///< failures by iteration, and the iteration they happened in
    std::optional<std::vector<NodeIndex>> planned_for_;  ///< down then
    std::optional<Membership> resumed_;                  ///< what a checkpoint said, until the first plan is in force
    double since_s_ = 0, expected_s_ = 0, drawn_s_ = 0, waits_s_ = 0;
    std::vector<double> squared_norms_;  ///< as in Membership
    std::string reason_;
    Moves moves_;  ///< that lead to plan_ and are not made yet
};

}  // namespace skippipe
