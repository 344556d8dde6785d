// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "core/planner/plan/timeline.h"

namespace skippipe::protocol {

/// Spans as one text that reads back to the last bit: nine numbers a span, in the order of `Span`, each followed by a
/// space. An iteration has thousands: a tree of JSON values would take five times as long.
std::string to_text(const std::vector<Span>& spans);

/// Throws std::out_of_range at what is no such text: another count of numbers, a kind that is none, a number that is
/// not finite or does not fit.
std::vector<Span> read_spans(std::string_view text);

}  // namespace skippipe::protocol
