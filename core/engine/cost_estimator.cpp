// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/engine/cost_estimator.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "core/base/index.h"
#include "core/base/statistics.h"
#include "core/engine/costs.h"
#include "core/planner/timeline/evaluator.h"

namespace skippipe {

namespace {

/// No transfer is free: what is quicker than the clock can tell still has a factor.
constexpr double shortest_s = 1e-6;

std::optional<OpKind> operation_of(SpanKind kind) {
    switch (kind) {
        case SpanKind::forward: return OpKind::F;
        case SpanKind::loss: return OpKind::L;
        case SpanKind::backward: return OpKind::B;
        case SpanKind::input_gradient: return OpKind::I;
        case SpanKind::weight_gradient: return OpKind::W;
        default: return std::nullopt;
    }
}

double median_of(const std::deque<double>& values) { return median(std::vector<double>(values.begin(), values.end())); }

/// The factors of `all` by their histories; those without one get the median.
std::vector<double> factors(const std::map<int, std::deque<double>>& histories, std::size_t all) {
    std::vector<double> known;
    for (const auto& [index, history] : histories) known.push_back(median_of(history));
    std::vector<double> result(all, known.empty() ? 1 : median(known));
    for (const auto& [index, history] : histories) result[at(index)] = median_of(history);
    return result;
}

double way_s(const Hop& hop) { return hop.latency_s + hop.seconds_per_forward; }

/// What a way may change by without anybody's noticing: a twentieth of a forward on a middling node.
double least_way_s(const Problem& problem) {
    double blocks = 0;
    for (const int of_stage : problem.blocks) blocks += of_stage;
    return 0.05 * median(problem.seconds_per_sample_per_block) * problem.samples * blocks / std::max(1, problem.stages);
}

std::string text_of(const Problem& problem, const std::vector<NetworkChange>& changes, double threshold) {
    if (changes.empty()) return "";
    const auto size = [](const NetworkChange& change) { return std::abs(std::log(change.factor)); };
    const auto& most = *std::max_element(changes.begin(), changes.end(),
                                         [&](const auto& a, const auto& b) { return size(a) < size(b); });
    const auto what = most.kind == NetworkChange::Kind::node_slower
                          ? problem.node_ids[at(most.node)]
                          : "line " + problem.line_names[at(problem.hop(most.node, most.to).line)];
    const auto others = changes.size() - 1;
    const auto how = most.factor > 1 ? fmt::format("takes {:.3g} x as long", most.factor)
                                     : fmt::format("is {:.3g} x as fast", 1 / most.factor);
    return fmt::format("{} {}{}", what, how,
                       others == 0 ? ""
                                   : fmt::format("; {} other{} changed by more than {:.0f} %", others,
                                                 others == 1 ? "" : "s", 100 * threshold));
}

}  // namespace

void CostEstimator::remember(History& history, std::vector<double> ratios) {
    if (ratios.empty()) return;
    history.push_back(median(std::move(ratios)));
    if (history.size() > window) history.pop_front();
}

void CostEstimator::observe(const Plan& plan, const std::vector<Span>& spans) {
    const PlannedProblem planned(drawn_, plan.blocks);
    const Problem& problem = planned.get();
    std::map<int, std::vector<double>> forward, backward, loss, lines;
    for (const auto& span : spans) {
        if (const auto kind = operation_of(span.kind)) {
            const double drawn_s = operation_seconds(problem, {*kind, span.microbatch}, span.node, span.stage);
            if (drawn_s <= 0) continue;
            (*kind == OpKind::F   ? forward
             : *kind == OpKind::L ? loss
                                  : backward)[span.node]
                .push_back((span.end_s - span.start_s) / drawn_s);
        } else if (measure_links_ && is_transfer(span.kind) && problem.reachable(span.node, span.to_node)) {
            const Hop& hop = problem.hop(span.node, span.to_node);
            const double drawn_s =
                hop.latency_s + problem.overhead_s +
                problem.relative_size(span.microbatch) *
                    (span.kind == SpanKind::transfer_backward ? hop.seconds_per_backward : hop.seconds_per_forward);
            if (drawn_s > 0) lines[hop.line].push_back(std::max(shortest_s, span.end_s - span.ready_s) / drawn_s);
        }
    }
    // First what backwards and losses take in forwards, then how fast a node is by all that it ran.
    const auto relative = [&](const std::map<int, std::vector<double>>& kind) {
        std::vector<double> ratios;
        for (const auto& [node, values] : kind)
            if (const auto found = forward.find(node); found != forward.end())
                ratios.push_back(median(values) / median(found->second));
        return ratios;
    };
    remember(backward_, relative(backward));
    remember(loss_, relative(loss));
    const double backwards = backward_.empty() ? 1 : median_of(backward_);
    for (auto& [node, values] : forward) {
        if (const auto found = backward.find(node); found != backward.end())
            for (const double ratio : found->second) values.push_back(ratio / backwards);
        remember(nodes_[node], std::move(values));
    }
    if (measure_links_) take_rings(problem, plan, spans, lines);
    for (auto& [line, values] : lines) remember(lines_[line], std::move(values));
    ++observed_;
    apply();
}

/// Lines that only all-reduces use, by how long these took the node that was last to be ready.
void CostEstimator::take_rings(const Problem& problem, const Plan& plan, const std::vector<Span>& spans,
                               std::map<int, std::vector<double>>& lines) const {
    std::map<int, double> took_s;
    for (const auto& span : spans) {
        if (span.kind != SpanKind::all_reduce) continue;
        const auto found = took_s.try_emplace(span.stage, span.end_s - span.start_s).first;
        found->second = std::min(found->second, span.end_s - span.start_s);
    }
    std::map<int, std::vector<double>> only_here;
    for (const auto& [stage, seconds] : took_s) {
        const auto& ring = plan.stages[at(stage)];
        const double drawn_s = all_reduce_seconds(problem, ring, StageIndex(stage));
        if (drawn_s <= 0) continue;
        for (std::size_t i = 0; i < ring.size(); ++i)
            if (const int line = problem.hop(ring[i], ring[(i + 1) % ring.size()]).line;
                line != no_line && !lines.contains(line))
                only_here[line].push_back(std::max(shortest_s, seconds) / drawn_s);
    }
    lines.merge(only_here);
}

void CostEstimator::apply() {
    now_ = drawn_;
    if (!backward_.empty()) now_.backward_factor *= median_of(backward_);
    if (!loss_.empty()) now_.loss_factor *= median_of(loss_);
    const auto of_node = factors(nodes_, now_.node_ids.size());
    for (std::size_t n = 0; n < of_node.size(); ++n) now_.seconds_per_sample_per_block[n] *= of_node[n];
    if (lines_.empty()) return;
    const auto of_line = factors(lines_, now_.line_names.size());
    for (auto& hop : now_.hops)
        if (hop.line != no_line) hop.slow(of_line[at(hop.line)]);
}

Drift CostEstimator::drift(double threshold) const {
    Drift drift{planned_for_, {}, {}};
    drift.planned_for.backward_factor = now_.backward_factor;
    drift.planned_for.loss_factor = now_.loss_factor;
    const auto beyond = [threshold](double factor) { return std::abs(std::log(factor)) > std::log1p(threshold); };
    for (NodeIndex node = 0; node < now_.nodes(); ++node) {
        const double factor =
            now_.seconds_per_sample_per_block[at(node)] / planned_for_.seconds_per_sample_per_block[at(node)];
        if (beyond(factor))
            drift.changes.push_back({.kind = NetworkChange::Kind::node_slower, .node = node, .factor = factor});
    }
    const double matters_s = least_way_s(now_);
    std::vector<bool> seen(now_.line_names.size(), false);
    for (NodeIndex from = 0; from < now_.nodes(); ++from)
        for (NodeIndex to = 0; to < now_.nodes(); ++to) {
            const int line = now_.hop(from, to).line;
            if (from == to || line == no_line || seen[at(line)] || way_s(planned_for_.hop(from, to)) <= 0) continue;
            seen[at(line)] = true;
            const double now_s = way_s(now_.hop(from, to)), planned_s = way_s(planned_for_.hop(from, to)),
                         factor = now_s / planned_s;
            if (std::abs(now_s - planned_s) > matters_s && beyond(factor))
                drift.changes.push_back(
                    {.kind = NetworkChange::Kind::line_slower, .node = from, .to = to, .factor = factor});
        }
    drift.text = text_of(now_, drift.changes, threshold);
    return drift;
}

}  // namespace skippipe
