// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/planner/replan/replan_state.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/base/format.h"
#include "core/base/index.h"
#include "core/planner/replan/rest_reductions.h"

namespace skippipe {

namespace {

using Kind = NetworkChange::Kind;

/// Weights and the two moments of the optimizer, each as many bytes.
constexpr double fetched_per_weight_byte = 3;
/// Of more nodes an answer is wanted as soon.
constexpr int most_nodes_counted = 1000;

}  // namespace

ReplanState::ReplanState(const Problem& the_problem, const Plan& the_plan, const ReplanRequest& the_request)
    : problem(the_problem), plan(the_plan), request(the_request) {
    if (std::any_of(request.changes.begin(), request.changes.end(),
                    [](const NetworkChange& change) { return change.slows(); }))
        changed_ = changed_network(problem, request.changes);
    for (const auto& change : request.changes)
        if (change.kind == Kind::node_down) down_.push_back(change.node);
    best.stages = plan.stages;
    best.reductions = pieces_of(problem, plan);
    best.stage_of = stage_of_nodes(plan, request.progress, problem.nodes());
    for (const auto& change : request.changes)
        if (change.kind == Kind::node_joins) joins_.push_back(change.stage);
    make_residual_with_joins();
    best.nodes = residual.before;
    simulator_.emplace(network(), residual, problem, plan.stages);
    order = plan.order;
    index_operations();
    limit_ = request.operations > 0
                 ? request.operations
                 : 250'000 + 2'500 * static_cast<std::int64_t>(std::min(problem.nodes(), most_nodes_counted));
}

/// Lost gradients are computed again where the stage has a node left, or gets one. Which that is can depend on what is
/// left.
void ReplanState::make_residual_with_joins() {
    auto stages = plan.stages;
    for (auto& ring : stages)
        std::erase_if(ring, [&](NodeIndex node) { return std::find(down_.begin(), down_.end(), node) != down_.end(); });
    const auto make = [&] {
        PerStage<char> keeps;
        for (const auto& ring : stages) keeps.push_back(request.keep_gradients && !ring.empty());
        residual = make_residual(problem, plan, request.progress, down_, keeps);
        length = residual.length;
        best.nodes = residual.before;
    };
    make();
    constexpr NodeIndex some_node = 0;  // only how many there are matters
    for (StageIndex& stage : joins_) {
        if (stage < 0) stage = neediest_stage(stages);
        stages[stage].push_back(some_node);
    }
    if (!joins_.empty()) make();
    if (request.losses == LossRule::drop) drop_microbatches(residual, request.progress);
}

// --- who holds what
// ---------------------------------------------------------------------------------------------------------------------

void ReplanState::update_stages() {
    for (auto& ring : best.stages) std::erase_if(ring, [&](NodeIndex node) { return !living(node); });
    auto stage = joins_.begin();
    for (const auto& change : request.changes)
        if (change.kind == Kind::node_joins) join(change.node, *stage++);
    count_load();
    visits.assign(at(problem.stages), 0);
    for (const NodeIndex node : best.nodes) ++visits[stage_of(node)];
    if (problem.plan_reductions) update_reductions();
}

/// For the replicas that there are now.
void ReplanState::update_reductions() {
    for (StageIndex s = 0; s < problem.stages; ++s) {
        const auto& nodes = best.stages[s];
        if (nodes == plan.stages[s]) continue;
        auto pieces = rest_pieces(network(), s, nodes, best.reductions[s], plan.stages[s]);
        if (!pieces && visits[s] > 0)
            throw InputError("replan", fmt::format("no way to reduce stage {} over the nodes that are left", s),
                             "each needs a line between two of them that is missing",
                             "Draw links between them, or let those without leave together");
        best.reductions[s] = pieces ? std::move(*pieces) : Pieces{};
    }
}

bool ReplanState::may_unbalance() const {
    const auto& lost = request.progress.lost;
    return !problem.balance_data_nodes || best.stages[0] != plan.stages[0] ||
           std::any_of(lost.begin(), lost.end(), [](const auto& node) { return node.stage == 0; });
}

void ReplanState::join(NodeIndex node, StageIndex stage) {
    if (best.stage_of[node] >= 0 && living(node))
        throw InputError("replan", fmt::format("{} holds stage {} and cannot join", name(node), stage_of(node)),
                         "a node holds one stage", "Let a node join that the plan left out");
    if (!living(node))
        throw InputError("replan", fmt::format("{} is down and cannot join", name(node)),
                         "a node that was lost comes back with the next iteration", "Let another node join");
    fetch_weights(node, stage);
    best.stages[stage].push_back(node);
    best.stage_of[node] = stage;
}

void ReplanState::fetch_weights(NodeIndex node, StageIndex stage) {
    const auto& ring = best.stages[stage];
    if (ring.empty()) {
        said.push_back(
            fmt::format("{} joins stage {}, which has no other node: with weights that it brings", name(node), stage));
        return;
    }
    const double bytes = fetched_per_weight_byte * problem.weight_bytes(stage);
    auto& free_s = residual.line_free_s;
    if (network().shared_links) free_s.resize(network().line_names.size(), 0.0);
    Span best_fetch{SpanKind::transfer_forward, -1, node, stage, -1, residual.at_s, 0, infinite, bytes};
    for (const NodeIndex sibling : ring) {
        const Hop& hop = network().hop(sibling, node);
        if (hop.line == no_line) continue;
        const double begin_s = std::max(residual.at_s, network().shared_links ? free_s[at(hop.line)] : 0.0);
        const double end_s =
            begin_s + bytes / network().alone_bytes_per_s(sibling, node) + hop.latency_s + network().overhead_s;
        if (end_s >= best_fetch.end_s) continue;
        best_fetch.node = sibling;
        best_fetch.start_s = begin_s;
        best_fetch.end_s = end_s;
    }
    if (best_fetch.node < 0)
        throw InputError("replan", fmt::format("{} cannot join stage {}", name(node), stage),
                         "no line brings it weights and optimizer state from a node of the stage",
                         "Draw a link to one of them, or let it join another stage");
    const Hop& hop = network().hop(best_fetch.node, node);
    if (network().shared_links)
        free_s[at(hop.line)] = best_fetch.start_s + bytes / network().alone_bytes_per_s(best_fetch.node, node);
    residual.available_s[node] = best_fetch.end_s;
    fetches.push_back(best_fetch);
    said.push_back(fmt::format("{} joins stage {}: it fetches {} from {} until {:.6g} s", name(node), stage,
                               format_si(bytes, "B"), name(best_fetch.node), best_fetch.end_s));
}

bool ReplanState::stuck() const {
    if (std::find(residual.forced.begin(), residual.forced.end(), 1) != residual.forced.end()) return true;
    for (const NodeIndex node : down_) {
        const StageIndex s = stage_of(node);
        const bool visited = s >= 0 && std::any_of(residual.before.begin(), residual.before.end(),
                                                   [&](NodeIndex other) { return stage_of(other) == s; });
        if (!visited) continue;
        const double end_s = residual.stage_end_s[s];
        const bool reduced =
            problem.plan_reductions && !residual.stage_stepped_s.empty() && residual.stage_stepped_s[s] >= 0;
        if (reduced) continue;
        if (problem.plan_reductions || end_s < 0 ||
            end_s + all_reduce_seconds(problem, plan.stages[s], s) + problem.step_seconds > residual.at_s)
            return true;
    }
    return false;
}

/// Where most work is left for each node; a stage without a node before all.
StageIndex ReplanState::neediest_stage(const PerStage<std::vector<NodeIndex>>& stages) const {
    PerStage<double> work(at(problem.stages), 0.0);
    for (ReleaseIndex i = 0; i < residual.count(); ++i)
        for (int hop = 0; !finished(i) && hop < length; ++hop) {
            const NodeIndex node = path(best.nodes, i)[hop];
            work[stage_of(node)] += work_s(i, hop, node);
        }
    StageIndex neediest = 0;
    const auto need = [&](StageIndex s) {
        return stages[s].empty() && work[s] > 0 ? infinite
                                                : work[s] / std::max<double>(1, static_cast<double>(stages[s].size()));
    };
    for (StageIndex s = 1; s < problem.stages; ++s)
        if (need(s) > need(neediest)) neediest = s;
    return neediest;
}

// --- what it costs, roughly
// -------------------------------------------------------------------------------------------------------------

double ReplanState::work_s(ReleaseIndex i, int hop, NodeIndex node) const {
    const auto& net = network();
    const int next = residual.next_step[i], back = 2 * length - hop;
    const double forward_s =
        net.forward_s(node, StageIndex(std::max<int>(0, stage_of(node)))) * net.relative_size(residual.microbatches[i]);
    double seconds = hop >= next || residual.redone(i, hop) ? forward_s : 0;
    if (hop == 0 && (next <= length || residual.redone(i, length))) seconds += net.loss_factor * forward_s;
    if (back >= next || residual.redone(i, back)) seconds += net.backward_factor * forward_s;
    return seconds;
}

double ReplanState::round_s(NodeIndex from, NodeIndex to) const {
    if (from == to) return 0;
    const Hop &there = network().hop(from, to), &back = network().hop(to, from);
    if (there.line == no_line || back.line == no_line) return infinite;
    return there.latency_s + there.seconds_per_forward + back.latency_s + back.seconds_per_backward +
           2 * network().overhead_s;
}

double ReplanState::cost_s(const std::vector<NodeIndex>& nodes, ReleaseIndex i, int hop, NodeIndex node) const {
    const NodeIndex before = path(nodes, i)[(hop + length - 1) % length], after = path(nodes, i)[(hop + 1) % length];
    double seconds = load_s[node] + work_s(i, hop, node) + std::max(0.0, residual.available_s[node] - residual.at_s);
    if (length > 1 && living(before)) seconds += round_s(before, node);
    if (length > 1 && living(after)) seconds += round_s(node, after);
    return seconds;
}

std::vector<NodeIndex> ReplanState::best_siblings(const std::vector<NodeIndex>& nodes, ReleaseIndex i, int hop,
                                                  StageIndex stage, NodeIndex except, std::size_t most) const {
    std::vector<std::pair<double, NodeIndex>> costs;
    for (const NodeIndex node : best.stages[stage]) {
        const double seconds = node == except ? infinite : cost_s(nodes, i, hop, node);
        if (std::isfinite(seconds) && network().memory[node] > 0) costs.emplace_back(seconds, node);
    }
    most = std::min(most, costs.size());
    std::partial_sort(costs.begin(), costs.begin() + static_cast<std::ptrdiff_t>(most), costs.end());
    std::vector<NodeIndex> siblings;
    for (std::size_t k = 0; k < most; ++k) siblings.push_back(costs[k].second);
    return siblings;
}

void ReplanState::move(std::vector<NodeIndex>& nodes, ReleaseIndex i, int hop, NodeIndex node) {
    NodeIndex& place = path(nodes, i)[hop];
    if (living(place)) load_s[place] -= work_s(i, hop, place);
    place = node;
    load_s[node] += work_s(i, hop, node);
}

void ReplanState::count_load() {
    load_s.assign(at(problem.nodes()), 0.0);
    for (ReleaseIndex i = 0; i < residual.count(); ++i)
        for (int hop = 0; !finished(i) && hop < length; ++hop)
            if (const NodeIndex node = path(best.nodes, i)[hop]; living(node)) load_s[node] += work_s(i, hop, node);
}

void ReplanState::adopt(const std::vector<NodeIndex>& nodes, double seconds) {
    best_s = seconds;
    best.nodes = nodes;
    count_load();
}

// --- what it takes, exactly
// -------------------------------------------------------------------------------------------------------------

double ReplanState::try_out(const std::vector<NodeIndex>& nodes, double cutoff_s, Timeline* timeline) {
    trial_.nodes = nodes;
    trial_.stages = best.stages;
    trial_.reductions = best.reductions;
    trial_.stage_of = best.stage_of;
    trial_.order = bound_order(nodes);
    const std::int64_t before = simulator_->operations();
    const double seconds = simulator_->times(trial_, cutoff_s, timeline).iteration_s;
    if (problem.nodes() > most_nodes_counted && request.operations == 0)
        reserved_ = std::max(reserved_, 2 * (simulator_->operations() - before));
    return seconds;
}

void ReplanState::index_operations() {
    for (ReleaseIndex i = 0; i < residual.count(); ++i) {
        const MicrobatchIndex m = residual.microbatches[i];
        if (at(m) >= index_of_.size()) index_of_.resize(at(m + 1), -1);
        index_of_[m] = i;
    }
    for (const auto& open : residual.open) {
        const int id = simulator_->id(open.index, open.step,
                                      open.weight ? ResidualSimulator::weight
                                      : open.redo ? ResidualSimulator::redo
                                                  : ResidualSimulator::plain);
        if (open.running)
            begun_.push_back(id);
        else if (open.weight)
            weights_.push_back(id);
    }
    std::sort(begun_.begin(), begun_.end());
    std::sort(weights_.begin(), weights_.end());
}

/// Of an operation on a node with the given paths: its id; -1 where the node does not run it, or no longer.
int ReplanState::id_of(const std::vector<NodeIndex>& nodes, NodeIndex node, const Operation& operation) const {
    const ReleaseIndex i = index_of_[operation.microbatch];
    const NodeIndex* way = path(nodes, i);
    const int hop = static_cast<int>(std::find(way, way + length, node) - way);
    if (hop == length) return -1;
    const int step = operation.kind == OpKind::F ? hop : operation.kind == OpKind::L ? length : 2 * length - hop;
    return simulator_->id(i, step,
                          operation.kind == OpKind::W ? ResidualSimulator::weight
                          : residual.redone(i, step)  ? ResidualSimulator::redo
                                                      : ResidualSimulator::plain);
}

/// Whether it has yet to start (a weight gradient: also where only that is left).
bool ReplanState::is_left(int id) const {
    if (std::binary_search(begun_.begin(), begun_.end(), id)) return false;
    const ReleaseIndex i = simulator_->index_of(id);
    const int step = simulator_->step_of(id);
    return step >= residual.next_step[i] || residual.redone(i, step) ||
           std::binary_search(weights_.begin(), weights_.end(), id);
}

PerNode<std::vector<int>> ReplanState::bound_order(const std::vector<NodeIndex>& nodes) const {
    PerNode<std::vector<int>> bound;
    if (order.empty()) return bound;
    bound.resize(at(problem.nodes()));
    for (NodeIndex n = 0; n < problem.nodes() && at(n) < order.size(); ++n) {
        if (!living(n)) continue;
        for (const auto& operation : order[n]) {
            const int id = id_of(nodes, n, operation);
            if (id >= 0 && is_left(id)) bound[n].push_back(id);
        }
    }
    return bound;
}

Operation ReplanState::operation_of(int id) const {
    const int step = simulator_->step_of(id);
    const MicrobatchIndex m = residual.microbatches[simulator_->index_of(id)];
    const OpKind kind = ResidualSimulator::variant_of(id) == ResidualSimulator::weight ? OpKind::W
                        : step < length                                                ? OpKind::F
                        : step == length                                               ? OpKind::L
                        : residual.split_backward                                      ? OpKind::I
                                                                                       : OpKind::B;
    return {kind, m};
}

}  // namespace skippipe
