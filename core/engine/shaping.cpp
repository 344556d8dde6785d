// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/engine/shaping.h"

#include <algorithm>
#include <cmath>

#include "core/base/index.h"
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

/// `line_s`, `bytes`: without the factor `times`, by which the drawn network is slower.
ShapedTransfer LinkShaper::transfer(int from_node, int to_node, double line_s, double bytes, double times,
                                    double handed_over_s) const {
    const NodeIndex from(from_node), to(to_node);
    const Hop& hop = problem_.hop(from, to);
    const auto slower = slower_.find(hop.line);
    const double line_times = slower == slower_.end() ? times : times * slower->second;
    ShapedTransfer transfer{.from_node = from_node,
                            .to_node = to_node,
                            .latency_s = line_times * hop.latency_s,
                            .line_s = line_times * line_s,
                            .times = {.handed_over_s = handed_over_s}};
    if (!problem_.has_uplinks()) return transfer;
    const double up = problem_.up_bytes_per_s[from], down = problem_.down_bytes_per_s[to];
    if (std::isfinite(up)) {
        transfer.uplink_s = times * (bytes / up);
        transfer.next = ShapedTransfer::Queue::uplink;
    }
    if (std::isfinite(down)) transfer.downlink_s = times * (bytes / down);
    return transfer;
}

ShapedTransfer LinkShaper::message(int from_node, int to_node, bool backward, double handed_over_s, int iteration,
                                   int microbatch) const {
    const Hop& hop = problem_.hop(NodeIndex(from_node), NodeIndex(to_node));
    const double times =
        factor(from_node, to_node, backward ? Message::backward : Message::forward, iteration, microbatch);
    const double size = problem_.relative_size(MicrobatchIndex(microbatch));
    auto sent = transfer(from_node, to_node, backward ? hop.seconds_per_backward : hop.seconds_per_forward,
                         backward ? problem_.backward_bytes : problem_.forward_bytes, times, handed_over_s);
    sent.line_s *= size;
    if (sent.uplink_s > 0) sent.uplink_s *= size;
    if (sent.downlink_s > 0) sent.downlink_s *= size;
    return sent;
}

ShapedTransfer LinkShaper::reduction(int from_node, int to_node, double bytes, double handed_over_s, int iteration,
                                     int number) const {
    const Hop& hop = problem_.hop(NodeIndex(from_node), NodeIndex(to_node));
    const double times = factor(from_node, to_node, Message::reduction, iteration, number);
    return transfer(from_node, to_node, bytes / hop.bandwidth_bytes_per_s, bytes, times, handed_over_s);
}

double LinkShaper::reserve(std::size_t queue, double earliest_s, double occupied_s) {
    LineBook& book = shared_ && across_[queue] ? *shared_ : own_;
    return book.reserve(static_cast<int>(queue), earliest_s, occupied_s);
}

std::optional<double> LinkShaper::enter(ShapedTransfer& sent, double now_s) {
    using Queue = ShapedTransfer::Queue;
    const NodeIndex from(sent.from_node), to(sent.to_node);
    const std::size_t nodes = problem_.node_ids.size(), queues = problem_.line_names.size();
    auto& times = sent.times;
    // What leaves a queue at `free_s` and is then on its way.
    const auto arrives = [&](double free_s) {
        times.arrival_s = std::max(times.arrival_s, free_s + sent.latency_s + problem_.overhead_s);
    };
    if (!problem_.shared_links) {
        times.start_s = now_s;
        times.arrival_s = now_s + sent.latency_s + problem_.overhead_s + sent.line_s;
        return std::nullopt;
    }
    if (sent.next == Queue::uplink) {
        const double begins_s = reserve(queues - 2 * nodes + at(from), now_s, sent.uplink_s);
        arrives(begins_s + sent.uplink_s);
        sent.next = Queue::line;
        return begins_s;
    }
    if (sent.next == Queue::line) {
        times.start_s = reserve(static_cast<std::size_t>(problem_.hop(from, to).line), now_s, sent.line_s);
        arrives(times.start_s + sent.line_s);
        sent.next = Queue::downlink;
        if (sent.downlink_s < 0) return std::nullopt;
        return times.start_s + sent.latency_s + problem_.overhead_s;
    }
    const double begins_s = reserve(queues - nodes + at(to), now_s, sent.downlink_s);
    times.arrival_s = std::max(times.arrival_s, begins_s + sent.downlink_s);
    return std::nullopt;
}

TransferTimes LinkShaper::enter_all(ShapedTransfer sent) {
    for (auto now_s = enter(sent, sent.times.handed_over_s); now_s;) now_s = enter(sent, *now_s);
    return sent.times;
}

TransferTimes LinkShaper::shape(int from_node, int to_node, bool backward, double handed_over_s, int iteration,
                                int microbatch) {
    return enter_all(message(from_node, to_node, backward, handed_over_s, iteration, microbatch));
}

TransferTimes LinkShaper::shape_reduction(int from_node, int to_node, double bytes, double handed_over_s, int iteration,
                                          int number) {
    return enter_all(reduction(from_node, to_node, bytes, handed_over_s, iteration, number));
}

}  // namespace skippipe
