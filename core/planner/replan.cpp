// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/planner/replan.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "core/experiment/validate.h"
#include "core/planner/paths.h"
#include "core/planner/rest.h"

namespace skippipe {

namespace {

std::size_t at(int index) { return static_cast<std::size_t>(index); }
constexpr double infinite = std::numeric_limits<double>::infinity();
using Kind = NetworkChange::Kind;

bool is_slower(const NetworkChange& change) { return change.kind == Kind::line_slower || change.kind == Kind::node_slower; }

[[noreturn]] void refuse_memory(const Problem& problem, const RestPlan& plan) {
    int tightest = 0;
    for (const auto& ring : plan.stages)
        for (const int node : ring)
            if (problem.memory[at(node)] < problem.memory[at(tightest)]) tightest = node;
    throw InputError("replan", "memory blocks the rest: the microbatches underway wait for each other's (TC1)",
                     fmt::format("{} takes {} microbatches, and those on living nodes keep what they hold", problem.node_ids[at(tightest)], problem.memory[at(tightest)]),
                     "Let a node join the stage that lost one, or begin the iteration again without the lost node");
}

void check(const Problem& problem, const std::vector<NetworkChange>& changes) {
    for (const auto& change : changes) {
        const bool line = change.kind == Kind::line_slower;
        if (change.node < 0 || change.node >= problem.nodes() || (line && (change.to < 0 || change.to >= problem.nodes())))
            throw InputError("replan", "a change names a node that does not exist", "", "Name nodes of the experiment");
        if (line && !problem.reachable(change.node, change.to))
            throw InputError("replan", fmt::format("there is no line from {} to {} to be slower", problem.node_ids[at(change.node)], problem.node_ids[at(change.to)]), "",
                             "Name two nodes between which messages go");
        if (is_slower(change) && !(change.factor > 0 && std::isfinite(change.factor)))
            throw InputError("replan", fmt::format("a factor of {:g}", change.factor), "it says how many times slower, in seconds for a second", "Give a number above 0");
        if (change.kind == Kind::node_joins && change.stage >= problem.stages)
            throw InputError("replan", fmt::format("there is no stage {}", change.stage), "", fmt::format("Name a stage from 0 to {}", problem.stages - 1));
    }
}

void check_start(const Problem& problem, const Plan& plan, const IterationProgress& progress) {
    if (plan.paths.empty()) throw InputError("replan", "the plan has no paths", "there is nothing to run", "Give a plan of this experiment");
    if (progress.steps_done.size() != plan.paths.size() || progress.stage_end_s.size() != plan.stages.size())
        throw InputError("replan", fmt::format("progress of {} microbatches and {} stages for a plan of {} and {}", progress.steps_done.size(), progress.stage_end_s.size(),
                                               plan.paths.size(), plan.stages.size()),
                         "it must be of this very plan", "Take it from the plan's own timeline");
    const auto stage_of = stage_of_nodes(plan, problem.nodes());
    for (const auto& path : plan.paths)
        for (const int node : path.nodes)
            if (stage_of[at(node)] < 0)
                throw InputError("replan", fmt::format("microbatch {} has run on {}, which holds no stage", path.microbatch, problem.node_ids[at(node)]),
                                 "the plan is already one for the rest of an iteration", "Replan the plan that the iteration began with, or begin the iteration again");
}

class Replanner {
public:
    Replanner(const Problem& problem, const Plan& plan, const ReplanRequest& request) : problem_(problem), plan_(plan), request_(request) {
        const bool slower = std::any_of(request.changes.begin(), request.changes.end(), is_slower);
        if (slower) changed_ = changed_network(problem, request.changes);
        else check(problem, request.changes);
        for (const auto& change : request.changes)
            if (change.kind == Kind::node_down) down_.push_back(change.node);
        rest_ = make_rest(problem, plan, request.progress, down_);
        simulator_.emplace(network(), rest_, problem, plan.stages);
        length_ = rest_.length;
        best_.nodes = rest_.before;
        best_.stages = plan.stages;
        best_.stage_of = stage_of_nodes(plan, problem.nodes());
        base_order_ = plan.order;
        index_operations();
        limit_ = request.operations > 0 ? request.operations : 250'000 + 2'500 * static_cast<std::int64_t>(problem.nodes());
    }

