// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <tuple>
#include <vector>

#include "core/engine/delay_queue.h"
#include "core/engine/node.h"
#include "core/engine/rank_compute.h"
#include "core/engine/task_graph.h"
#include "core/planner/plan/timeline.h"

namespace skippipe {

/// Workers of a rank where the experiment names no number: the machine's cores dealt out to the ranks it hosts, at
/// least one; under `compute: cost` one a node, because they sleep.
int default_workers(const Experiment& experiment, const RankSchedule& schedule, int rank, int ranks_on_host);

/// Drives the state machines of one rank's nodes by what really happens: the same rules as VirtualDriver, with this
/// machine's time. Messages between its nodes stay in memory, those to other ranks go through the transport. `clock:
/// wall`.
class WallDriver {
public:
    /// All outlive the driver. `shaper` null: links as fast as they are.
    WallDriver(const Problem& problem, const RankSchedule& schedule, RankCompute& compute, RankTransport& transport,
               LinkShaper* shaper, int workers);

    /// This rank's share of one iteration up to its stages' all-reduces. Spans of its nodes and of what they received,
    /// in seconds from `origin_s` (the transport's clock). Throws what an operation or a reduction threw.
    std::vector<Span> run_iteration(int iteration, double origin_s);

private:
    struct Event {
        enum class Kind { arrive, end, failed } kind = Kind::arrive;
        int node = 0;
        Operation operation;
        double ready_s = 0, start_s = 0, end_s = 0;  ///< end: of the operation
        std::optional<Delivery> message;             ///< arrive: what brought it; none for a first forward
        std::exception_ptr error;
    };
    using TransferKey = std::tuple<int, int, OpKind>;  ///< receiver, microbatch, operation

    void reset();
    void handle(Event& event);
    void act(int node, const NodeAction& action);
    void execute(ComputeTask task, double ready_s);
    void hand_on(const ComputeTask& task, double end_s);
    void arrive_later(Delivery message);
    void record_transfer(const Delivery& message);
    void reduce_stages();
    void reduce(int stage);
    double now_s() const { return transport_.now_s() - origin_s_; }
    TransferTimes times_of(int from, int to, const Operation& operation, double handed_over_s);

    PlannedProblem planned_;
    const Problem& problem_;
    const RankSchedule& schedule_;
    RankCompute& compute_;
    RankTransport& transport_;
    LinkShaper* shaper_;
    Itinerary itinerary_;
    std::vector<int> stage_of_, nodes_, stages_;
    std::map<TransferKey, RankTransfer> outgoing_;
    std::vector<std::size_t> operations_of_stage_;  ///< on this rank, an iteration

    int iteration_ = 0;
    double origin_s_ = 0;
    std::map<int, NodeMachine> machines_;
    std::uint64_t next_number_ = 0;
    std::vector<Span> spans_;
    DelayQueue<Event> inbox_;

    std::mutex mutex_;  ///< of what the reducing thread shares
    std::condition_variable stage_ended_;
    std::vector<std::size_t> left_;  ///< operations of each stage
    std::vector<Span> reduce_spans_;
    std::exception_ptr reduce_error_;
    double reduced_at_s_ = 0;  ///< when the last all-reduce of the drawn network ends
    bool failed_ = false;
    TaskGraph workers_;  ///< last: its threads end before what they work on
};

}  // namespace skippipe
