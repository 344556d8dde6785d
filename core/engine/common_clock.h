// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <mutex>

namespace skippipe {

/// Another machine's clock as it is told here: readings of the local clock plus an offset that is measured now and
/// then. It never goes backwards: what a later measurement changes is made up for little by little. All in seconds;
/// from any thread.
class CommonClock {
public:
    /// What the other clock shows when the local one shows `local_s`.
    double at(double local_s) const;

    /// A measurement: the other clock is ahead by `offset_s`, wrong by at most `error_s` (half of the round trip that
    /// measured it). The first counts at once; later ones as much as they are better than what is known, which drift
    /// makes worse.
    void measured(double offset_s, double error_s, double local_s);

    /// How far off it may be at `local_s`; infinite before the first measurement.
    double error_s(double local_s) const;

private:
    double offset_at(double local_s) const;
    double known_error_s(double local_s) const;

    mutable std::mutex mutex_;
    bool known_ = false;
    double from_offset_s_ = 0, to_offset_s_ = 0;  ///< the offset goes from one to the other
    double from_s_ = 0, to_s_ = 0;                ///< between these local times
    double error_s_ = 0, measured_at_s_ = 0;
};

}  // namespace skippipe
