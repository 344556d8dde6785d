// SPDX-License-Identifier: GPL-3.0-or-later
// The best plan of a tiny problem, by looking at all of them. Two classes of plans:
//   dispatched: no `order`; all placements and blocks of stages (where free), paths, and release orders;
//   ordered:    binding orders; all placements, paths, and orders of the operations on each node.
// Both are all that a plan file can say, and the second contains the timelines of the first. Written apart from
// planners and bounds.
#pragma once
#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "core/base/index.h"
#include "core/planner/plan/plan.h"
#include "core/planner/timeline/simulator.h"

namespace skippipe::enumerate {

inline constexpr double infinite = std::numeric_limits<double>::infinity();

struct Optimum {
    double iteration_s = infinite;  ///< infinite: no plan exists
    Plan plan;
};

struct Optima {
    Optimum dispatched, ordered;
    std::int64_t timelines = 0;  ///< simulated for `dispatched`
    std::int64_t branches = 0;   ///< operations placed for `ordered`
};

/// Where an instance is too large to go through, the search stops and says so.
struct Limits {
    std::int64_t timelines = 200'000, branches = 2'000'000;
};

/// An operation of one microbatch on its node; its predecessor hands over by a transfer.
struct Op {
    OpKind kind = OpKind::F;
    MicrobatchIndex microbatch = 0;
    NodeIndex node = 0;
    int before = -1, line = no_line;
    double duration_s = 0, transfer_s = 0, latency_s = 0;  ///< of the way from `before` to here
    double tail_s = 0;                                     ///< least time from its end to the end of the iteration
    int takes = 0, frees = 0;                              ///< of the node's memory, at its start and at its end
    std::vector<int> after{};
};

/// Branch and bound over the orders of all nodes for given paths: operations are placed one after another by their
/// ends, each as soon as its input and its node allow. So every set of orders comes up exactly once (ties apart), and
/// lines are served as they are handed to.
class OrderSearch {
public:
    OrderSearch(const Problem& problem, const PerStage<std::vector<NodeIndex>>& stages, Optima& best,
                const Limits& limits)
        : problem_(problem), stages_(stages), best_(best), limits_(limits), simulator_(problem) {}

    void run(const std::vector<std::vector<NodeIndex>>& paths) {
        paths_ = paths;
        build();
        ready_s_.assign(ops_.size(), 0);
        node_free_s_.assign(at(problem_.nodes()), 0);
        held_.assign(at(problem_.nodes()), 0);
        line_free_s_.assign(problem_.line_names.size(), 0);
        work_left_s_.assign(at(problem_.nodes()), 0);
        for (const auto& op : ops_) work_left_s_[at(op.node)] += op.duration_s;
        sequence_.clear();
        open_.clear();
        done_.assign(ops_.size(), false);
        for (std::size_t k = 0; k < ops_.size(); ++k)
            if (ops_[k].before < 0) open_.push_back(static_cast<int>(k));
        place(0);
    }

private:
    void build() {
        ops_.clear();
        const FlatPlan places = flat_paths();
        const int length = places.length;
        finish_s_.assign(at(problem_.stages), problem_.step_seconds);
        for (StageIndex s = 0; s < problem_.stages; ++s)
            finish_s_[at(s)] += all_reduce_seconds(problem_, stages_[at(s)], s);
        for (MicrobatchIndex m = 0; m < places.count(); ++m) {
            int before = -1;
            for (int step = 0; step <= 2 * length; ++step) {
                const NodeIndex node = step_node(places.path(ReleaseIndex(int{m})), length, step);
                const StageIndex stage = places.stage_of[node];
                Op op{.microbatch = m, .node = node, .before = before};
                op.kind = step < length             ? OpKind::F
                          : step == length          ? OpKind::L
                          : problem_.split_backward ? OpKind::I
                                                    : OpKind::B;
                const double backward_s = problem_.backward_s(node, stage);
                op.duration_s = step < length    ? problem_.forward_s(node, stage)
                                : step == length ? problem_.loss_s(node)
                                                 : backward_s;
                if (op.kind == OpKind::I) op.duration_s = backward_s / 2;
                op.duration_s *= problem_.relative_size(m);
                op.takes = step < length ? 1 : 0;
                op.frees = op.kind == OpKind::B ? 1 : 0;
                if (before >= 0 && ops_[at(before)].node != node) {
                    const Hop& hop = problem_.hop(ops_[at(before)].node, node);
                    op.transfer_s = (step <= length ? hop.seconds_per_forward : hop.seconds_per_backward) *
                                    problem_.relative_size(m);
                    op.latency_s = hop.latency_s + problem_.overhead_s;
                    op.line = hop.line;
                }
                before = add(op);
                if (op.kind != OpKind::I) continue;
                Op weights = op;
                weights.kind = OpKind::W;
                weights.before = before;
                weights.line = no_line;
                weights.transfer_s = weights.latency_s = 0;
                weights.frees = 1;
                add(weights);
            }
        }
        for (std::size_t k = ops_.size(); k-- > 0;) {
            auto& op = ops_[k];
            op.tail_s = finish_s_[at(places.stage_of[op.node])];
            for (const int next : op.after) {
                const auto& then = ops_[at(next)];
                op.tail_s = std::max(op.tail_s, then.transfer_s + then.latency_s + then.duration_s + then.tail_s);
            }
        }
    }

