// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/engine/rank_compute.h"

#include <chrono>
#include <cstring>
#include <thread>

#include "core/engine/virtual_clock.h"

namespace skippipe {

CostRankCompute::CostRankCompute(const Problem& problem, const RankSchedule& schedule, int)
    : planned_(problem, schedule.plan.blocks), problem_(planned_.get()), stages_(schedule.plan.stages.size()) {}

void CostRankCompute::run(const ComputeTask& task) {
    std::this_thread::sleep_for(
        std::chrono::duration<double>(operation_seconds(problem_, task.operation, task.node, task.stage)));
}

std::size_t CostRankCompute::message_bytes(const Operation& operation) const {
    return static_cast<std::size_t>((is_backward(operation.kind) ? problem_.backward_bytes : problem_.forward_bytes) *
                                    problem_.relative_size(operation.microbatch));
}

Buffer CostRankCompute::take_message(const RankTransfer& transfer) {
    Buffer message(message_bytes(transfer.operation));
    if (message.size() > 0) std::memset(message.data(), 0, message.size());
    return message;
}

RankSums CostRankCompute::sums() const { return {.stage_tokens = std::vector<std::int64_t>(stages_, 0)}; }

}  // namespace skippipe
