// SPDX-License-Identifier: GPL-3.0-or-later
// Transfers that pass an uplink, a line and a downlink one after the other (docs/semantics.md, Lines).
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "core/base/index.h"
#include "core/planner/plan/problem.h"
#include "core/planner/timeline/rules.h"

namespace skippipe {

/// One transfer on its way. Its head is at the queue `next`, or will be; once it has begun there, at the one after.
struct Passage {
    enum class Queue : std::uint8_t { uplink, line, downlink };

    NodeIndex from = 0, to = 0;
    double bytes = 0, line_s = 0;  ///< of a microbatch of Problem::samples; line_s: that it occupies the line
    double size = 1;               ///< times as much it is
    Queue next = Queue::uplink;
    double start_s = 0;    ///< when the line began to carry it
    double arrival_s = 0;  ///< no queue that it has entered is left earlier
};

/// When each queue is free, where nodes have uplinks or downlinks (Problem::has_uplinks). Reuses its memory; keeps a
/// reference to the problem.
class PassageQueues {
public:
    explicit PassageQueues(const Problem& problem) : problem_(problem) {}

    /// All free.
    void clear() {
        up_free_s_.assign(problem_.node_ids.size(), 0.0);
        down_free_s_.assign(problem_.node_ids.size(), 0.0);
    }

    /// As they are in `free_s`, of every line: uplinks and downlinks are the last of them.
    void restore(const std::vector<double>& free_s) {
        const auto nodes = static_cast<std::ptrdiff_t>(problem_.node_ids.size());
        up_free_s_.assign(free_s.end() - 2 * nodes, free_s.end() - nodes);
        down_free_s_.assign(free_s.end() - nodes, free_s.end());
    }
    /// Writes them there.
    void save(std::vector<double>& free_s) const {
        const auto nodes = static_cast<std::ptrdiff_t>(problem_.node_ids.size());
        std::copy(up_free_s_.begin(), up_free_s_.end(), free_s.end() - 2 * nodes);
        std::copy(down_free_s_.begin(), down_free_s_.end(), free_s.end() - nodes);
    }

    /// The head of a transfer is at its next queue: it waits there for its turn, which comes in the order of these
    /// calls. `line_free_s`: of every line. Returns when the head is at the queue after; -1 where that was the last
    /// one, and `arrival_s` holds.
    double enter(Passage& passage, double now_s, std::vector<double>& line_free_s) {
        const Hop& hop = problem_.hop(passage.from, passage.to);
        if (passage.next == Passage::Queue::uplink && std::isinf(problem_.up_bytes_per_s[passage.from]))
            passage.next = Passage::Queue::line;
        if (passage.next == Passage::Queue::uplink) {
            double& free_s = up_free_s_[passage.from];
            const double seconds = passage.bytes / problem_.up_bytes_per_s[passage.from] * passage.size;
            const double begins_s = take_line(now_s, seconds, free_s);
            passage.arrival_s = shared_arrival_seconds(free_s, hop.latency_s, problem_.overhead_s);
            passage.next = Passage::Queue::line;
            return begins_s;
        }
        if (passage.next == Passage::Queue::line) {
            double& free_s = line_free_s[at(hop.line)];
            passage.start_s = take_line(now_s, passage.line_s * passage.size, free_s);
            passage.arrival_s =
                std::max(passage.arrival_s, shared_arrival_seconds(free_s, hop.latency_s, problem_.overhead_s));
            passage.next = Passage::Queue::downlink;
            if (std::isinf(problem_.down_bytes_per_s[passage.to])) return -1;
            return shared_arrival_seconds(passage.start_s, hop.latency_s, problem_.overhead_s);
        }
        double& free_s = down_free_s_[passage.to];
        take_line(now_s, passage.bytes / problem_.down_bytes_per_s[passage.to] * passage.size, free_s);
        passage.arrival_s = std::max(passage.arrival_s, free_s);
        return -1;
    }

private:
    const Problem& problem_;
    PerNode<double> up_free_s_, down_free_s_;
};

/// The message to a step of a path of so many nodes.
inline Passage passage_of(const Problem& problem, NodeIndex from, NodeIndex to, int step, int length, double size) {
    return {.from = from,
            .to = to,
            .bytes = comes_forward(step, length) ? problem.forward_bytes : problem.backward_bytes,
            .line_s = transfer_seconds(problem.hop(from, to), step, length),
            .size = size};
}

/// A part or sum of a gradient.
inline Passage passage_of(const Problem& problem, NodeIndex from, NodeIndex to, double bytes) {
    return {.from = from, .to = to, .bytes = bytes, .line_s = bytes / problem.hop(from, to).bandwidth_bytes_per_s};
}

}  // namespace skippipe
