// SPDX-License-Identifier: GPL-3.0-or-later
// Runs kernels/cuda's sources on the CPU: the threads of a block as fibers, taken in random order from one barrier or
// shuffle to the next, blocks in random order; what threads share begins as NaN. A barrier that is missing shows as a
// wrong result for some seed, one that not all threads reach ends the launch.
#pragma once
#include <ucontext.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/base/rng.h"

namespace skippipe::testing {

class EmulatedBlock;

class BlockEmulator {
public:
    using Body = std::function<void(EmulatedBlock&)>;
    /// left_out: of the barriers that each thread comes to in a block, the one that it passes by; -1 none.
    explicit BlockEmulator(std::uint64_t seed, int left_out = -1) : random_(seed), left_out_(left_out) {}

    /// Every thread of every block runs `body`. Throws where a block can't go on: threads wait for others that ended.
    void launch(int blocks, int threads, const Body& body) {
        if (threads < 32 || threads > 1024 || threads % 32) throw std::invalid_argument("threads come in 32s");
        blocks_ = blocks;
        body_ = &body;
        std::vector<int> order(static_cast<std::size_t>(blocks));
        std::iota(order.begin(), order.end(), 0);
        for (auto i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random_.below(i)]);
        for (const int block : order) run_block(block, threads);
    }

    /// Most barriers that a thread came to in a block so far.
    int most_barriers() const { return most_barriers_; }

private:
    friend class EmulatedBlock;
    enum class State { ready, barrier, shuffle, ended };
    struct Fiber {
        ucontext_t context{};
        std::unique_ptr<char[]> stack;
        State state = State::ready;
        double given = 0, received = 0;  ///< of a shuffle; a float goes through a double unchanged
        int mask = 0, barriers = 0;
    };
    static constexpr std::size_t stack_bytes = 256 << 10;

    void run_block(int index, int threads);
    void wait(int thread, State state) {
        auto& fiber = fibers_[static_cast<std::size_t>(thread)];
        fiber.state = state;
        swapcontext(&fiber.context, &scheduler_);
    }
    bool release();
    std::size_t choose(const std::vector<int>& ready);
    static void enter(unsigned low, unsigned high);

    Rng random_;
    int hurried_ = -1;  ///< warp that goes first wherever it can; -1: none does
    int left_out_, blocks_ = 0, index_ = 0, current_ = 0, most_barriers_ = 0;
    const Body* body_ = nullptr;
    std::vector<Fiber> fibers_;
    ucontext_t scheduler_{};
    float scratch_[128];
};

/// What a kernel sees of it: kernels/cuda/block.h says what its functions do.
class EmulatedBlock {
public:
    EmulatedBlock(BlockEmulator& emulator, int thread) : emulator_(emulator), thread_(thread) {}
    int thread() const { return thread_; }
    int threads() const { return static_cast<int>(emulator_.fibers_.size()); }
    int index() const { return emulator_.index_; }
    int blocks() const { return emulator_.blocks_; }
    float* scratch() { return emulator_.scratch_; }
    void sync() {
        auto& fiber = emulator_.fibers_[static_cast<std::size_t>(thread_)];
        const int number = fiber.barriers++;
        emulator_.most_barriers_ = std::max(emulator_.most_barriers_, fiber.barriers);
        if (number != emulator_.left_out_) emulator_.wait(thread_, BlockEmulator::State::barrier);
    }
    float shuffle_xor(float value, int mask) {
        auto& fiber = emulator_.fibers_[static_cast<std::size_t>(thread_)];
        fiber.given = static_cast<double>(value);
        fiber.mask = mask;
        emulator_.wait(thread_, BlockEmulator::State::shuffle);
        return static_cast<float>(fiber.received);
    }

private:
    BlockEmulator& emulator_;
    int thread_;
};

inline void BlockEmulator::enter(unsigned low, unsigned high) {
    auto* self =
        reinterpret_cast<BlockEmulator*>(static_cast<std::uintptr_t>(low) | static_cast<std::uintptr_t>(high) << 32);
    const int thread = self->current_;
    {
        EmulatedBlock block(*self, thread);
        (*self->body_)(block);
    }
    self->wait(thread, State::ended);
}

inline void BlockEmulator::run_block(int index, int threads) {
    index_ = index;
    hurried_ = static_cast<int>(random_.below(static_cast<std::uint64_t>(threads / 32) + 1)) - 1;
    std::memset(scratch_, 0xff, sizeof scratch_);
    fibers_.clear();
    fibers_.resize(static_cast<std::size_t>(threads));
    const auto self = reinterpret_cast<std::uintptr_t>(this);
    for (auto& fiber : fibers_) {
        fiber.stack = std::make_unique_for_overwrite<char[]>(stack_bytes);
        getcontext(&fiber.context);
        fiber.context.uc_stack.ss_sp = fiber.stack.get();
        fiber.context.uc_stack.ss_size = stack_bytes;
        makecontext(&fiber.context, reinterpret_cast<void (*)()>(&BlockEmulator::enter), 2,
                    static_cast<unsigned>(self & 0xffffffffu), static_cast<unsigned>(self >> 32));
    }
    do {
        std::vector<int> ready;
        for (int thread = 0; thread < threads; ++thread)
            if (fibers_[static_cast<std::size_t>(thread)].state == State::ready) ready.push_back(thread);
        while (!ready.empty()) {
            const auto pick = choose(ready);
            current_ = ready[pick];
            ready[pick] = ready.back();
            ready.pop_back();
            swapcontext(&scheduler_, &fibers_[static_cast<std::size_t>(current_)].context);
            // Others may go on at once where this one completed what they wait for.
            if (release()) break;
        }
    } while (std::any_of(fibers_.begin(), fibers_.end(), [](const Fiber& f) { return f.state == State::ready; }));
    for (const auto& fiber : fibers_)
        if (fiber.state != State::ended)
            throw std::runtime_error("threads of a block wait for others that ended: at a " +
                                     std::string(fiber.state == State::barrier ? "barrier" : "shuffle"));
}

/// Any of them; where a warp is hurried, which runs far ahead of the others, one of its own.
inline std::size_t BlockEmulator::choose(const std::vector<int>& ready) {
    const auto of_hurried = std::find_if(ready.begin(), ready.end(), [&](int t) { return t / 32 == hurried_; });
    if (of_hurried != ready.end()) return static_cast<std::size_t>(of_hurried - ready.begin());
    return random_.below(ready.size());
}

/// Lets threads go on that wait for nobody any more; whether any does.
inline bool BlockEmulator::release() {
    bool any = false;
    for (std::size_t first = 0; first < fibers_.size(); first += 32) {
        const auto begin = fibers_.begin() + static_cast<std::ptrdiff_t>(first), end = begin + 32;
        if (!std::all_of(begin, end, [](const Fiber& f) { return f.state == State::shuffle; })) continue;
        for (auto fiber = begin; fiber != end; ++fiber)
            fiber->received = (begin + ((fiber - begin) ^ fiber->mask))->given;
        for (auto fiber = begin; fiber != end; ++fiber) fiber->state = State::ready;
        any = true;
    }
    if (std::all_of(fibers_.begin(), fibers_.end(), [](const Fiber& f) { return f.state == State::barrier; })) {
        for (auto& fiber : fibers_) fiber.state = State::ready;
        any = true;
    }
    return any;
}

}  // namespace skippipe::testing
