// SPDX-License-Identifier: GPL-3.0-or-later
// One loop drives the machines of a rank's nodes, whatever clock says what happens next.
#pragma once
#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "core/engine/compute.h"
#include "core/engine/node.h"
#include "core/engine/recovery.h"
#include "core/engine/rest.h"
#include "core/planner/plan/timeline.h"
#include "core/planner/replan/residual_end.h"

namespace skippipe {

/// What happened to a node: the input of an operation arrived, or what it ran has ended.
struct NodeEvent {
    NodeInput::Kind kind = NodeInput::Kind::arrive;
    int node = 0;
    Operation operation;
    double time_s = 0;                           ///< seconds from the iteration's start
    std::uint64_t number = 0;                    ///< decides between events of one time
    double ready_s = 0, start_s = 0, end_s = 0;  ///< end: of the operation
    Buffer input;                                ///< arrive: the message from another rank that brought it
};

/// An event that is to come: an input on its way (arrive), or an operation that runs (end).
struct PendingEvent {
    NodeInput::Kind kind = NodeInput::Kind::arrive;
    int node = 0;
    Operation operation;
    double time_s = 0;
    std::uint64_t number = 0;
    double ready_s = 0, start_s = 0;  ///< end: of the operation
    int from = -1;                    ///< arrive: who sent it; -1: a first forward
};

/// What one iteration of a rank gave.
struct RankIteration {
    Timeline timeline;           ///< under the wall clock the spans of this rank alone
    std::vector<StageSum> sums;  ///< of each stage; those of stages hosted elsewhere are empty
    std::vector<RecoveryReport> recoveries;
    std::size_t disturbances = 0;  ///< how many of those given happened before the end
    int refused = 0;               ///< messages of nodes that all went on without
    Faults abandoned;              ///< why it could not go on after a loss; nothing of it counts
};

/// Messages from other ranks that operations wait with, by node, microbatch and kind of operation. (Of one that runs
/// again, a node may have that of its backward too.)
using ArrivedInputs = std::map<std::tuple<int, int, OpKind>, Buffer>;

/// What a rank has of an iteration when others were lost in it and nothing runs here any more.
struct Interrupted {
    RankProgress progress;
    ArrivedInputs inputs;
    Timeline timeline;  ///< what has run
};

/// How such an iteration goes on.
struct RestOfIteration {
    const Replan* replan = nullptr;  ///< null: this rank has just come, and takes part in the sums alone
    double origin_s = 0;             ///< common clock's reading when the iteration began
};

/// A clock whose iteration can be changed in the middle. Times are seconds from the iteration's start.
class InterruptibleSource {
public:
    virtual ~InterruptibleSource() = default;

    /// The network as it is now.
    virtual const Problem& network() const = 0;
    /// Up to the next event of a node, and no further than that instant: what no node takes part in, planned reductions
    /// and transfers from queue to queue.
    virtual void settle(double until_s, std::uint64_t& next_number) = 0;
    /// What is on its way passes the queues that are left to it, before anything that is handed over later.
    virtual void end_passages() = 0;
    /// Of the next event; infinite where there is none.
    virtual double next_s() const = 0;
    /// The node is gone: what it runs does not end, what it has sent and has not arrived never will; where it
    /// `lives_on`, that does come, and is refused once all go on without the node.
    virtual void lose(int node, double now_s, bool lives_on) = 0;
    /// How many messages were refused in this iteration, since they were handed over under a plan that is over.
    virtual int refused() const = 0;
    /// A node or a line is slower, or varies, from now on.
    virtual void slow(const Disturbance& disturbance) = 0;
    /// A line is gone: what travels on it, and what is handed to it, never arrives.
    virtual void cut(const NetworkChange& line) = 0;
    virtual std::vector<PendingEvent> pending() const = 0;
    /// Of each line, where they are shared, as in IterationProgress.
    virtual std::vector<double> line_free_s() const = 0;
    /// End of each stage's last operation so far, negative where none ran.
    virtual const PerStage<double>& stage_end_s() const = 0;
    /// Where reductions are planned: when each stage whose nodes all have the sums has stepped; negative: of others.
    virtual const PerStage<double>& stage_stepped_s() const = 0;
    /// The sums at the end of an iteration that went on so.
    virtual std::vector<StageSum> reduce() = 0;
};

/// Where a rank's events come from and how long things take: the drawn network's time or a real clock. Numbers of
/// events are the machines' (`next_number` of NodeMachine::handle).
class EventSource {
public:
    virtual ~EventSource() = default;

    /// `spans` outlives the iteration; transfers are added to it.
    virtual void begin_iteration(int iteration, std::vector<Span>& spans) = 0;
    /// A first forward lies ready on its data node.
    virtual void release(int node, const Operation& operation, std::uint64_t number) = 0;
    /// A node starts an operation at `now_s`, with the message that brought its input.
    virtual void start(const ComputeTask& task, const NodeAction& action, double now_s, Buffer input) = 0;
    /// A node hands a result on to another one.
    virtual void hand_over(int from_node, const NodeAction& send, double now_s) = 0;
    /// The next event; nothing once none will come. Throws what an operation threw.
    virtual std::optional<NodeEvent> next(std::uint64_t& next_number) = 0;
    /// After the last event: reductions, and the end of the iteration in the timeline.
    virtual std::vector<StageSum> finish_iteration(Timeline& timeline) = 0;

