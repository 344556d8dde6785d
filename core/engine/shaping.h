// SPDX-License-Identifier: GPL-3.0-or-later
// Links under the wall clock: a transfer arrives when the drawn network would have delivered it.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "core/planner/plan/problem.h"

namespace skippipe {

/// A lognormal factor of mean 1 and this standard deviation that the seed and the numbers fix.
double drawn_factor(double deviation, std::uint64_t seed, std::initializer_list<int> numbers);

/// Of one transfer, seconds of one clock.
struct TransferTimes {
    double handed_over_s = 0;
    double start_s = 0;  ///< the line begins to carry it
    double arrival_s = 0;
};

/// A transfer on its way through up to three queues.
struct ShapedTransfer {
    enum class Queue : std::uint8_t { uplink, line, downlink };

    int from_node = 0, to_node = 0;
    double latency_s = 0;                               ///< without the overhead
    double uplink_s = -1, line_s = 0, downlink_s = -1;  ///< that it occupies each; negative: there is no such queue
    Queue next = Queue::line;                           ///< where its head is, or comes to next
    TransferTimes times;                                ///< arrival_s once it has passed the last
};

/// When each line is free; a line is booked by every rank that sends over it.
class LineBook {
public:
    virtual ~LineBook() = default;
    /// Occupies the line for `occupied_s`, from `earliest_s` or when it is free; returns the start.
    virtual double reserve(int line, double earliest_s, double occupied_s) = 0;
};

class LocalLineBook final : public LineBook {
public:
    explicit LocalLineBook(std::size_t lines) : free_s_(lines, 0.0) {}
    double reserve(int line, double earliest_s, double occupied_s) override;
    /// Every line free.
    void reset();
    /// When each line is.
    std::vector<double> free_s() const;

private:
    mutable std::mutex mutex_;
    std::vector<double> free_s_;
};

/// Times of transfers: docs/semantics.md, Lines; the engine's one rule of them, under either clock; with jitter every
/// transfer's latency and occupancy are multiplied by a lognormal factor of mean 1 that seed, iteration and the
/// transfer's number fix.
class LinkShaper {
public:
    /// `problem` outlives it. `jitter`: standard deviation of the factor. `shared` books lines marked in `across`, a
    /// book of its own the others.
    LinkShaper(const Problem& problem, double jitter, std::uint64_t seed, std::vector<bool> across,
               std::unique_ptr<LineBook> shared);

    /// The drawn network as it is: no jitter, lines booked by this process alone.
    explicit LinkShaper(const Problem& problem) : LinkShaper(problem, 0, 0, {}, nullptr) {}

    /// Every line of this process free, and none that varies by itself, as at the start of an
    /// iteration under the virtual clock.
    void reset() {
        own_.reset();
        lines_.clear();
    }
    /// When each queue that this process alone hands to is free.
    std::vector<double> free_s() const { return own_.free_s(); }
    /// From now on transfers over the line vary, as with `jitter`; a deviation of 0: no longer.
    void vary(int line, double deviation, std::uint64_t seed);
    /// From now on latency and occupancy of the line are so many times as long. Those that are not named are as drawn.
    void slow(std::map<int, double> factors) { slower_ = std::move(factors); }
    /// A message whose head is at its first queue, but has not entered it.
    ShapedTransfer message(int from_node, int to_node, bool backward, double handed_over_s, int iteration,
                           int microbatch) const;
    /// The same of so many bytes of a planned reduction; `number` is the transfer's within the iteration.
    ShapedTransfer reduction(int from_node, int to_node, double bytes, double handed_over_s, int iteration,
                             int number) const;
    /// The head enters its next queue, after all that entered it before. Returns when it comes to the one after;
    /// nothing where there is none, and its times hold.
    std::optional<double> enter(ShapedTransfer& transfer, double now_s);
    /// A message that enters all its queues at the hand-over, before any that is handed over later: where only one
    /// queue is, as it is; else what a real clock, which cannot wait for heads, books.
    TransferTimes shape(int from_node, int to_node, bool backward, double handed_over_s, int iteration, int microbatch);
    /// The same of a planned reduction.
    TransferTimes shape_reduction(int from_node, int to_node, double bytes, double handed_over_s, int iteration,
                                  int number);

private:
    struct Variation {
        double deviation = 0;
        std::uint64_t seed = 0;
    };
    enum class Message : std::uint8_t { forward, backward, reduction };
    double factor(int from_node, int to_node, Message message, int iteration, int number) const;
    ShapedTransfer transfer(int from_node, int to_node, double line_s, double bytes, double times,
                            double handed_over_s) const;
    double reserve(std::size_t queue, double earliest_s, double occupied_s);
    TransferTimes enter_all(ShapedTransfer sent);

    const Problem& problem_;
    Variation all_;
    std::map<int, Variation> lines_;  ///< that vary by themselves
    std::map<int, double> slower_;    ///< lines, and how many times
    std::vector<bool> across_;
    std::unique_ptr<LineBook> shared_;
    LocalLineBook own_;
};

}  // namespace skippipe
