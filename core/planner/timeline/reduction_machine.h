// SPDX-License-Identifier: GPL-3.0-or-later
// Planned reductions as they go from arrival to arrival (docs/semantics.md, Reductions as transfers).
#pragma once
#include <cstdint>
#include <vector>

#include "core/base/index.h"
#include "core/planner/plan/problem.h"
#include "core/planner/plan/reduction.h"

namespace skippipe {

/// What a slot of a planned reduction brings: to the replica at that place of the stage a part, or the sum, of a piece.
struct HandedPart {
    StageIndex stage = 0;
    int piece = 0, place = 0;
    bool sum = false;
};

/// What the replicas of all stages have of their gradients. It knows no time: who drives it says what happens, and is
/// told in turn what is handed over, in the order that ties go by, and who has the sum of everything. Reuses its
/// memory.
class ReductionMachine {
public:
    /// Begins anew. `pieces` of every stage, valid for its nodes; both outlive the iteration. A stage without nodes is
    /// none.
    void prepare(const Problem& problem, const PerStage<std::vector<NodeIndex>>& stages,
                 const PerStage<Pieces>& pieces);

    /// The node's own part of all its pieces is there. `send(from, to, stage, bytes, slot)`: a part or sum is handed
    /// over, `slot` is for arrived(). `whole(node)`: it has the sums of all pieces.
    template <typename Send, typename Whole>
    void own_part(NodeIndex node, const Send& send, const Whole& whole) {
        const int place = place_[node], first = first_piece_[stage_of_[node]],
                  count = first_piece_[StageIndex(stage_of_[node] + 1)] - first;
        if (count == 0) whole(node);
        for (int k = 0; k < count; ++k) {
            const Summed& piece = pieces_[at(first + (place + 1 + k) % count)];
            if (piece.form == PieceForm::exchange) to_others(piece, place, nullptr, send);
            part_there(piece, place, send, whole);
        }
    }

    /// What was handed over with that slot is there.
    template <typename Send, typename Whole>
    void arrived(std::uint32_t slot, const Send& send, const Whole& whole) {
        const auto index = slot >> 1;
        const Summed& piece = pieces_[at(piece_of_[index])];
        const int place = static_cast<int>(index - piece.first_slot);
        if ((slot & 1) != 0)
            sum_there(piece, place, send, whole);
        else
            part_there(piece, place, send, whole);
    }

    HandedPart handed(std::uint32_t slot) const {
        const int piece = piece_of_[slot >> 1];
        const Summed& summed = pieces_[at(piece)];
        return {summed.stage, piece - first_piece_[summed.stage], static_cast<int>((slot >> 1) - summed.first_slot),
                (slot & 1) != 0};
    }

private:
    struct Summed {
        PieceForm form;
        StageIndex stage;
        int root, replicas;
        const int *up, *down;
        const NodeIndex* nodes;
        double bytes;
        std::uint32_t first_slot;
    };

    /// Hands to every other replica, or to those whose parent it is.
    template <typename Send>
    void to_others(const Summed& piece, int place, const int* parents, const Send& send) const {
        for (int k = 1; k < piece.replicas; ++k) {
            const int other = place + k < piece.replicas ? place + k : place + k - piece.replicas;
            if (parents != nullptr && parents[other] != place) continue;
            send(piece.nodes[place], piece.nodes[other], piece.stage, piece.bytes,
                 (piece.first_slot + static_cast<std::uint32_t>(other)) << 1 | (parents != nullptr ? 1u : 0u));
        }
    }

    template <typename Send, typename Whole>
    void part_there(const Summed& piece, int place, const Send& send, const Whole& whole) {
        const auto slot = piece.first_slot + static_cast<std::uint32_t>(place);
        if (--missing_[slot] > 0) return;
        if (piece.form == PieceForm::exchange || place == piece.root) return sum_there(piece, place, send, whole);
        const int parent = piece.up[place];
        send(piece.nodes[place], piece.nodes[parent], piece.stage, piece.bytes,
             (piece.first_slot + static_cast<std::uint32_t>(parent)) << 1);
    }

    template <typename Send, typename Whole>
    void sum_there(const Summed& piece, int place, const Send& send, const Whole& whole) {
        if (piece.form == PieceForm::tree && hands_down_[piece.first_slot + static_cast<std::uint32_t>(place)] != 0)
            to_others(piece, place, piece.down, send);
        const NodeIndex node = piece.nodes[place];
        if (--sums_missing_[node] == 0) whole(node);
    }

    std::vector<Summed> pieces_;
    PerStage<int> first_piece_;             ///< one more than there are stages
    std::vector<int> piece_of_;             ///< of each slot: a piece at a replica
    std::vector<int> missing_;              ///< of each slot: parts that are still to come, its own included
    std::vector<std::uint8_t> hands_down_;  ///< of each slot
    PerNode<int> place_, sums_missing_;
    PerNode<StageIndex> stage_of_;
};

}  // namespace skippipe
