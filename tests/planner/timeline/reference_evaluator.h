// SPDX-License-Identifier: GPL-3.0-or-later
// docs/semantics.md once more, as slow and as plain as it reads: one list of events that are functions, sets of what
// has come. For tests alone, which hold the evaluator against it.
#pragma once
#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "core/planner/plan/plan.h"

namespace skippipe::reference {

/// One iteration of a plan; throws away everything but the times.
class Iteration {
public:
    Iteration(const Problem& problem, const Plan& plan) : problem_(problem), plan_(plan) {
        p_ = static_cast<int>(plan.paths.front().nodes.size());
        for (std::size_t s = 0; s < plan.stages.size(); ++s)
            for (std::size_t k = 0; k < plan.stages[s].size(); ++k)
                place_[plan.stages[s][k]] = {static_cast<int>(s), static_cast<int>(k)};
        for (const auto& path : plan.paths)
            for (std::size_t hop = 0; hop < path.nodes.size(); ++hop) {
                left_[path.nodes[hop]] += (plan.split_backward ? 3 : 2) + (hop == 0 ? 1 : 0);
                visited_.insert(place_[path.nodes[hop]].first);
            }
        all_left_ = 0;
        for (const auto& [node, count] : left_) all_left_ += count;
        for (int n = 0; n < problem.nodes(); ++n) nodes_[n].room = problem.memory[static_cast<std::size_t>(n)];
    }

    void run() {
        for (std::size_t i = 0; i < plan_.paths.size(); ++i) {
            const Op first{'F', static_cast<int>(i), 0};
            const long number = next_number_++;
            events_[{0, number}] = [=, this] { arrive(first, number); };
        }
        for (std::size_t s = 0; s < plan_.stages.size(); ++s)
            for (const NodeIndex node : plan_.stages[s])
                if (problem_.plan_reductions && visited_.count(static_cast<int>(s)) > 0 && left_[node] == 0)
                    own_part(node);
        while (!events_.empty()) {
            const auto first = events_.begin();
            now_ = first->first.first;
            const auto happen = first->second;
            events_.erase(first);
            happen();
        }
        complete = all_left_ == 0;
        iteration_s = makespan_s;
        for (const auto& [node, time_s] : stepped_s) iteration_s = std::max(iteration_s, time_s);
    }

    bool complete = false;
    double makespan_s = 0, iteration_s = 0;
    std::map<int, double> stepped_s;

private:
    struct Op {
        char kind = 'F';
        int path = 0, hop = 0;
        bool operator==(const Op&) const = default;
    };
    struct Ready {
        Op op;
        double arrival_s;
        long number;
    };
    struct Node {
        bool busy = false;
        int room = 0;
        std::size_t next = 0;
        std::vector<Ready> ready;
    };

    int node_of(const Op& op) const { return plan_.paths[at(op.path)].nodes[at(op.hop)]; }

    double duration_s(const Op& op) const {
        const auto node = NodeIndex(node_of(op));
        const auto stage = StageIndex(place_.at(node).first);
        double seconds = problem_.forward_s(node, stage);
        if (op.kind == 'L') seconds = problem_.loss_factor * seconds;
        if (op.kind == 'B') seconds = problem_.backward_factor * seconds;
        if (op.kind == 'I' || op.kind == 'W') seconds = problem_.backward_factor * seconds / 2;
        return problem_.sizes.empty() ? seconds : seconds * problem_.relative_size(plan_.paths[at(op.path)].microbatch);
    }

    /// Of a transfer: what its head does at the queue that it has reached, one after the other.
    struct Sent {
        int from, to;
        double line_s, up_s, down_s;  ///< that it occupies each; up_s, down_s < 0: there is no such queue
        long number;
        std::function<void()> arrived;
        double last_s = 0;
    };

    /// At hand-over. `bytes` and `line_s` as for a microbatch of the usual size, `size` times as much it is.
    void send(int from, int to, double bytes, double line_s, double size, long number, std::function<void()> arrived) {
        const Hop& hop = problem_.hop(NodeIndex(from), NodeIndex(to));
        const auto rate = [](const PerNode<double>& of, int node) { return of.empty() ? INFINITY : of[at(node)]; };
        const double up = rate(problem_.up_bytes_per_s, from), down = rate(problem_.down_bytes_per_s, to);
        if (!problem_.shared_links) {
            events_[{now_ + hop.latency_s + problem_.overhead_s + line_s * size, number}] = arrived;
            return;
        }
        const Sent sent{from,
                        to,
                        line_s * size,
                        std::isinf(up) ? -1 : bytes / up * size,
                        std::isinf(down) ? -1 : bytes / down * size,
                        number,
                        std::move(arrived)};
        sent.up_s < 0 ? at_line(sent) : at_uplink(sent);
    }

