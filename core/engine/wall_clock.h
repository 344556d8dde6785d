// SPDX-License-Identifier: GPL-3.0-or-later
// `clock: wall`: what really happens, on this rank and between the ranks.
#pragma once
#include <condition_variable>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <tuple>
#include <vector>

#include "core/engine/delay_queue.h"
#include "core/engine/driver.h"
#include "core/engine/rank_reducer.h"
#include "core/engine/speed_failures.h"

namespace skippipe {

/// Workers of a rank where the experiment names no number: the machine's cores dealt out to the ranks it hosts, at
/// least one; under `compute: cost` one a node, because they sleep.
int default_workers(const Experiment& experiment, const RankSchedule& schedule, int rank, int ranks_on_host);

/// Sums each stage as soon as its last operation on this rank has ended, in the schedule's order, beside the operations
/// of other stages.
class StageReducer final : public RankReducer {
public:
    StageReducer(const Problem& problem, const RankSchedule& schedule, ComputeBackend& compute,
                 RankTransport& transport, bool shaped);
    ~StageReducer() override;

    void begin_iteration(int iteration, double origin_s) override;
    void start() override;
    void operation_ended(int node, int stage) override;
    std::vector<StageSum> finish(std::vector<Span>& spans) override;
    void stop() override;

private:
    void run();
    void reduce(int stage);

    const Problem& problem_;
    const RankSchedule& schedule_;
    ComputeBackend& compute_;
    RankTransport& transport_;
    bool shaped_;
    std::vector<int> stages_;                 ///< hosted here, in the order of reductions
    std::vector<std::size_t> operations_;     ///< of each stage on this rank, an iteration
    double origin_s_ = 0, reduced_at_s_ = 0;  ///< when the last all-reduce of the drawn network ends
    std::vector<Span> spans_;
    std::vector<StageSum> sums_;
    std::exception_ptr error_;

    std::mutex mutex_;
    std::condition_variable stage_ended_;
    std::vector<std::size_t> left_;  ///< operations of each stage
    bool stopped_ = false;
    std::thread thread_;
};

/// A rank's nodes by a real clock: operations end when they have ended; messages between its nodes stay in memory,
/// those to other ranks go through the transport. Where it is destroyed in the middle of an iteration (something
/// threw), it aborts the transport and waits for what runs.
class WallClock final : public EventSource {
public:
    /// All outlive the clock. `shaper` null: links as fast as they are.
    WallClock(const Problem& problem, const RankSchedule& schedule, ComputeBackend& compute, RankTransport& transport,
              LinkShaper* shaper);
    ~WallClock() override;

    void begin_iteration(int iteration, std::vector<Span>& spans) override;
    void release(int node, const Operation& operation, std::uint64_t number) override;
    void start(const ComputeTask& task, const NodeAction& action, double now_s, Buffer input) override;
    void hand_over(int from_node, const NodeAction& send, double now_s) override;
    std::optional<NodeEvent> next(std::uint64_t& next_number) override;
    std::vector<StageSum> finish_iteration(Timeline& timeline) override;
    void go_on(const Replan& rest, const std::vector<PendingEvent>& events) override;
    void send_again(int from_node, const NodeAction& send, double now_s) override;
    void begin_rest(int iteration, double origin_s, std::vector<Span>& spans) override;
    std::optional<NodeEvent> happened(std::uint64_t& next_number) override;

    /// What is slower, or varies, from the next iteration on, or its rest: operations of this rank's nodes.
    void change_speeds(std::vector<SpeedChange> changes) { slower_ = std::move(changes); }

    /// Whether all ranks have begun the iteration, or the rest, and this one has not ended it.
    bool under_way() const { return under_way_; }
    /// Ends what is under way: aborts the transport and waits for what runs. False where something threw, so that
    /// nobody knows what this rank has.
    bool quiet();

    /// Common clock's reading at the iteration's start.
    double origin_s() const { return origin_s_; }

private:
    struct Event {
        NodeEvent happened;
        std::optional<Delivery> message;  ///< arrive: what brought it; none for a first forward
        std::exception_ptr error;
    };
    using TransferKey = std::tuple<int, int, OpKind>;  ///< receiver, microbatch, operation

    double meet();
    void begin(int iteration, std::vector<Span>& spans);
    void send(int from_node, const Operation& operation, int to_node, double handed_over_s);
    NodeEvent taken(Event event, std::uint64_t& next_number);
    void ended(const ComputeTask& task, const NodeAction& action, const TaskEnd& end);
    /// Of a node that is made slower: waits until it would have ended; that.
    double stretched_end_s(const ComputeTask& task, const TaskEnd& end) const;
    void arrive_later(Delivery message);
    void record_transfer(const Delivery& message);
    double now_s() const { return transport_.now_s() - origin_s_; }
    TransferTimes times_of(int from, int to, const Operation& operation, double handed_over_s);

    const Problem& problem_;
    const RankSchedule& schedule_;
    ComputeBackend& compute_;
    RankTransport& transport_;
    LinkShaper* shaper_;
    PerNode<StageIndex> stage_of_;
    std::map<TransferKey, RankTransfer> outgoing_;
    std::size_t operations_ = 0;  ///< on this rank, an iteration
    std::vector<SpeedChange> slower_;

    int iteration_ = 0;
    double origin_s_ = 0;
    bool under_way_ = false;
    std::size_t left_ = 0;
    std::vector<Span>* spans_ = nullptr;
    DelayQueue<Event> inbox_;
    std::unique_ptr<RankReducer> reducer_;
};

}  // namespace skippipe
