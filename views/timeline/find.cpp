// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/timeline/find.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <sstream>
#include <tuple>
#include <utility>

#include "core/base/index.h"

namespace skippipe {
namespace {

const std::map<std::string_view, std::vector<SpanKind>> kind_words{
    {"forward", {SpanKind::forward}},
    {"loss", {SpanKind::loss}},
    {"backward", {SpanKind::backward, SpanKind::input_gradient, SpanKind::weight_gradient}},
    {"input-gradient", {SpanKind::input_gradient}},
    {"weight-gradient", {SpanKind::weight_gradient}},
    {"transfer", {SpanKind::transfer_forward, SpanKind::transfer_backward, SpanKind::transfer_reduction}},
    {"transfer-forward", {SpanKind::transfer_forward}},
    {"transfer-backward", {SpanKind::transfer_backward}},
    {"reduction", {SpanKind::transfer_reduction}},
    {"work",
     {SpanKind::forward, SpanKind::loss, SpanKind::backward, SpanKind::input_gradient, SpanKind::weight_gradient}}};

/// A cause by its name, or by the word that says it in a sentence.
std::optional<IdleCause> cause_of(std::string_view word) {
    static const std::map<std::string_view, IdleCause> other_words{{"filling", IdleCause::fill_drain},
                                                                   {"draining", IdleCause::fill_drain},
                                                                   {"turn", IdleCause::order},
                                                                   {"replica's", IdleCause::replica},
                                                                   {"down", IdleCause::node_down}};
    if (const auto other = other_words.find(word); other != other_words.end()) return other->second;
    for (std::size_t c = 0; c < idle_causes; ++c)
        if (word == to_string(static_cast<IdleCause>(c))) return static_cast<IdleCause>(c);
    return std::nullopt;
}

/// "waiting", behind which "for the", "for a" and the like say nothing more.
bool is_wait(std::string_view word) { return word == "idle" || word == "wait" || word == "waiting"; }
bool is_filler(std::string_view word) {
    return word == "for" || word == "the" || word == "a" || word == "an" || word == "its";
}

std::optional<int> number_of(std::string_view text) {
    int value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc{} && end == text.data() + text.size() && value >= 0 ? std::optional{value} : std::nullopt;
}

/// "1.5s", "20ms", "3us"; a bare number counts seconds.
std::optional<double> seconds_of(std::string_view text) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || !(value >= 0)) return {};
    const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
    const std::map<std::string_view, double> units{{"", 1}, {"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"min", 60}};
    const auto found = units.find(unit);
    return found == units.end() ? std::nullopt : std::optional{value * found->second};
}

std::vector<std::string> words_of(std::string_view text) {
    std::istringstream in{std::string(text)};
    std::vector<std::string> words;
    for (std::string word; in >> word;) words.push_back(word);
    return words;
}

/// Reads the words from the front on; each way returns whether it knew the word it stood at.
class QueryReader {
public:
    explicit QueryReader(std::string_view text) : words_(words_of(text)) {}

    SpanQuery read(std::string& fault) {
        for (; next_ < words_.size(); ++next_)
            if (!wait() && !kind() && !cause() && !numbered() && !length() && !node()) fault = words_[next_];
        for (std::size_t c = 0; waits_ && c < idle_causes; ++c) query_.causes.push_back(static_cast<IdleCause>(c));
        return query_;
    }

private:
    bool kind() {
        const auto found = kind_words.find(words_[next_]);
        if (found == kind_words.end()) return false;
        query_.kinds.insert(query_.kinds.end(), found->second.begin(), found->second.end());
        return true;
    }
    /// For whatever, unless a cause is named.
    bool wait() {
        if (!is_wait(words_[next_])) return false;
        waits_ = query_.causes.empty();
        while (next_ + 1 < words_.size() && is_filler(words_[next_ + 1])) ++next_;
        return true;
    }
    bool cause() {
        const auto found = cause_of(words_[next_]);
        if (!found) return false;
        query_.causes.push_back(*found);
        waits_ = false;
        return true;
    }
    bool numbered() {
        const std::string& word = words_[next_];
        if (word.size() > 1 && word[0] == 'm')
            if (const auto number = number_of(std::string_view(word).substr(1)))
                return query_.microbatch = number, true;
        const bool more = next_ + 1 < words_.size();
        const auto number = more ? number_of(words_[next_ + 1]) : std::nullopt;
        if (!number) return false;
        if (word == "microbatch")
            query_.microbatch = number;
        else if (word == "stage")
            query_.stage = number;
        else if (word == "iteration")
            query_.iteration = *number - 1;
        else
            return false;
        ++next_;
        return true;
    }
    bool length() {
        const std::string& word = words_[next_];
        if (word[0] != '>' && word[0] != '<') return false;
        const bool apart = word.size() == 1 && next_ + 1 < words_.size();
        const auto seconds = seconds_of(apart ? std::string_view(words_[next_ + 1]) : std::string_view(word).substr(1));
        if (!seconds) return false;
        (word[0] == '>' ? query_.least_s : query_.most_s) = *seconds;
        next_ += apart ? 1 : 0;
        return true;
    }
    /// What nothing else knows is a node's name; there is one.
    bool node() {
        if (!query_.node.empty() || words_[next_][0] == '>' || words_[next_][0] == '<') return false;
        query_.node = words_[next_];
        return true;
    }

    std::vector<std::string> words_;
    std::size_t next_ = 0;
    bool waits_ = false;
    SpanQuery query_;
};

template <class Value>
bool has(const std::vector<Value>& values, Value value) {
    return std::find(values.begin(), values.end(), value) != values.end();
}

bool fits_length(const SpanQuery& query, double seconds) { return seconds >= query.least_s && seconds <= query.most_s; }

void sum_up(FoundSpans& found) {
    if (found.spans.empty()) return;
    std::vector<double> lengths;
    lengths.reserve(found.spans.size());
    for (const auto& one : found.spans) lengths.push_back(one.end_s - one.start_s);
    for (const double length : lengths) found.total_s += length;
    found.mean_s = found.total_s / static_cast<double>(lengths.size());
    const auto [least, most] = std::minmax_element(lengths.begin(), lengths.end());
    found.least_s = *least;
    found.most_s = *most;
    const double step = (found.most_s - found.least_s) / static_cast<double>(found_bars);
    for (const double length : lengths)
        ++found
              .bars[step > 0 ? std::min(found_bars - 1, static_cast<std::size_t>((length - found.least_s) / step)) : 0];
    const auto middle = lengths.begin() + static_cast<std::ptrdiff_t>(lengths.size() / 2);
    std::nth_element(lengths.begin(), middle, lengths.end());
    found.median_s = *middle;
}

}  // namespace

SpanQuery read_query(std::string_view text, std::string& fault) {
    fault.clear();
    return QueryReader(text).read(fault);
}

std::vector<int> with_awaited(const TimelineData& data, const std::vector<int>& lanes, double begin_s, double end_s,
                              double least_s) {
    constexpr double worth_following = 0.1;
    constexpr std::size_t most_followed = 12;
    if (lanes.size() > most_followed) return lanes;
    std::map<int, double> seconds_for;
    double all_s = 0;
    for (const int lane : lanes)
        data.visit_gaps(lane, begin_s, end_s, least_s, [&](const LaneGap& gap) {
            const double seconds = std::min(gap.end_s, end_s) - std::max(gap.start_s, begin_s);
            all_s += seconds;
            // Filling and draining waits for all that come before.
            if (gap.cause != IdleCause::fill_drain && gap.other >= 0) seconds_for[gap.other] += seconds;
        });
    std::vector<int> wanted = lanes;
    for (const auto& [other, seconds] : seconds_for)
        if (seconds >= worth_following * all_s && !has(wanted, other) && at(other) < data.lanes().size())
            wanted.push_back(other);
    return wanted;
}

SpanFilter::SpanFilter(const TimelineData& data, SpanQuery query) : data_(data), query_(std::move(query)) {
    // "n1" is that node where there is one, and else n10 and n11 as well.
    const bool is_whole = std::any_of(data.lanes().begin(), data.lanes().end(),
                                      [&](const Lane& lane) { return lane.name == query_.node; });
    for (const auto& lane : data.lanes())
        named_.push_back((is_whole ? lane.name == query_.node
                                   : query_.node.empty() || lane.name.find(query_.node) != std::string::npos) &&
                         (query_.lanes.empty() || has(query_.lanes, static_cast<int>(named_.size()))));
    std::sort(query_.ways.begin(), query_.ways.end());
}

bool SpanFilter::way_fits(int lane, const LaneSpan& span) const {
    return query_.ways.empty() ||
           (is_on_line(span.kind) && std::binary_search(query_.ways.begin(), query_.ways.end(),
                                                        std::pair{lane, static_cast<int>(span.to_node)}));
}

bool SpanFilter::stage_fits(int lane, int stage) const {
    return !query_.stage || *query_.stage == (stage >= 0 ? stage : data_.lanes()[at(lane)].stage);
}

bool SpanFilter::fits(int lane, const LaneSpan& span) const {
    const bool wanted = query_.kinds.empty() ? query_.causes.empty() : has(query_.kinds, span.kind);
    return wanted && named_[at(lane)] != 0 && (!query_.microbatch || span.microbatch == *query_.microbatch) &&
           (!query_.iteration || span.iteration == *query_.iteration) && stage_fits(lane, span.stage) &&
           way_fits(lane, span) && fits_length(query_, span.end_s - span.start_s);
}

bool SpanFilter::fits(int lane, const LaneGap& gap) const {
    return has(query_.causes, gap.cause) && concerns(lane, gap);
}

bool SpanFilter::concerns(int lane, const LaneGap& gap) const {
    const auto in_iteration = [&](double time) {
        const auto* one = query_.iteration ? iteration_at(data_.iterations(), time) : nullptr;
        return !query_.iteration || (one != nullptr && one->iteration == *query_.iteration && time < one->end_s);
    };
    return query_.ways.empty() && named_[at(lane)] != 0 && stage_fits(lane, -1) &&
           (!query_.microbatch || gap.microbatch == *query_.microbatch) &&
           fits_length(query_, gap.end_s - gap.start_s) && in_iteration(gap.start_s);
}

FoundSpans find_spans(const TimelineData& data, const SpanQuery& query) {
    FoundSpans found;
    found.query = query;
    const SpanFilter filter(data, query);
    const double end_s = data.extent_s();
    if (!query.kinds.empty() || query.causes.empty())
        data.visit_spans(0, end_s, [&](int lane, const LaneSpan& span) {
            if (filter.fits(lane, span)) found.spans.push_back({lane, span.start_s, span.end_s, span.row});
        });
    if (!query.causes.empty())
        for (int lane = 0; at(lane) < data.lanes().size(); ++lane)
            data.visit_gaps(lane, 0, end_s, 0, [&](const LaneGap& gap) {
                if (filter.fits(lane, gap)) found.spans.push_back({lane, gap.start_s, gap.end_s, -1});
            });
    std::sort(found.spans.begin(), found.spans.end(), [](const Found& a, const Found& b) {
        return std::tie(a.start_s, a.lane, a.row) < std::tie(b.start_s, b.lane, b.row);
    });
    sum_up(found);
    return found;
}

std::string query_words(SpanKind kind) {
    const auto found = std::find_if(kind_words.begin(), kind_words.end(), [kind](const auto& known) {
        return known.second.size() == 1 && known.second.front() == kind;
    });
    if (found != kind_words.end()) return std::string(found->first);
    return is_compute(kind) ? "backward" : "transfer";
}

std::string query_words(IdleCause cause) { return "waiting " + std::string(to_string(cause)); }

}  // namespace skippipe
