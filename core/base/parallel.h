// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace skippipe {

/// Calls `work(state, k)` for each k below `count`, in no order, on up to `threads` threads, the calling one among
/// them; every thread has a state of its own from `make_state()`. Returns when all is done. After an exception no
/// thread begins another k, and the first one is thrown here.
template <typename MakeState, typename Work>
void parallel_for(int count, int threads, const MakeState& make_state, const Work& work) {
    std::atomic<int> next{0};
    std::exception_ptr failure;
    std::mutex failing;
    const auto take = [&] {
        try {
            auto state = make_state();
            for (int k = next++; k < count; k = next++) work(state, k);
        } catch (...) {
            next = count;
            const std::lock_guard lock(failing);
            if (!failure) failure = std::current_exception();
        }
    };
    {
        std::vector<std::jthread> others;
        for (int t = 1; t < std::min(threads, count); ++t) others.emplace_back(take);
        take();
    }
    if (failure) std::rethrow_exception(failure);
}

/// The same without a state: `work(k)`.
template <typename Work>
void parallel_for(int count, int threads, const Work& work) {
    parallel_for(
        count, threads, [] { return 0; }, [&](int, int k) { work(k); });
}

}  // namespace skippipe
