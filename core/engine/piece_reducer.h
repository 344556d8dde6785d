// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <map>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "core/engine/delay_queue.h"
#include "core/engine/piece_sums.h"
#include "core/engine/rank_reducer.h"
#include "core/engine/shaping.h"
#include "core/planner/timeline/reduction_machine.h"

namespace skippipe {

/// Planned reductions under the wall clock: each node hands on its part as soon as its last operation has ended, from
/// replica to replica as the plan's pieces say; in memory where both are of this rank, else by the schedule's
/// transfers.
class PieceReducer final : public RankReducer {
public:
    /// All outlive it. `shaper` null: links as fast as they are.
    PieceReducer(const Problem& problem, const RankSchedule& schedule, ComputeBackend& compute,
                 RankTransport& transport, LinkShaper* shaper);
    ~PieceReducer() override;

    void begin_iteration(int iteration, double origin_s) override;
    void start() override;
    std::size_t message_bytes(const RankTransfer& transfer) const override;
    void operation_ended(int node, int stage) override;
    void arrived(Delivery message) override;
    void break_off(std::exception_ptr error) override;
    std::vector<StageSum> finish(std::vector<Span>& spans) override;
    void stop() override;

private:
    /// The own part of `node` is there, something has come, or it is over.
    struct Event {
        int node = -1;
        std::optional<Delivery> message;
        std::exception_ptr error;
        bool stop = false;
    };

    void run();
    void own_part_there(NodeIndex node);
    void take(Delivery message);
    void hand_over(NodeIndex from, NodeIndex to, double bytes, std::uint32_t slot);
    void sums_there(NodeIndex node);
    void finish_stage(StageIndex stage);
    bool hosts(NodeIndex node) const { return schedule_.rank_of[at(node)] == transport_.rank(); }
    double bytes_of(const HandedPart& part) const;

    const Problem& problem_;
    const RankSchedule& schedule_;
    ComputeBackend& compute_;
    RankTransport& transport_;
    LinkShaper* shaper_;
    PieceSums* sums_of_;  ///< null: nothing is computed
    PerNode<int> place_;  ///< of each node in its stage
    PerNode<StageIndex> stage_of_;
    std::map<std::pair<int, int>, const RankTransfer*> outgoing_;  ///< by slot and sender

    int iteration_ = 0;
    double origin_s_ = 0;
    PerNode<std::size_t> left_;  ///< operations; the driver's thread counts
    ReductionMachine machine_;
    PerNode<double> own_part_s_;
    std::size_t nodes_left_ = 0;  ///< here, that have not the sums of all their pieces
    PerStage<std::size_t> stage_nodes_left_;
    std::vector<Span> spans_;
    std::vector<StageSum> sums_;
    std::exception_ptr error_;
    std::optional<DelayQueue<Event>> events_;
    std::thread thread_;
};

}  // namespace skippipe
