// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <chrono>

#include "core/base/index.h"
#include "core/engine/wall_clock.h"

namespace skippipe {

StageReducer::StageReducer(const Problem& problem, const RankSchedule& schedule, ComputeBackend& compute,
                           RankTransport& transport, bool shaped)
    : problem_(problem),
      schedule_(schedule),
      compute_(compute),
      transport_(transport),
      shaped_(shaped),
      stages_(schedule.stages_of(transport.rank())),
      operations_(operations_of_stages(schedule, transport.rank())) {}

StageReducer::~StageReducer() { stop(); }

void StageReducer::stop() {
    {
        const std::lock_guard lock(mutex_);
        stopped_ = true;
    }
    stage_ended_.notify_all();
    if (thread_.joinable()) thread_.join();
}

void StageReducer::begin_iteration(int, double origin_s) {
    origin_s_ = origin_s;
    reduced_at_s_ = 0;
    spans_.clear();
    sums_.assign(schedule_.plan.stages.size(), {});
    error_ = nullptr;
    left_ = operations_;
    stopped_ = false;
}

void StageReducer::start() {
    thread_ = std::thread([this] { run(); });
}

void StageReducer::operation_ended(int, int stage) {
    const std::lock_guard lock(mutex_);
    if (--left_[at(stage)] == 0) stage_ended_.notify_all();
}

std::vector<StageSum> StageReducer::finish(std::vector<Span>& spans) {
    thread_.join();
    if (error_) std::rethrow_exception(error_);
    spans.insert(spans.end(), spans_.begin(), spans_.end());
    return std::move(sums_);
}

void StageReducer::run() {
    try {
        for (const int stage : stages_) {
            {
                std::unique_lock lock(mutex_);
                stage_ended_.wait(lock, [&] { return left_[at(stage)] == 0 || stopped_; });
                if (stopped_) return;
            }
            reduce(stage);
        }
        // Stages all-reduce beside each other in the drawn network, however they follow each other here.
        if (const double wait_s = reduced_at_s_ - transport_.now_s(); wait_s > 0)
            std::this_thread::sleep_for(std::chrono::duration<double>(wait_s));
    } catch (...) {
        error_ = std::current_exception();
    }
}

void StageReducer::reduce(int stage) {
    const auto& ring = schedule_.plan.stages[at(stage)];
    const double start_s = transport_.now_s();
    sums_[at(stage)] = compute_.reduce(stage, transport_);
    const double drawn_end_s =
        shaped_ ? sums_[at(stage)].all_ready_s + all_reduce_seconds(problem_, ring, StageIndex(stage)) : 0;
    const double end_s = std::max(transport_.now_s(), drawn_end_s);
    reduced_at_s_ = std::max(reduced_at_s_, end_s);
    if (ring.size() < 2) return;
    const double bytes = 2.0 * static_cast<double>(ring.size() - 1) / static_cast<double>(ring.size()) *
                         problem_.gradient_bytes[at(stage)];
    for (const NodeIndex node : ring)
        if (schedule_.rank_of[at(node)] == transport_.rank())
            spans_.push_back({SpanKind::all_reduce, node, -1, StageIndex(stage), -1, start_s - origin_s_,
                              start_s - origin_s_, end_s - origin_s_, bytes});
}

}  // namespace skippipe
