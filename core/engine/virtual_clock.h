// SPDX-License-Identifier: GPL-3.0-or-later
// `clock: virtual`: the drawn network's time, the same to the bit on every machine.
#pragma once
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "core/base/index.h"
#include "core/engine/driver.h"
#include "core/engine/shaping.h"
#include "core/planner/timeline/reduction_machine.h"

namespace skippipe {

/// Times to use instead of the cost model's.
class Durations {
public:
    virtual ~Durations() = default;
    virtual std::optional<double> operation_s(int node, const Operation& operation) const = 0;
    /// From hand-over to arrival, whatever else is on the line.
    virtual std::optional<double> transfer_s(int from, int to, const Operation& next) const = 0;
    /// What a rank works for a part or sum of a planned reduction before it is handed over, and again the receiver's
    /// before it counts.
    virtual double part_s(int from, int to, double bytes) const = 0;
};

/// What an operation needs beside its node, and what a rank needs to work for a part or sum.
class Admission {
public:
    virtual ~Admission() = default;
    virtual bool enter(int node) = 0;
    virtual void leave(int node) = 0;
    virtual bool enter_part(int node) = 0;
    virtual void leave_part(int node) = 0;
};

/// One rank whose time comes from the cost model, by an event queue. Hands every operation to `compute` in the order in
/// which they start, and waits for none of them before the iteration's end.
class VirtualClock final : public EventSource, public InterruptibleSource {
public:
    /// The plan must have passed check_structure. All outlive the clock.
    VirtualClock(const Problem& problem, const RankSchedule& schedule, ComputeBackend& compute);

    /// From the next iteration on; null: the cost model, and nodes that wait for nothing but themselves. Both outlive
    /// the clock.
    void use(const Durations* durations, Admission* admission) {
        durations_ = durations;
        admission_ = admission;
    }

    /// Counts messages of nodes that all went on without, as nobody may: for tests of those who would find it.
    void believe_everybody() { believes_everybody_ = true; }

    void begin_iteration(int iteration, std::vector<Span>& spans) override;
    void release(int node, const Operation& operation, std::uint64_t number) override;
    void start(const ComputeTask& task, const NodeAction& action, double now_s, Buffer input) override;
    void hand_over(int from_node, const NodeAction& send, double now_s) override;
    std::optional<NodeEvent> next(std::uint64_t& next_number) override;
    std::vector<StageSum> finish_iteration(Timeline& timeline) override;

    InterruptibleSource* interruptible() override { return this; }
    const Problem& network() const override { return network_; }
    void settle(double until_s, std::uint64_t& next_number) override;
    void end_passages() override;
    double next_s() const override;
    void lose(int node, double now_s, bool lives_on) override;
    int refused() const override { return refused_; }
    void slow(const Disturbance& disturbance) override;
    void cut(const NetworkChange& line) override;
    std::vector<PendingEvent> pending() const override;
    std::vector<double> line_free_s() const override;
    const PerStage<double>& stage_end_s() const override { return last_end_s_; }
    const PerStage<double>& stage_stepped_s() const override { return stepped_s_; }
    void go_on(const Replan& rest, const std::vector<PendingEvent>& events) override;
    std::vector<StageSum> reduce() override;

private:
    struct Event {
        double time_s = 0;
        std::uint64_t number = 0;
        NodeInput::Kind kind = NodeInput::Kind::arrive;
        int node = 0;
        Operation operation;
        int from = -1;                      ///< arrive: who sent it; -1: a first forward
        std::optional<std::uint32_t> slot;  ///< of a planned reduction, whose part or sum arrives
        enum class Part { arrives, is_taken, leaves } part = Part::arrives;  ///< of that
        std::optional<std::size_t> head;  ///< of a transfer of passing_: at its next queue
        std::optional<int> rest;          ///< message: what of the iteration was in force when it was handed over
        bool operator>(const Event& other) const {
            return time_s != other.time_s ? time_s > other.time_s : number > other.number;
        }
    };
    struct Running {
        double ready_s = 0, start_s = 0;
        ComputeTask task;
        bool submitted = true;  ///< what runs again is computed when it has ended: until then it may be given up
    };
    struct Waiting {
        ComputeTask task;
        NodeAction action;
    };

    /// Handed over, but still to pass queues, where there are uplinks.
    struct Passing {
        ShapedTransfer transfer;
        Event arrival;     ///< without its time
        std::size_t span;  ///< of the iteration, whose times are known at the last queue
    };

