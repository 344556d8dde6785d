// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "core/engine/piece_sums.h"
#include "core/model/torch_compute_state.h"

namespace skippipe {

/// Sums of TorchCompute's gradients, a piece at a time. A message is the piece's values as training.gradient_wire has
/// them and, behind them, the number of tokens whose gradients they are (int64): who has none of them has nothing to
/// add, but what int8's error feedback owes. What replicas hand each other is rounded once: a part when it is handed on
/// (in an exchange for its own replica too), the sum where it is made; a sum goes on as it came.
class TorchPieceSums final : public PieceSums {
public:
    /// It outlives this.
    explicit TorchPieceSums(TorchCompute::Implementation& of) : of_(of) {}

    void begin(const RankSchedule& schedule) override;
    std::size_t message_bytes(int stage, int piece) const override;
    Buffer part(int stage, int piece, int place) override;
    void take_part(int stage, int piece, int place, int from, Buffer message) override;
    void hand_part(int stage, int piece, int from, int to) override;
    Buffer sum(int stage, int piece, int place) override;
    void take_sum(int stage, int piece, int place, Buffer message) override;
    void hand_sum(int stage, int piece, int place) override;
    StageSum finish(int stage) override;
    /// All of a stage whose nodes are all here, piece by piece.
    StageSum reduce_alone(int stage, const Pieces& pieces);

private:
    /// A stage under way.
    struct Stage {
        std::vector<NodeIndex> nodes;
        Pieces pieces;
        std::vector<std::int64_t> ends;    ///< of each piece, in values; it begins where the one before ends
        std::vector<std::int64_t> tokens;  ///< of each piece's sum; -1: not here yet
        torch::Tensor sum;                 ///< where the first copy here is
        std::vector<Buffer> rounded;       ///< int8: each piece's sum as it travels
    };
    struct PartOf {
        Buffer message;
        std::int64_t tokens = 0;
        torch::Tensor values;  ///< defined: what a replica here handed on, where it lies, and no message
    };
    /// A piece at a replica: what has come, by the place that it is from.
    using Parts = std::map<int, PartOf>;

    std::int64_t begin_of(const Stage& stage, int piece) const {
        return piece == 0 ? 0 : stage.ends[static_cast<std::size_t>(piece) - 1];
    }
    std::size_t size_of(int stage, int piece) const;
    std::size_t value_bytes(int stage, int piece) const;
    WireType wire() const { return of_.experiment.training.gradient_wire; }
    /// The piece of a stage's flat array.
    torch::Tensor piece_of(const torch::Tensor& flat, int stage, int piece) const;
    /// Of what the replica at `place` hands on.
    Buffer message_of(int stage, int piece, int place, const torch::Tensor& values, std::int64_t tokens);
    torch::Tensor decoded(int stage, int piece, const Buffer& message) const;
    void begin_stage(Stage& stage);
    void hand_up(int stage, int piece, int place);
    std::int64_t tokens_in(const Buffer& message, int stage, int piece, int from) const;
    bool is_exchange(int stage, int piece) const;
    PartOf sum_of_parts(int stage, int piece, int place);
    std::int64_t add_parts(int stage, int piece, int place, bool own_alone, const torch::Tensor& to);
    /// What was submitted for the node has ended: whoever is told that a sum is there may ask the clock.
    void wait_for(NodeIndex node);
    void make_sum(int stage, int piece, int place);
    void add_alone(StageCopies& copies);

    TorchCompute::Implementation& of_;
    std::vector<Stage> stages_;
    std::map<std::tuple<int, int, int>, Parts> parts_;  ///< by stage, piece and place
};

}  // namespace skippipe
