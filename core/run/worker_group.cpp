// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/run/worker_group.h"

#include <algorithm>
#include <cmath>
#include <csignal>
#include <utility>

#include "core/engine/launch.h"
#include "core/run/worker_process.h"

namespace skippipe {

WorkerGroup::WorkerGroup(const protocol::Job& job, int ranks, bool launched)
    : ranks_(ranks), launched_(launched), token_(make_token()), first_(start_worker(environment_of(0, 0))) {
    first_->write(protocol::encode(job) + "\n");
}

/// What tells a worker which rank it is; nothing where there is one rank, or a launcher has said it already.
std::vector<std::string> WorkerGroup::environment_of(int rank, int port) const {
    if (ranks_ == 1 || launched_) return {};
    return {"RANK=" + std::to_string(rank),
            "LOCAL_RANK=" + std::to_string(rank),
            "WORLD_SIZE=" + std::to_string(ranks_),
            "LOCAL_WORLD_SIZE=" + std::to_string(ranks_),
            "MASTER_ADDR=127.0.0.1",
            "MASTER_PORT=" + std::to_string(port),
            "SKIPPIPE_TOKEN=" + token_,
            "TORCHELASTIC_USE_AGENT_STORE=False"};
}

/// Where rank 0 listens is this group's to know: it starts the others.
RankGroup::Read WorkerGroup::read(protocol::Message& message, double timeout_s) {
    start_again();
    std::string line;
    const auto read = first_->read_line(line, timeout_s);
    if (read == Subprocess::Read::closed) return Read::closed;
    if (read == Subprocess::Read::timeout) return Read::timeout;
    message = protocol::decode(line);
    if (const auto* listening = std::get_if<protocol::Listening>(&message)) {
        port_ = listening->port;
        for (int rank = 1; rank < ranks_; ++rank)
            others_.push_back(
                {.worker = start_worker(environment_of(rank, port_)), .gone_since = {}, .starts_again = {}});
    }
    return Read::message;
}

bool WorkerGroup::send(const protocol::Command& command) { return first_->write(protocol::encode(command) + "\n"); }

/// Rank 0 finds out by itself when another is gone, and says more about it; this is for when it cannot.
std::optional<Fault> WorkerGroup::lost_rank() {
    for (std::size_t i = 0; i < others_.size(); ++i) {
        auto& other = others_[i];
        if (!other.is_in || other.worker->running()) continue;
        if (!other.gone_since) other.gone_since = Clock::now();
        if (Clock::now() - *other.gone_since < std::chrono::seconds(60)) continue;
        const auto how = other.worker->wait().describe();
        return Fault{"rank " + std::to_string(i + 1), "its worker " + (how.empty() ? "ended early" : how),
                     "the run cannot go on without it", "Look at its messages above"};
    }
    return std::nullopt;
}

/// One that was only stopped has been given up: it ends.
void WorkerGroup::regrouped(const std::vector<int>& lost, const std::vector<int>& joined) {
    const auto for_each = [this](const std::vector<int>& ranks, const auto& work) {
        for (const int rank : ranks)
            if (rank >= 1 && static_cast<std::size_t>(rank) <= others_.size())
                work(others_[static_cast<std::size_t>(rank) - 1]);
    };
    for_each(joined, [](Other& other) { other.is_in = true; });
    for_each(lost, [](Other& other) {
        other.is_in = false;
        other.gone_since.reset();
        wait_to_start(other);
    });
}

/// Who is lost again and again waits longer each time.
void WorkerGroup::wait_to_start(Other& other) {
    constexpr std::chrono::seconds longest{60};
    if (other.not_before) {
        other.starts_again = std::exchange(other.not_before, std::nullopt);
        return;
    }
    other.starts_again = Clock::now() + other.pause;
    other.pause = std::min(2 * other.pause, longest);
}

bool WorkerGroup::can_kill(int rank) const { return rank >= 1 && static_cast<std::size_t>(rank) <= others_.size(); }

void WorkerGroup::kill(int rank, double back_after_s) {
    if (!can_kill(rank)) return;
    auto& other = others_[static_cast<std::size_t>(rank) - 1];
    const bool is_there = other.is_in && other.worker->running();
    if (!is_there && std::isfinite(back_after_s)) return;
    constexpr double never_s = 1e8;
    const auto back_at = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                            std::chrono::duration<double>(std::min(back_after_s, never_s)));
    (other.is_in ? other.not_before : other.starts_again) = back_at;
    other.worker->signal(SIGKILL);  // it may be on its way back
}

void WorkerGroup::kill_first() { first_->signal(SIGKILL); }

void WorkerGroup::start_again() {
    for (std::size_t i = 0; i < others_.size(); ++i) {
        auto& other = others_[i];
        if (!other.is_in && !other.starts_again && !other.worker->running()) wait_to_start(other);
        if (!other.starts_again || Clock::now() < *other.starts_again) continue;
        other.starts_again.reset();
        other.worker.reset();  // first: it may still be there, stopped
        other.worker = start_worker(environment_of(static_cast<int>(i) + 1, port_));
    }
}

std::string WorkerGroup::wait(double patience_s) { return first_->wait_at_most(patience_s).describe(); }

}  // namespace skippipe
