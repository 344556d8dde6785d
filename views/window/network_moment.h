// SPDX-License-Identifier: GPL-3.0-or-later
// The network at a moment, from the spans of a run. Pure.
#pragma once
#include "views/timeline/lanes.h"
#include "views/topology/traffic.h"

namespace skippipe {

/// At `at_s`, with loads over begin_s..end_s; network seconds from the run's start.
Traffic traffic_at(const TimelineData& data, double at_s, double begin_s, double end_s);

}  // namespace skippipe
