// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/engine/driver.h"

#include <stdexcept>

#include "core/base/index.h"
#include "core/engine/costs.h"

namespace skippipe {

void EventSource::begin_rest(int, double, std::vector<Span>&) {
    throw std::logic_error("only ranks under a real clock are lost in the middle of an iteration");
}
std::optional<NodeEvent> EventSource::happened(std::uint64_t&) { return std::nullopt; }

Driver::Driver(const Problem& problem, const RankSchedule& schedule, int rank, EventSource& events)
    : problem_(problem),
      schedule_(schedule),
      events_(events),
      routes_(schedule.plan),
      stage_of_(stage_of_nodes(schedule.plan, problem.nodes())) {
    for (int n = 0; n < problem.nodes(); ++n)
        if (schedule.rank_of[at(n)] == rank) nodes_.push_back(n);
    for (const auto count : operations_of_stages(schedule, rank)) operations_ += count;
    for (const auto& path : schedule.plan.paths) index_of_.emplace(path.microbatch, static_cast<int>(index_of_.size()));
}

RankIteration Driver::run_iteration(int iteration) {
    begin(iteration);
    while (auto event = events_.next(next_number_)) handle(std::move(*event));
    return finish();
}

void Driver::begin(int iteration) {
    const auto& order = schedule_.plan.order;
    if (rest_) {
        rest_.reset();
        routes_ = RouteTable(schedule_.plan);
        stage_of_ = stage_of_nodes(schedule_.plan, problem_.nodes());
    }
    machines_.assign(at(problem_.nodes()), std::nullopt);
    for (const int n : nodes_)
        machines_[at(n)].emplace(n, problem_.memory[at(n)], !order.empty(),
                                 order.empty() ? std::vector<Operation>{} : order[at(n)], routes_);
    inputs_.clear();
    next_number_ = 0;
    left_ = operations_;
    timeline_ = {};
    steps_done_.assign(schedule_.plan.paths.size(), 0);
    again_.clear();
    lost_.assign(at(problem_.nodes()), 0);
    lost_gradients_.clear();
    cut_lines_.clear();
    recoveries_.clear();
    begun_ = false;
    events_.begin_iteration(iteration, timeline_.spans);
    begun_ = true;
    for (const auto& path : schedule_.plan.paths)
        if (machines_[at(path.nodes.front())])
            events_.release(path.nodes.front(), {OpKind::F, path.microbatch}, next_number_++);
}

RankIteration Driver::finish() {
    timeline_.complete = left_ == 0;
    if (!timeline_.complete) describe_blocked();
    RankIteration result;
    result.sums = events_.finish_iteration(timeline_);
    result.timeline = std::move(timeline_);
    return result;
}

void Driver::handle(NodeEvent event) {
    if (event.kind == NodeInput::Kind::end)
        note_end(event);
    else if (event.input.size() > 0)
        inputs_[{event.node, event.operation.microbatch, event.operation.kind}] = std::move(event.input);
    const NodeInput seen{event.kind, event.operation, event.time_s, event.number};
    act(event.node, machine(event.node).handle(seen, next_number_), event.time_s);
}

void Driver::note_end(const NodeEvent& event) {
    const auto& operation = event.operation;
    timeline_.spans.push_back({span_kind(operation.kind), NodeIndex(event.node), -1, stage_of_[at(event.node)],
                               operation.microbatch, event.ready_s, event.start_s, event.end_s, 0});
    timeline_.busy_s += event.end_s - event.start_s;
    timeline_.makespan_s = event.time_s;
    --left_;
    if (operation.kind == OpKind::W) return;
    const int index = index_of_.at(operation.microbatch), step = routes_.step_of(operation, event.node);
    if (operation.attempt == 0)
        steps_done_[at(index)] = step + 1;
    else
        again_[at(index) * at(2 * routes_.length() + 1) + at(step)] = 0;
}

void Driver::act(int node, const std::vector<NodeAction>& actions, double now_s) {
    for (const auto& action : actions) {
        if (action.kind == NodeAction::Kind::send) {
            events_.hand_over(node, action, now_s);
            continue;
        }
        if (interrupted_) continue;
        const int microbatch = action.operation.microbatch;
        const ComputeTask task{action.operation, node, stage_of_[at(node)], routes_.hop(microbatch, node)};
        Buffer input;
        if (auto waiting = inputs_.extract({node, microbatch, action.operation.kind}))
            input = std::move(waiting.mapped());
        events_.start(task, action, now_s, std::move(input));
    }
}

void Driver::describe_blocked() {
    for (const int n : nodes_) {
        if (!machines_[at(n)]) continue;
        for (const auto& waiting : machine(n).waiting())
            timeline_.blocked.push_back(problem_.node_ids[at(n)] + ": " + to_string(waiting.operation) +
                                        " waits; the node holds " + std::to_string(machine(n).held()) +
                                        " microbatches");
    }
}

}  // namespace skippipe
