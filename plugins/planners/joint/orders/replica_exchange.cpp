// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/planners/joint/orders/replica_exchange.h"

#include <algorithm>
#include <cmath>
#include <mutex>

#include "core/base/index.h"
#include "core/base/parallel.h"

namespace skippipe::planners::joint {

namespace {

/// Of the coldest temperature: where reheating begins, from and to, and ends (found by trial).
constexpr double least_heat = 0.85, most_heat = 2.8, end_heat = 0.2;
/// Shorter reheating, more often, finds less.
constexpr std::int64_t least_reheat = 3'500'000;

/// How often all elites are reheated; each time, half of them twice more.
int waves_of(std::int64_t each) {
    for (const int waves : {10, 8, 5, 4, 2})
        if (each / waves >= least_reheat) return waves;
    return 1;
}

}  // namespace

ReplicaExchange::ReplicaExchange(const Problem& problem, const PlanCandidate& start, double hot_s, double cold_s,
                                 std::uint64_t seed, std::uint64_t stream)
    : problem_(problem), seed_(seed), stream_(stream), rng_(seed, stream), best_(start) {
    for (int k = 0; k < replicas; ++k) {
        chains_.push_back(std::make_unique<OrderAnnealer>(problem, start, seed, stream + 1 + at(k)));
        temperatures_s_.push_back(hot_s * std::pow(cold_s / hot_s, k / (replicas - 1.0)));
    }
    best_s_ = chains_.front()->best_s();
}

void ReplicaExchange::round(int threads) {
    parallel_for(replicas, threads, [&](int k) { chains_[at(k)]->stay(steps_a_turn, temperatures_s_[at(k)]); });
    ++rounds_;
    steps_ += steps_a_round;
    take_best(chains_);
    swap_neighbours();
}

/// By turns of the even pairs and of the odd: so that each chain still visits its candidates as often as its
/// temperature says.
void ReplicaExchange::swap_neighbours() {
    for (int k = static_cast<int>(rounds_ % 2); k + 1 < replicas; k += 2) {
        auto &hot = chains_[at(k)], &cold = chains_[at(k) + 1];
        const double gain =
            (1 / temperatures_s_[at(k) + 1] - 1 / temperatures_s_[at(k)]) * (cold->current_s() - hot->current_s());
        if (gain >= 0 || rng_.uniform() < std::exp(gain)) std::swap(hot, cold);
    }
}

void ReplicaExchange::take_best(const Chains& chains) {
    for (const auto& chain : chains) {
        if (!(chain->best_s() < best_s_)) continue;
        best_s_ = chain->best_s();
        best_ = chain->best();
    }
}

std::vector<ReplicaExchange::Elite> ReplicaExchange::best_ends() const {
    std::vector<const OrderAnnealer*> order;
    for (const auto& chain : chains_) order.push_back(chain.get());
    std::stable_sort(order.begin(), order.end(),
                     [](const auto* a, const auto* b) { return a->best_s() < b->best_s(); });
    std::vector<Elite> ends;
    for (int k = 0; k < elites; ++k) ends.push_back({order[k]->best(), order[k]->best_s()});
    return ends;
}

void ReplicaExchange::finish(int threads, const PlanCandidate* besides, const std::function<bool()>& go_on) {
    auto ends = best_ends();
    if (besides != nullptr) {
        ends.pop_back();
        ends.insert(ends.begin(), {*besides, iteration_s(problem_, *besides)});
    }
    const std::int64_t each = rounds_ * reheated_a_round / (2 * elites);
    const int waves = waves_of(each);
    for (int wave = 0; wave < 3 * waves; ++wave)
        reheat(ends, wave < waves ? elites : elites / 2, each / waves, threads, go_on);
}

/// The first `count` of the ends; they are sorted after that.
void ReplicaExchange::reheat(std::vector<Elite>& ends, int count, std::int64_t steps, int threads,
                             const std::function<bool()>& go_on) {
    const double cold_s = temperatures_s_.back();
    Chains chains;
    std::vector<double> first_s;
    for (int k = 0; k < count; ++k) {
        chains.push_back(std::make_unique<OrderAnnealer>(problem_, ends[at(k)].candidate, seed_,
                                                         stream_ + 1 + replicas + reheats_++));
        first_s.push_back(cold_s * least_heat * std::pow(most_heat / least_heat, rng_.uniform()));
    }
    std::mutex one_at_a_time;
    parallel_for(count, threads, [&](int k) {
        chains[at(k)]->run(steps, TemperatureSchedule::between(first_s[at(k)], cold_s * end_heat), {}, [&](double) {
            const std::lock_guard lock(one_at_a_time);
            return go_on();
        });
    });
    for (int k = 0; k < count; ++k) {
        steps_ += chains[at(k)]->steps();
        ends[at(k)] = {chains[at(k)]->best(), chains[at(k)]->best_s()};
    }
    take_best(chains);
    std::stable_sort(ends.begin(), ends.end(), [](const Elite& a, const Elite& b) { return a.seconds < b.seconds; });
}

}  // namespace skippipe::planners::joint
