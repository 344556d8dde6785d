// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstddef>

#include "core/engine/compute.h"

namespace skippipe {

/// The arithmetic of planned reductions between ranks (docs/semantics.md, Reductions as transfers), with the pieces of
/// RankSchedule::pieces; of the nodes of one rank, by stage, piece and place in the stage. Own gradients stay as they
/// are: a reduction can be given up and made anew. From one thread.
class PieceSums {
public:
    virtual ~PieceSums() = default;

    /// Nothing has come yet.
    virtual void begin(const RankSchedule& schedule) = 0;
    /// Of each message of a piece.
    virtual std::size_t message_bytes(int stage, int piece) const = 0;
    /// What the replica hands on: its own part, with its children's in a tree; all have come. Once each receiver.
    virtual Buffer part(int stage, int piece, int place) = 0;
    /// A part has come to the replica at `place` from that at `from`. Throws PeerFault where it cannot be.
    virtual void take_part(int stage, int piece, int place, int from, Buffer message) = 0;
    /// Both at once, between two replicas here: what is not rounded stays where it is.
    virtual void hand_part(int stage, int piece, int from, int to) = 0;
    /// The sum, where the replica has all parts or was handed it.
    virtual Buffer sum(int stage, int piece, int place) = 0;
    virtual void take_sum(int stage, int piece, int place, Buffer message) = 0;
    /// The same for the replicas here, from that at `place`: they share one sum.
    virtual void hand_sum(int stage, int piece, int place) = 0;
    /// Every replica here has all of the stage's gradient: leaves the mean in the first copy here.
    virtual StageSum finish(int stage) = 0;
};

}  // namespace skippipe
