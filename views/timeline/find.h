// SPDX-License-Identifier: GPL-3.0-or-later
// Finding spans and waits by words, and what they sum up to. Pure.
#pragma once
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "views/timeline/lanes.h"

namespace skippipe {

/// What is looked for: everything that fits all that is set.
struct SpanQuery {
    std::vector<SpanKind> kinds;    ///< any of them; empty and no causes: every kind
    std::vector<IdleCause> causes;  ///< waits of these causes
    std::optional<int> microbatch, iteration, stage;
    std::string node;                            ///< a lane's name, or part of the names of some
    std::vector<int> lanes;                      ///< any of them; empty: every lane
    std::vector<std::pair<int, int>> ways = {};  ///< transfers from one lane to another, any of them; empty: all
    double least_s = 0, most_s = std::numeric_limits<double>::infinity();
    bool operator==(const SpanQuery&) const = default;
};

/// Reads "backward m12 node-3 >100ms", "n3 waiting for the link", "stage 2 iteration 4": words that stand for kinds of
/// spans, causes of waits, numbers of microbatches (m12, microbatch 12), stages and iterations (counted from 1, as they
/// are shown), lengths (>1s, <20ms), and else parts of a node's name. `fault` says which word could not be understood.
SpanQuery read_query(std::string_view text, std::string& fault);

/// Of an iteration: a wait that counts.
inline constexpr double least_told_wait = 1e-3;

/// Those lanes, and of the nodes that they wait for between two times those that at least a tenth of it is for; waits
/// shorter than `least_s` do not count. Of more than a dozen lanes, which wait for all others, the lanes alone.
std::vector<int> with_awaited(const TimelineData& data, const std::vector<int>& lanes, double begin_s, double end_s,
                              double least_s = 0);

/// Tells of the spans and waits of a timeline whether they fit a query.
class SpanFilter {
public:
    SpanFilter(const TimelineData& data, SpanQuery query);
    bool fits(int lane, const LaneSpan& span) const;
    bool fits(int lane, const LaneGap& gap) const;
    /// The same whatever the wait's cause.
    bool concerns(int lane, const LaneGap& gap) const;

private:
    bool stage_fits(int lane, int stage) const;
    bool way_fits(int lane, const LaneSpan& span) const;

    const TimelineData& data_;
    SpanQuery query_;
    std::vector<char> named_;  ///< [lane]: whether its name fits
};

/// One that fits: a span or a wait.
struct Found {
    int lane = -1;
    double start_s = 0, end_s = 0;
    std::int64_t row = -1;  ///< of a span; -1: a wait
    bool operator==(const Found&) const = default;
};

inline constexpr std::size_t found_bars = 16;

/// All that fits, by start, and the times it takes. The histogram's bars are equal steps from the shortest to the
/// longest.
struct FoundSpans {
    SpanQuery query;  ///< what was looked for
    std::vector<Found> spans;
    double total_s = 0, mean_s = 0, median_s = 0, least_s = 0, most_s = 0;
    std::array<std::size_t, found_bars> bars{};
};
FoundSpans find_spans(const TimelineData& data, const SpanQuery& query);

/// The words that `read_query` reads as spans of that kind, or waits of that cause.
std::string query_words(SpanKind kind);
std::string query_words(IdleCause cause);

}  // namespace skippipe
