// SPDX-License-Identifier: GPL-3.0-or-later
// Bounds from work that somebody has to do.
#include "core/planner/bounds/bound_terms.h"

#include <algorithm>
#include <numeric>

#include "core/base/index.h"
#include "core/planner/bounds/places_bound.h"

namespace skippipe::bounds {

double Bounds::all_work_s() const {
    double rate = 0;
    for (NodeIndex n = 0; n < problem_.nodes(); ++n) rate += 1 / sample_block_s(n);
    const double work = totals_.work_of(problem_.microbatches) *
                        (problem_.blocks[0] * (work_factor_ + problem_.loss_factor) + fewest_others() * work_factor_);
    return (work + spare_work()) / rate;
}

double Bounds::fewest_others() const {
    std::vector<int> blocks(problem_.blocks.begin() + 1, problem_.blocks.end());
    std::sort(blocks.begin(), blocks.end());
    return std::accumulate(blocks.begin(), blocks.begin() + std::max(0, length_ - 1), 0.0);
}

double Bounds::others_work_s() const {
    if (length_ < 2 || !problem_.placement.empty()) return 0;
    std::vector<double> seconds;
    for (NodeIndex n = 0; n < problem_.nodes(); ++n) seconds.push_back(sample_block_s(n));
    std::sort(seconds.begin(), seconds.end());
    double rate = 0;
    for (int i = 0; i < problem_.nodes() - data_nodes_; ++i) rate += 1 / seconds[at(i)];
    const auto [head_s, tail_s] = around_s();
    return rate > 0 ? head_s + totals_.work_of(problem_.microbatches) * fewest_others() * work_factor_ / rate + tail_s
                    : 0;
}

std::pair<double, double> Bounds::around_s() const {
    double first_forward_s = infinite, last_backward_s = infinite;
    for (const NodeIndex n : candidates(0)) {
        first_forward_s = std::min(first_forward_s, problem_.forward_s(n, 0));
        last_backward_s = std::min(last_backward_s, problem_.backward_s(n, 0));
    }
    // Split: the last operation may be a weight gradient, which nothing follows.
    return {first_forward_s + shortest_forward_s_,
            problem_.split_backward ? 0 : shortest_backward_s_ + last_backward_s};
}

double Bounds::spare_work() const {
    return totals_.spare * totals_.work_of(fewest_visits(StageIndex(problem_.stages - 1))) * work_factor_;
}

double Bounds::spare_way_s() const {
    if (totals_.spare == 0 || length_ < problem_.stages) return 0;
    double fastest_s = infinite;
    for (NodeIndex n = 0; n < problem_.nodes(); ++n) fastest_s = std::min(fastest_s, sample_block_s(n));
    return totals_.spare * fastest_s * way_factor_;
}

int Bounds::fewest_visits(StageIndex stage) const {
    if (stage == 0) return problem_.microbatches;
    if (length_ == problem_.stages) return problem_.microbatches;
    if (!problem_.constraints.uniform_execution) return 0;
    return std::max(0, problem_.microbatches * (length_ - 1) - (problem_.stages - 2) * problem_.visits_cap(length_));
}

Spread Bounds::stage_work(StageIndex stage) const {
    const int r = size(stage), visits = fewest_visits(stage);
    if (r <= 0 || visits == 0) return {};
    const double factor = problem_.blocks[stage] * (work_factor_ + (stage == 0 ? problem_.loss_factor : 0));
    std::vector<double> seconds;
    for (const NodeIndex n : candidates(stage)) seconds.push_back(sample_block_s(n) * factor);
    std::sort(seconds.begin(), seconds.end());
    if (static_cast<int>(seconds.size()) < r) return {};
    double rate = 0;
    for (int i = 0; i < r; ++i) rate += 1 / seconds[at(i)];
    const double work_s =
        std::max(totals_.work_of(visits) / rate, totals_.work_of(ceil_div(visits, r)) * seconds.front());
    if (stage == 0) return {work_s + reduce_.seconds, reduce_.which};
    const auto [head_s, tail_s] = around_s();
    const Spread reduce = shortest_reduce(stage, r);
    return {head_s + work_s + std::max(tail_s, reduce.seconds), reduce.seconds > tail_s ? reduce.which : std::string()};
}

StageNeeds Bounds::stage_needs() const {
    StageNeeds needs{.data_nodes = data_nodes_, .finish_s = reduce_.seconds};
    for (StageIndex s = 0; s < problem_.stages; ++s) {
        needs.fewest_visits.push_back(fewest_visits(s));
        needs.reduce_s.push_back(size(s) > 0 ? shortest_reduce(s, size(s)).seconds : 0);
    }
    return needs;
}

double Bounds::places_s(double from_s) const {
    return length_ < 2 ? from_s : places_bound_s(problem_, length_, *ways_, stage_needs(), from_s);
}

}  // namespace skippipe::bounds
