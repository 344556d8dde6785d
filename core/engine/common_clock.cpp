// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/engine/common_clock.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace skippipe {

namespace {
/// Two quartz clocks part by no more than this, in seconds a second.
constexpr double drift = 1e-4;
/// A correction takes at least so long, and time here runs at most so much slower or faster meanwhile.
constexpr double least_slew_s = 0.5, most_slew = 0.1;
}  // namespace

double CommonClock::at(double local_s) const {
    const std::lock_guard lock(mutex_);
    return local_s + offset_at(local_s);
}

double CommonClock::offset_at(double local_s) const {
    if (local_s >= to_s_) return to_offset_s_;
    if (local_s <= from_s_) return from_offset_s_;
    return from_offset_s_ + (to_offset_s_ - from_offset_s_) * (local_s - from_s_) / (to_s_ - from_s_);
}

double CommonClock::known_error_s(double local_s) const {
    return error_s_ + drift * std::max(0.0, local_s - measured_at_s_);
}

double CommonClock::error_s(double local_s) const {
    const std::lock_guard lock(mutex_);
    return known_ ? known_error_s(local_s) : std::numeric_limits<double>::infinity();
}

void CommonClock::measured(double offset_s, double error_s, double local_s) {
    const std::lock_guard lock(mutex_);
    if (!std::isfinite(offset_s) || !std::isfinite(error_s) || error_s < 0) return;
    if (!known_) {
        known_ = true;
        from_offset_s_ = to_offset_s_ = offset_s;
        from_s_ = to_s_ = local_s;
        error_s_ = error_s;
    } else {
        // Both errors taken as spreads: the measurement's share is that of its smaller variance.
        const double before = known_error_s(local_s), sum = before * before + error_s * error_s;
        const double share = sum > 0 ? before * before / sum : 1;
        const double now_s = offset_at(local_s), target_s = to_offset_s_ + share * (offset_s - to_offset_s_);
        from_offset_s_ = now_s;
        to_offset_s_ = target_s;
        from_s_ = local_s;
        to_s_ = local_s + std::max(least_slew_s, std::abs(target_s - now_s) / most_slew);
        error_s_ = std::sqrt(1 - share) * before;
    }
    measured_at_s_ = local_s;
}

}  // namespace skippipe
