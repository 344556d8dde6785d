// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/transports/gloo_clock.h"

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

GlooClock::GlooClock(std::function<double()> local_s, bool one_clock_a_host, double compare_every_s)
    : local_s_(std::move(local_s)), one_clock_a_host_(one_clock_a_host), compare_every_s_(compare_every_s) {}

void GlooClock::find(const GlooStar& star, RunStore& store) {
    std::string first = boot_id();
    if (star.rank() == 0) {
        store.set_text("boot", first);
    } else {
        const auto bytes = store.get("boot");
        first.assign(bytes.begin(), bytes.end());
    }
    asks_ = star.rank() != 0 && (!one_clock_a_host_ || first != boot_id());
    const auto flags = star.all_gather({asks_ ? 1.0 : 0.0, 0});  // 0: nothing is to be compared yet
    askers_ = static_cast<int>(std::count(flags.begin(), flags.end(), 1.0));
    compare(star, 20);
    one_clock_ = !asks_;
}

bool GlooClock::is_due() const { return steady_s() - compared_at_s_ >= compare_every_s_; }

void GlooClock::compare(const GlooStar& star, int questions) {
    compared_at_s_ = steady_s();
    if (star.rank() == 0)
        answer(star, questions);
    else if (asks_)
        ask(star, questions);
}

/// All ranks ask at once.
void GlooClock::answer(const GlooStar& star, int questions) const {
    for (int i = 0; i < questions * askers_; ++i) {
        double question = 0, answer_s = 0;
        star.guarded(-1, [&] {
            std::vector<torch::Tensor> tensors{bytes_of(&question, sizeof question)};
            const auto asked = star.group()->recvAnysource(tensors, star_tag::question);
            star.group()->finish(asked);
            answer_s = local_s_();
            star.group()->finish(
                post_send(star.group(), std::as_bytes(std::span(&answer_s, 1)), asked->sourceRank(), star_tag::answer));
        });
    }
}

void GlooClock::ask(const GlooStar& star, int questions) {
    double best_s = 1e9, offset_s = 0;
    for (int i = 0; i < questions; ++i) {
        double answered_s = 0;
        const double asked_s = local_s_();
        star.guarded(0, [&] {
            const auto answer =
                post_receive(star.group(), std::as_writable_bytes(std::span(&answered_s, 1)), 0, star_tag::answer);
            star.group()->finish(post_send(star.group(), std::as_bytes(std::span(&asked_s, 1)), 0, star_tag::question));
            star.group()->finish(answer);
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
