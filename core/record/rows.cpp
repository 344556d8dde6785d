// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/record/rows.h"

#include <algorithm>
#include <iterator>
#include <set>

namespace skippipe::record {

namespace {

template <class List>
void append_to(List& list, List&& later) {
    list.insert(list.end(), std::make_move_iterator(later.begin()), std::make_move_iterator(later.end()));
}

template <class Value>
void replace(std::optional<Value>& value, std::optional<Value>&& later) {
    if (later) value = std::move(later);
}

}  // namespace

bool is_validation(const std::string& metric) { return metric == "validation_loss" || metric == "bits_per_byte"; }

bool is_result(const std::string& metric) {
    static const std::set<std::string> results{"loss", "gradient_norm", "tokens_per_second", "iteration_s",
                                               "predicted_iteration_s"};
    return results.contains(metric) || is_validation(metric);
}

bool RunRows::empty() const {
    return spans.empty() && metrics.empty() && plans.empty() && devices.empty() && events.empty() && !done && !paused &&
           !warning && taken_command == 0 && !extension && !end && !heartbeat && !back_to;
}

std::size_t RunRows::rows() const {
    std::size_t count = metrics.size() + plans.size() + devices.size() + events.size();
    for (const auto& some : spans) count += some.spans.size();
    return count;
}

std::size_t RunRows::bytes() const {
    std::size_t sum = metrics.size() * sizeof(Metric) + devices.size() * sizeof(DeviceRow);
    for (const auto& some : spans) sum += some.bytes();
    for (const auto& event : events) sum += sizeof event + event.what.size();
    for (const auto& plan : plans) sum += plan.plan_json.size() + plan.why.size();
    return sum;
}

void RunRows::go_back(const RunCommit& commit) {
    const int done = commit.iterations_done;
    std::erase_if(spans, [&](const SpanRows& some) { return some.iteration >= done; });
    std::erase_if(devices, [&](const DeviceRow& row) { return row.iteration >= done; });
    std::erase_if(plans, [&](const PlanRow& plan) { return plan.iteration >= done; });
    std::erase_if(metrics, [&](const Metric& metric) {
        return is_result(metric.name) &&
               metric.iteration >= done + (is_validation(metric.name) && commit.validated ? 1 : 0);
    });
    if (!back_to || done < back_to->iterations_done) back_to = commit;
}

void RunRows::append(RunRows&& later) {
    if (later.back_to) go_back(*later.back_to);
    append_to(spans, std::move(later.spans));
    append_to(metrics, std::move(later.metrics));
    append_to(plans, std::move(later.plans));
    append_to(devices, std::move(later.devices));
    append_to(events, std::move(later.events));
    replace(done, std::move(later.done));
    replace(paused, std::move(later.paused));
    replace(warning, std::move(later.warning));
    replace(extension, std::move(later.extension));
    replace(end, std::move(later.end));
    taken_command = std::max(taken_command, later.taken_command);
    heartbeat = heartbeat || later.heartbeat;
}

std::int64_t RunRows::drop_oldest_spans(std::size_t limit) {
    std::int64_t dropped = 0;
    for (std::size_t held = bytes(); held > limit && !spans.empty(); spans.pop_front()) {
        held -= spans.front().bytes();
        dropped += static_cast<std::int64_t>(spans.front().spans.size());
    }
    return dropped;
}

}  // namespace skippipe::record
