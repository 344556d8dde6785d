// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/engine/shaping.h"

#include <algorithm>

#include "core/planner/timeline/jitter.h"

namespace skippipe {

double drawn_factor(double deviation, std::uint64_t seed, std::initializer_list<int> numbers) {
    for (const int number : numbers) seed = Rng(seed ^ static_cast<std::uint64_t>(number)).next();
    Rng rng(seed);
    std::vector<double> factors(1);
    draw_lognormal(deviation, rng, factors);
    return factors.front();
}

void LocalLineBook::reset() {
    const std::lock_guard lock(mutex_);
    free_s_.assign(free_s_.size(), 0.0);
}

std::vector<double> LocalLineBook::free_s() const {
    const std::lock_guard lock(mutex_);
    return free_s_;
}

double LocalLineBook::reserve(int line, double earliest_s, double occupied_s) {
    const std::lock_guard lock(mutex_);
    auto& free_s = free_s_[static_cast<std::size_t>(line)];
    const double start_s = std::max(earliest_s, free_s);
    free_s = start_s + occupied_s;
    return start_s;
}

LinkShaper::LinkShaper(const Problem& problem, double jitter, std::uint64_t seed, std::vector<bool> across,
                       std::unique_ptr<LineBook> shared)
    : problem_(problem),
      all_{jitter, seed},
      across_(std::move(across)),
      shared_(std::move(shared)),
      own_(problem.line_names.size()) {
    across_.resize(problem.line_names.size());
}

void LinkShaper::vary(int line, double deviation, std::uint64_t seed) {
    if (deviation > 0)
        lines_[line] = {deviation, seed};
    else
        lines_.erase(line);
}

double LinkShaper::factor(int from_node, int to_node, Message message, int iteration, int number) const {
    double factor = 1;
    const auto draw = [&](const Variation& variation) {
        factor *= drawn_factor(variation.deviation, variation.seed,
                               {from_node, to_node, static_cast<int>(message), iteration, number});
    };
    if (all_.deviation > 0) draw(all_);
    if (lines_.empty()) return factor;
    if (const auto line = lines_.find(problem_.hop(NodeIndex(from_node), NodeIndex(to_node)).line);
        line != lines_.end())
        draw(line->second);
    return factor;
}

TransferTimes LinkShaper::shape(int from_node, int to_node, bool backward, double handed_over_s, int iteration,
                                int microbatch) {
    const Hop& hop = problem_.hop(NodeIndex(from_node), NodeIndex(to_node));
    const double times =
        factor(from_node, to_node, backward ? Message::backward : Message::forward, iteration, microbatch);
    const double occupied_s = times * (backward ? hop.seconds_per_backward : hop.seconds_per_forward) *
                              problem_.relative_size(MicrobatchIndex(microbatch));
    return carry(hop, times * hop.latency_s, occupied_s, handed_over_s);
}

TransferTimes LinkShaper::shape_reduction(int from_node, int to_node, double bytes, double handed_over_s, int iteration,
                                          int number) {
    const Hop& hop = problem_.hop(NodeIndex(from_node), NodeIndex(to_node));
    const double times = factor(from_node, to_node, Message::reduction, iteration, number);
    return carry(hop, times * hop.latency_s, times * (bytes / hop.bandwidth_bytes_per_s), handed_over_s);
}

TransferTimes LinkShaper::carry(const Hop& hop, double latency_s, double occupied_s, double handed_over_s) {
    if (!problem_.shared_links)
        return {handed_over_s, handed_over_s, handed_over_s + latency_s + problem_.overhead_s + occupied_s};
    LineBook& book = shared_ && across_[static_cast<std::size_t>(hop.line)] ? *shared_ : own_;
    const double start_s = book.reserve(hop.line, handed_over_s, occupied_s);
    return {handed_over_s, start_s, start_s + occupied_s + latency_s + problem_.overhead_s};
}

}  // namespace skippipe
