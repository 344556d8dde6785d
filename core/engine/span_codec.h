// SPDX-License-Identifier: GPL-3.0-or-later
// Spans as they travel between ranks: bytes of a stated layout, checked before anything is made of them.
#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/planner/plan/timeline.h"

namespace skippipe {

/// What a span of this run can name.
struct SpanLimits {
    int nodes = 0, stages = 0, microbatches = 0;
    std::size_t most = 1u << 24;  ///< spans in one message
};

/// Little-endian: "SPAN", version (1 byte), number of spans (4 bytes), then of each its kind (1 byte), node, to_node,
/// stage and microbatch (4 bytes each, -1: none), ready_s, start_s, end_s and bytes (doubles).
std::string encode_spans(std::span<const Span> spans);

/// The spans of `rank`'s message. Throws PeerFault where it is of another version or length, holds more than
/// `limits.most`, or a span is of an unknown kind, names a node, stage or microbatch that the run does not have, a
/// receiver where it is no transfer (or none where it is), times that are no numbers, beyond 1e9 s or not in their
/// order, or negative bytes. Allocates no more than the message is long.
std::vector<Span> decode_spans(std::string_view message, const SpanLimits& limits, int rank);

}  // namespace skippipe
