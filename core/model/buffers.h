// SPDX-License-Identifier: GPL-3.0-or-later
// Memory that is used again: after the first microbatches nothing is allocated any more.
#pragma once
#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include <torch/types.h>

namespace skippipe {

/// A node's fp32 buffers, never more than were taken at once. Used by one task at a time.
class BufferPool {
public:
    /// A buffer of at least `size` floats, whatever it holds.
    torch::Tensor take(std::int64_t size) {
        const auto fits = [&](const torch::Tensor& buffer) { return buffer.numel() >= size; };
        const auto found = std::find_if(free_.begin(), free_.end(), fits);
        if (found == free_.end()) {
            if (!free_.empty()) free_.pop_back();  // the new one is in its place
            return torch::empty({size});
        }
        auto buffer = std::move(*found);
        free_.erase(found);
        return buffer;
    }
    void give(torch::Tensor buffer) {
        if (buffer.defined()) free_.push_back(std::move(buffer));
    }

private:
    std::vector<torch::Tensor> free_;
};

/// A thread's own scratch memory, cut into parts anew by each task.
class Scratch {
public:
    static Scratch& of_this_thread() {
        thread_local Scratch scratch;
        return scratch;
    }
    /// A part that only grows; each `slot` is memory of its own.
    float* part(std::size_t slot, std::int64_t size) {
        if (slots_.size() <= slot) slots_.resize(slot + 1);
        if (!slots_[slot].defined() || slots_[slot].numel() < size) {
            slots_[slot].reset();  // first: both need not exist at once
            slots_[slot] = torch::empty({size});
        }
        return slots_[slot].data_ptr<float>();
    }

private:
    std::vector<torch::Tensor> slots_;
};

}  // namespace skippipe
