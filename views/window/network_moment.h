// SPDX-License-Identifier: GPL-3.0-or-later
// The network at a moment, from the spans of a run. Pure.
#pragma once
#include "views/timeline/lanes.h"
#include "views/topology/traffic.h"

namespace skippipe {

/// Names, and how loaded nodes and lines are over begin_s..end_s. Costs what that stretch holds.
Traffic traffic_loads(const TimelineData& data, double begin_s, double end_s);
/// The same loads with what goes on at `at_s`. Costs what that moment holds.
Traffic at_moment(const TimelineData& data, double at_s, Traffic loads);
/// At `at_s`, with loads over begin_s..end_s; network seconds from the run's start.
Traffic traffic_at(const TimelineData& data, double at_s, double begin_s, double end_s);

}  // namespace skippipe
