// SPDX-License-Identifier: GPL-3.0-or-later
// What a candidate was before a move. All changes of a move go through here, so that no move has an undo of its own.
#pragma once
#include <cstdint>
#include <utility>
#include <vector>

#include "core/base/index.h"
#include "core/planner/plan/reduction.h"

namespace skippipe::planners::joint {

/// Whole vectors as they were; memory is used again from move to move.
template <typename T>
class KeptVectors {
public:
    /// False where this move has kept it before.
    bool keep(std::vector<T>& values) {
        for (std::size_t k = 0; k < count_; ++k)
            if (kept_[k].first == &values) return false;
        if (count_ == kept_.size()) kept_.emplace_back();
        kept_[count_].first = &values;
        kept_[count_++].second = values;
        return true;
    }
    /// Of the k-th that was kept.
    const std::vector<T>& before(std::size_t k) const { return kept_[k].second; }
    void undo() {
        for (std::size_t k = 0; k < count_; ++k) kept_[k].first->swap(kept_[k].second);
        count_ = 0;
    }
    void clear() { count_ = 0; }

private:
    std::vector<std::pair<std::vector<T>*, std::vector<T>>> kept_;
    std::size_t count_ = 0;
};

class Journal {
public:
    /// Changes a number, which must stay where it is in memory until undo() or clear().
    void set(int& number, int value) {
        numbers_.push_back({&number, number});
        number = value;
    }
    template <typename Kind>
    void set(Index<Kind>& index, Index<Kind> value) {
        set(index.number(), value);
    }
    template <typename Number>
    void swap(Number& a, Number& b) {
        const Number was = a;
        set(a, b);
        set(b, was);
    }
    /// Before numbers are changed elsewhere.
    void keep(NodeIndex* begin, const NodeIndex* end) {
        for (; begin != end; ++begin) numbers_.push_back({&begin->number(), *begin});
    }
    /// Before a vector is changed as a whole: none of its numbers goes through set(). The same for its order of a node.
    void keep(std::vector<NodeIndex>& ring) { rings_.keep(ring); }
    bool keep(std::vector<std::uint32_t>& order) { return orders_.keep(order); }
    void keep(Pieces& pieces) { reductions_.keep(pieces); }
    /// The k-th order that this move has kept.
    const std::vector<std::uint32_t>& order_before(std::size_t k) const { return orders_.before(k); }

    /// Back to what was, and nothing is kept any more.
    void undo() {
        for (std::size_t k = numbers_.size(); k-- > 0;) *numbers_[k].number = numbers_[k].before;
        numbers_.clear();
        rings_.undo();
        orders_.undo();
        reductions_.undo();
    }
    void clear() {
        numbers_.clear();
        rings_.clear();
        orders_.clear();
        reductions_.clear();
    }

private:
    struct Number {
        int* number;
        int before;
    };
    std::vector<Number> numbers_;
    KeptVectors<NodeIndex> rings_;
    KeptVectors<std::uint32_t> orders_;
    KeptVectors<Piece> reductions_;
};

}  // namespace skippipe::planners::joint