    int add(const Op& op) {
        const int index = static_cast<int>(ops_.size());
        if (op.before >= 0) ops_[at(op.before)].after.push_back(index);
        ops_.push_back(op);
        return index;
    }

    FlatPlan flat_paths() const {
        FlatPlan schedule;
        schedule.length = static_cast<int>(paths_.front().size());
        schedule.split_backward = problem_.split_backward;
        schedule.stage_of.assign(at(problem_.nodes()), -1);
        for (StageIndex s = 0; s < problem_.stages; ++s)
            for (const NodeIndex node : stages_[s]) schedule.stage_of[node] = s;
        for (std::size_t m = 0; m < paths_.size(); ++m) {
            schedule.microbatches.emplace_back(m);
            schedule.nodes.insert(schedule.nodes.end(), paths_[m].begin(), paths_[m].end());
        }
        return schedule;
    }

    /// No timeline that goes on from here ends sooner.
    double bound_s(double last_end_s) const {
        double bound = 0;
        for (const int k : open_) {
            const auto& op = ops_[at(k)];
            double start_s = std::max(ready_s_[at(k)], node_free_s_[at(op.node)]);
            // It is not the next on its node, or it would have been placed by now: it follows one that ends no sooner
            // than the last.
            if (start_s + op.duration_s < last_end_s) start_s = last_end_s;
            bound = std::max(bound, start_s + op.duration_s + op.tail_s);
        }
        for (int n = 0; n < problem_.nodes(); ++n) {
            if (work_left_s_[at(n)] <= 0) continue;
            double tail_s = infinite;
            for (std::size_t k = 0; k < ops_.size(); ++k)
                if (!done_[k] && ops_[k].node == n) tail_s = std::min(tail_s, ops_[k].tail_s);
            if (tail_s < infinite) bound = std::max(bound, node_free_s_[at(n)] + work_left_s_[at(n)] + tail_s);
        }
        return bound;
    }

