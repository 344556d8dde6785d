// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/planner/timeline/reduction_machine.h"

namespace skippipe {

void ReductionMachine::prepare(const Problem& problem, const PerStage<std::vector<NodeIndex>>& stages,
                               const PerStage<Pieces>& pieces) {
    pieces_.clear();
    first_piece_.clear();
    piece_of_.clear();
    missing_.clear();
    hands_down_.clear();
    place_.resize(problem.node_ids.size());
    sums_missing_.resize(problem.node_ids.size());
    stage_of_.resize(problem.node_ids.size());
    for (StageIndex stage = 0; at(stage) < stages.size(); ++stage) {
        const auto& nodes = stages[stage];
        const int replicas = static_cast<int>(nodes.size());
        first_piece_.push_back(static_cast<int>(pieces_.size()));
        for (int place = 0; place < replicas; ++place) {
            place_[nodes[at(place)]] = place;
            stage_of_[nodes[at(place)]] = stage;
            sums_missing_[nodes[at(place)]] = static_cast<int>(pieces[stage].size());
        }
        for (const Piece& piece : pieces[stage]) {
            const bool tree = piece.form == PieceForm::tree;
            const std::size_t first = missing_.size();
            piece_of_.resize(first + at(replicas), static_cast<int>(pieces_.size()));
            missing_.resize(first + at(replicas), tree ? 1 : replicas);
            hands_down_.resize(first + at(replicas), 0);
            for (int place = 0; tree && place < replicas; ++place) {
                if (place == piece.root) continue;
                ++missing_[first + at(piece.up[at(place)])];
                hands_down_[first + at(piece.down[at(place)])] = 1;
            }
            pieces_.push_back({piece.form, stage, piece.root, replicas, piece.up.data(), piece.down.data(),
                               nodes.data(), piece.share * problem.gradient_bytes[stage],
                               static_cast<std::uint32_t>(first)});
        }
    }
    first_piece_.push_back(static_cast<int>(pieces_.size()));
}

}  // namespace skippipe
