// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/planners/joint/starts/reserved_paths.h"

#include <algorithm>

#include "core/base/index.h"
#include "core/planner/plan/paths.h"
#include "core/planner/timeline/rules.h"
#include "plugins/planners/common/routing.h"

namespace skippipe::planners::joint {

namespace {

constexpr double never_s = std::numeric_limits<double>::infinity();
/// So many of the others are looked at where there are many groups.
constexpr int other_groups = 2;
/// In which a pace is told.
constexpr int pace_parts = 16;
/// Of a data node's last microbatch, in what its next ones are thought to take.
constexpr double newest_share = 0.2;

}  // namespace

ReservedPaths::ReservedPaths(const Problem& problem, const Network& network, std::vector<int> groups,
                             std::vector<std::vector<StageIndex>> sequences)
    : problem_(problem),
      network_(network),
      sequences_(std::move(sequences)),
      all_(sequences_.empty() ? balanced_sequences(problem, problem.path_length) : sequences_),
      groups_(std::move(groups)),
      group_count_(*std::max_element(groups_.begin(), groups_.end()) + 1),
      length_(problem.path_length),
      left_(all_) {}

void ReservedPaths::reset(PlanCandidate& candidate) {
    candidate_ = &candidate;
    left_ = all_;
    turn_ = 0;
    pace_.clear();
    turns_.clear();
    workers_.resize(at(problem_.nodes()));
    promises_.assign(at(problem_.nodes()), {});
    homes_.resize(at(problem_.nodes()));
    lines_.resize(problem_.line_names.size());
    for (Calendar& line : lines_) line.clear();
    if (looks_in_groups()) {
        in_group_.assign(at(problem_.stages * group_count_), {});
        for (StageIndex s = 0; s < problem_.stages; ++s)
            for (const NodeIndex node : candidate.stages[s])
                in_group_[at(s * group_count_ + groups_[at(node)])].push_back(node);
    }
    double work_s = 0;
    int used = 0;
    for (NodeIndex n = 0; n < problem_.nodes(); ++n) {
        Worker& worker = workers_[n];
        worker.calendar.clear();
        worker.bookings.clear();
        homes_[n].own.clear();
        const StageIndex stage = candidate.schedule.stage_of[n];
        if (stage < 0) continue;
        worker.place_free_s.assign(at(std::min(problem_.memory[n], problem_.microbatches)), 0);
        const auto seconds = operation_seconds(problem_, n, stage, Backward::whole);
        worker.forward_s = seconds.forward_s;
        worker.backward_s = seconds.backward_s;
        worker.loss_s = seconds.loss_s;
        promises_[n] = {0, seconds.forward_s, seconds.backward_s};
        work_s += seconds.forward_s + seconds.backward_s;
        ++used;
    }
    const auto starts = data_nodes_in_turn(problem_, candidate.stages);
    for (ReleaseIndex i(candidate.schedule.count() - 1); i >= 0; --i) homes_[starts[at(i)]].own.push_back(i);
    for (const NodeIndex home : candidate.stages[0]) {
        homes_[home].round_trip_s = length_ * work_s / std::max(1, used);  // until one is back
        if (!homes_[home].own.empty()) queue(home);
    }
}

double ReservedPaths::fill(PlanCandidate& candidate, const PathWeights& weights, double cutoff_s, const Pace& at_most) {
    weights_ = weights;
    reset(candidate);
    double end_s = 0, all_ends_s = 0;
    int booked = 0;
    while (!turns_.empty()) {
        std::pop_heap(turns_.begin(), turns_.end());
        const NodeIndex home = turns_.back().node;
        turns_.pop_back();
        const ReleaseIndex index = homes_[home].own.back();
        if (!follow(index, home)) return never_s;
        end_s = std::max(end_s, best_.end_s);
        if (end_s >= cutoff_s) return never_s;
        all_ends_s += best_.end_s;
        ++booked;
        while ((std::ssize(pace_) + 1) * problem_.microbatches <= std::int64_t{booked} * pace_parts) {
            pace_.push_back(all_ends_s / booked);
            if (pace_.size() <= at_most.size() && pace_.back() > at_most[pace_.size() - 1]) return never_s;
        }
        homes_[home].own.pop_back();
        homes_[home].round_trip_s += newest_share * (best_.end_s - best_.begin_s.front() - homes_[home].round_trip_s);
        if (!homes_[home].own.empty()) queue(home);
    }
    bind_orders();
    return end_s;
}

double ReservedPaths::size_of(ReleaseIndex index) const {
    return problem_.relative_size(candidate_->schedule.microbatches[index]);
}

/// When the next of its microbatches may.
double ReservedPaths::start_s(NodeIndex home) const {
    const Worker& worker = workers_[home];
    return worker.calendar.earliest_s(worker.place_free_s.front(), worker.forward_s * size_of(homes_[home].own.back()));
}

/// Nothing but its own microbatches takes a data node, so that when it may start changes with these alone.
void ReservedPaths::queue(NodeIndex home) {
    const double rest_s = static_cast<double>(homes_[home].own.size()) * homes_[home].round_trip_s /
                          static_cast<double>(workers_[home].place_free_s.size());
    turns_.push_back({start_s(home) - weights_.rest * rest_s, home});
    std::push_heap(turns_.begin(), turns_.end());
}

/// Seconds of a step of a path there, of a microbatch of Problem::samples.
double ReservedPaths::operation_s(NodeIndex node, int step) const {
    const Worker& worker = workers_[node];
    return step < length_ ? worker.forward_s : step == length_ ? worker.loss_s : worker.backward_s;
}

/// Books the way that has a microbatch back soonest, of those looked at. False where no line goes on.
bool ReservedPaths::follow(ReleaseIndex index, NodeIndex home) {
    const double size = size_of(index);
    sequence_ = sequences_.empty() ? nullptr : &sequences_[at(index)];
    const Worker& worker = workers_[home];
    const double begin_s = start_s(home);
    steps_.assign(1, {.node = home,
                      .begin_s = begin_s,
                      .end_s = begin_s + worker.forward_s * size,
                      .back_s = worker.backward_s * size});
    ends_.assign(1, 0);
    for (int hop = 1; hop < length_; ++hop) {
        grown_.clear();
        for (const int end : ends_)
            sequence_ != nullptr ? extend_in_group(end, hop, home, size) : extend(end, hop, home, size);
        if (grown_.empty()) return false;
        ends_.clear();
        for (const Step& step : grown_) {
            ends_.push_back(static_cast<int>(steps_.size()));
            steps_.push_back(step);
        }
    }
    best_.end_s = never_s;
    for (const int end : ends_) come_back(end, size);
    if (!(best_.end_s < never_s)) return false;
    book(index, size);
    return true;
}

/// To the stage that its sequence says.
void ReservedPaths::extend_in_group(int from, int hop, NodeIndex home, double size) {
    for (const NodeIndex to : nodes_of((*sequence_)[at(hop)], groups_[at(home)])) {
        const Step next{from, to};
        if (!promises_less(next, hop, home, size)) look(next, hop, home, size);
    }
}

void ReservedPaths::extend(int from, int hop, NodeIndex home, double size) {
    const auto before = grown_.size();
    const auto look_in = [&](int group) {
        for (auto& way : left_.ways(steps_[at(from)].branch))
            if (way.left > 0)
                for (const NodeIndex to : nodes_of(way.stage, group)) {
                    const Step next{from, to, way.branch};
                    if (!promises_less(next, hop, home, size)) look(next, hop, home, size);
                }
    };
    if (group_count_ > many_groups) {
        const int here = groups_[at(steps_[at(from)].node)], there = groups_[at(home)];
        look_in(here);
        if (there != here) look_in(there);
        for (int k = 0; k < other_groups; ++k) look_in(turn_++ % group_count_);
    }
    if (grown_.size() == before && group_count_ > many_groups) look_in(-1);
    if (group_count_ <= many_groups) look_in(-1);
}

const std::vector<NodeIndex>& ReservedPaths::nodes_of(StageIndex stage, int group) const {
    return group < 0 ? candidate_->stages[stage] : in_group_[at(stage * group_count_ + group)];
}

/// Whether it is sure to come after the best so far, even if no message took any time.
bool ReservedPaths::promises_less(const Step& next, int hop, NodeIndex home, double size) const {
    if (grown_.size() < at(std::max(1, static_cast<int>(weights_.width)))) return false;
    const Step& before = steps_[at(next.before)];
    const Promise& there = promises_[next.node];
    const double forward_s = there.forward_s * size, backward_s = there.backward_s * size;
    const double way_s = (hop + 1 < length_ ? weights_.home : 1) * network_.round_s(next.node, home) +
                         weights_.work * (forward_s + backward_s);
    return std::max(before.end_s, there.free_s) + forward_s + (before.back_s + backward_s) + way_s >=
           grown_.back().value_s;
}

/// One more hop, kept if it promises to be among the best so far.
void ReservedPaths::look(Step next, int hop, NodeIndex home, double size) {
    const Step& before = steps_[at(next.before)];
    const Worker& worker = workers_[next.node];
    const Hop& there = problem_.hop(before.node, next.node);
    const Hop& back = problem_.hop(next.node, before.node);
    if (there.line == no_line || back.line == no_line) return;
    const double forward_s = worker.forward_s * size, backward_s = worker.backward_s * size;
    const double way_s = (hop + 1 < length_ ? weights_.home : 1) * network_.round_s(next.node, home) +
                         weights_.work * (forward_s + backward_s);
    next.back_s = before.back_s + backward_s + back.latency_s + problem_.overhead_s + back.seconds_per_backward * size;
    const auto width = at(std::max(1, static_cast<int>(weights_.width)));
    const auto value_s = [&](double begin_s) { return begin_s + forward_s + next.back_s + way_s; };
    const auto is_late = [&](double s) { return grown_.size() == width && s >= grown_.back().value_s; };
    const double travels_s = transfer_seconds(there, hop, length_) * size;
    const double soonest_s =
        problem_.shared_links ? shared_arrival_seconds(before.end_s + travels_s, there.latency_s, problem_.overhead_s)
                              : arrival_seconds(before.end_s, there.latency_s, problem_.overhead_s, travels_s);
    if (is_late(value_s(std::max(soonest_s, worker.place_free_s.front())))) return;
    const double arrival = arrival_s(before.node, next.node, {hop, size, before.end_s}, nullptr);
    next.begin_s = worker.calendar.earliest_s(std::max(arrival, worker.place_free_s.front()), forward_s);
    next.end_s = next.begin_s + forward_s;
    next.value_s = value_s(next.begin_s);
    if (is_late(next.value_s)) return;
    if (grown_.size() == width) grown_.pop_back();
    grown_.insert(std::upper_bound(grown_.begin(), grown_.end(), next,
                                   [](const Step& a, const Step& b) { return a.value_s < b.value_s; }),
                  next);
}

/// When a message to a step arrives that is handed over now; `taken`: where its line is noted.
double ReservedPaths::arrival_s(NodeIndex from, NodeIndex to, Message message, std::vector<Passage>* taken) const {
    if (from == to) return message.handed_s;
    const Hop& hop = problem_.hop(from, to);
    const double seconds = transfer_seconds(hop, message.step, length_) * message.size;
    if (!problem_.shared_links) return arrival_seconds(message.handed_s, hop.latency_s, problem_.overhead_s, seconds);
    const double begin_s = lines_[at(hop.line)].earliest_s(message.handed_s, seconds);
    if (taken != nullptr) taken->push_back({hop.line, begin_s, seconds});
    return shared_arrival_seconds(begin_s + seconds, hop.latency_s, problem_.overhead_s);
}

/// The whole way that ends at a step, and back: the best where it ends soonest.
void ReservedPaths::come_back(int last, double size) {
    journey_.nodes.assign(at(length_), NodeIndex(-1));
    journey_.begin_s.assign(at(2 * length_ + 1), 0);
    journey_.passages.clear();
    for (int step = last, hop = length_ - 1; hop >= 0; --hop, step = steps_[at(step)].before) {
        journey_.nodes[at(hop)] = steps_[at(step)].node;
        journey_.begin_s[at(hop)] = steps_[at(step)].begin_s;
    }
    const NodeIndex* path = journey_.nodes.data();
    double now_s = 0;
    for (int step = 0; step <= 2 * length_; ++step) {
        const NodeIndex node = step_node(path, length_, step);
        const double seconds = operation_s(node, step) * size;
        if (step > 0) {
            const NodeIndex from = step_node(path, length_, step - 1);
            if (from != node && problem_.hop(from, node).line == no_line) return;
            const double arrival = arrival_s(from, node, {step, size, now_s}, &journey_.passages);
            if (step >= length_) journey_.begin_s[at(step)] = workers_[node].calendar.earliest_s(arrival, seconds);
        }
        now_s = journey_.begin_s[at(step)] + seconds;
    }
    journey_.end_s = now_s;
    if (journey_.end_s < best_.end_s) std::swap(journey_, best_);
}

void ReservedPaths::book(ReleaseIndex index, double size) {
    std::copy(best_.nodes.begin(), best_.nodes.end(), candidate_->schedule.path(index));
    for (int step = 0; step <= 2 * length_; ++step) {
        const NodeIndex node = step_node(best_.nodes.data(), length_, step);
        Worker& worker = workers_[node];
        const double begin_s = best_.begin_s[at(step)], seconds = operation_s(node, step) * size;
        worker.calendar.take(begin_s, seconds);
        worker.bookings.push_back({begin_s, pack(index, step)});
        if (step <= length_) continue;
        auto& places = worker.place_free_s;  // the first to be free is taken
        places.erase(places.begin());
        places.insert(std::upper_bound(places.begin(), places.end(), begin_s + seconds), begin_s + seconds);
        promises_[node].free_s = places.front();
    }
    for (const Passage& passage : best_.passages) lines_[at(passage.line)].take(passage.begin_s, passage.seconds);
    if (sequence_ != nullptr) return;
    int branch = 0;
    for (int hop = 1; hop < length_; ++hop)
        for (auto& way : left_.ways(branch))
            if (way.stage == candidate_->schedule.stage_of[best_.nodes[at(hop)]]) {
                --way.left;
                branch = way.branch;
                break;
            }
}

void ReservedPaths::bind_orders() {
    auto& order = candidate_->schedule.order;
    order.clear();
    if (problem_.split_backward) return;
    order.resize(at(problem_.nodes()));
    for (NodeIndex n = 0; n < problem_.nodes(); ++n) {
        auto& bookings = workers_[n].bookings;
        std::sort(bookings.begin(), bookings.end());
        for (const Booking& booking : bookings) order[n].push_back(booking.operation);
    }
}

}  // namespace skippipe::planners::joint