    /// Stands in line at a queue; returns when it is served.
    double served(double& free_s, double seconds) const {
        const double from_s = std::max(free_s, now_);
        free_s = from_s + seconds;
        return from_s;
    }

    void at_uplink(Sent sent) {
        const Hop& hop = problem_.hop(NodeIndex(sent.from), NodeIndex(sent.to));
        const double from_s = served(up_free_s_[sent.from], sent.up_s);
        sent.last_s = up_free_s_[sent.from] + hop.latency_s + problem_.overhead_s;
        events_[{from_s, sent.number}] = [=, this] { at_line(sent); };
    }

    void at_line(Sent sent) {
        const Hop& hop = problem_.hop(NodeIndex(sent.from), NodeIndex(sent.to));
        const double from_s = served(line_free_s_[hop.line], sent.line_s);
        sent.last_s = std::max(sent.last_s, line_free_s_[hop.line] + hop.latency_s + problem_.overhead_s);
        if (sent.down_s < 0)
            events_[{sent.last_s, sent.number}] = sent.arrived;
        else
            events_[{from_s + hop.latency_s + problem_.overhead_s, sent.number}] = [=, this] { at_downlink(sent); };
    }

    void at_downlink(const Sent& sent) {
        served(down_free_s_[sent.to], sent.down_s);
        events_[{std::max(sent.last_s, down_free_s_[sent.to]), sent.number}] = sent.arrived;
    }

    void hand_over(const Op& from, const Op& to) {
        const int a = node_of(from), b = node_of(to);
        const long number = next_number_++;
        if (a == b) {
            nodes_[b].ready.push_back({to, now_, number});
            return;
        }
        const Hop& hop = problem_.hop(NodeIndex(a), NodeIndex(b));
        const bool forwards = to.kind == 'F' || to.kind == 'L';
        send(a, b, forwards ? problem_.forward_bytes : problem_.backward_bytes,
             forwards ? hop.seconds_per_forward : hop.seconds_per_backward,
             problem_.sizes.empty() ? 1 : problem_.relative_size(plan_.paths[at(to.path)].microbatch), number,
             [=, this] { arrive(to, number); });
    }

    void arrive(const Op& op, long number) {
        nodes_[node_of(op)].ready.push_back({op, now_, number});
        dispatch(node_of(op));
    }

    void end(const Op& op) {
        const int node = node_of(op);
        nodes_[node].busy = false;
        makespan_s = now_;
        --all_left_;
        const char back = plan_.split_backward ? 'I' : 'B';
        if (op.kind == 'W' || op.kind == 'B') ++nodes_[node].room;
        if (op.kind == 'F') hand_over(op, op.hop + 1 < p_ ? Op{'F', op.path, op.hop + 1} : Op{'L', op.path, 0});
        if (op.kind == 'L') hand_over(op, {back, op.path, p_ > 1 ? p_ - 1 : 0});
        if (op.kind == back && op.hop > 0) hand_over(op, {back, op.path, op.hop - 1});
        if (op.kind == 'I') nodes_[node].ready.push_back({{'W', op.path, op.hop}, now_, next_number_++});
        if (--left_[node] == 0 && problem_.plan_reductions) own_part(node);
        dispatch(node);
    }

    void start(int node, std::size_t which) {
        auto& state = nodes_[node];
        const Op op = state.ready[which].op;
        state.ready.erase(state.ready.begin() + static_cast<std::ptrdiff_t>(which));
        state.busy = true;
        if (op.kind == 'F') --state.room;
        events_[{now_ + duration_s(op), next_number_++}] = [=, this] { end(op); };
    }

