// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/timeline/counters.h"

#include <algorithm>
#include <cmath>

#include "core/base/index.h"

namespace skippipe {
namespace {

/// Adds rates over stretches of time to the means of equal steps.
class Steps {
public:
    Steps(double begin, double end, std::size_t count)
        : begin_(begin), step_((end - begin) / static_cast<double>(count)), sums_(count, 0) {}

    void add(double from, double to, double rate) {
        from = std::max(from, begin_);
        to = std::min(to, begin_ + step_ * static_cast<double>(sums_.size()));
        if (!(to > from) || rate == 0) return;
        auto k = static_cast<std::size_t>((from - begin_) / step_);
        for (; k < sums_.size(); ++k) {
            const double left = begin_ + static_cast<double>(k) * step_, right = left + step_;
            sums_[k] += rate * std::max(0.0, std::min(to, right) - std::max(from, left)) / step_;
            if (right >= to) break;
        }
    }
    std::vector<float> means() const { return {sums_.begin(), sums_.end()}; }

private:
    double begin_, step_;
    std::vector<double> sums_;
};

/// Goes through a lane's work in the order of time and knows which microbatches it holds.
class Holding {
public:
    explicit Holding(Steps& steps) : steps_(steps) {}

    void take(const LaneSpan& span) {
        if (span.iteration != iteration_) end();
        iteration_ = span.iteration;
        if (span.kind == SpanKind::forward && span.microbatch >= 0) {
            if (at(span.microbatch) >= held_.size()) held_.resize(at(span.microbatch) + 1, 0);
            if (held_[at(span.microbatch)] == 0) change(span.start_s, span.microbatch, 1);
        }
        if ((span.kind == SpanKind::backward || span.kind == SpanKind::weight_gradient) && span.microbatch >= 0 &&
            at(span.microbatch) < held_.size() && held_[at(span.microbatch)] != 0)
            change(span.end_s, span.microbatch, 0);
        last_s_ = std::max(last_s_, span.end_s);
    }
    /// What is held is so until here: the lane's last work of the iteration, or its loss.
    void end() {
        steps_.add(since_s_, last_s_, count_);
        std::fill(held_.begin(), held_.end(), 0);
        count_ = 0;
        since_s_ = last_s_;
    }

private:
    void change(double time_s, int microbatch, char held) {
        steps_.add(since_s_, time_s, count_);
        since_s_ = time_s;
        held_[at(microbatch)] = held;
        count_ += held != 0 ? 1 : -1;
    }

    Steps& steps_;
    std::vector<char> held_;  ///< [microbatch]
    int iteration_ = -1, count_ = 0;
    double since_s_ = 0, last_s_ = 0;
};

/// From the first work of the iteration that is under way at `begin`.
void hold(const Lane& lane, double begin, double end, Steps& steps) {
    const auto& work = lane.work;
    auto it = std::lower_bound(work.begin(), work.end(), begin,
                               [](const LaneSpan& span, double t) { return span.end_s <= t; });
    while (it != work.begin() && it != work.end() && std::prev(it)->iteration == it->iteration) --it;
    Holding holding(steps);
    for (; it != work.end() && it->start_s < end; ++it) holding.take(*it);
    // What comes after `end` still frees what is held here: until then it counts.
    if (it != work.end() && it != work.begin() && it->iteration == std::prev(it)->iteration) {
        const int iteration = it->iteration;
        for (; it != work.end() && it->iteration == iteration; ++it) holding.take(*it);
    }
    holding.end();
}

void send(const Lane& lane, double begin, double end, Steps& steps) {
    for (auto it = lane.transfers.begin() + static_cast<std::ptrdiff_t>(lane.first_reaching(begin));
         it != lane.transfers.end() && it->start_s < end; ++it)
        if (it->end_s > it->start_s)
            steps.add(it->start_s, it->end_s, static_cast<double>(it->bytes) / (it->end_s - it->start_s));
}

void use_gpus(const TimelineData& data, const std::vector<int>& lanes, double begin, double end, Steps& steps) {
    for (const auto& use : data.gpu_use()) {
        if (use.end_s <= begin || use.begin_s >= end) continue;
        float sum = 0;
        int count = 0;
        for (const auto& [own, busy] : use.busy) {
            const bool counts = std::any_of(own.begin(), own.end(), [&](int lane) {
                return std::find(lanes.begin(), lanes.end(), lane) != lanes.end();
            });
            if (counts) sum += busy, ++count;
        }
        if (count > 0) steps.add(use.begin_s, use.end_s, sum / static_cast<float>(count));
    }
}

}  // namespace

CounterProfile counter_profile(const TimelineData& data, const std::vector<int>& lanes, double begin, double end,
                               std::size_t stretches) {
    CounterProfile profile;
    if (!(end > begin) || stretches == 0) return profile;
    Steps held(begin, end, stretches), sent(begin, end, stretches), gpus(begin, end, stretches);
    data.visit_lanes(begin, end, lanes, [&](const Lane& lane) {
        hold(lane, begin, end, held);
        send(lane, begin, end, sent);
    });
    profile[static_cast<std::size_t>(Counter::held)] = held.means();
    profile[static_cast<std::size_t>(Counter::bytes_per_s)] = sent.means();
    profile[static_cast<std::size_t>(Counter::busy)] = data.busy_profile(lanes, begin, end, stretches);
    use_gpus(data, lanes, begin, end, gpus);
    profile[static_cast<std::size_t>(Counter::gpu)] = gpus.means();
    return profile;
}

}  // namespace skippipe
