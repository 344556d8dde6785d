// SPDX-License-Identifier: GPL-3.0-or-later
// One loop drives the machines of a rank's nodes, whatever clock says what happens next.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "core/engine/compute.h"
#include "core/engine/node.h"
#include "core/planner/plan/timeline.h"

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

/// What one iteration of a rank gave.
struct RankIteration {
    Timeline timeline;           ///< under the wall clock the spans of this rank alone
    std::vector<StageSum> sums;  ///< of each stage; those of stages hosted elsewhere are empty
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
};

/// Runs iterations of a schedule on the nodes of one rank.
class Driver {
public:
    /// All outlive the driver.
    Driver(const Problem& problem, const RankSchedule& schedule, int rank, EventSource& events);

    /// One iteration up to its stages' sums. Under the virtual clock a plan that comes to a deadlock gives an
    /// incomplete timeline with what is blocked.
    RankIteration run_iteration(int iteration);

private:
    void reset();
    void handle(NodeEvent event);
    void describe_blocked();
    NodeMachine& machine(int node) { return machines_.at(static_cast<std::size_t>(node)).value(); }

    const Problem& problem_;
    const RankSchedule& schedule_;
    EventSource& events_;
    RouteTable routes_;
    std::vector<int> stage_of_, nodes_;
    std::size_t operations_ = 0;                        ///< of this rank in an iteration
    std::vector<std::optional<NodeMachine>> machines_;  ///< by node; of this rank's nodes
    std::map<std::pair<int, int>, Buffer> inputs_;      ///< by node and microbatch: arrived and not yet started
    std::uint64_t next_number_ = 0;
    std::size_t left_ = 0;
    Timeline timeline_;
};

}  // namespace skippipe
