// SPDX-License-Identifier: GPL-3.0-or-later
// What calls for people while a run goes on, from its figures alone: losses or gradients far above those before, a disk
// that will not hold what is still to be written, a worker that says nothing. (A loss that is no number ends a run:
// core/engine/step.cpp.)
#pragma once
#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/fault.h"

namespace skippipe {

enum class AlarmKind { spike, disk, silence };

/// As people name them: `--stop-on spike`.
inline constexpr std::array<std::pair<AlarmKind, std::string_view>, 3> alarm_names = {
    {{AlarmKind::spike, "spike"}, {AlarmKind::disk, "disk"}, {AlarmKind::silence, "silence"}}};

struct Alarm {
    AlarmKind kind = AlarmKind::spike;
    Fault fault;  ///< a warning: what, where, why and what to do
};

/// Watches losses and gradient norms, iteration after iteration. A spike is told once, and another only after all was
/// well in between.
class LossWatch {
public:
    /// After an iteration (0, 1, ...): its mean loss in nats a token and the norm of its gradient.
    std::optional<Alarm> look(int iteration, double loss_nats, double gradient_norm);

private:
    std::optional<Alarm> spike(int iteration, double loss_nats, double gradient_norm) const;
    void keep(double loss_nats, double gradient_norm);

    std::deque<double> losses_, norms_;  ///< of the last iterations without a spike
    bool told_ = false;
};

/// What a run needs of the disk until its end.
struct DiskNeed {
    double bytes_an_iteration = 0;  ///< of the record, so far
    int iterations_left = 0;
    std::int64_t checkpoint_bytes = 0;  ///< one is written before the oldest goes
};

/// Of a worker that has said nothing for so long, and is ended after `limit_s`.
Alarm silence_alarm(double silent_s, double limit_s);

/// An alarm where less is free.
std::optional<Alarm> look_at_disk(const std::string& folder, std::int64_t free_bytes, const DiskNeed& need);

}  // namespace skippipe
