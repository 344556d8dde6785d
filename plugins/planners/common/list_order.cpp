// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/planners/common/list_order.h"

#include <algorithm>
#include <deque>
#include <queue>

#include "core/base/index.h"
#include "core/planner/timeline/rules.h"

namespace skippipe::planners {

namespace {

using Order = PerNode<std::vector<std::uint32_t>>;

struct Event {
    double time_s = 0;
    std::uint64_t number = 0;
    NodeIndex node = 0;
    std::uint32_t operation = 0;
    bool end = false;
    bool operator>(const Event& other) const {
        return time_s != other.time_s ? time_s > other.time_s : number > other.number;
    }
};

struct Station {
    std::deque<std::uint32_t> forward, other, weights;  ///< ready, in order of arrival
    std::vector<ReleaseIndex> own;                      ///< microbatches to be started here, in release order
    int held = 0;
    bool busy = false;
};

class ListScheduler {
public:
    ListScheduler(const Problem& problem, const FlatPlan& schedule, const ListRules& rules)
        : problem_(problem),
          schedule_(schedule),
          rules_(rules),
          stations_(at(problem.nodes())),
          line_free_s_(problem.line_names.size(), 0.0) {}

    Order run() {
        order_.resize(at(problem_.nodes()));
        for (ReleaseIndex i = 0; i < schedule_.count(); ++i) stations_[schedule_.path(i)[0]].own.push_back(i);
        for (NodeIndex n = 0; n < problem_.nodes(); ++n) dispatch(n);
        while (!events_.empty()) {
            const Event event = events_.top();
            events_.pop();
            now_s_ = event.time_s;
            event.end ? finish(event) : arrive(event.node, event.operation);
        }
        const int expected =
            schedule_.count() * (2 * schedule_.length + 1 + (schedule_.split_backward ? schedule_.length : 0));
        return done_ == expected ? order_ : Order{};
    }

private:
    int step_of(std::uint32_t operation) const { return packed_step(operation) & ~weight_gradient_bit; }
    static bool is_weight(std::uint32_t operation) { return (packed_step(operation) & weight_gradient_bit) != 0; }

    double relative_size(std::uint32_t operation) const {
        return problem_.relative_size(schedule_.microbatches[packed_index(operation)]);
    }

    double duration_s(NodeIndex node, std::uint32_t operation) const {
        const auto seconds =
            operation_seconds(problem_, node, schedule_.stage_of[node], backward_of(schedule_.split_backward));
        return seconds[kind_of_step(step_of(operation), schedule_.length)] * relative_size(operation);
    }

    void arrive(NodeIndex node, std::uint32_t operation) {
        auto& station = stations_[node];
        (step_of(operation) < schedule_.length ? station.forward : station.other).push_back(operation);
        dispatch(node);
    }

    void finish(const Event& event) {
        auto& station = stations_[event.node];
        const int step = step_of(event.operation);
        station.busy = false;
        ++done_;
        const bool releases = step > schedule_.length && (is_weight(event.operation) || !schedule_.split_backward);
        if (releases) --station.held;
        if (!is_weight(event.operation)) {
            if (step < 2 * schedule_.length) hand_over(event.node, event.operation + 1);
            if (step > schedule_.length && schedule_.split_backward)
                station.weights.push_back(event.operation | weight_gradient_bit);
        }
        dispatch(event.node);
        if (releases && rules_.reserve)
            for (NodeIndex n = 0; n < problem_.nodes(); ++n) dispatch(n);
    }

    void hand_over(NodeIndex from, std::uint32_t operation) {
        const int step = step_of(operation);
        const NodeIndex to = step_node(schedule_.path(packed_index(operation)), schedule_.length, step);
        if (to == from) {
            (step < schedule_.length ? stations_[to].forward : stations_[to].other).push_back(operation);
            return;
        }
        const Hop& hop = problem_.hop(from, to);
        const double transfer_s = transfer_seconds(hop, step, schedule_.length) * relative_size(operation);
        events_.push({arrival_s(hop, transfer_s), number_++, to, operation, false});
    }

    double arrival_s(const Hop& hop, double transfer_s) {
        if (!problem_.shared_links) return arrival_seconds(now_s_, hop.latency_s, problem_.overhead_s, transfer_s);
        double& line_free_s = line_free_s_[at(hop.line)];
        take_line(now_s_, transfer_s, line_free_s);
        return shared_arrival_seconds(line_free_s, hop.latency_s, problem_.overhead_s);
    }