    /// In the middle of an iteration, goes on with other paths: `events` are all that is to come.
    virtual void go_on(const Replan& rest, const std::vector<PendingEvent>& events) = 0;
    /// A node hands over once more what it has kept.
    virtual void send_again(int from_node, const NodeAction& send, double now_s) { hand_over(from_node, send, now_s); }
    // Under a real clock, where ranks are lost in the middle of an iteration.
    /// Begins what is left of one that began at `origin_s` of the common clock.
    virtual void begin_rest(int iteration, double origin_s, std::vector<Span>& spans);
    /// What has happened and was not yet taken; does not wait.
    virtual std::optional<NodeEvent> happened(std::uint64_t& next_number);
    /// Null where it cannot be changed in the middle of an iteration.
    virtual InterruptibleSource* interruptible() { return nullptr; }
};

/// Runs iterations of a schedule on the nodes of one rank.
class Driver {
public:
    /// All outlive the driver.
    Driver(const Problem& problem, const RankSchedule& schedule, int rank, EventSource& events);

    /// One iteration up to its stages' sums. Under the virtual clock a plan that comes to a deadlock gives an
    /// incomplete timeline with what is blocked.
    RankIteration run_iteration(int iteration);
    /// The same while things go wrong, in the order of their times; `controller` says how it goes on. Only of an
    /// interruptible source that drives every node.
    RankIteration run_iteration(int iteration, const std::vector<Disturbance>& disturbances,
                                RecoveryController& controller);
    /// Whether all ranks have begun the last iteration, or rest, that this one was to run.
    bool begun() const { return begun_; }
    /// Under a real clock, once nothing runs any more: what this rank has of the iteration.
    Interrupted interrupt();
    /// Of a driver whose schedule is that of the rest. `before` is taken once all ranks have begun it.
    RankIteration run_rest(int iteration, const RestOfIteration& rest, Interrupted& before);

private:
    /// What is left of an iteration, and what it is measured against.
    struct Rest {
        Plan plan_before;
        Problem network_before;
        Replan replan;
        RestEnd end(const Problem& network) const {
            return {network, replan.residual, network_before, plan_before.stages, replan.residual_plan.stages};
        }
    };

    void begin(int iteration);
    void handle(NodeEvent event);
    void act(int node, const std::vector<NodeAction>& actions, double now_s);
    void note_end(const NodeEvent& event);
    void describe_blocked();
    RankIteration finish();

    // When things go wrong (driver_recovery.cpp).
    void run_disturbed(const std::vector<Disturbance>& disturbances, RecoveryController& controller,
                       RankIteration& result);
    const Plan& plan() const { return rest_ ? rest_->replan.plan : schedule_.plan; }
    IterationProgress progress(double at_s) const;
    std::vector<OpenOperation> open_operations(double at_s) const;
    OpenOperation open_of(const Operation& operation, int node, double ready_s) const;
    /// End of each stage's last operation; infinite where operations are left.
    PerStage<double> last_ends() const;
    /// When the iteration ends if nothing else happens; infinite where operations are left.
    double end_s() const;
    double last_end_s() const;
    int note_lost_gradients(const Residual& residual);
    bool needs(const NetworkChange& cut) const;
    void lose(int node, double now_s, bool lives_on);
    void recover(const std::vector<int>& down, double now_s, RecoveryController& controller);
    void go_on(double now_s);
    std::vector<NodeRest> take_up(std::vector<PendingEvent>& pending) const;

    bool hosts(int node) const { return std::binary_search(nodes_.begin(), nodes_.end(), node); }
    NodeMachine& machine(int node) { return machines_.at(static_cast<std::size_t>(node)).value(); }

    const Problem& problem_;
    const RankSchedule& schedule_;
    EventSource& events_;
    RouteTable routes_;
    PerNode<StageIndex> stage_of_;
    std::vector<int> nodes_;
    std::size_t operations_ = 0;  ///< of this rank in an iteration
    bool begun_ = false;
    bool interrupted_ = false;                          ///< nothing starts
    std::vector<std::optional<NodeMachine>> machines_;  ///< by node; of this rank's nodes
    ArrivedInputs inputs_;
    std::uint64_t next_number_ = 0;
    std::size_t left_ = 0;
    Timeline timeline_;

    std::unordered_map<int, ReleaseIndex> index_of_;  ///< place of each microbatch in the release order
    PerRelease<int> steps_done_;                      ///< as in IterationProgress
    std::vector<char> again_;                         ///< [T x (2p + 1)] to be run again and not yet run; or empty
    std::vector<char> lost_;                          ///< [nodes] in this iteration
    std::vector<char> lost_gradients_;                ///< [T x p] in this iteration; or empty
    std::set<int> cut_lines_;                         ///< known to be cut, when nothing in force went over them
    std::unique_ptr<Rest> rest_;                      ///< null until a loss
    std::vector<RecoveryReport> recoveries_;
};

}  // namespace skippipe
