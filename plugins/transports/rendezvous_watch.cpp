// SPDX-License-Identifier: GPL-3.0-or-later
// How a rank notices that another is gone: its threads beat, look at others' beats, and hear what others say.
#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "core/engine/transport.h"
#include "plugins/transports/meeting_text.h"
#include "plugins/transports/rendezvous_rules.h"
#include "plugins/transports/run_store.h"

namespace skippipe {

using namespace meeting_text;

namespace {

/// While ranks meet: whoever says nothing for so long (or five beats) is lost too.
constexpr double shortest_answer_s = 1.5;
/// Between the rendezvous and a rank's first beat.
constexpr double join_within_s = 120;

}  // namespace

double beat_interval_s(int world_size) {
    // Of each rank and beat: its own, "lost", and that of the other side, rank 0's by all and all by rank 0.
    constexpr double requests_per_rank = 4, most_per_s = 200;
    return std::max(0.2, requests_per_rank * world_size / most_per_s);
}

void Rendezvous::watch(std::function<void(const LostRank&)> lost, double limit_s) {
    lost_ = std::move(lost);
    beat_every_s_ = beat_interval_s(launch_.world_size);
    limit_s_ = std::max(limit_s, 5 * beat_every_s_);
    heard_.assign(static_cast<std::size_t>(launch_.world_size), {"", steady_s(), 0});
    heart_ = std::thread([this] { beat(); });
    sweeper_ = std::thread([this] { sweep(); });
    answered_at_s_ = steady_s();
    store_watch_ = std::thread([this] { watch_store(); });
}

/// Apart from looking at the others, which takes as long as there are many: who looks must not fall silent meanwhile.
void Rendezvous::beat() {
    try {
        const auto store = connect(over_);
        do {
            say_alive(*store);
            if (listens()) {
                listen(*store);
                confirm_suspicion(*store);
            }
            answered_at_s_ = steady_s();
        } while (pause(beat_every_s_));
    } catch (const std::exception& error) {
        lose({0, fmt::format("its store cannot be reached: {}", error.what()), {}});
    }
}

/// A beat says to which meeting this rank has come.
void Rendezvous::say_alive(RunStore& store) {
    std::string beat;
    {
        const std::lock_guard lock(mutex_);
        beat = fmt::format("{} {}", ++beats_, come_to_);
    }
    store.set_text(beat_key(launch_.rank), beat);
}

/// Where the store's host is stopped, who asks it waits for its answer and hears of nobody's silence.
void Rendezvous::watch_store() {
    for (int looks = 0; pause(beat_every_s_);) {
        looks = steady_s() - answered_at_s_ > limit_s_ + beat_every_s_ ? looks + 1 : 0;
        if (looks < looks_in_silence) continue;
        return lose({0, fmt::format("its store has been silent for {:.0f} s", limit_s_), {}});
    }
}

/// What a rank told everybody.
void Rendezvous::listen(RunStore& store) {
    int number = 0;
    {
        const std::lock_guard lock(mutex_);
        number = meeting_.number;
    }
    const auto told = store.text(lost_key(number));
    if (told.empty()) return;
    lose(read_loss(told, launch_.world_size));
}

/// Rank 0 looks at everybody, the others at rank 0, through the store.
void Rendezvous::sweep() {
    try {
        const auto store = connect(over_);
        do {
            if (launch_.rank > 0) {
                look_at(*store, 0);
                continue;
            }
            for (const int rank : members())
                if (rank > 0 && listens()) look_at(*store, rank);
            look_for_returns(*store);
        } while (pause(beat_every_s_));
    } catch (const std::exception& error) {
        lose({0, fmt::format("its store cannot be reached: {}", error.what()), {}});
    }
}

/// Silence is counted in looks too: a process that slept itself has not heard anybody.
void Rendezvous::look_at(RunStore& store, int rank) {
    {
        const std::lock_guard lock(mutex_);
        if (std::exchange(looked_in_, meeting_.number) != meeting_.number)
            for (auto& heard : heard_) heard = {heard.beat, steady_s(), 0};
    }
    auto& heard = heard_[static_cast<std::size_t>(rank)];
    const auto now = store.text(beat_key(rank));
    if (now != heard.beat) {
        heard = {now, steady_s(), 0};
        return;
    }
    const double limit_s = now.empty() ? join_within_s : settled_ ? limit_s_ : std::min(limit_s_, answer_within_s());
    if (++heard.looks < looks_in_silence || steady_s() - heard.since_s <= limit_s) return;
    const LostRank loss{rank, fmt::format("it has been silent for {:.1f} s", limit_s), {}, steady_s() - heard.since_s};
    tell_all(store, loss);
    lose(loss);
}

/// Who waits for the next meeting, and lives: its word changes from look to look.
void Rendezvous::look_for_returns(RunStore& store) {
    int next = 0;
    {
        const std::lock_guard lock(mutex_);
        next = meeting_.number + 1;
    }
    const auto there = members();
    std::vector<int> alive;
    bool waits = false;
    for (int rank = 1; rank < launch_.world_size; ++rank) {
        const auto said = store.text(return_key(rank));
        auto& heard = returns_heard_[rank];
        if (!said.empty() && !heard.empty() && said != heard && meeting_of_beat(said) == next) {
            alive.push_back(rank);
            waits = waits || !contains(there, rank);
        }
        heard = said;
    }
    const std::lock_guard lock(mutex_);
    returning_ = std::move(alive);
    somebody_waits_ = waits && next == meeting_.number + 1;
}

std::vector<int> Rendezvous::returning() const {
    const std::lock_guard lock(mutex_);
    return returning_;
}

/// The first to say so is right; that a rank cannot go on counts all the same.
void Rendezvous::tell_all(RunStore& store, const LostRank& loss) {
    int number = 0;
    {
        const std::lock_guard lock(mutex_);
        number = meeting_.number;
        if (loss.rank >= 0 && !contains(meeting_.members, loss.rank)) return;
    }
    const auto text = write(loss);
    store.compareSet(lost_key(number), {}, {text.begin(), text.end()});
    if (!loss.faults.empty()) store.set_text(failed_key, text);
}

void Rendezvous::confirm_suspicion(RunStore& store) {
    std::vector<LostRank> due;
    {
        const std::lock_guard lock(mutex_);
        for (auto& suspicion : suspicions_) {
            suspicion.loss.unnoticed_s = steady_s() - suspicion.since_s;
            if (steady_s() >= suspicion.until_s) due.push_back(suspicion.loss);
        }
        std::erase_if(suspicions_, [](const Suspicion& s) { return steady_s() >= s.until_s; });
    }
    for (const auto& loss : due) tell_all(store, loss);
}

/// Whether its host is lost is for watch_store to say, which says so before that.
double Rendezvous::answers_of_store_within_s() const {
    constexpr double at_least_s = 5;
    return limit_s_ + std::max(at_least_s, 2 * looks_in_silence * beat_every_s_);
}

double Rendezvous::answer_within_s() const { return std::max(shortest_answer_s, 5 * beat_every_s_); }

/// False where the run is over.
bool Rendezvous::pause(double seconds) {
    std::unique_lock lock(mutex_);
    const auto until = std::chrono::steady_clock::now() + milliseconds(seconds);
    while (!stop_ && std::chrono::steady_clock::now() < until) {
        auto next = until;
        for (const auto& suspicion : suspicions_)
            if (suspicion.until_s > steady_s()) next = std::min(next, steady_point(suspicion.until_s));
        const auto before = suspicions_.size();
        changed_.wait_until(lock, next, [&] { return stop_ || suspicions_.size() != before; });
        if (next < until && std::chrono::steady_clock::now() >= next) break;
    }
    return !stop_;
}

}  // namespace skippipe
