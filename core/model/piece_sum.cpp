// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/piece_sum.h"

#include <algorithm>
#include <deque>

#include "core/base/index.h"
#include "kernels/vector.h"

namespace skippipe {

namespace {

class TreeSum {
public:
    TreeSum(const Piece& piece, const std::vector<const float*>& parts, std::size_t size)
        : piece_(piece), parts_(parts), size_(size) {}

    /// What a replica hands on; null: nothing. Without children its own part as it is.
    const float* at_replica(int replica) {
        const float* only = nullptr;
        float* sum = nullptr;
        for (int other = 0; at(other) < parts_.size(); ++other) {
            const float* part = other == replica           ? parts_[at(other)]
                                : is_child(other, replica) ? of_child(other)
                                                           : nullptr;
            if (part == nullptr) continue;
            if (only == nullptr) {
                only = part;
                continue;
            }
            if (sum == nullptr) {
                sum = sums_.emplace_back(only, only + size_).data();
                only = sum;
            }
            kernels::sum_into(sum, part, size_);
        }
        return only;
    }

private:
    bool is_child(int other, int replica) const {
        return piece_.form == PieceForm::exchange ? other != replica
                                                  : other != piece_.root && piece_.up[at(other)] == replica;
    }
    const float* of_child(int child) {
        return piece_.form == PieceForm::exchange ? parts_[at(child)] : at_replica(child);
    }

    const Piece& piece_;
    const std::vector<const float*>& parts_;
    std::size_t size_;
    std::deque<std::vector<float>> sums_;  ///< of replicas with children
};

}  // namespace

void sum_piece(const Piece& piece, const std::vector<const float*>& parts, std::size_t size, float* to) {
    TreeSum tree(piece, parts, size);
    const float* sum = tree.at_replica(piece.form == PieceForm::exchange ? 0 : piece.root);
    if (sum == nullptr)
        std::fill_n(to, size, 0.0f);
    else if (sum != to)
        std::copy_n(sum, size, to);
}

}  // namespace skippipe
