// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/planners/ladder.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <mutex>
#include <thread>

namespace skippipe {

namespace {

std::size_t at(int index) { return static_cast<std::size_t>(index); }
/// Of the coldest temperature (found by trial).
constexpr double cool_from = 1.3, cool_to = 0.2;

/// Does `work(k)` for each k below `count`, on up to so many threads.
template <typename Work>
void share(int count, int threads, const Work& work) {
    std::atomic<int> next{0};
    const auto take = [&] {
        for (int k = next++; k < count; k = next++) work(k);
    };
    std::vector<std::jthread> others;
    for (int t = 1; t < std::min(threads, count); ++t) others.emplace_back(take);
    take();
}

}  // namespace

Ladder::Ladder(const Problem& problem, const Draft& start, double hot_s, double cold_s, std::uint64_t seed, std::uint64_t stream)
    : problem_(problem), seed_(seed), stream_(stream), rng_(seed, stream), best_(start) {
    for (int k = 0; k < rungs; ++k) {
        chains_.push_back(std::make_unique<OrderChain>(problem, start, seed, stream + 1 + at(k)));
        temperatures_s_.push_back(hot_s * std::pow(cold_s / hot_s, k / (rungs - 1.0)));
    }
    best_s_ = chains_.front()->best_s();
}

void Ladder::round(int threads) {
    share(rungs, threads, [&](int k) { chains_[at(k)]->stay(steps_a_turn, temperatures_s_[at(k)]); });
    ++rounds_;
    steps_ += steps_a_round;
    take_best(chains_);
    exchange();
}

/// By turns of the even pairs and of the odd: so that each chain still visits its drafts as often as its temperature says.
void Ladder::exchange() {
    for (int k = static_cast<int>(rounds_ % 2); k + 1 < rungs; k += 2) {
        auto &hot = chains_[at(k)], &cold = chains_[at(k) + 1];
        const double gain = (1 / temperatures_s_[at(k) + 1] - 1 / temperatures_s_[at(k)]) * (cold->current_s() - hot->current_s());
        if (gain >= 0 || rng_.uniform() < std::exp(gain)) std::swap(hot, cold);
    }
}

void Ladder::take_best(const Chains& chains) {
    for (const auto& chain : chains) {
        if (!(chain->best_s() < best_s_)) continue;
        best_s_ = chain->best_s();
        best_ = chain->best();
    }
}

void Ladder::finish(int threads, const std::function<bool()>& go_on) {
    std::vector<const OrderChain*> ends;
    for (const auto& chain : chains_) ends.push_back(chain.get());
    std::stable_sort(ends.begin(), ends.end(), [](const auto* a, const auto* b) { return a->best_s() < b->best_s(); });
    Chains cooled;
    for (int k = 0; k < elites; ++k) cooled.push_back(std::make_unique<OrderChain>(problem_, ends[at(k)]->best(), seed_, stream_ + 1 + rungs + at(k)));
    const double cold_s = temperatures_s_.back();
    std::mutex one_at_a_time;
    share(elites, threads, [&](int k) {
        cooled[at(k)]->run(rounds_ * elite_steps_a_round, cold_s * cool_from, cold_s * cool_to, {}, [&](double) {
            const std::lock_guard lock(one_at_a_time);
            return go_on();
        });
    });
    for (const auto& chain : cooled) steps_ += chain->steps();
    take_best(cooled);
}

}  // namespace skippipe
