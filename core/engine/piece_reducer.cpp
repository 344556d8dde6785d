// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/engine/piece_reducer.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include <fmt/format.h>

#include "core/base/index.h"

namespace skippipe {

PieceReducer::PieceReducer(const Problem& problem, const RankSchedule& schedule, ComputeBackend& compute,
                           RankTransport& transport, LinkShaper* shaper)
    : problem_(problem),
      schedule_(schedule),
      compute_(compute),
      transport_(transport),
      shaper_(shaper),
      sums_of_(compute.piece_sums()),
      place_(problem.node_ids.size(), 0),
      stage_of_(stage_of_nodes(schedule.plan, problem.nodes())) {
    for (const auto& nodes : schedule.plan.stages)
        for (std::size_t place = 0; place < nodes.size(); ++place) place_[nodes[place]] = static_cast<int>(place);
    for (const auto& transfer : schedule.transfers)
        if (transfer.is_reduction()) outgoing_[{transfer.slot, transfer.from_node}] = &transfer;
}

PieceReducer::~PieceReducer() { stop(); }

void PieceReducer::begin_iteration(int iteration, double origin_s) {
    iteration_ = iteration;
    origin_s_ = origin_s;
    left_ = operations_of_nodes(schedule_);
    machine_.prepare(problem_, schedule_.plan.stages, schedule_.pieces);
    own_part_s_.assign(problem_.node_ids.size(), 0);
    spans_.clear();
    sums_.assign(schedule_.plan.stages.size(), {});
    error_ = nullptr;
    nodes_left_ = 0;
    stage_nodes_left_.assign(schedule_.plan.stages.size(), 0);
    for (StageIndex stage = 0; at(stage) < schedule_.plan.stages.size(); ++stage)
        for (const NodeIndex node : schedule_.plan.stages[stage])
            if (hosts(node) && (left_[node] > 0 || !schedule_.pieces[stage].empty())) {
                ++nodes_left_;
                ++stage_nodes_left_[stage];
            }
    if (sums_of_) sums_of_->begin(schedule_);
    events_.emplace();
    // Whoever has nothing to run has its part already.
    for (StageIndex stage = 0; at(stage) < schedule_.plan.stages.size(); ++stage)
        for (const NodeIndex node : schedule_.plan.stages[stage])
            if (hosts(node) && left_[node] == 0 && !schedule_.pieces[stage].empty())
                events_->put({.node = node, .message = {}, .error = {}});
}

void PieceReducer::start() {
    thread_ = std::thread([this] { run(); });
}

double PieceReducer::bytes_of(const HandedPart& part) const {
    return schedule_.pieces[part.stage][at(part.piece)].share * problem_.gradient_bytes[part.stage];
}

std::size_t PieceReducer::message_bytes(const RankTransfer& transfer) const {
    const auto part = machine_.handed(static_cast<std::uint32_t>(transfer.slot));
    return sums_of_ ? sums_of_->message_bytes(part.stage, part.piece)
                    : static_cast<std::size_t>(std::llround(bytes_of(part)));
}

void PieceReducer::operation_ended(int node, int) {
    if (--left_[NodeIndex(node)] == 0) events_->put({.node = node, .message = {}, .error = {}});
}

void PieceReducer::arrived(Delivery message) {
    const double wait_s = message.times.arrival_s - transport_.now_s();
    const auto due = wait_s > 0 ? steady_point(steady_s() + wait_s) : DelayQueue<Event>::Time::min();
    Event event;
    event.message = std::move(message);
    events_->put(std::move(event), due);
}

void PieceReducer::break_off(std::exception_ptr error) {
    Event event;
    event.error = std::move(error);
    events_->put(std::move(event));
}

std::vector<StageSum> PieceReducer::finish(std::vector<Span>& spans) {
    thread_.join();
    if (error_) std::rethrow_exception(error_);
    spans.insert(spans.end(), spans_.begin(), spans_.end());
    return std::move(sums_);
}

void PieceReducer::stop() {
    if (!thread_.joinable()) return;
    Event event;
    event.stop = true;
    events_->put(std::move(event));
    thread_.join();
}

void PieceReducer::run() {
    try {
        while (nodes_left_ > 0) {
            Event event = events_->take();
            if (event.stop) return;
            if (event.error) std::rethrow_exception(event.error);
            if (event.message)
                take(std::move(*event.message));
            else
                own_part_there(NodeIndex(event.node));
        }
        for (const int stage : schedule_.stages_of(transport_.rank()))
            if (sums_[at(stage)].tokens == 0) finish_stage(StageIndex(stage));  // that nothing was to be waited for
    } catch (...) {
        error_ = std::current_exception();
    }
}

void PieceReducer::own_part_there(NodeIndex node) {
    own_part_s_[node] = transport_.now_s();
    machine_.own_part(
        node,
        [&](NodeIndex from, NodeIndex to, StageIndex, double bytes, std::uint32_t slot) {
            hand_over(from, to, bytes, slot);
        },
        [&](NodeIndex whole) { sums_there(whole); });
}

void PieceReducer::take(Delivery message) {
    const auto& [transfer, times, bytes] = message;
    const auto slot = static_cast<std::uint32_t>(transfer.slot);
    const NodeIndex from(transfer.from_node), to(transfer.to_node);
    const auto part = machine_.handed(slot);
    spans_.push_back({SpanKind::transfer_reduction, from, to, part.stage, -1, times.handed_over_s - origin_s_,
                      times.start_s - origin_s_, std::max(transport_.now_s(), times.start_s) - origin_s_,
                      bytes_of(part)});
    if (sums_of_ && !hosts(from)) {
        if (part.sum)
            sums_of_->take_sum(part.stage, part.piece, part.place, std::move(message.bytes));
        else
            sums_of_->take_part(part.stage, part.piece, part.place, place_[from], std::move(message.bytes));
    }
    machine_.arrived(
        slot,
        [&](NodeIndex sender, NodeIndex receiver, StageIndex, double size, std::uint32_t next) {
            hand_over(sender, receiver, size, next);
        },
        [&](NodeIndex whole) { sums_there(whole); });
}

void PieceReducer::hand_over(NodeIndex from, NodeIndex to, double bytes, std::uint32_t slot) {
    RankTransfer transfer{-1, {}, from, to, static_cast<int>(slot)};
    if (!hosts(to)) transfer = *outgoing_.at({transfer.slot, transfer.from_node});
    const auto part = machine_.handed(slot);
    Delivery message{transfer, {}, {}};
    if (sums_of_ && hosts(to)) {
        if (part.sum)
            sums_of_->hand_sum(part.stage, part.piece, place_[from]);
        else
            sums_of_->hand_part(part.stage, part.piece, place_[from], part.place);
    } else if (sums_of_) {
        message.bytes = part.sum ? sums_of_->sum(part.stage, part.piece, place_[from])
                                 : sums_of_->part(part.stage, part.piece, place_[from]);
    } else if (!hosts(to)) {
        message.bytes = Buffer(message_bytes(transfer));
        if (message.bytes.size() > 0) std::memset(message.bytes.data(), 0, message.bytes.size());
    }
    const double now_s = transport_.now_s();
    message.times = {now_s, now_s, now_s};
    if (shaper_) message.times = shaper_->shape_reduction(from, to, bytes, now_s, iteration_, static_cast<int>(slot));
    if (hosts(to))
        arrived(std::move(message));
    else
        transport_.send(std::move(message));
}

void PieceReducer::sums_there(NodeIndex node) {
    const StageIndex stage = stage_of_[node];
    const double begin_s = own_part_s_[node] - origin_s_;
    spans_.push_back({SpanKind::all_reduce, node, -1, stage, -1, begin_s, begin_s, transport_.now_s() - origin_s_, 0});
    --nodes_left_;
    if (--stage_nodes_left_[stage] == 0) finish_stage(stage);
}

void PieceReducer::finish_stage(StageIndex stage) {
    if (sums_of_) sums_[at(stage)] = sums_of_->finish(stage);
}

}  // namespace skippipe
