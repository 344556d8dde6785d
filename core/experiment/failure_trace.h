// SPDX-License-Identifier: GPL-3.0-or-later
// Replay of a trace: when machines went down and came up again, as crashes of the document.
#pragma once
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/fault.h"
#include "core/experiment/document.h"

namespace skippipe {

inline constexpr std::size_t max_trace_rows = 10'000;

/// A CSV with the header `node,down_s,up_s`: a row an outage, in seconds of network time, in any order. `node` is a
/// node of the topology, or "any" or "any-data-node"; an empty `up_s` is one that never comes back. Names with commas
/// stand in double quotes; empty lines, and those that begin with #, say nothing.
///
/// Gives one crash a row. Appends a fault for each line that cannot be used, its place as `name:line`: unknown nodes,
/// numbers that are none, negative or beyond the document's limits, ends before their beginnings, outages of one node
/// that overlap, more than `max_trace_rows` rows.
std::vector<Failure> parse_failure_trace(std::string_view csv, const std::string& name, const Topology& topology,
                                         Faults& faults);

/// The same from a file. Throws InputError with every fault.
std::vector<Failure> load_failure_trace(const std::filesystem::path& file, const Topology& topology);

}  // namespace skippipe
