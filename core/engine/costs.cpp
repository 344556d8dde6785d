// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/engine/costs.h"

namespace skippipe {

SpanKind span_kind(OpKind kind) {
    switch (kind) {
        case OpKind::F: return SpanKind::forward;
        case OpKind::L: return SpanKind::loss;
        case OpKind::B: return SpanKind::backward;
        case OpKind::I: return SpanKind::input_gradient;
        case OpKind::W: return SpanKind::weight_gradient;
    }
    return SpanKind::forward;
}

double operation_seconds(const Problem& problem, const Operation& operation, int node, int stage) {
    const double forward_s = problem.forward_s(NodeIndex(node), StageIndex(stage)),
                 size = problem.relative_size(operation.microbatch);
    switch (operation.kind) {
        case OpKind::F: return forward_s * size;
        case OpKind::L: return problem.loss_factor * forward_s * size;
        case OpKind::B: return problem.backward_factor * forward_s * size;
        case OpKind::I:
        case OpKind::W: return problem.backward_factor * forward_s / 2 * size;
    }
    return 0;
}

}  // namespace skippipe
