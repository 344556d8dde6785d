// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/run/alarms.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/base/format.h"
#include "core/base/statistics.h"

namespace skippipe {

namespace {

/// Iterations that say what is usual; fewer than the least say nothing.
constexpr std::size_t usual_iterations = 20, least_iterations = 8;
/// A loss is a spike from so many deviations above the usual on (1.4826 medians of the absolute deviations are one, for
/// a normal distribution), and at least by so much of it: what falls steadily has small deviations.
constexpr double loss_deviations = 8, least_rise = 0.1;
/// A gradient from so many times the usual norm on.
constexpr double norm_times = 10;
/// Left for everything else on the disk.
constexpr double reserve_bytes = 64e6;

Alarm alarm(AlarmKind kind, std::string where, std::string what, std::string why, std::string remedy) {
    return {kind, {std::move(where), std::move(what), std::move(why), std::move(remedy), Fault::Severity::warning}};
}

std::string named(int iteration) { return fmt::format("iteration {}", iteration + 1); }

/// Of the values' absolute deviations from their median.
double median_deviation(const std::deque<double>& values, double middle) {
    std::vector<double> deviations;
    for (const double value : values) deviations.push_back(std::abs(value - middle));
    return median(std::move(deviations));
}

}  // namespace

std::optional<Alarm> LossWatch::look(int iteration, double loss_nats, double gradient_norm) {
    const auto found = spike(iteration, loss_nats, gradient_norm);
    if (!found) keep(loss_nats, gradient_norm);
    return std::exchange(told_, found.has_value()) ? std::nullopt : found;
}

std::optional<Alarm> LossWatch::spike(int iteration, double loss_nats, double gradient_norm) const {
    if (losses_.size() < least_iterations) return std::nullopt;
    const double usual = median({losses_.begin(), losses_.end()}), usual_norm = median({norms_.begin(), norms_.end()});
    const double rise = std::max(loss_deviations * 1.4826 * median_deviation(losses_, usual), least_rise * usual);
    const char* remedy =
        "See whether it comes back; otherwise fork from a checkpoint before it with a smaller learning rate";
    if (loss_nats > usual + rise)
        return alarm(AlarmKind::spike, named(iteration),
                     fmt::format("the loss is {:.3f}, after {:.3f} in the iterations before", loss_nats, usual),
                     "it lies far outside what they scatter by", remedy);
    if (usual_norm > 0 && gradient_norm > norm_times * usual_norm)
        return alarm(AlarmKind::spike, named(iteration),
                     fmt::format("the gradient is {:.0f} times as large as in the iterations before",
                                 gradient_norm / usual_norm),
                     fmt::format("its norm is {:.3g}", gradient_norm), remedy);
    return std::nullopt;
}

void LossWatch::keep(double loss_nats, double gradient_norm) {
    losses_.push_back(loss_nats);
    norms_.push_back(gradient_norm);
    if (losses_.size() <= usual_iterations) return;
    losses_.pop_front();
    norms_.pop_front();
}

Alarm silence_alarm(double silent_s, double limit_s) {
    return alarm(AlarmKind::silence, "worker", fmt::format("has said nothing for {:.0f} s", silent_s),
                 "it may be stopped (SIGSTOP), or the machine has no time for it",
                 fmt::format("Let it go on (kill -CONT); after {:.0f} s the run is ended", limit_s));
}

std::optional<Alarm> look_at_disk(const std::string& folder, std::int64_t free_bytes, const DiskNeed& need) {
    const double wanted = need.bytes_an_iteration * need.iterations_left + static_cast<double>(need.checkpoint_bytes);
    const auto free = static_cast<double>(free_bytes);
    if (free >= wanted + reserve_bytes) return std::nullopt;
    return alarm(
        AlarmKind::disk, folder,
        fmt::format("{} are free, and the run will write about {} more", format_si(free, "B"), format_si(wanted, "B")),
        "what finds no room waits in memory, and spans are lost first",
        "Free some of the disk; or let the run stop, copy the record with the folders beside it to another disk and "
        "resume "
        "it there");
}

}  // namespace skippipe
