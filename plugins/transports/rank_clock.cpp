// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/transports/rank_clock.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <utility>

#include "core/engine/transport.h"
#include "plugins/transports/run_store.h"

namespace skippipe {
namespace {

std::string boot_id() {
    std::string id;
    std::ifstream("/proc/sys/kernel/random/boot_id") >> id;
    return id;
}

}  // namespace

RankClock::RankClock(std::function<double()> local_s, bool one_clock_a_host, double compare_every_s)
    : local_s_(std::move(local_s)), one_clock_a_host_(one_clock_a_host), compare_every_s_(compare_every_s) {}

void RankClock::find(const Star& star, RunStore& store) {
    std::string first = boot_id();
    if (star.rank() == 0) {
        store.set_text("boot", first);
    } else {
        const auto bytes = store.get("boot");
        first.assign(bytes.begin(), bytes.end());
    }
    const bool asks = star.rank() != 0 && (!one_clock_a_host_ || first != boot_id());
    const auto flags = star.all_gather({asks ? 1.0 : 0.0});
    askers_.clear();
    for (std::size_t i = 0; i < flags.size(); ++i)
        if (flags[i] == 1) askers_.push_back(star.members()[i]);
    compare(star, 20);
    one_clock_ = !asks;
}

bool RankClock::is_due() const { return steady_s() - compared_at_s_ >= compare_every_s_; }

void RankClock::compare(const Star& star, int questions) {
    compared_at_s_ = steady_s();
    if (star.rank() == 0)
        answer(star, questions);
    else if (std::find(askers_.begin(), askers_.end(), star.rank()) != askers_.end())
        ask(star, questions);
}

/// All ranks ask at once.
void RankClock::answer(const Star& star, int questions) const {
    std::vector<int> ranks = askers_, left(askers_.size(), questions);
    while (!ranks.empty()) {
        const int rank = star.sockets().first_of(ranks);
        star.guarded(rank, [&] {
            double question = 0;
            star.sockets().receive(rank, Word::question, std::as_writable_bytes(std::span(&question, 1)));
            const double answer_s = local_s_();
            star.sockets().send(rank, Word::answer, std::as_bytes(std::span(&answer_s, 1)));
        });
        const auto place = std::find(ranks.begin(), ranks.end(), rank) - ranks.begin();
        if (--left[static_cast<std::size_t>(place)] > 0) continue;
        ranks.erase(ranks.begin() + place);  // what it says next is something else
        left.erase(left.begin() + place);
    }
}

void RankClock::ask(const Star& star, int questions) {
    double best_s = 1e9, offset_s = 0;
    for (int i = 0; i < questions; ++i) {
        double answered_s = 0;
        const double asked_s = local_s_();
        star.guarded(0, [&] {
            star.sockets().send(0, Word::question, std::as_bytes(std::span(&asked_s, 1)));
            star.sockets().receive(0, Word::answer, std::as_writable_bytes(std::span(&answered_s, 1)));
        });
        const double heard_s = local_s_();
        if (!std::isfinite(answered_s)) throw PeerFault(0, "told a time that is none");
        if (heard_s - asked_s >= best_s) continue;
        best_s = heard_s - asked_s;
        offset_s = answered_s - (asked_s + heard_s) / 2;
    }
    clock_.measured(offset_s, best_s / 2, local_s_());
}

}  // namespace skippipe
