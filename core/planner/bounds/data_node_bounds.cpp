// SPDX-License-Identifier: GPL-3.0-or-later
// Bounds from the memory and the way of what data nodes start.
#include "core/planner/bounds/bound_terms.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "core/base/index.h"
#include "core/planner/bounds/data_node.h"
#include "core/planner/bounds/lagrangian_bound.h"
#include "core/planner/bounds/shortest_cycles.h"

namespace skippipe::bounds {

std::vector<double> Bounds::loops_s() const {
    std::vector<double> loops;
    if (length_ > 1 && problem_.nodes() > 300) {  // cubic otherwise
        double fastest_s = infinite;
        for (NodeIndex b = 0; b < problem_.nodes(); ++b)
            fastest_s = std::min(fastest_s, sample_block_s(b) * fewest_blocks_ * way_factor_);
        for (const NodeIndex d : candidates(0))
            loops.push_back(problem_.forward_s(d, 0) * (work_factor_ + problem_.loss_factor) +
                            (length_ - 1) * fastest_s + spare_way_s() +
                            length_ * (shortest_forward_s_ + shortest_backward_s_));
        return loops;
    }
    const ShortestCycles cycles(problem_, length_, spare_way_s());
    for (const NodeIndex d : candidates(0)) loops.push_back(cycles.shortest_s(d));
    return loops;
}

std::vector<double> Bounds::data_node_bounds_s(By by) const {
    if (by == By::path) return loops_s_;
    const auto nodes = candidates(0);
    std::vector<double> bounds;
    for (std::size_t i = 0; i < loops_s_.size(); ++i)
        bounds.push_back(data_node_s(problem_, nodes[i], ceil_div(problem_.microbatches, data_nodes_), loops_s_[i]));
    return bounds;
}

NodeIndex Bounds::slowest_data_node(By by) const {
    if (problem_.placement.empty() || !problem_.balance_data_nodes) return -1;
    const auto bounds = data_node_ends_s(by);
    return candidates(0)[static_cast<std::size_t>(std::max_element(bounds.begin(), bounds.end()) - bounds.begin())];
}

std::vector<double> Bounds::data_node_ends_s(By by) const {
    auto ends_s = data_node_bounds_s(by);
    for (std::size_t k = 0; k < ends_s.size(); ++k)
        ends_s[k] += k < spreads_.size() ? spreads_[k].seconds : reduce_.seconds;
    return ends_s;
}

double Bounds::reduction_after_first_s(By by) const {
    if (spreads_.empty() || !problem_.balance_data_nodes) return 0;
    const auto bounds = data_node_bounds_s(by);
    return *std::min_element(bounds.begin(), bounds.end()) + lone_s_;
}

double Bounds::data_nodes_s(By by) const {
    auto bounds = data_node_ends_s(by);
    std::sort(bounds.begin(), bounds.end());
    const std::size_t worst = problem_.balance_data_nodes ? at(data_nodes_ - 1) : 0;
    return worst < bounds.size() ? bounds[worst] : 0;
}

void Bounds::hold() {
    const auto relative = totals_.relative_sizes();
    auto sizes = relative;
    sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
    const std::size_t stride = (sizes.size() + most_sizes - 1) /
                               most_sizes;  // of many sizes, those between count as the next smaller one taken
    std::size_t next = 0;
    for (const double size : relative) {
        if (next < sizes.size() && size >= sizes[next]) {
            const Problem alike = resized(problem_, sizes[next]);
            Totals totals(alike);
            totals.spare = totals_.spare;
            const auto loops = Bounds(alike, length_, totals).loops_s_;
            longest_hold_s_ = *std::min_element(loops.begin(), loops.end());
            next += stride;
        }
        all_holds_s_ += longest_hold_s_;
    }
}

double Bounds::holding_s() const {
    std::vector<double> places;
    for (const NodeIndex d : candidates(0)) places.push_back(std::min(problem_.memory[d], problem_.microbatches));
    std::sort(places.rbegin(), places.rend());
    const double held = std::accumulate(
        places.begin(), places.begin() + std::min<std::ptrdiff_t>(data_nodes_, std::ssize(places)), 0.0);
    return all_holds_s_ > 0 && held > 0 ? std::max(longest_hold_s_, all_holds_s_ / held) + reduce_.seconds : 0;
}

double Bounds::shared_s(double from_s, double effort) const {
    if (length_ < 2) return from_s;
    const double step_s = problem_.step_seconds;
    const StageNeeds needs = stage_needs();
    const auto visits = visits_in_time(problem_, length_, *ways_, needs);
    return lagrangian_bound_s(problem_, length_, data_nodes_,
                              {.finish_s = reduce_.seconds + step_s,
                               .besides_s = spare_way_s(),
                               .visits = [&](double time_s) { return visits(time_s - step_s); }},
                              from_s + step_s, effort) -
           step_s;
}

}  // namespace skippipe::bounds
