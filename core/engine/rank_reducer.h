// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <exception>
#include <vector>

#include "core/engine/compute.h"
#include "core/planner/plan/timeline.h"

namespace skippipe {

/// Sums the stages of one rank under the wall clock, on a thread of its own, beside operations.
class RankReducer {
public:
    virtual ~RankReducer() = default;

    /// From here on things may come.
    virtual void begin_iteration(int iteration, double origin_s) = 0;
    /// The transport has begun the iteration.
    virtual void start() = 0;
    /// Of a transfer of a planned reduction.
    virtual std::size_t message_bytes(const RankTransfer& transfer) const { return static_cast<void>(transfer), 0; }
    /// One operation of a node here has ended.
    virtual void operation_ended(int node, int stage) = 0;
    /// What a planned reduction has handed to a node here. From any thread.
    virtual void arrived(Delivery message) { static_cast<void>(message); }
    /// The iteration will not come to its end. From any thread.
    virtual void break_off(std::exception_ptr error) { static_cast<void>(error); }
    /// Waits for the last sum; throws what a reduction threw. Adds the spans.
    virtual std::vector<StageSum> finish(std::vector<Span>& spans) = 0;
    /// Of what was begun nothing counts. The transport must have been aborted where a reduction may still wait for
    /// another rank.
    virtual void stop() = 0;
};

}  // namespace skippipe