    void place(double last_end_s) {
        if (best_.branches > limits_.branches) return;
        if (open_.empty()) return accept();
        if (bound_s(last_end_s) >= best_.ordered.iteration_s * (1 - 1e-12)) return;
        struct Candidate {
            double end_s;
            int op;
        };
        std::vector<Candidate> candidates;
        for (const int k : open_) {
            const auto& op = ops_[at(k)];
            if (op.takes > 0 && held_[at(op.node)] >= problem_.memory[at(op.node)]) continue;
            if (op.before < 0 && twin_waits(op.microbatch)) continue;
            const double end_s = std::max(ready_s_[at(k)], node_free_s_[at(op.node)]) + op.duration_s;
            if (end_s >= last_end_s) candidates.push_back({end_s, k});
        }
        std::sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
            return a.end_s != b.end_s ? a.end_s < b.end_s : a.op < b.op;
        });
        for (const auto& [end_s, k] : candidates) branch(k, end_s);
    }

    /// Microbatches of one size with the same path are the same: the first to start is the one with the lowest number.
    bool twin_waits(MicrobatchIndex m) const {
        if (m == 0 || paths_[at(m)] != paths_[at(m - 1)]) return false;
        if (problem_.samples_of(m) != problem_.samples_of(MicrobatchIndex(m - 1))) return false;
        return std::any_of(open_.begin(), open_.end(),
                           [&](int k) { return ops_[at(k)].microbatch == m - 1 && ops_[at(k)].before < 0; });
    }

    void branch(int k, double end_s) {
        ++best_.branches;
        const auto& op = ops_[at(k)];
        const double free_before_s = node_free_s_[at(op.node)], work_before_s = work_left_s_[at(op.node)];
        const auto open_before = open_;
        std::vector<std::pair<int, double>> lines;
        std::erase(open_, k);
        done_[at(k)] = true;
        sequence_.push_back(k);
        node_free_s_[at(op.node)] = end_s;
        work_left_s_[at(op.node)] -= op.duration_s;
        held_[at(op.node)] += op.takes - op.frees;
        for (const int next : op.after) {
            const auto& then = ops_[at(next)];
            double sent_s = end_s;
            if (then.line != no_line && problem_.shared_links) {
                double& free_s = line_free_s_[at(then.line)];
                lines.push_back({then.line, free_s});
                sent_s = std::max(sent_s, free_s);
                free_s = sent_s + then.transfer_s;
            }
            ready_s_[at(next)] = sent_s + then.transfer_s + then.latency_s;
            open_.push_back(next);
        }
        place(end_s);
        for (const auto& [line, free_s] : lines) line_free_s_[at(line)] = free_s;
        held_[at(op.node)] -= op.takes - op.frees;
        work_left_s_[at(op.node)] = work_before_s;
        node_free_s_[at(op.node)] = free_before_s;
        sequence_.pop_back();
        done_[at(k)] = false;
        open_ = open_before;
    }

    /// All operations are placed: what the plan takes is for the simulator to say.
    void accept() {
        Plan plan;
        plan.split_backward = problem_.split_backward;
        plan.blocks = problem_.blocks;
        plan.stages = stages_;
        // Released as they start, which settles who is first at one instant.
        for (const int k : sequence_)
            if (ops_[at(k)].before < 0)
                plan.paths.push_back({ops_[at(k)].microbatch, paths_[at(ops_[at(k)].microbatch)]});
        plan.order.resize(at(problem_.nodes()));
        for (const int k : sequence_)
            plan.order[at(ops_[at(k)].node)].push_back({ops_[at(k)].kind, ops_[at(k)].microbatch});
        const double seconds = simulator_.times(flatten(problem_, plan), stages_).iteration_s;
        if (seconds < best_.ordered.iteration_s) best_.ordered = {seconds, plan};
    }

    const Problem& problem_;
    const PerStage<std::vector<NodeIndex>>& stages_;
    Optima& best_;
    const Limits& limits_;
    Simulator simulator_;
    std::vector<std::vector<NodeIndex>> paths_;
    std::vector<Op> ops_;
    std::vector<double> finish_s_, ready_s_, node_free_s_, line_free_s_, work_left_s_;
    std::vector<int> held_, open_, sequence_;
    std::vector<bool> done_;
};

/// All placements and sets of paths; each set is handed to both searches.
class Enumeration {
public:
    Enumeration(const Problem& problem, int length, const Limits& limits)
        : problem_(problem), length_(length), limits_(limits), simulator_(problem) {}

    /// False where the limits were reached.
    bool run(Optima& best) {
        best_ = &best;
        if (!problem_.placement.empty()) {
            stages_ = problem_.placement;
            on_placement();
        } else {
            stages_.assign(at(problem_.stages), {});
            place_node(0);
        }
        return best.timelines <= limits_.timelines && best.branches <= limits_.branches;
    }

private:
    void place_node(NodeIndex node) {
        if (node == problem_.nodes()) {
            if (sizes_fit()) on_free_placement();
            return;
        }
        place_node(NodeIndex(node + 1));  // left out
        for (auto& stage : stages_) {
            stage.push_back(node);
            place_node(NodeIndex(node + 1));
            stage.pop_back();
        }
    }

    bool sizes_fit() const {
        for (StageIndex s = 0; s < problem_.stages; ++s) {
            const int size = static_cast<int>(stages_[at(s)].size());
            if (size == 0 || (!problem_.stage_sizes.empty() && size != problem_.stage_sizes[at(s)])) return false;
        }
        return !problem_.balance_data_nodes || problem_.microbatches % static_cast<int>(stages_[0].size()) == 0;
    }

    /// The ring of each stage is as free as its nodes; what is shortest is so whatever the paths are.
    void on_free_placement() {
        const auto listed = stages_;
        for (StageIndex s = 0; s < problem_.stages; ++s) {
            auto ring = listed[at(s)];
            double least_s = infinite;
            do {
                if (!ring_reaches(ring)) continue;
                const double seconds = all_reduce_seconds(problem_, ring, s);
                if (seconds < least_s) {
                    least_s = seconds;
                    stages_[at(s)] = ring;
                }
            } while (std::next_permutation(ring.begin() + 1, ring.end()));
        }
        on_placement();
        stages_ = listed;
    }

