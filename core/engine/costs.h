// SPDX-License-Identifier: GPL-3.0-or-later
// The engine's own copy of the rule of operation times (docs/semantics.md, Operations; that of lines is in shaping.h),
// written apart from the planner's and the validator's, so that tests can hold one against the other.
#pragma once
#include "core/planner/plan/timeline.h"

namespace skippipe {

/// How long an operation takes on a node that hosts `stage`.
double operation_seconds(const Problem& problem, const Operation& operation, int node, int stage);

/// Messages of these go the way back.
inline bool is_backward(OpKind kind) { return kind == OpKind::B || kind == OpKind::I; }

/// What a timeline calls an operation.
SpanKind span_kind(OpKind kind);

}  // namespace skippipe
