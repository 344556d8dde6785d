// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/engine/wall_clock.h"

#include <algorithm>
#include <chrono>

#include "core/base/index.h"
#include "core/engine/costs.h"
#include "core/engine/piece_reducer.h"

namespace skippipe {

int default_workers(const Experiment& experiment, const RankSchedule& schedule, int rank, int ranks_on_host) {
    if (experiment.execution.compute == Compute::cost)  // also of spares, which may get a stage
        return static_cast<int>(std::count(schedule.rank_of.begin(), schedule.rank_of.end(), rank));
    if (experiment.execution.threads > 0) return experiment.execution.threads;
    return std::max(1, static_cast<int>(std::thread::hardware_concurrency()) / std::max(1, ranks_on_host));
}

WallClock::WallClock(const Problem& problem, const RankSchedule& schedule, ComputeBackend& compute,
                     RankTransport& transport, LinkShaper* shaper)
    : problem_(problem),
      schedule_(schedule),
      compute_(compute),
      transport_(transport),
      shaper_(shaper),
      stage_of_(stage_of_nodes(schedule.plan, problem.nodes())) {
    if (schedule.pieces.empty())
        reducer_ = std::make_unique<StageReducer>(problem, schedule, compute, transport, shaper != nullptr);
    else
        reducer_ = std::make_unique<PieceReducer>(problem, schedule, compute, transport, shaper);
    for (const auto& transfer : schedule.transfers)
        if (!transfer.is_reduction() && schedule.rank_of[at(transfer.from_node)] == transport.rank())
            outgoing_[{transfer.to_node, transfer.operation.microbatch, transfer.operation.kind}] = transfer;
    for (const auto count : operations_of_stages(schedule, transport.rank())) operations_ += count;
}

WallClock::~WallClock() { quiet(); }

bool WallClock::quiet() {
    if (!std::exchange(under_way_, false)) return true;
    transport_.when_broken({});
    transport_.abort();
    reducer_->stop();
    try {
        compute_.wait();
        return true;
    } catch (...) {
        return false;  // it was reported when it was thrown
    }
}

/// When the last rank was ready.
double WallClock::meet() {
    double last_s = 0;
    for (const auto& ready : transport_.all_gather({transport_.now_s()}))
        for (const double ready_s : ready) last_s = std::max(last_s, ready_s);
    return last_s;
}

void WallClock::begin_iteration(int iteration, std::vector<Span>& spans) {
    origin_s_ = meet();
    begin(iteration, spans);
}

void WallClock::begin_rest(int iteration, double origin_s, std::vector<Span>& spans) {
    meet();
    origin_s_ = origin_s;
    begin(iteration, spans);
}

void WallClock::begin(int iteration, std::vector<Span>& spans) {
    iteration_ = iteration;
    spans_ = &spans;
    left_ = operations_;
    under_way_ = true;
    reducer_->begin_iteration(iteration, origin_s_);
    transport_.when_broken([this](std::exception_ptr error) {
        reducer_->break_off(error);
        inbox_.put({.happened = {}, .message = {}, .error = std::move(error)});
    });
    transport_.begin_iteration(
        [this](const RankTransfer& transfer) {
            return transfer.is_reduction() ? reducer_->message_bytes(transfer)
                                           : compute_.message_bytes(transfer.operation);
        },
        [this](Delivery message) {
            message.transfer.is_reduction() ? reducer_->arrived(std::move(message)) : arrive_later(std::move(message));
        });
    reducer_->start();
}

void WallClock::release(int node, const Operation& operation, std::uint64_t) {
    inbox_.put({.happened = {.node = node, .operation = operation}, .message = {}, .error = {}});
}

void WallClock::start(const ComputeTask& task, const NodeAction& action, double, Buffer input) {
    compute_.submit(task, std::move(input), [this, task, action](const TaskEnd& end) { ended(task, action, end); });
}

/// On a thread of the back end: the node goes on while its result is encoded and sent, to where the machine said when
/// it started the operation.
void WallClock::ended(const ComputeTask& task, const NodeAction& action, const TaskEnd& end) {
    const auto fail = [&](std::exception_ptr error) {
        inbox_.put({.happened = {.node = task.node, .operation = task.operation}, .message = {}, .error = error});
    };
    if (end.error) return fail(end.error);
    const double end_s = transport_.common_s(stretched_end_s(task, end));
    inbox_.put({.happened = {.kind = NodeInput::Kind::end,
                             .node = task.node,
                             .operation = task.operation,
                             .ready_s = action.ready_s,
                             .start_s = transport_.common_s(end.start_s) - origin_s_,
                             .end_s = end_s - origin_s_},
                .message = {},
                .error = {}});
    if (action.next.node < 0) return;
    try {
        send(task.node, action.next.operation, action.next.node, end_s);
    } catch (const Aborted&) {
        fail(std::current_exception());
    } catch (const std::exception& error) {
        fail(std::make_exception_ptr(ComputeError(
            "sending what " + to_string(task.operation) + " on " + problem_.node_ids[at(task.node)] + " computed",
            error.what())));
    }
}

double WallClock::stretched_end_s(const ComputeTask& task, const TaskEnd& end) const {
    const double more_s = (stretch_of(slower_, task.node, task.operation, iteration_) - 1) * (end.end_s - end.start_s);
    if (more_s <= 0) return end.end_s;
    std::this_thread::sleep_until(steady_point(end.end_s + more_s));
    return std::max(end.end_s + more_s, steady_s());
}

/// To another rank, where the schedule has such a transfer.
void WallClock::send(int from_node, const Operation& operation, int to_node, double handed_over_s) {
    const auto found = outgoing_.find({to_node, operation.microbatch, operation.kind});
    if (found == outgoing_.end()) return;
    const auto times = times_of(from_node, to_node, operation, handed_over_s);
    transport_.send({found->second, times, compute_.take_message(found->second)});
}

void WallClock::hand_over(int from_node, const NodeAction& send, double) {
    if (schedule_.rank_of[at(send.to)] != transport_.rank()) return;  // sent when the operation ended
    const auto times = times_of(from_node, send.to, send.operation, transport_.now_s());
    arrive_later({{-1, send.operation, from_node, send.to}, times, {}});
}

void WallClock::send_again(int from_node, const NodeAction& again, double now_s) {
    if (schedule_.rank_of[at(again.to)] == transport_.rank()) return hand_over(from_node, again, now_s);
    send(from_node, again.operation, again.to, transport_.now_s());
}

void WallClock::go_on(const Replan& rest, const std::vector<PendingEvent>& events) {
    if (!events.empty()) throw std::logic_error("something still runs, or is on its way");
    compute_.go_on(rest);
}

std::optional<NodeEvent> WallClock::happened(std::uint64_t& next_number) {
    for (auto event = inbox_.take_any(); event; event = inbox_.take_any()) {
        if (event->error) continue;  // it is over anyway
        return taken(std::move(*event), next_number);
    }
    return std::nullopt;
}

TransferTimes WallClock::times_of(int from, int to, const Operation& operation, double handed_over_s) {
    if (!shaper_) return {handed_over_s, handed_over_s, handed_over_s};
    return shaper_->shape(from, to, is_backward(operation.kind), handed_over_s, iteration_, operation.microbatch);
}

void WallClock::arrive_later(Delivery message) {
    const double wait_s = message.times.arrival_s - transport_.now_s();
    const auto due = wait_s > 0 ? steady_point(steady_s() + wait_s) : DelayQueue<Event>::Time::min();
    Event event{.happened = {.node = message.transfer.to_node, .operation = message.transfer.operation},
                .message = {},
                .error = {}};
    event.message = std::move(message);
    inbox_.put(std::move(event), due);
}

std::optional<NodeEvent> WallClock::next(std::uint64_t& next_number) {
    if (left_ == 0) return std::nullopt;
    Event event = inbox_.take();
    if (event.error) std::rethrow_exception(event.error);
    if (event.happened.kind == NodeInput::Kind::end) {
        --left_;
        reducer_->operation_ended(event.happened.node, stage_of_[at(event.happened.node)]);
    }
    return taken(std::move(event), next_number);
}

NodeEvent WallClock::taken(Event event, std::uint64_t& next_number) {
    event.happened.time_s = now_s();
    event.happened.number = next_number++;
    if (event.message) {
        event.message->times.arrival_s = event.happened.time_s;
        record_transfer(*event.message);
        event.happened.input = std::move(event.message->bytes);
    }
    return std::move(event.happened);
}

/// What a loss takes before it is due may have its line's start still to come.
void WallClock::record_transfer(const Delivery& message) {
    const auto& [transfer, times, bytes] = message;
    const bool backward = is_backward(transfer.operation.kind);
    const double start_s = std::min(times.start_s - origin_s_, times.arrival_s);
    spans_->push_back(
        {backward ? SpanKind::transfer_backward : SpanKind::transfer_forward, NodeIndex(transfer.from_node),
         NodeIndex(transfer.to_node), stage_of_[at(transfer.to_node)], transfer.operation.microbatch,
         times.handed_over_s - origin_s_, start_s, times.arrival_s,
         static_cast<double>(bytes.size() > 0 ? bytes.size() : compute_.message_bytes(transfer.operation))});
}

std::vector<StageSum> WallClock::finish_iteration(Timeline&) {
    auto sums = reducer_->finish(*spans_);
    compute_.wait();
    transport_.end_iteration();
    transport_.when_broken({});
    under_way_ = false;
    return sums;
}

}  // namespace skippipe