    Replan run() {
        Replan result{.at_s = rest_.at_s, .redone_forwards = rest_.redone_forwards, .lost_gradients = rest_.lost_gradients};
        result.unchanged_s = stuck() ? infinite : try_out(best_.nodes);
        update_stages();
        check_rings();
        repair();
        result.repaired_s = best_s_;
        const auto repaired = best_.nodes;
        if (!request_.changes.empty() && std::isfinite(best_s_)) improve();
        finish(result, repaired);
        return result;
    }

private:
    const Problem& network() const { return changed_ ? *changed_ : problem_; }
    const std::string& name(int node) const { return problem_.node_ids[at(node)]; }
    bool living(int node) const { return rest_.down[at(node)] == 0; }
    int stage_of(int node) const { return best_.stage_of[at(node)]; }
    bool finished(int i) const { return rest_.begin[at(i)] == Rest::Begin::finished; }
    bool fresh(int i) const { return rest_.begin[at(i)] == Rest::Begin::fresh; }
    int* path(std::vector<int>& nodes, int i) const { return nodes.data() + static_cast<std::ptrdiff_t>(i) * length_; }
    const int* path(const std::vector<int>& nodes, int i) const { return nodes.data() + static_cast<std::ptrdiff_t>(i) * length_; }

    // --- who holds what -----------------------------------------------------------------------------------------------------------------

    void update_stages() {
        for (auto& ring : best_.stages) std::erase_if(ring, [&](int node) { return !living(node); });
        for (const auto& change : request_.changes) {
            if (change.kind != Kind::node_joins) continue;
            if (best_.stage_of[at(change.node)] >= 0)
                throw InputError("replan", fmt::format("{} holds stage {} and cannot join", name(change.node), stage_of(change.node)), "a node holds one stage",
                                 "Let a node join that the plan left out");
            const int stage = change.stage >= 0 ? change.stage : neediest_stage();
            best_.stages[at(stage)].push_back(change.node);
            best_.stage_of[at(change.node)] = stage;
            joined_.push_back(change.node);
        }
        load_s_.assign(at(problem_.nodes()), 0.0);
        for (int i = 0; i < rest_.count(); ++i)
            for (int hop = 0; !finished(i) && hop < length_; ++hop)
                if (living(path(best_.nodes, i)[hop])) load_s_[at(path(best_.nodes, i)[hop])] += work_s(i, hop, path(best_.nodes, i)[hop]);
        visits_.assign(at(problem_.stages), 0);
        for (const int node : best_.nodes) ++visits_[at(stage_of(node))];
    }

    /// Whether the plan as it is needs a lost node: for an operation, or for an all-reduce that has not ended.
    bool stuck() const {
        if (std::find(rest_.forced.begin(), rest_.forced.end(), 1) != rest_.forced.end()) return true;
        for (const int node : down_) {
            const int s = stage_of(node);
            const bool visited = s >= 0 && std::any_of(rest_.before.begin(), rest_.before.end(), [&](int other) { return stage_of(other) == s; });
            if (!visited) continue;
            const double end_s = rest_.stage_end_s[at(s)];
            if (end_s < 0 || end_s + all_reduce_seconds(problem_, plan_.stages[at(s)], s) + problem_.step_seconds > rest_.at_s) return true;
        }
        return false;
    }

    /// Where most work is left for each node; a stage without a node before all.
    int neediest_stage() const {
        std::vector<double> work(at(problem_.stages), 0.0);
        for (int i = 0; i < rest_.count(); ++i)
            for (int hop = 0; !finished(i) && hop < length_; ++hop) {
                const int node = path(best_.nodes, i)[hop];
                work[at(stage_of(node))] += work_s(i, hop, node);
            }
        int neediest = 0;
        const auto need = [&](int s) { return best_.stages[at(s)].empty() && work[at(s)] > 0 ? infinite : work[at(s)] / std::max<double>(1, static_cast<double>(best_.stages[at(s)].size())); };
        for (int s = 1; s < problem_.stages; ++s)
            if (need(s) > need(neediest)) neediest = s;
        return neediest;
    }

    void check_rings() const {
        if (!problem_.charge_all_reduce) return;
        for (int s = 0; s < problem_.stages; ++s) {
            const auto& ring = best_.stages[at(s)];
            for (std::size_t k = 0; ring != plan_.stages[at(s)] && ring.size() > 1 && visits_[at(s)] > 0 && k < ring.size(); ++k) {
                const int from = ring[k], to = ring[(k + 1) % ring.size()];
                if (network().reachable(from, to)) continue;
                throw InputError("replan", fmt::format("all-reduce of stage {}: no line from {} to {}", s, name(from), name(to)), "its ring closes over the nodes that are left",
                                 "Draw that link, or let the two nodes leave together");
            }
        }
    }

