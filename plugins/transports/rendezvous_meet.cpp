// SPDX-License-Identifier: GPL-3.0-or-later
// How ranks meet anew: rank 0 finds out who is there, the others hear it.
#include <algorithm>
#include <chrono>
#include <map>
#include <thread>

#include <fmt/format.h>

#include "core/engine/transport.h"
#include "plugins/transports/meeting_text.h"
#include "plugins/transports/rendezvous_rules.h"
#include "plugins/transports/run_store.h"

namespace skippipe {

using namespace std::chrono_literals;
using namespace meeting_text;

Meeting Rendezvous::meet(const std::shared_ptr<const std::atomic<bool>>& stop) {
    const auto store = connect(stop);
    int number = 0;
    {
        const std::lock_guard lock(mutex_);
        number = come_to_ = meeting_.number + 1;
    }
    say_alive(*store);
    auto next = launch_.rank == 0 ? decide(*store, number) : hear(*store, number);
    const std::lock_guard lock(mutex_);
    meeting_ = next;
    suspicions_.clear();
    told_ = settled_ = false;
    return next;
}

/// Rank 0: who comes is there, and who has come back. One that is busy is waited for as long as its heart beats.
Meeting Rendezvous::decide(RunStore& store, int number) {
    Meeting next{.number = number, .members = {0}, .loss = {}};
    if (const auto told = store.text(lost_key(number - 1)); !told.empty())
        next.loss = read_loss(told, launch_.world_size);
    const double limit_s = answer_within_s();
    std::map<int, Heard> awaited;
    for (const int rank : members())
        if (rank > 0 && rank != next.loss.rank) awaited[rank] = {"", steady_s(), 0};
    while (!awaited.empty()) {
        for (const int rank : returning()) awaited.erase(rank);  // another process: this one is gone
        if (const auto failed = store.text(failed_key); !failed.empty())
            throw InputError(read_loss(failed, launch_.world_size).faults);
        for (auto one = awaited.begin(); one != awaited.end();) {
            auto& [rank, heard] = *one;
            const auto beat = store.text(beat_key(rank));
            if (beat != heard.beat) heard = {beat, steady_s(), 0};
            const bool comes = meeting_of_beat(beat) >= number;
            const bool silent = ++heard.looks >= looks_in_silence && steady_s() - heard.since_s > limit_s;
            if (comes) next.members.push_back(rank);
            if (silent && next.loss.rank < 0)
                next.loss = {rank, fmt::format("it has been silent for {:.1f} s", limit_s), {}, limit_s};
            one = comes || silent ? awaited.erase(one) : std::next(one);
        }
        std::this_thread::sleep_for(10ms);
    }
    for (const int rank : returning())
        if (store.deleteKey(return_key(rank)) && !contains(next.members, rank)) next.members.push_back(rank);
    std::sort(next.members.begin(), next.members.end());
    somebody_waits_ = false;
    store.set_text(meeting_key, write(next));
    return next;
}

/// A word that changes, for as long as this rank lives and waits.
void Rendezvous::wait_to_be_taken_in(RunStore& store, int number) {
    if (steady_s() - said_that_it_waits_s_ < beat_every_s_ / 2) return;
    said_that_it_waits_s_ = steady_s();
    store.set_text(return_key(launch_.rank), fmt::format("{:.3f} {}", said_that_it_waits_s_, number));
}

/// The others: what rank 0 has found out.
Meeting Rendezvous::hear(RunStore& store, int number) {
    const bool returns = came_back_ && number == 1;
    if (returns) number = read_meeting(store.text(meeting_key), launch_.world_size).number + 1;
    for (;; std::this_thread::sleep_for(10ms)) {
        if (const auto failed = store.text(failed_key); !failed.empty())
            throw InputError(read_loss(failed, launch_.world_size).faults);
        if (returns) wait_to_be_taken_in(store, number);
        const auto text = store.text(meeting_key);
        if (text.empty()) continue;
        auto next = read_meeting(text, launch_.world_size);
        if (next.number < number) continue;
        if (contains(next.members, launch_.rank)) return next;
        if (returns) {
            number = next.number + 1;
            continue;
        }
        throw InputError(fmt::format("rank {}", launch_.rank), "the other ranks have given this one up",
                         "it had been silent for too long: it was stopped, or its machine or network stood still",
                         "They go on without it; started again, it comes back");
    }
}

}  // namespace skippipe