    bool ring_reaches(const std::vector<NodeIndex>& ring) const {
        if (!problem_.charge_all_reduce || ring.size() == 1) return true;
        for (std::size_t i = 0; i < ring.size(); ++i)
            if (!problem_.reachable(ring[i], ring[(i + 1) % ring.size()])) return false;
        return true;
    }

    void on_placement() {
        stage_of_.assign(at(problem_.nodes()), -1);
        for (StageIndex s = 0; s < problem_.stages; ++s)
            for (const NodeIndex node : stages_[at(s)]) stage_of_[at(node)] = s;
        all_paths_.clear();
        for (const NodeIndex data : stages_[0]) extend({data});
        chosen_.clear();
        visits_.assign(at(problem_.stages), 0);
        starts_.assign(at(problem_.nodes()), 0);
        choose(0);
    }

    /// CC1-CC3 and the lines, there and back.
    void extend(std::vector<NodeIndex> path) {
        const auto linked = [&](NodeIndex a, NodeIndex b) {
            return problem_.reachable(a, b) && problem_.reachable(b, a);
        };
        if (static_cast<int>(path.size()) == length_) {
            if (length_ == 1 || linked(path.back(), path.front())) all_paths_.push_back(path);
            return;
        }
        for (NodeIndex node = 0; node < problem_.nodes(); ++node) {
            if (stage_of_[at(node)] <= 0 || !linked(path.back(), node)) continue;
            if (std::any_of(path.begin(), path.end(),
                            [&](NodeIndex before) { return stage_of_[at(before)] == stage_of_[at(node)]; }))
                continue;
            auto longer = path;
            longer.push_back(node);
            if (within_disorder(longer)) extend(longer);
        }
    }

    bool within_disorder(const std::vector<NodeIndex>& path) const {
        const auto& rules = problem_.constraints;
        StageIndex furthest = 0;
        int swaps = 0;
        for (std::size_t hop = 1; rules.bounded_disorder && hop < path.size(); ++hop) {
            const StageIndex stage = stage_of_[path[hop]];
            if (stage < furthest && (++swaps > rules.max_swaps || furthest - stage > rules.max_swap_distance))
                return false;
            if (stage - furthest > rules.max_passed_over + 1) return false;
            furthest = std::max(furthest, stage);
        }
        return true;
    }

    void choose(std::size_t first) {
        if (best_->timelines > limits_.timelines || best_->branches > limits_.branches) return;
        if (static_cast<int>(chosen_.size()) == problem_.microbatches) return on_paths();
        const int cap = problem_.constraints.uniform_execution ? problem_.visits_cap(length_) : problem_.microbatches;
        const int share = problem_.balance_data_nodes ? problem_.microbatches / static_cast<int>(stages_[0].size())
                                                      : problem_.microbatches;
        for (std::size_t k = first; k < all_paths_.size(); ++k) {
            const auto& path = all_paths_[k];
            bool fits = starts_[at(path[0])] < share;
            for (int hop = 1; hop < length_; ++hop) fits = fits && visits_[at(stage_of_[at(path[at(hop)])])] < cap;
            if (!fits) continue;
            change(path, +1);
            chosen_.push_back(static_cast<int>(k));
            choose(problem_.sizes.empty() ? k : 0);  // microbatches are all alike, or not
            chosen_.pop_back();
            change(path, -1);
        }
    }

    void change(const std::vector<NodeIndex>& path, int by) {
        starts_[at(path[0])] += by;
        for (int hop = 1; hop < length_; ++hop) visits_[at(stage_of_[at(path[at(hop)])])] += by;
    }

    void on_paths() {
        for (StageIndex s = 0; s < problem_.stages; ++s)
            if ((s == 0 || visits_[at(s)] > 0) && !ring_reaches(stages_[at(s)])) return;
        const double bound_s = alone_s();
        FlatPlan schedule;
        schedule.length = length_;
        schedule.split_backward = problem_.split_backward;
        schedule.stage_of = stage_of_;
        // What is released: a path, of the microbatch of that number or, where they are alike, of any.
        std::vector<std::pair<int, int>> released;
        for (std::size_t m = 0; m < chosen_.size(); ++m)
            released.emplace_back(chosen_[m], problem_.sizes.empty() ? 0 : static_cast<int>(m));
        std::sort(released.begin(), released.end());
        while (bound_s < best_->dispatched.iteration_s) {
            schedule.nodes.clear();
            schedule.microbatches.clear();
            for (const auto& [k, m] : released) {
                schedule.microbatches.emplace_back(problem_.sizes.empty() ? schedule.count() : m);
                schedule.nodes.insert(schedule.nodes.end(), all_paths_[at(k)].begin(), all_paths_[at(k)].end());
            }
            ++best_->timelines;
            const double seconds = simulator_.times(schedule, stages_, best_->dispatched.iteration_s).iteration_s;
            if (seconds < best_->dispatched.iteration_s) best_->dispatched = {seconds, plan_of(schedule)};
            if (!std::next_permutation(released.begin(), released.end())) break;
        }
        if (best_->dispatched.iteration_s < best_->ordered.iteration_s) best_->ordered = best_->dispatched;
        if (bound_s >= best_->ordered.iteration_s * (1 - 1e-12)) return;
        std::vector<std::vector<NodeIndex>> paths;
        for (const int k : chosen_) paths.push_back(all_paths_[at(k)]);
        OrderSearch(problem_, stages_, *best_, limits_).run(paths);
    }