    /// Seconds that a node would work for what is left of a microbatch at a hop.
    double work_s(int i, int hop, int node) const {
        const auto& net = network();
        const int next = rest_.next_step[at(i)];
        const double forward_s = net.forward_s(node, std::max(0, stage_of(node))) * net.relative_size(rest_.microbatches[at(i)]);
        double seconds = hop >= next || rest_.redo[at(i * length_ + hop)] != 0 ? forward_s : 0;
        if (hop == 0 && next <= length_) seconds += net.loss_factor * forward_s;
        if (2 * length_ - hop >= next) seconds += net.backward_factor * forward_s;
        return seconds;
    }

    /// There with the activation and back with the gradient on an idle network; infinite without a line.
    double round_s(int from, int to) const {
        if (from == to) return 0;
        const Hop &there = network().hop(from, to), &back = network().hop(to, from);
        if (there.line == no_line || back.line == no_line) return infinite;
        return there.latency_s + there.seconds_per_forward + back.latency_s + back.seconds_per_backward + 2 * network().overhead_s;
    }

    /// When a node could have done a hop's work, roughly: what it has to do already, the way there and on, the work. Neighbours that are down do not count.
    double cost_s(const std::vector<int>& nodes, int i, int hop, int node) const {
        const int before = path(nodes, i)[(hop + length_ - 1) % length_], after = path(nodes, i)[(hop + 1) % length_];
        double seconds = load_s_[at(node)] + work_s(i, hop, node);
        if (length_ > 1 && living(before)) seconds += round_s(before, node);
        if (length_ > 1 && living(after)) seconds += round_s(node, after);
        return seconds;
    }

    /// Up to `most` living nodes of the stage in the order of their costs, without `except`.
    std::vector<int> best_siblings(const std::vector<int>& nodes, int i, int hop, int stage, int except, std::size_t most) const {
        std::vector<std::pair<double, int>> costs;
        for (const int node : best_.stages[at(stage)]) {
            const double seconds = node == except ? infinite : cost_s(nodes, i, hop, node);
            if (std::isfinite(seconds) && network().memory[at(node)] > 0) costs.emplace_back(seconds, node);
        }
        most = std::min(most, costs.size());
        std::partial_sort(costs.begin(), costs.begin() + static_cast<std::ptrdiff_t>(most), costs.end());
        std::vector<int> siblings;
        for (std::size_t k = 0; k < most; ++k) siblings.push_back(costs[k].second);
        return siblings;
    }

    /// Moves a hop to another node, with its load.
    void move(std::vector<int>& nodes, int i, int hop, int node) {
        int& place = path(nodes, i)[hop];
        if (living(place)) load_s_[at(place)] -= work_s(i, hop, place);
        place = node;
        load_s_[at(node)] += work_s(i, hop, node);
    }

    // --- what paths take ----------------------------------------------------------------------------------------------------------------

    double try_out(const std::vector<int>& nodes, double cutoff_s = infinite) {
        trial_.nodes = nodes;
        trial_.stages = best_.stages;
        trial_.stage_of = best_.stage_of;
        trial_.order = bound_order(nodes);
        return simulator_->times(trial_, cutoff_s).iteration_s;
    }

    bool spent(double share = 1) const { return static_cast<double>(simulator_->operations()) > share * static_cast<double>(limit_); }

    void index_operations() {
        for (int i = 0; i < rest_.count(); ++i) {
            const int m = rest_.microbatches[at(i)];
            if (m >= static_cast<int>(index_of_.size())) index_of_.resize(at(m + 1), -1);
            index_of_[at(m)] = i;
        }
        for (const auto& open : rest_.open) {
            const int id = simulator_->id(open.index, open.step, open.weight ? RestSimulator::weight : RestSimulator::plain);
            if (open.running) begun_.push_back(id);
            else if (open.weight) weights_.push_back(id);
        }
        std::sort(begun_.begin(), begun_.end());
        std::sort(weights_.begin(), weights_.end());
    }

    /// Of an operation on a node with the given paths: its id; -1 where the node does not run it, or no longer.
    int id_of(const std::vector<int>& nodes, int node, const Operation& operation) const {
        const int i = index_of_[at(operation.microbatch)];
        const int* way = path(nodes, i);
        const int hop = static_cast<int>(std::find(way, way + length_, node) - way);
        if (hop == length_) return -1;
        const int step = operation.kind == OpKind::F ? hop : operation.kind == OpKind::L ? length_ : 2 * length_ - hop;
        const bool redo = operation.kind == OpKind::F && rest_.redo[at(i * length_ + hop)] != 0;
        return simulator_->id(i, step, redo ? RestSimulator::redo : operation.kind == OpKind::W ? RestSimulator::weight : RestSimulator::plain);
    }

