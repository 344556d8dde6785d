// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/engine/cost_compute.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

#include "core/engine/costs.h"

namespace skippipe {

CostCompute::CostCompute(const Problem& problem, const RankSchedule& schedule, int workers)
    : planned_(problem, schedule.plan.blocks), problem_(planned_.get()), workers_(workers) {}

void CostCompute::submit(const ComputeTask& task, Buffer, Completion completed) {
    if (!completed) return;
    if (!sleepers_) sleepers_ = std::make_unique<TaskGraph>(workers_, [] {});
    const double seconds = operation_seconds(problem_, task.operation, task.node, task.stage);
    sleepers_->add([seconds, name = name_of(task, problem_.node_ids[static_cast<std::size_t>(task.node)]),
                    completed = std::move(completed)] {
        run_task(
            name, [seconds] { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }, completed);
    });
}

void CostCompute::wait() {
    if (sleepers_) sleepers_->wait();
}

StageSum CostCompute::reduce(int stage, RankTransport& transport) {
    StageSum sum;
    for (const auto& of_rank : transport.gather_stage(stage, {transport.now_s()}))
        sum.all_ready_s = std::max(sum.all_ready_s, of_rank.front());
    transport.all_reduce(stage, {});
    return sum;
}

std::size_t CostCompute::message_bytes(const Operation& operation) const {
    return static_cast<std::size_t>((is_backward(operation.kind) ? problem_.backward_bytes : problem_.forward_bytes) *
                                    problem_.relative_size(operation.microbatch));
}

Buffer CostCompute::take_message(const RankTransfer& transfer) {
    Buffer message(message_bytes(transfer.operation));
    if (message.size() > 0) std::memset(message.data(), 0, message.size());
    return message;
}

}  // namespace skippipe