    void dispatch(int node) {
        auto& state = nodes_[node];
        if (state.busy) return;
        const auto admissible = [&](const Op& op) { return op.kind != 'F' || state.room > 0; };
        if (!plan_.order.empty()) {
            const auto& order = plan_.order[at(node)];
            if (state.next == order.size()) return;
            for (std::size_t k = 0; k < state.ready.size(); ++k)
                if (name(state.ready[k].op) == to_string(order[state.next]) && admissible(state.ready[k].op)) {
                    ++state.next;
                    return start(node, k);
                }
            return;
        }
        const auto rank = [&](const Ready& ready) {
            return std::tuple(ready.op.kind == 'F' && ready.op.hop == 0, ready.arrival_s, ready.number);
        };
        std::size_t best = state.ready.size();
        for (std::size_t k = 0; k < state.ready.size(); ++k)
            if (admissible(state.ready[k].op) &&
                (best == state.ready.size() || rank(state.ready[k]) < rank(state.ready[best])))
                best = k;
        if (best < state.ready.size()) start(node, best);
    }

    std::string name(const Op& op) const { return op.kind + std::to_string(plan_.paths[at(op.path)].microbatch); }

    // Reductions.
    Pieces pieces_of(int stage) const {
        const auto& own = plan_.reductions;
        if (at(stage) < own.size() && !own[at(stage)].empty()) return own[at(stage)];
        return default_pieces(static_cast<int>(plan_.stages[at(stage)].size()));
    }

    void own_part(int node) {
        const auto [stage, place] = place_.at(node);
        const int pieces = static_cast<int>(pieces_of(stage).size()), r = replicas(stage);
        if (pieces == 0) stepped_s[node] = now_ + problem_.step_seconds;
        for (int k = 0; k < pieces; ++k) {
            const int c = (place + 1 + k) % pieces;
            parts_[{stage, c, place}].insert(place);
            if (pieces_of(stage)[at(c)].form == PieceForm::exchange)
                for (int j = 0; j + 1 < r; ++j) hand_part(stage, c, place, (place + 1 + j) % r, false);
            look(stage, c, place);
        }
    }

    int replicas(int stage) const { return static_cast<int>(plan_.stages[at(stage)].size()); }

    /// Hands on what is complete at a replica.
    void look(int stage, int c, int place) {
        const Piece piece = pieces_of(stage)[at(c)];
        std::set<int> needed{place};
        for (int other = 0; other < replicas(stage); ++other)
            if (piece.form == PieceForm::exchange || (other != piece.root && piece.up[at(other)] == place))
                needed.insert(other);
        if (parts_[{stage, c, place}] != needed) return;
        if (piece.form == PieceForm::exchange || place == piece.root)
            sum(stage, c, place);
        else
            hand_part(stage, c, place, piece.up[at(place)], false);
    }

    void sum(int stage, int c, int place) {
        const Piece piece = pieces_of(stage)[at(c)];
        const int r = replicas(stage);
        for (int j = 0; piece.form == PieceForm::tree && j + 1 < r; ++j) {
            const int child = (place + 1 + j) % r;
            if (child != piece.root && piece.down[at(child)] == place) hand_part(stage, c, place, child, true);
        }
        sums_[{stage, place}].insert(c);
        if (sums_[{stage, place}].size() == pieces_of(stage).size())
            stepped_s[plan_.stages[at(stage)][at(place)]] = now_ + problem_.step_seconds;
    }

    void hand_part(int stage, int c, int from, int to, bool whole) {
        const auto& nodes = plan_.stages[at(stage)];
        const double bytes = pieces_of(stage)[at(c)].share * problem_.gradient_bytes[at(stage)];
        const double occupied_s = bytes / problem_.hop(nodes[at(from)], nodes[at(to)]).bandwidth_bytes_per_s;
        const long number = next_number_++;
        send(nodes[at(from)], nodes[at(to)], bytes, occupied_s, 1, number, [=, this] {
            if (whole) return sum(stage, c, to);
            parts_[{stage, c, to}].insert(from);
            look(stage, c, to);
        });
    }

    const Problem& problem_;
    const Plan& plan_;
    int p_ = 1, all_left_ = 0;
    double now_ = 0;
    long next_number_ = 0;
    std::map<std::pair<double, long>, std::function<void()>> events_;
    std::map<int, std::pair<int, int>> place_;  ///< stage and place of each node
    std::map<int, int> left_;                   ///< operations of each node
    std::set<int> visited_;
    std::map<int, Node> nodes_;
    std::map<int, double> line_free_s_, up_free_s_, down_free_s_;
    std::map<std::tuple<int, int, int>, std::set<int>> parts_;  ///< whose parts a replica has of a piece
    std::map<std::pair<int, int>, std::set<int>> sums_;         ///< which pieces' sums it has
};

}  // namespace skippipe::reference
