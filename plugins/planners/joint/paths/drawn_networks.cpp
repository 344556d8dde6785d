// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/planners/joint/paths/drawn_networks.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "core/base/infinite.h"

namespace skippipe::planners::joint {

namespace {

constexpr std::uint64_t drawn_stream = 0x6472'6177'6E00;
constexpr std::ptrdiff_t longer_half = DrawnNetworks::count / 2;

}  // namespace

DrawnNetworks::DrawnNetworks(const Problem& problem, const Jitter& jitter, std::uint64_t seed) {
    Rng rng(seed, drawn_stream);
    for (int k = 0; k < count; ++k) {
        problems_.push_back(std::make_unique<Problem>(sample_problem(problem, jitter, rng)));
        simulators_.emplace_back(*problems_.back());
    }
}

TailCost::Value DrawnNetworks::operator()(const PlanCandidate& candidate, double cutoff_s) {
    TailCost::Value value;
    iteration_s_.clear();
    // What the longer half sums up to so far is no more than it will.
    double sum_s = 0;
    for (int k = 0; k < count; ++k) {
        Problem& drawn = *problems_[at(k)];
        if (drawn.plan_blocks && drawn.blocks != candidate.blocks) drawn.set_blocks(candidate.blocks);
        Simulator& simulator = simulators_[at(k)];
        const double seconds = simulator.times(candidate.schedule, candidate.stages).iteration_s;
        if (!std::isfinite(seconds)) return {infinite, 0};
        value.mean_end_s += mean_end_s(candidate.stages[0], simulator.node_end_s()) / count;
        iteration_s_.push_back(seconds);
        std::push_heap(iteration_s_.begin(), iteration_s_.end(), std::greater<>());
        sum_s += seconds;
        if (std::ssize(iteration_s_) > longer_half) {
            std::pop_heap(iteration_s_.begin(), iteration_s_.end(), std::greater<>());
            sum_s -= iteration_s_.back();
            iteration_s_.pop_back();
        }
        if (sum_s / static_cast<double>(longer_half) >= cutoff_s) return {infinite, 0};
    }
    value.iteration_s =
        std::accumulate(iteration_s_.begin(), iteration_s_.end(), 0.0) / static_cast<double>(longer_half);
    return value;
}

}  // namespace skippipe::planners::joint
