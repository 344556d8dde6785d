// SPDX-License-Identifier: GPL-3.0-or-later
// The network at a moment, from the spans of a run. Pure.
#pragma once
#include <set>
#include <vector>

#include "core/experiment/document.h"
#include "views/document/selection.h"
#include "views/timeline/lanes.h"
#include "views/topology/traffic.h"

namespace skippipe {

/// Names, and how loaded nodes and lines are over begin_s..end_s. Costs what that stretch holds.
Traffic traffic_loads(const TimelineData& data, double begin_s, double end_s);
/// The loads alone, with who is lost at `at_s`.
Traffic mean_until(const TimelineData& data, double at_s, Traffic loads);
/// The same loads with what goes on at `at_s`. Costs what that moment holds.
Traffic at_moment(const TimelineData& data, double at_s, Traffic loads);
/// Links that the document cuts at a network time, and that are cut at `at_s`. Cuts that the seed places in an
/// iteration are not known here.
std::set<LinkKey> cut_links(const std::vector<Failure>& failures, double at_s);
/// The losses that are dealt with at `at_s`: from a loss to the end of its iteration, or until the next one begins.
std::vector<Loss> losses_at(const TimelineData& data, double at_s);
/// At `at_s`, with loads over begin_s..end_s; network seconds from the run's start.
Traffic traffic_at(const TimelineData& data, double at_s, double begin_s, double end_s);

}  // namespace skippipe