    /// Whether it has yet to start (a weight gradient: also where only that is left).
    bool is_left(int id) const {
        if (std::binary_search(begun_.begin(), begun_.end(), id)) return false;
        if (simulator_->step_of(id) >= rest_.next_step[at(simulator_->index_of(id))] || RestSimulator::variant_of(id) == RestSimulator::redo) return true;
        return std::binary_search(weights_.begin(), weights_.end(), id);
    }

    /// What the order binds with these paths; a node that takes a microbatch over runs it when it can.
    std::vector<std::vector<int>> bound_order(const std::vector<int>& nodes) const {
        std::vector<std::vector<int>> order;
        if (base_order_.empty()) return order;
        order.resize(at(problem_.nodes()));
        for (int n = 0; n < problem_.nodes() && at(n) < base_order_.size(); ++n) {
            if (!living(n)) continue;
            for (const auto& operation : base_order_[at(n)]) {
                const int id = id_of(nodes, n, operation);
                if (id >= 0 && is_left(id)) order[at(n)].push_back(id);
            }
        }
        return order;
    }

    // --- repair -------------------------------------------------------------------------------------------------------------------------

    void repair() {
        auto nodes = best_.nodes;
        for (int i = 0; i < rest_.count(); ++i)
            if (!finished(i)) pass_over_lost_stages(nodes, i);
        std::vector<std::pair<int, int>> hops;
        for (int i = 0; i < rest_.count(); ++i)
            for (int hop = 0; !finished(i) && hop < length_; ++hop)
                if (const int node = path(nodes, i)[hop]; !living(node) && rest_.forced[at(i * length_ + hop)] != 0) hops.emplace_back(i, hop);
        const auto dealt = hops.empty() ? std::vector<int>{} : deal(nodes, hops);
        for (const auto& [i, hop] : hops) take_over(nodes, i, hop);
        best_.nodes = nodes;
        best_s_ = try_out(nodes);
        if (!dealt.empty()) {
            if (const double seconds = try_out(dealt, best_s_); seconds < best_s_) adopt(dealt, seconds);
        }
        try_siblings(hops);
        if (!std::isfinite(best_s_)) throttle();
    }

    void adopt(const std::vector<int>& nodes, double seconds) {
        best_s_ = seconds;
        best_.nodes = nodes;
        std::fill(load_s_.begin(), load_s_.end(), 0.0);
        for (int i = 0; i < rest_.count(); ++i)
            for (int hop = 0; !finished(i) && hop < length_; ++hop)
                if (const int node = path(nodes, i)[hop]; living(node)) load_s_[at(node)] += work_s(i, hop, node);
    }

    /// The plainest repair: the living siblings take over in turn. Empty where a line is missing.
    std::vector<int> deal(std::vector<int> nodes, const std::vector<std::pair<int, int>>& hops) const {
        std::vector<std::size_t> turn(at(problem_.stages), 0);
        for (const auto& [i, hop] : hops) {
            const int stage = stage_of(path(nodes, i)[hop]);
            const auto& ring = best_.stages[at(stage)];
            if (ring.empty()) return {};
            const int node = ring[turn[at(stage)]++ % ring.size()];
            if (!std::isfinite(cost_s(nodes, i, hop, node)) || network().memory[at(node)] <= 0) return {};
            path(nodes, i)[hop] = node;
        }
        return nodes;
    }

    void take_over(std::vector<int>& nodes, int i, int hop) {
        const int lost = path(nodes, i)[hop], stage = stage_of(lost);
        const auto siblings = best_siblings(nodes, i, hop, stage, lost, 1);
        if (!siblings.empty()) return move(nodes, i, hop, siblings.front());
        if (best_.stages[at(stage)].empty()) refuse_stage(stage, i);
        throw InputError("replan", fmt::format("microbatch {}: no node of stage {} that is left can take over from {}", rest_.microbatches[at(i)], stage, name(lost)),
                         "the others have no line to and from its neighbours on the path, or no memory",
                         fmt::format("Draw a link to one of them, or let a node join stage {}", stage));
    }

    [[noreturn]] void refuse_stage(int stage, int i) const {
        const bool passed = stage > 0 && rest_.next_step[at(i)] > 0 && !fresh(i);
        throw InputError("replan", fmt::format("stage {} has no node left, and microbatch {} needs it", stage, rest_.microbatches[at(i)]),
                         stage == 0 ? std::string("stage 0 holds tokens, head and loss: no path passes over it")
                         : passed   ? std::string("it is underway, and CC2, CC3 or what has run already leave it no other way")
                                    : fmt::format("no path of {} stages within CC2 and CC3 passes over it", length_),
                         fmt::format("Let a node join stage {}, or plan the iteration again without what has run", stage));
    }