    bool admits(NodeIndex node) const {
        return stations_[node].held < std::min(rules_.limit[node], problem_.memory[node]);
    }

    /// The first of the node's own microbatches that may start; its index in `own`, or -1.
    int startable(NodeIndex node) const {
        const auto& own = stations_[node].own;
        if (!rules_.reserve) return own.empty() || !admits(node) ? -1 : 0;
        for (std::size_t k = 0; k < own.size(); ++k) {
            const NodeIndex* path = schedule_.path(own[k]);
            if (std::all_of(path, path + schedule_.length, [&](NodeIndex n) { return admits(n); }))
                return static_cast<int>(k);
        }
        return -1;
    }

    void dispatch(NodeIndex node) {
        auto& station = stations_[node];
        if (station.busy) return;
        if (!rules_.weights_last && take(node, station.weights)) return;
        if (take(node, station.other)) return;
        if ((rules_.reserve || admits(node)) && !station.forward.empty()) {
            if (!rules_.reserve) ++station.held;
            take(node, station.forward);
            return;
        }
        if (const int k = startable(node); k >= 0) return start_own(node, k);
        take(node, station.weights);
    }

    void start_own(NodeIndex node, int k) {
        auto& own = stations_[node].own;
        const ReleaseIndex index = own[at(k)];
        own.erase(own.begin() + k);
        const NodeIndex* path = schedule_.path(index);
        for (int hop = 0; hop < (rules_.reserve ? schedule_.length : 1); ++hop) ++stations_[path[hop]].held;
        start(node, pack(index, 0));
    }

    bool take(NodeIndex node, std::deque<std::uint32_t>& queue) {
        if (queue.empty()) return false;
        const auto operation = queue.front();
        queue.pop_front();
        start(node, operation);
        return true;
    }

    void start(NodeIndex node, std::uint32_t operation) {
        stations_[node].busy = true;
        order_[node].push_back(operation);
        events_.push({now_s_ + duration_s(node, operation), number_++, node, operation, true});
    }

    const Problem& problem_;
    const FlatPlan& schedule_;
    const ListRules& rules_;
    PerNode<Station> stations_;
    std::vector<double> line_free_s_;
    std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
    Order order_;
    double now_s_ = 0;
    std::uint64_t number_ = 0;
    int done_ = 0;
};

/// One wave of gpipe: microbatches first..last-1 of the release order.
void append_wave(const FlatPlan& schedule, ReleaseIndex first, ReleaseIndex last, Order& order) {
    const int length = schedule.length;
    for (ReleaseIndex i = first; i < last; ++i)
        for (int hop = 0; hop < length; ++hop) order[schedule.path(i)[hop]].push_back(pack(i, hop));
    for (ReleaseIndex i = first; i < last; ++i) order[schedule.path(i)[0]].push_back(pack(i, length));
    for (ReleaseIndex i = first; i < last; ++i)
        for (int step = length + 1; step <= 2 * length; ++step) {
            auto& node = order[step_node(schedule.path(i), length, step)];
            node.push_back(pack(i, step));
            if (schedule.split_backward) node.push_back(pack(i, step | weight_gradient_bit));
        }
}

}  // namespace

Order list_order(const Problem& problem, const FlatPlan& schedule, const ListRules& rules) {
    return ListScheduler(problem, schedule, rules).run();
}

Order wave_order(const Problem& problem, const FlatPlan& schedule) {
    Order order(at(problem.nodes()));
    PerNode<int> held(at(problem.nodes()), 0);
    ReleaseIndex first = 0;
    for (ReleaseIndex i = 0; i < schedule.count(); ++i) {
        const NodeIndex* path = schedule.path(i);
        if (std::any_of(path, path + schedule.length, [&](NodeIndex n) { return held[n] >= problem.memory[n]; })) {
            append_wave(schedule, first, i, order);
            std::fill(held.begin(), held.end(), 0);
            first = i;
        }
        for (int hop = 0; hop < schedule.length; ++hop) ++held[path[hop]];
    }
    append_wave(schedule, first, ReleaseIndex(schedule.count()), order);
    return order;
}

}  // namespace skippipe::planners
