// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/planners/joint/order_annealer.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "plugins/planners/common/search.h"

namespace skippipe {

namespace {

std::size_t at(int index) { return static_cast<std::size_t>(index); }
constexpr double infinite = std::numeric_limits<double>::infinity();

}  // namespace

std::vector<std::vector<std::uint32_t>> dispatch_order(const Problem& problem, const PlanCandidate& candidate) {
    const FlatPlan& schedule = candidate.schedule;
    Plan plan;
    plan.stages = candidate.stages;
    const auto timeline = Simulator(PlannedProblem(problem, candidate.blocks).get()).timeline(schedule, plan);
    if (!timeline.complete) return {};
    std::vector<int> index_of(at(problem.microbatches), 0);
    for (int i = 0; i < schedule.count(); ++i) index_of[at(schedule.microbatches[at(i)])] = i;
    std::vector<const Span*> spans;
    for (const auto& span : timeline.spans)
        if (is_compute(span.kind)) spans.push_back(&span);
    std::stable_sort(spans.begin(), spans.end(), [](const Span* a, const Span* b) { return a->start_s < b->start_s; });
    std::vector<std::vector<std::uint32_t>> order(at(problem.nodes()));
    for (const Span* span : spans) {
        const int index = index_of[at(span->microbatch)];
        const int* path = schedule.path(index);
        const int hop = static_cast<int>(std::find(path, path + schedule.length, span->node) - path);
        const int back = 2 * schedule.length - hop;
        const int step = span->kind == SpanKind::forward           ? hop
                         : span->kind == SpanKind::loss            ? schedule.length
                         : span->kind == SpanKind::weight_gradient ? back | weight_gradient_bit
                                                                   : back;
        order[at(span->node)].push_back(pack(index, step));
    }
    return order;
}

OrderAnnealer::OrderAnnealer(const Problem& problem, const PlanCandidate& start, std::uint64_t seed,
                             std::uint64_t stream)
    : own_(problem.plan_blocks ? std::optional(problem) : std::nullopt),
      problem_(own_ ? *own_ : problem),
      rng_(seed, stream),
      candidate_(start),
      best_(start),
      times_(problem_, start),
      exact_(has_dedicated_lines(problem)),
      simulator_(problem_) {
    if (own_) own_->set_blocks(start.blocks);
    times_.set_stages(candidate_);
    const auto& schedule = candidate_.schedule;
    cap_ = problem.constraints.uniform_execution ? problem.visits_cap(schedule.length) : schedule.count();
    visits_.assign(at(problem.stages), 0);
    for (const int node : schedule.nodes) ++visits_[at(stage_of(node))];
    const bool several = schedule.count() > 1, hops = schedule.length > 1,
               placed = problem.placement.empty() && problem.nodes() > 1;
    const bool slack =
        schedule.length < problem.stages && cap_ * (problem.stages - 1) > schedule.count() * (schedule.length - 1);
    const auto add = [&](Move move, int weight, bool possible) {
        moves_.insert(moves_.end(), possible ? at(weight) : 0, move);
    };
    add(Move::shift, 5, true);
    add(Move::critical, 5, true);
    add(Move::exchange, 3, several && hops);
    add(Move::relocate, 3, several && hops);
    add(Move::turn, 1, schedule.length > 2);
    add(Move::cross, 3, several && schedule.length > 2);
    add(Move::sibling, 1, hops || !problem.balance_data_nodes);
    add(Move::restage, 1, hops && slack);
    add(Move::places, 1, placed);
    add(Move::blocks, 4, own_ && problem.stages > 1);
    add(Move::sizes, 3, several && problem.sizes.size() > 1);
    change_ = {.all = true, .orders = 0, .before = &orders_, .paths = &paths_};
    current_s_ = cost_s(infinite);
    best_s_ = iteration_s_;
    if (std::isfinite(best_s_)) accept();
}

void OrderAnnealer::run(std::int64_t steps, double first_s, double last_s,
                        const std::function<double()>& clock_fraction, const std::function<bool(double)>& go_on) {
    if (!std::isfinite(best_s_)) return;
    cool_down(steps, candidate_.schedule.count() * (2 * candidate_.schedule.length + 1), first_s, last_s / first_s,
              clock_fraction, go_on, [this](double temperature_s) { step(temperature_s); });
}

void OrderAnnealer::stay(std::int64_t steps, double temperature_s) {
    if (!std::isfinite(best_s_)) return;
    for (std::int64_t k = 0; k < steps; ++k) step(temperature_s);
}

double OrderAnnealer::cost_s(double cutoff_s) {
    iteration_s_ = exact_ ? times_.iteration_s(candidate_, cutoff_s, change_)
                          : simulator_.times(candidate_.schedule, candidate_.stages, cutoff_s).iteration_s;
    if (!std::isfinite(iteration_s_)) return infinite;
    mean_end_s_ = mean_end_s(candidate_.stages[0], exact_ ? times_.node_end_s() : simulator_.node_end_s());
    return iteration_s_ + mean_end_weight * mean_end_s_;
}

void OrderAnnealer::accept() {
    if (!exact_) times_.iteration_s(candidate_, infinite, change_);
    times_.accept(candidate_);
}

bool OrderAnnealer::step(double temperature_s) {
    ++steps_;
    change_.all = false;
    change_.orders = 0;
    hops_.clear();
    paths_.clear();
    u_ = blocks_from_ = size_i_ = -1;
    if (!propose()) {
        undo();
        return false;
    }
    const double before_mean_s = mean_end_s_, threshold_s = current_s_ - temperature_s * std::log(1 - rng_.uniform());
    const double candidate_s = cost_s(threshold_s - mean_end_weight * (0.99 * before_mean_s - temperature_s));
    if (!(candidate_s < threshold_s)) {
        undo();
        if (exact_) times_.reject(candidate_, change_);
        mean_end_s_ = before_mean_s;
        return false;
    }
    current_s_ = candidate_s;
    accept();
    if (iteration_s_ < best_s_) {
        best_s_ = iteration_s_;
        best_ = candidate_;
    }
    return true;
}

void OrderAnnealer::save(int node) {
    for (int k = 0; k < change_.orders; ++k)
        if (orders_[at(k)].first == node) return;
    if (at(change_.orders) == orders_.size()) orders_.emplace_back();
    orders_[at(change_.orders)].first = node;
    orders_[at(change_.orders++)].second = candidate_.schedule.order[at(node)];
}

void OrderAnnealer::change_path(int index) {
    if (std::find(paths_.begin(), paths_.end(), index) == paths_.end()) paths_.push_back(index);
}

void OrderAnnealer::set_hop(int index, int hop, int node) {
    int& place = candidate_.schedule.path(index)[hop];
    hops_.push_back({index, hop, place});
    change_path(index);
    --visits_[at(stage_of(place))];
    ++visits_[at(stage_of(node))];
    place = node;
}

void OrderAnnealer::undo() {
    if (u_ >= 0) return exchange_places(u_, v_);
    if (blocks_from_ >= 0) return move_blocks(blocks_to_, blocks_from_, blocks_moved_);
    if (size_i_ >= 0) return exchange_sizes(size_i_, size_j_);
    for (int k = 0; k < change_.orders; ++k)
        candidate_.schedule.order[at(orders_[at(k)].first)].swap(orders_[at(k)].second);
    for (std::size_t k = hops_.size(); k-- > 0;) {
        const auto& saved = hops_[k];
        int& place = candidate_.schedule.path(saved.index)[saved.hop];
        --visits_[at(stage_of(place))];
        ++visits_[at(stage_of(saved.node))];
        place = saved.node;
    }
    for (const int index : paths_) times_.set_path(candidate_, index);
}

}  // namespace skippipe
