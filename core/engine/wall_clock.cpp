// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/engine/wall_clock.h"

#include <algorithm>

#include "core/engine/virtual_clock.h"

namespace skippipe {

namespace {
std::size_t at(int index) { return static_cast<std::size_t>(index); }
}  // namespace

int default_workers(const Experiment& experiment, const RankSchedule& schedule, int rank, int ranks_on_host) {
    if (experiment.execution.compute == Compute::cost) return static_cast<int>(schedule.nodes_of(rank).size());
    if (experiment.execution.threads > 0) return experiment.execution.threads;
    return std::max(1, static_cast<int>(std::thread::hardware_concurrency()) / std::max(1, ranks_on_host));
}

WallDriver::WallDriver(const Problem& problem, const RankSchedule& schedule, RankCompute& compute,
                       RankTransport& transport, LinkShaper* shaper, int workers)
    : planned_(problem, schedule.plan.blocks),
      problem_(planned_.get()),
      schedule_(schedule),
      compute_(compute),
      transport_(transport),
      shaper_(shaper),
      itinerary_(schedule.plan),
      stage_of_(stage_of_nodes(schedule.plan, problem.nodes())),
      nodes_(schedule.nodes_of(transport.rank())),
      stages_(schedule.stages_of(transport.rank())),
      operations_of_stage_(schedule.plan.stages.size(), 0),
      workers_(compute.most_workers() > 0 ? std::min(workers, compute.most_workers()) : workers, compute.at_start()) {
    for (const auto& transfer : schedule.transfers)
        if (schedule.rank_of[at(transfer.from_node)] == transport.rank())
            outgoing_[{transfer.to_node, transfer.operation.microbatch, transfer.operation.kind}] = transfer;
    const std::size_t each_visit = schedule.plan.split_backward ? 3 : 2;
    for (const auto& path : schedule.plan.paths)
        for (std::size_t hop = 0; hop < path.nodes.size(); ++hop)
            if (schedule.rank_of[at(path.nodes[hop])] == transport.rank())
                operations_of_stage_[at(stage_of_[at(path.nodes[hop])])] += each_visit + (hop == 0 ? 1 : 0);
}

void WallDriver::reset() {
    machines_.clear();
    const auto& order = schedule_.plan.order;
    for (const int n : nodes_)
        machines_.try_emplace(n, n, problem_.memory[at(n)], !order.empty(),
                              order.empty() ? std::vector<Operation>{} : order[at(n)], itinerary_);
    next_number_ = 0;
    spans_.clear();
    left_ = operations_of_stage_;
    reduce_spans_.clear();
    reduced_at_s_ = 0;
    reduce_error_ = nullptr;
    failed_ = false;
}

std::vector<Span> WallDriver::run_iteration(int iteration, double origin_s) {
    iteration_ = iteration;
    origin_s_ = origin_s;
    reset();
    transport_.begin_iteration(
        [this](const RankTransfer& transfer) { return compute_.message_bytes(transfer.operation); },
        [this](Delivery message) { arrive_later(std::move(message)); });
    std::thread reducer([this] { reduce_stages(); });
    for (const auto& path : schedule_.plan.paths)
        if (machines_.contains(path.nodes.front())) {
            Event first{.node = path.nodes.front(), .operation = {OpKind::F, path.microbatch}};
            handle(first);
        }
    std::size_t left = 0;
    for (const auto count : operations_of_stage_) left += count;
    std::exception_ptr error;
    while (left > 0 && !error) {
        Event event = inbox_.take();
        if (event.kind == Event::Kind::failed) {
            error = event.error;
        } else {
            if (event.kind == Event::Kind::end) --left;
            handle(event);
        }
    }
    if (error) {
        const std::lock_guard lock(mutex_);
        failed_ = true;
        stage_ended_.notify_all();
    }
    reducer.join();
    workers_.wait();
    if (!error) error = reduce_error_;
    if (error) std::rethrow_exception(error);
    transport_.end_iteration();
    spans_.insert(spans_.end(), reduce_spans_.begin(), reduce_spans_.end());
    return std::move(spans_);
}

void WallDriver::handle(Event& event) {
    const double now = now_s();
    NodeInput input{.operation = event.operation, .time_s = now, .number = next_number_++};
    if (event.kind == Event::Kind::end) {
        input.kind = NodeInput::Kind::end;
        const int stage = stage_of_[at(event.node)];
        spans_.push_back({span_kind(event.operation.kind), event.node, -1, stage, event.operation.microbatch,
                          event.ready_s, event.start_s, event.end_s, 0});
        const std::lock_guard lock(mutex_);
        if (--left_[at(stage)] == 0) stage_ended_.notify_all();
    } else if (event.message) {
        event.message->times.arrival_s = now;
        record_transfer(*event.message);
        if (event.message->bytes.size() > 0) compute_.receive(event.message->transfer, std::move(event.message->bytes));
    }
    for (const auto& action : machines_.at(event.node).handle(input, next_number_)) act(event.node, action);
}

void WallDriver::act(int node, const NodeAction& action) {
    if (action.kind == NodeAction::Kind::start) {
        const ComputeTask task{action.operation, node, stage_of_[at(node)],
                               itinerary_.hop(action.operation.microbatch, node)};
        workers_.add([this, task, ready_s = action.ready_s] { execute(task, ready_s); });
        return;
    }
    if (!machines_.contains(action.to)) return;  // the worker has sent it
    const auto times = times_of(node, action.to, action.operation, transport_.now_s());
    arrive_later({{-1, action.operation, node, action.to}, times, {}});
}

TransferTimes WallDriver::times_of(int from, int to, const Operation& operation, double handed_over_s) {
    if (!shaper_) return {handed_over_s, handed_over_s, handed_over_s};
    return shaper_->shape(from, to, is_backward(operation.kind), handed_over_s, iteration_, operation.microbatch);
}

void WallDriver::arrive_later(Delivery message) {
    const double wait_s = message.times.arrival_s - transport_.now_s();
    const auto due = wait_s > 0 ? steady_point(steady_s() + wait_s) : DelayQueue<Event>::Time::min();
    Event event{.node = message.transfer.to_node, .operation = message.transfer.operation};
    event.message = std::move(message);
    inbox_.put(std::move(event), due);
}

void WallDriver::record_transfer(const Delivery& message) {
    const auto& [transfer, times, bytes] = message;
    const bool backward = is_backward(transfer.operation.kind);
    spans_.push_back(
        {backward ? SpanKind::transfer_backward : SpanKind::transfer_forward, transfer.from_node, transfer.to_node,
         stage_of_[at(transfer.to_node)], transfer.operation.microbatch, times.handed_over_s - origin_s_,
         times.start_s - origin_s_, times.arrival_s,
         static_cast<double>(bytes.size() > 0 ? bytes.size() : compute_.message_bytes(transfer.operation))});
}

/// On a worker.
void WallDriver::execute(ComputeTask task, double ready_s) {
    try {
        Event done{.kind = Event::Kind::end,
                   .node = task.node,
                   .operation = task.operation,
                   .ready_s = ready_s,
                   .start_s = now_s()};
        compute_.run(task);
        const double end_s = transport_.now_s();
        done.end_s = end_s - origin_s_;
        inbox_.put(std::move(done));
        hand_on(task, end_s);
    } catch (...) {
        inbox_.put({.kind = Event::Kind::failed,
                    .node = task.node,
                    .operation = task.operation,
                    .error = std::current_exception()});
    }
}

/// The node goes on while its result is encoded and sent.
void WallDriver::hand_on(const ComputeTask& task, double end_s) {
    const auto next = itinerary_.after(task.operation, task.node);
    const auto found = outgoing_.find({next.node, next.operation.microbatch, next.operation.kind});
    if (next.node < 0 || found == outgoing_.end()) return;
    const auto times = times_of(task.node, next.node, next.operation, end_s);
    transport_.send({found->second, times, compute_.take_message(found->second)});
}

void WallDriver::reduce_stages() {
    try {
        for (const int stage : stages_) {
            {
                std::unique_lock lock(mutex_);
                stage_ended_.wait(lock, [&] { return left_[at(stage)] == 0 || failed_; });
                if (failed_) return;
            }
            reduce(stage);
        }
        // Stages all-reduce beside each other in the drawn network, however they follow each other here.
        if (const double wait_s = reduced_at_s_ - transport_.now_s(); wait_s > 0)
            std::this_thread::sleep_for(std::chrono::duration<double>(wait_s));
    } catch (...) {
        reduce_error_ = std::current_exception();
    }
}

void WallDriver::reduce(int stage) {
    const auto& ring = schedule_.plan.stages[at(stage)];
    const double start_s = transport_.now_s();
    const double all_ready_s = transport_.latest(stage, start_s);
    compute_.reduce(stage, transport_);
    const double drawn_end_s = shaper_ ? all_ready_s + all_reduce_seconds(problem_, ring, stage) : 0,
                 end_s = std::max(transport_.now_s(), drawn_end_s);
    reduced_at_s_ = std::max(reduced_at_s_, end_s);
    if (ring.size() < 2) return;
    const double bytes = 2.0 * static_cast<double>(ring.size() - 1) / static_cast<double>(ring.size()) *
                         problem_.gradient_bytes[at(stage)];
    for (const int node : ring)
        if (machines_.contains(node))
            reduce_spans_.push_back({SpanKind::all_reduce, node, -1, stage, -1, start_s - origin_s_,
                                     start_s - origin_s_, end_s - origin_s_, bytes});
}

}  // namespace skippipe