    /// Moves forced microbatches among siblings for as long as the exact rest gets shorter.
    void try_siblings(const std::vector<std::pair<int, int>>& hops) {
        for (bool better = true; better && !spent(0.5);) {
            better = false;
            for (const auto& [i, hop] : hops) {
                for (const int sibling : best_siblings(best_.nodes, i, hop, stage_of(path(best_.nodes, i)[hop]), path(best_.nodes, i)[hop], 3)) {
                    if (spent(0.5)) return;
                    auto nodes = best_.nodes;
                    path(nodes, i)[hop] = sibling;
                    const double seconds = try_out(nodes, best_s_);
                    if (seconds >= best_s_) continue;
                    adopt(nodes, seconds);
                    better = true;
                }
            }
        }
    }

    /// Where first come, first served deadlocks: only some microbatches at a time go forward, and what happens then becomes the order.
    void throttle() {
        std::vector<std::vector<int>> started;
        const int data_nodes = std::max(1, static_cast<int>(best_.stages[0].size()));
        for (const int window : {2 * data_nodes, data_nodes, 2, 1}) {
            RestPlan throttled = best_;
            throttled.window = window;
            const double seconds = simulator_->times(throttled, best_s_).iteration_s;
            if (seconds >= best_s_) continue;
            best_s_ = seconds;
            started = simulator_->started();
        }
        if (started.empty()) refuse_memory(network(), best_);
        base_order_.assign(at(problem_.nodes()), {});
        for (int n = 0; n < problem_.nodes(); ++n)
            for (const int id : started[at(n)]) base_order_[at(n)].push_back(operation_of(id));
        best_s_ = try_out(best_.nodes);
    }

    Operation operation_of(int id) const {
        const int step = simulator_->step_of(id), m = rest_.microbatches[at(simulator_->index_of(id))];
        const auto variant = RestSimulator::variant_of(id);
        const OpKind kind = variant == RestSimulator::weight                             ? OpKind::W
                            : variant == RestSimulator::redo || step < length_           ? OpKind::F
                            : step == length_                                            ? OpKind::L
                            : rest_.split_backward                                       ? OpKind::I
                                                                                         : OpKind::B;
        return {kind, m};
    }

    // --- a stage without nodes ----------------------------------------------------------------------------------------------------------

    void pass_over_lost_stages(std::vector<int>& nodes, int i) {
        for (int hop = 1; hop < length_; ++hop) {
            const int lost = path(nodes, i)[hop], stage = stage_of(lost);
            if (living(lost) || rest_.forced[at(i * length_ + hop)] == 0 || !best_.stages[at(stage)].empty()) continue;
            if (hop < rest_.fixed_hops(i) || !pass_over(nodes, i, hop)) refuse_stage(stage, i);
            hop = std::max(0, rest_.fixed_hops(i) - 1);  // the others may have changed places
        }
    }

    /// Another stage instead of the one at `hop`, wherever CC3 lets it stand after what is fixed, on the node that costs least.
    bool pass_over(std::vector<int>& nodes, int i, int hop) {
        int left = 0;
        for (int s = 1; s < problem_.stages; ++s) left += best_.stages[at(s)].empty() ? 0 : 1;
        const int cap = problem_.constraints.uniform_execution ? uniform_cap(problem_.microbatches, length_, left + 1) : problem_.microbatches;
        std::vector<int> best;
        double best_s = infinite;
        const int first = std::max(1, rest_.fixed_hops(i));
        for (int s = 1; s < problem_.stages; ++s) {
            if (best_.stages[at(s)].empty() || visits_[at(s)] >= cap) continue;
            for (int place = first; place < length_; ++place) {
                std::vector<int> way(path(nodes, i), path(nodes, i) + length_), stages;
                way.erase(way.begin() + hop);
                way.insert(way.begin() + place, best_.stages[at(s)].front());
                for (const int node : way) stages.push_back(stage_of(node));
                if (!allowed_sequence(problem_, stages)) continue;
                auto candidate = nodes;
                std::copy(way.begin(), way.end(), path(candidate, i));
                const auto siblings = best_siblings(candidate, i, place, s, -1, 1);
                if (siblings.empty()) continue;
                path(candidate, i)[place] = way[at(place)] = siblings.front();
                const double seconds = cost_s(candidate, i, place, siblings.front());
                if (seconds >= best_s || !connected(way)) continue;
                best_s = seconds;
                best = way;
            }
        }
        if (best.empty()) return false;
        --visits_[at(stage_of(path(nodes, i)[hop]))];
        std::vector<char> forced(at(length_), 0);
        for (int k = 0; k < length_; ++k) {
            const int node = best[at(k)];
            const int* way = path(nodes, i);
            if (std::find(way, way + length_, node) == way + length_) {
                ++visits_[at(stage_of(node))];
                load_s_[at(node)] += work_s(i, k, node);
            }
            forced[at(k)] = !living(node) && (fresh(i) || k >= rest_.next_step[at(i)] || rest_.forced[at(i * length_ + k)] != 0);
        }
        std::copy(best.begin(), best.end(), path(nodes, i));
        std::copy(forced.begin(), forced.end(), rest_.forced.begin() + static_cast<std::ptrdiff_t>(i) * length_);
        return true;
    }