    /// Puts the head into its first queue, and the arrival into the event queue once it is known.
    void carry(const ShapedTransfer& transfer, const Event& arrival, const Span& span);
    bool is_refused(const Event& event) const { return event.rest && *event.rest != rests_ && !believes_everybody_; }
    bool reaches(const Event& arrival) const {
        return lost_[at(arrival.from)] == 0 && lost_[at(arrival.node)] == 0 &&
               !cut_.contains(line_of(arrival.from, arrival.node));
    }
    void enter_next_queue(std::size_t passing, double now_s);
    void run(const ComputeTask& task, const NodeAction& action, double now_s);
    void run_admitted(double now_s);
    void push(const Event& event);
    Event pop_event();
    Event pop();
    // Planned reductions (virtual_clock_reductions.cpp).
    void begin_reductions();
    void begin_reductions_anew(const Replan& rest);
    void start_reductions(std::uint64_t& next_number);
    void own_part_there(NodeIndex node, std::uint64_t& next_number);
    void reduction_goes_on(const Event& event, std::uint64_t& next_number);
    void reduction_arrived(const Event& event, std::uint64_t& next_number);
    double part_bytes(std::uint32_t slot) const;
    double part_s(const Event& event) const;
    /// Whose rank works for it.
    static int worker_of(const Event& part) { return part.part == Event::Part::leaves ? part.from : part.node; }
    void work_for(const Event& part);
    void run_parts();
    void hand_over_part(NodeIndex from, NodeIndex to, std::uint32_t slot, std::uint64_t& next_number);
    void part_leaves(const Event& arrival);
    void sums_there(NodeIndex node);
    int line_of(int from, int to) const { return problem_.hop(NodeIndex(from), NodeIndex(to)).line; }

    const Problem& problem_;
    const RankSchedule& schedule_;
    ComputeBackend& compute_;
    Problem network_;  ///< the problem with what has become slower in this iteration
    bool network_changed_ = false;
    LinkShaper lines_;
    PerNode<StageIndex> stage_of_;
    int iteration_ = 0;
    std::vector<char> lost_;                   ///< [nodes] in this iteration
    std::set<int> cut_;                        ///< lines that are gone
    std::map<int, Disturbance> varies_;        ///< nodes whose operations vary
    PerStage<std::vector<NodeIndex>> stages_;  ///< rings of the plan in force
    std::vector<Running> running_;             ///< of each node
    PerStage<double> last_end_s_;
    std::vector<Event> queue_;   ///< a heap, earliest first
    std::vector<Event> ghosts_;  ///< messages of nodes that all go on without
    int rests_ = 0;              ///< of the iteration: 0 the whole, k its k-th rest
    int refused_ = 0;
    bool believes_everybody_ = false;
    std::vector<Passing> passing_;
    std::vector<Span>* spans_ = nullptr;
    double now_s_ = 0;  ///< of the last event
    const Durations* durations_ = nullptr;
    Admission* admission_ = nullptr;
    std::deque<Waiting> admitted_later_;
    PerStage<Pieces> pieces_;  ///< where reductions are planned
    ReductionMachine reductions_;
    PerNode<int> operations_left_;
    PerNode<double> own_part_s_;
    std::deque<Event> parts_later_;       ///< that wait for their rank
    PerStage<double> stepped_s_;          ///< as in stage_stepped_s()
    PerStage<std::size_t> sums_missing_;  ///< nodes that do not have them
    PerStage<char> reduces_;
    bool reductions_begun_ = false;
    NodeIndex part_ready_ = -1;  ///< its last operation has just ended; what it hands on has not been handed over
};

/// A plan's iterations under the virtual clock in this process: driver, clock and schedule together.
class VirtualDriver {
public:
    /// Problem and compute outlive it.
    VirtualDriver(const Problem& problem, const Plan& plan, ComputeBackend& compute);

    VirtualClock& clock() { return clock_; }
    RankIteration run(int iteration) { return driver_.run_iteration(iteration); }
    RankIteration run(int iteration, const std::vector<Disturbance>& disturbances, RecoveryController& controller) {
        return driver_.run_iteration(iteration, disturbances, controller);
    }
    Timeline run_iteration() { return run(0).timeline; }
    /// One training step: operations, sums and the optimizer. Throws std::runtime_error where the plan comes to a
    /// deadlock.
    IterationResult train(int iteration);
    /// The same while nodes are lost; throws InputError where it cannot go on. Lost nodes come back by
    /// ComputeBackend::rejoin.
    IterationResult train(int iteration, const std::vector<Disturbance>& disturbances, RecoveryController& controller);

private:
    PlannedProblem planned_;
    RankSchedule schedule_;
    ComputeBackend& compute_;
    VirtualClock clock_;
    Driver driver_;
};

}  // namespace skippipe
