// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/planners/joint/starts/timed_paths.h"

#include <algorithm>
#include <limits>

#include "core/base/index.h"
#include "core/planner/plan/paths.h"
#include "core/planner/timeline/rules.h"
#include "plugins/planners/common/routing.h"

namespace skippipe::planners::joint {

namespace {

constexpr double never_s = std::numeric_limits<double>::infinity();
/// With more groups than that, so many of the others are looked at.
constexpr int many_groups = 10, other_groups = 2;

}  // namespace

TimedPaths::TimedPaths(const Problem& problem, const Network& network, std::vector<int> groups)
    : problem_(problem),
      network_(network),
      all_(balanced_sequences(problem, problem.path_length)),
      groups_(std::move(groups)),
      group_count_(*std::max_element(groups_.begin(), groups_.end()) + 1),
      left_(all_) {}

void TimedPaths::reset(const PlanCandidate& candidate) {
    left_ = all_;
    branch_.assign(at(problem_.microbatches), 0);
    workers_.resize(at(problem_.nodes()));
    line_free_s_.assign(problem_.line_names.size(), 0);
    events_.clear();
    numbers_ = 0;
    arrivals_ = 0;
    stage_end_s_.assign(at(problem_.stages), -1);
    turn_ = 0;
    if (group_count_ > many_groups) {
        in_group_.assign(at(problem_.stages * group_count_), {});
        for (StageIndex s = 0; s < problem_.stages; ++s)
            for (const NodeIndex node : candidate.stages[s])
                in_group_[at(s * group_count_ + groups_[at(node)])].push_back(node);
    }
    double work_s = 0, places = 0;
    int used = 0, inner = 0;
    for (NodeIndex n = 0; n < problem_.nodes(); ++n) {
        auto& worker = workers_[n];
        worker.forward.clear();
        worker.other.clear();
        worker.held = worker.spoken_for = worker.visits = 0;
        worker.busy = false;
        worker.end_s = 0;
        const StageIndex stage = candidate.schedule.stage_of[n];
        if (stage < 0) continue;
        const auto seconds = operation_seconds(problem_, n, stage, Backward::whole);
        worker.forward_s = seconds.forward_s;
        worker.backward_s = seconds.backward_s;
        worker.loss_s = seconds.loss_s;
        worker.memory = problem_.memory[n];
        worker.per_memory = 1.0 / worker.memory;
        work_s += seconds.forward_s + seconds.backward_s;
        ++used;
        if (stage > 0) {
            ++inner;
            places += std::min(worker.memory, problem_.microbatches);
        }
    }
    // Of a microbatch that waits for nothing and goes to nodes that are near; nothing hangs on it but scale.
    round_trip_s_ = problem_.path_length * work_s / std::max(1, used);
    visits_a_place_ =
        std::max(1.0, static_cast<double>(problem_.microbatches) * (problem_.path_length - 1) / std::max(1.0, places));
    size_.clear();
    for (const MicrobatchIndex m : candidate.schedule.microbatches) size_.push_back(problem_.relative_size(m));
}

void TimedPaths::add(double time_s, std::uint32_t operation, bool ends) {
    events_.push_back({time_s, 2 * numbers_++ + (ends ? 1 : 0), operation});
    std::push_heap(events_.begin(), events_.end());
}

double TimedPaths::fill(PlanCandidate& candidate, const PathWeights& weights, double cutoff_s) {
    candidate_ = &candidate;
    weights_ = weights;
    reset(candidate);
    auto& schedule = candidate.schedule;
    const auto starts = data_nodes_in_turn(problem_, candidate.stages);
    for (ReleaseIndex i = 0; i < schedule.count(); ++i) {
        schedule.path(i)[0] = starts[at(i)];
        add(0, pack(i, 0), false);
    }
    double end_s = 0;
    while (!events_.empty()) {
        std::pop_heap(events_.begin(), events_.end());
        const Event event = events_.back();
        events_.pop_back();
        if (event.time_s >= cutoff_s) return never_s;
        const ReleaseIndex index = packed_index(event.operation);
        const int step = packed_step(event.operation);
        const NodeIndex node = step_node(schedule.path(index), schedule.length, step);
        auto& worker = workers_[node];
        if (event.number % 2 == 1) {
            end_s = event.time_s;
            worker.busy = false;
            worker.end_s = event.time_s;
            stage_end_s_[schedule.stage_of[node]] = event.time_s;
            if (step > schedule.length) {
                --worker.held;
                --worker.spoken_for;
            }
            if (!hand_over(node, index, step, event.time_s)) return never_s;
        } else {
            auto& queue = step < schedule.length ? worker.forward : worker.other;
            queue.add({event.operation, arrivals_++});
        }
        dispatch(node, event.time_s);
    }
    return end_s;
}

/// The rules of docs/semantics.md, Who goes first: what has arrived stands in two queues, as only an F may have to wait
/// for a place.
void TimedPaths::dispatch(NodeIndex node, double now_s) {
    auto& worker = workers_[node];
    if (worker.busy) return;
    const bool has_other = worker.other.waits();
    bool forward = worker.forward.waits() && worker.held < worker.memory;
    if (!has_other && !forward) return;
    if (has_other && forward)
        forward = candidate_->schedule.stage_of[node] != 0 && worker.forward.first().rank < worker.other.first().rank;
    const auto operation = (forward ? worker.forward : worker.other).take().operation;
    const int step = packed_step(operation), length = candidate_->schedule.length;
    if (forward) ++worker.held;
    worker.busy = true;
    const double seconds = step < length ? worker.forward_s : step == length ? worker.loss_s : worker.backward_s;
    add(now_s + seconds * size_[packed_index(operation)], operation, true);
}

/// The step after this one, which has ended. False where there is no line to go on.
bool TimedPaths::hand_over(NodeIndex node, ReleaseIndex index, int step, double now_s) {
    auto& schedule = candidate_->schedule;
    if (step == 2 * schedule.length) return true;
    if (step + 1 < schedule.length && !choose_next(node, index, step + 1, now_s)) return false;
    const NodeIndex to = step_node(schedule.path(index), schedule.length, step + 1);
    const Hop& hop = problem_.hop(node, to);
    if (hop.line == no_line) return false;
    const double transfer_s = transfer_seconds(hop, step + 1, schedule.length) * size_[index];
    if (problem_.shared_links) {
        double& free_s = line_free_s_[at(hop.line)];
        take_line(now_s, transfer_s, free_s);
        add(shared_arrival_seconds(free_s, hop.latency_s, problem_.overhead_s), pack(index, step + 1), false);
    } else {
        add(arrival_seconds(now_s, hop.latency_s, problem_.overhead_s, transfer_s), pack(index, step + 1), false);
    }
    return true;
}

const std::vector<NodeIndex>& TimedPaths::nodes_of(StageIndex stage, int group) const {
    return group < 0 ? candidate_->stages[stage] : in_group_[at(stage * group_count_ + group)];
}

void TimedPaths::look(Choice& choice, NodeIndex from, NodeIndex home, int branch, bool last, double now_s, int group) {
    for (auto& way : left_.ways(branch)) {
        if (way.left == 0) continue;
        for (const NodeIndex to : nodes_of(way.stage, group))
            if (const double seconds = cost_s(from, to, home, last, now_s); seconds < choice.cost_s)
                choice = {seconds, to, &way};
    }
}

bool TimedPaths::choose_next(NodeIndex node, ReleaseIndex index, int hop, double now_s) {
    NodeIndex* path = candidate_->schedule.path(index);
    const bool last = hop + 1 == candidate_->schedule.length;
    Choice choice;
    const auto look_in = [&](int group) { look(choice, node, path[0], branch_[index], last, now_s, group); };
    if (group_count_ > many_groups) {
        look_in(groups_[at(node)]);
        if (groups_[at(path[0])] != groups_[at(node)]) look_in(groups_[at(path[0])]);
        for (int k = 0; k < other_groups; ++k) look_in(turn_++ % group_count_);
    }
    if (choice.way == nullptr) look_in(-1);
    if (choice.way == nullptr) return false;
    path[hop] = choice.node;
    --choice.way->left;
    branch_[index] = choice.way->branch;
    auto& worker = workers_[choice.node];
    ++worker.spoken_for;
    ++worker.visits;
    return true;
}

double TimedPaths::mean_end_s(const std::vector<NodeIndex>& nodes) const {
    double sum_s = 0;
    for (const NodeIndex node : nodes) sum_s += workers_[node].end_s;
    return sum_s / static_cast<double>(nodes.size());
}

double TimedPaths::cost_s(NodeIndex from, NodeIndex to, NodeIndex home, bool last, double now_s) const {
    const auto& worker = workers_[to];
    double near_s = network_.round_s(from, to);
    if (problem_.shared_links)
        if (const int line = problem_.hop(from, to).line; line != no_line)
            near_s += std::max(0.0, line_free_s_[at(line)] - now_s);
    const double work_s = worker.forward_s + worker.backward_s;
    return near_s + (last ? 1 : weights_.home) * network_.round_s(to, home) +
           work_s * (weights_.work + weights_.queue * worker.spoken_for) +
           round_trip_s_ * worker.per_memory *
               (weights_.slots * (worker.spoken_for + 1) + weights_.visits * (worker.visits + 1) / visits_a_place_);
}

}  // namespace skippipe::planners::joint
