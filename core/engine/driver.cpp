// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/engine/driver.h"

#include "core/base/index.h"
#include "core/engine/costs.h"

namespace skippipe {

Driver::Driver(const Problem& problem, const RankSchedule& schedule, int rank, EventSource& events)
    : problem_(problem),
      schedule_(schedule),
      events_(events),
      routes_(schedule.plan),
      stage_of_(stage_of_nodes(schedule.plan, problem.nodes())) {
    for (int n = 0; n < problem.nodes(); ++n)
        if (schedule.rank_of[at(n)] == rank) nodes_.push_back(n);
    operations_ = 0;
    for (const auto count : operations_of_stages(schedule, rank)) operations_ += count;
}

void Driver::reset() {
    const auto& order = schedule_.plan.order;
    machines_.assign(at(problem_.nodes()), std::nullopt);
    for (const int n : nodes_)
        machines_[at(n)].emplace(n, problem_.memory[at(n)], !order.empty(),
                                 order.empty() ? std::vector<Operation>{} : order[at(n)], routes_);
    inputs_.clear();
    next_number_ = 0;
    left_ = operations_;
    timeline_ = {};
}

RankIteration Driver::run_iteration(int iteration) {
    reset();
    events_.begin_iteration(iteration, timeline_.spans);
    for (const auto& path : schedule_.plan.paths)
        if (machines_[at(path.nodes.front())])
            events_.release(path.nodes.front(), {OpKind::F, path.microbatch}, next_number_++);
    while (auto event = events_.next(next_number_)) handle(std::move(*event));
    timeline_.complete = left_ == 0;
    if (!timeline_.complete) describe_blocked();
    RankIteration result;
    result.sums = events_.finish_iteration(timeline_);
    result.timeline = std::move(timeline_);
    return result;
}

void Driver::handle(NodeEvent event) {
    const int stage = stage_of_[at(event.node)];
    if (event.kind == NodeInput::Kind::end) {
        timeline_.spans.push_back({span_kind(event.operation.kind), event.node, -1, stage, event.operation.microbatch,
                                   event.ready_s, event.start_s, event.end_s, 0});
        timeline_.busy_s += event.end_s - event.start_s;
        timeline_.makespan_s = event.time_s;
        --left_;
    } else if (event.input.size() > 0) {
        inputs_[{event.node, event.operation.microbatch}] = std::move(event.input);
    }
    const NodeInput seen{event.kind, event.operation, event.time_s, event.number};
    for (const auto& action : machine(event.node).handle(seen, next_number_)) {
        if (action.kind == NodeAction::Kind::send) {
            events_.hand_over(event.node, action, event.time_s);
            continue;
        }
        const int microbatch = action.operation.microbatch;
        const ComputeTask task{action.operation, event.node, stage, routes_.hop(microbatch, event.node)};
        Buffer input;
        // W works on what I has left: a message that waits here is for another operation.
        if (action.operation.kind != OpKind::W)
            if (auto waiting = inputs_.extract({event.node, microbatch})) input = std::move(waiting.mapped());
        events_.start(task, action, event.time_s, std::move(input));
    }
}

void Driver::describe_blocked() {
    for (const int n : nodes_)
        for (const auto& operation : machine(n).waiting())
            timeline_.blocked.push_back(problem_.node_ids[at(n)] + ": " + to_string(operation) +
                                        " waits; the node holds " + std::to_string(machine(n).held()) +
                                        " microbatches");
}

}  // namespace skippipe