    Plan plan_of(const FlatPlan& schedule) const {
        Plan plan;
        plan.split_backward = schedule.split_backward;
        plan.stages = stages_;
        plan.blocks = problem_.blocks;
        for (ReleaseIndex i = 0; i < schedule.count(); ++i)
            plan.paths.push_back(
                {schedule.microbatches[i], std::vector<NodeIndex>(schedule.path(i), schedule.path(i) + length_)});
        return plan;
    }

    /// Each microbatch if it were alone, and each node's work.
    double alone_s() const {
        std::vector<double> work_s(at(problem_.nodes()), 0);
        double longest_s = 0;
        for (std::size_t m = 0; m < chosen_.size(); ++m) {
            const auto& path = all_paths_[at(chosen_[m])];
            const double size = problem_.relative_size(MicrobatchIndex(m));
            double seconds = problem_.loss_s(path[0]) * size;
            work_s[at(path[0])] += seconds;
            for (int hop = 0; hop < length_; ++hop) {
                const NodeIndex a = path[at(hop)], b = path[at((hop + 1) % length_)];
                const StageIndex stage = stage_of_[a];
                const double forward_s = problem_.forward_s(a, stage) * size,
                             backward_s = problem_.backward_s(a, stage) * size;
                seconds += forward_s + (problem_.split_backward ? backward_s / 2 : backward_s);
                work_s[at(a)] += forward_s + backward_s;
                if (a == b) continue;
                seconds +=
                    problem_.hop(a, b).latency_s + problem_.overhead_s + problem_.hop(a, b).seconds_per_forward * size;
                seconds +=
                    problem_.hop(b, a).latency_s + problem_.overhead_s + problem_.hop(b, a).seconds_per_backward * size;
            }
            longest_s = std::max(longest_s, seconds);
        }
        const double finish_s = all_reduce_seconds(problem_, stages_[0], 0) + problem_.step_seconds;
        return std::max(longest_s + finish_s, *std::max_element(work_s.begin(), work_s.end()));
    }

    const Problem& problem_;
    int length_;
    const Limits& limits_;
    Simulator simulator_;
    Optima* best_ = nullptr;
    PerStage<std::vector<NodeIndex>> stages_;
    std::vector<std::vector<NodeIndex>> all_paths_;
    PerNode<StageIndex> stage_of_;
    std::vector<int> chosen_, visits_, starts_;
};

/// All ways to divide `left` blocks over the stages from `stage` on, at least one each.
template <class Visit>
void divide(PerStage<int>& blocks, std::size_t stage, int left, const Visit& visit) {
    if (stage + 1 == blocks.size()) {
        blocks[stage] = left;
        return visit(blocks);
    }
    for (int here = 1; here <= left - static_cast<int>(blocks.size() - stage - 1); ++here) {
        blocks[stage] = here;
        divide(blocks, stage + 1, left - here, visit);
    }
}

/// Best plans with paths of `length`. `complete` (may be null): false where the limits were reached.
inline Optima optimum(const Problem& problem, int length, const Limits& limits = {}, bool* complete = nullptr) {
    Optima best;
    bool all = true;
    if (problem.plan_blocks) {
        PerStage<int> blocks = problem.blocks;
        Problem divided = problem;
        divide(blocks, 0, std::accumulate(blocks.begin(), blocks.end(), 0), [&](const PerStage<int>& chosen) {
            divided.set_blocks(chosen);
            all = all && Enumeration(divided, length, limits).run(best);
        });
    } else {
        all = Enumeration(problem, length, limits).run(best);
    }
    if (complete != nullptr) *complete = all;
    return best;
}

}  // namespace skippipe::enumerate