    bool connected(const std::vector<int>& way) const {
        for (std::size_t k = 0; k < way.size(); ++k) {
            const int from = way[k], to = way[(k + 1) % way.size()];
            if (living(from) && living(to) && !std::isfinite(round_s(from, to))) return false;
        }
        return true;
    }

    // --- improvement --------------------------------------------------------------------------------------------------------------------

    void improve() {
        threshold_s_ = request_.threshold * (best_s_ - rest_.at_s);
        for (const auto& change : request_.changes) {
            if (change.kind == Kind::node_joins) fill(change.node);
            if (change.kind == Kind::node_slower && change.factor > 1 && living(change.node)) relieve([&](const std::vector<int>&, int, int, int node) { return node == change.node; });
            if (change.kind == Kind::line_slower && change.factor > 1)
                relieve([&](const std::vector<int>& nodes, int i, int hop, int node) { return crosses(change, nodes, i, hop, node); });
        }
        while (move_single() || exchange()) {
        }
    }

    bool crosses(const NetworkChange& change, const std::vector<int>& nodes, int i, int hop, int node) const {
        const int line = network().hop(change.node, change.to).line;
        const int before = path(nodes, i)[(hop + length_ - 1) % length_], after = path(nodes, i)[(hop + 1) % length_];
        for (const int other : {before, after})
            if (other != node && (network().hop(other, node).line == line || network().hop(node, other).line == line)) return true;
        return false;
    }

    /// Adopts nodes that differ from the best where each path that changes is worth the threshold.
    bool accept(const std::vector<int>& nodes) {
        if (spent()) return false;
        int changed = 0;
        for (int i = 0; i < rest_.count(); ++i) changed += std::equal(path(nodes, i), path(nodes, i) + length_, path(best_.nodes, i)) ? 0 : 1;
        if (changed == 0) return false;
        const double limit_s = best_s_ - changed * threshold_s_;
        const double seconds = try_out(nodes, limit_s);
        if (seconds >= limit_s) return false;
        adopt(nodes, seconds);
        return true;
    }

    using Concerns = std::function<bool(const std::vector<int>&, int, int, int)>;

    /// Takes microbatches off what has become slow: all that have not started, half of them, a quarter, ...
    void relieve(const Concerns& concerns) {
        std::vector<std::pair<int, int>> hops;
        for (int i = rest_.count() - 1; i >= 0; --i)
            for (int hop = 1; fresh(i) && hop < length_; ++hop)
                if (concerns(best_.nodes, i, hop, path(best_.nodes, i)[hop])) hops.emplace_back(i, hop);
        for (std::size_t count = hops.size(); count > 0 && !spent(); count /= 2) {
            auto nodes = best_.nodes;
            const auto load_s = load_s_;
            for (std::size_t k = 0; k < count; ++k) {
                const auto [i, hop] = hops[k];
                const int node = path(nodes, i)[hop];
                if (!concerns(nodes, i, hop, node)) continue;
                for (const int sibling : best_siblings(nodes, i, hop, stage_of(node), node, 4)) {
                    if (concerns(nodes, i, hop, sibling)) continue;
                    move(nodes, i, hop, sibling);
                    break;
                }
            }
            load_s_ = load_s;
            if (accept(nodes)) return;
        }
    }

    /// Gives a node that has joined its share of what has not started, taken from the siblings with most to do.
    void fill(int joined) {
        const int stage = stage_of(joined);
        std::vector<std::pair<double, std::pair<int, int>>> hops;
        for (int i = 0; i < rest_.count(); ++i)
            for (int hop = 1; fresh(i) && hop < length_; ++hop)
                if (const int node = path(best_.nodes, i)[hop]; stage_of(node) == stage && node != joined && std::isfinite(cost_s(best_.nodes, i, hop, joined)))
                    hops.push_back({-load_s_[at(node)], {i, hop}});
        std::stable_sort(hops.begin(), hops.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
        for (std::size_t count = (hops.size() + 1) / 2; count > 0 && !spent(); count /= 2) {
            auto nodes = best_.nodes;
            for (std::size_t k = 0; k < count; ++k) path(nodes, hops[k].second.first)[hops[k].second.second] = joined;
            if (accept(nodes)) return;
        }
    }

    /// What has not started, the last to end first.
    std::vector<int> late_first() {
        try_out(best_.nodes);
        const auto end_s = simulator_->microbatch_end_s();
        std::vector<int> late;
        for (int i = 0; i < rest_.count(); ++i)
            if (fresh(i)) late.push_back(i);
        std::stable_sort(late.begin(), late.end(), [&](int a, int b) { return end_s[at(a)] > end_s[at(b)]; });
        return late;
    }

    /// One hop of one microbatch at a time goes to the siblings that cost least.
    bool move_single() {
        bool better = false;
        for (const int i : late_first())
            for (int hop = 1; hop < length_; ++hop) {
                const int node = path(best_.nodes, i)[hop];
                for (const int sibling : best_siblings(best_.nodes, i, hop, stage_of(node), node, 2)) {
                    if (spent()) return false;
                    auto nodes = best_.nodes;
                    path(nodes, i)[hop] = sibling;
                    better = accept(nodes) || better;
                }
            }
        return better;
    }

    /// Two microbatches exchange their nodes of a stage: where both siblings have enough to do.
    bool exchange() {
        bool better = false;
        const auto late = late_first();
        for (const int i : late)
            for (const int j : late)
                for (int hop = 1; hop < length_; ++hop) {
                    if (spent()) return false;
                    const int a = path(best_.nodes, i)[hop], b = path(best_.nodes, j)[hop];
                    if (a == b || stage_of(a) != stage_of(b)) continue;
                    if (!std::isfinite(cost_s(best_.nodes, i, hop, b)) || !std::isfinite(cost_s(best_.nodes, j, hop, a))) continue;
                    auto nodes = best_.nodes;
                    std::swap(path(nodes, i)[hop], path(nodes, j)[hop]);
                    better = accept(nodes) || better;
                }
        return better;
    }

    // --- the result ---------------------------------------------------------------------------------------------------------------------

    void finish(Replan& result, const std::vector<int>& repaired) {
        best_s_ = try_out(best_.nodes);
        const auto started = simulator_->started();
        simulator_->times(trial_, infinite, &result.rest);
        result.iteration_s = best_s_;
        for (const auto& ring : best_.stages) result.rest.used_nodes += static_cast<int>(ring.size());
        auto& made = result.plan;
        made = plan_;
        made.stages = best_.stages;
        for (int i = 0; i < rest_.count(); ++i) made.paths[at(i)].nodes.assign(path(best_.nodes, i), path(best_.nodes, i) + length_);
        made.order.clear();
        if (!base_order_.empty()) made.order = whole_order(started);
        for (const int node : joined_) result.changes.push_back(fmt::format("{} joins stage {}", name(node), stage_of(node)));
        for (int s = 0; s < problem_.stages; ++s)
            if (best_.stages[at(s)].empty() && !plan_.stages[at(s)].empty()) result.changes.push_back(fmt::format("stage {} has no node left: it is passed over", s));
        for (int i = 0; i < rest_.count(); ++i) describe(i, repaired, result);
        if (plan_.order.empty() && !base_order_.empty()) result.changes.push_back("nodes work in a bound order: first come, first served would deadlock (TC1)");
        if (made != plan_) made.note = fmt::format("replanned at {:.6g} s: {} paths changed", rest_.at_s, result.forced_paths + result.improved_paths);
    }

    void describe(int i, const std::vector<int>& repaired, Replan& result) const {
        const int *was = path(rest_.before, i), *is = path(best_.nodes, i), *forced = path(repaired, i);
        if (std::equal(was, was + length_, is)) return;
        const bool had_to = !std::equal(was, was + length_, forced);
        ++(had_to ? result.forced_paths : result.improved_paths);
        const auto same_stages = [&] { return std::equal(was, was + length_, is, [&](int a, int b) { return stage_of(a) == stage_of(b); }); };
        const int m = rest_.microbatches[at(i)];
        if (!same_stages()) {
            const auto words = [&](const int* way) {
                std::string text;
                for (int k = 0; k < length_; ++k) text += (k == 0 ? "" : ", ") + name(way[k]);
                return text;
            };
            result.changes.push_back(fmt::format("microbatch {}: {} -> {} (a stage has no node left)", m, words(was), words(is)));
            return;
        }
        for (int hop = 0; hop < length_; ++hop) {
            if (was[hop] == is[hop]) continue;
            const std::string why = living(was[hop]) ? "the rest is shorter"
                                    : rest_.redo[at(i * length_ + hop)] != 0 ? fmt::format("{} is down, the forward runs again", name(was[hop]))
                                                                             : fmt::format("{} is down", name(was[hop]));
            result.changes.push_back(fmt::format("microbatch {}: {} -> {} at stage {} ({})", m, name(was[hop]), name(is[hop]), stage_of(is[hop]), why));
        }
    }

    /// Of each node: what has run (in the old order where there was one), what runs, then what is to run.
    std::vector<std::vector<Operation>> whole_order(const std::vector<std::vector<int>>& started) const {
        auto order = what_has_run(started);
        for (const int id : begun_) {
            const int i = simulator_->index_of(id);
            order[at(step_node(path(best_.nodes, i), length_, simulator_->step_of(id)))].push_back(operation_of(id));
        }
        for (std::size_t n = 0; n < order.size(); ++n)
            for (const int id : started[n]) order[n].push_back(operation_of(id));
        return order;
    }

    std::vector<std::vector<Operation>> what_has_run(const std::vector<std::vector<int>>& started) const {
        std::vector<std::vector<Operation>> order(at(problem_.nodes()));
        const auto slot = [&](int i, int step, bool weight) { return (at(i) * at(rest_.steps()) + at(step)) * 2 + (weight ? 1 : 0); };
        std::vector<char> ran(at(rest_.count()) * at(rest_.steps()) * 2, 1);
        const auto still_runs = [&](int id) { ran[slot(simulator_->index_of(id), simulator_->step_of(id), RestSimulator::variant_of(id) == RestSimulator::weight)] = 0; };
        for (const auto& ids : started) std::for_each(ids.begin(), ids.end(), still_runs);
        std::for_each(begun_.begin(), begun_.end(), still_runs);
        for (int i = 0; i < rest_.count(); ++i)
            for (int step = 0; step < rest_.steps(); ++step) {
                auto& mine = order[at(step_node(path(best_.nodes, i), length_, step))];
                if (ran[slot(i, step, false)] != 0) mine.push_back(operation_of(simulator_->id(i, step)));
                if (rest_.split_backward && step > length_ && ran[slot(i, step, true)] != 0) mine.push_back({OpKind::W, rest_.microbatches[at(i)]});
            }
        for (std::size_t n = 0; n < std::min(order.size(), plan_.order.size()); ++n) {
            std::map<std::pair<OpKind, int>, std::size_t> place;  // what ran on a lost node has none, and comes first
            for (std::size_t k = 0; k < plan_.order[n].size(); ++k) place[{plan_.order[n][k].kind, plan_.order[n][k].microbatch}] = k + 1;
            const auto place_of = [&](const Operation& o) {
                const auto found = place.find({o.kind, o.microbatch});
                return found == place.end() ? 0 : found->second;
            };
            std::stable_sort(order[n].begin(), order[n].end(), [&](const Operation& a, const Operation& b) { return place_of(a) < place_of(b); });
        }
        return order;
    }

    const Problem& problem_;
    const Plan& plan_;
    const ReplanRequest& request_;
    std::optional<Problem> changed_;
    std::vector<int> down_, joined_;
    Rest rest_;
    std::optional<RestSimulator> simulator_;
    int length_ = 1;
    RestPlan best_, trial_;
    double best_s_ = infinite, threshold_s_ = 0;
    std::int64_t limit_ = 0;
    std::vector<std::vector<Operation>> base_order_;   ///< empty: dispatch decides
    std::vector<int> index_of_;                        ///< release index of each microbatch's number
    std::vector<int> begun_, weights_;                 ///< ids that run; weight gradients that wait after their step
    std::vector<double> load_s_;                       ///< of each node: work left with the best paths
    std::vector<int> visits_;                          ///< of each stage
};

}  // namespace

Problem changed_network(const Problem& problem, const std::vector<NetworkChange>& changes) {
    check(problem, changes);
    Problem network = problem;
    for (const auto& change : changes) {
        if (change.kind == Kind::node_slower) network.seconds_per_sample_per_block[at(change.node)] *= change.factor;
        if (change.kind != Kind::line_slower) continue;
        const int line = problem.hop(change.node, change.to).line;
        for (auto& hop : network.hops) {
            if (hop.line != line) continue;
            hop.latency_s *= change.factor;
            hop.bandwidth_bytes_per_s /= change.factor;
            hop.seconds_per_forward *= change.factor;
            hop.seconds_per_backward *= change.factor;
        }
    }
    return network;
}

Replan replan(const Problem& given, const Plan& plan, const ReplanRequest& request) {
    const PlannedProblem planned(given, plan.blocks);
    const Problem& problem = planned.get();
    check_start(problem, plan, request.progress);
    return Replanner(problem, plan, request).run();
}

}  // namespace skippipe
