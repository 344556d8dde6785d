// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/run/worker_group.h"

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
    std::string line;
    const auto read = first_->read_line(line, timeout_s);
    if (read == Subprocess::Read::closed) return Read::closed;
    if (read == Subprocess::Read::timeout) return Read::timeout;
    message = protocol::decode(line);
    if (const auto* listening = std::get_if<protocol::Listening>(&message))
        for (int rank = 1; rank < ranks_; ++rank)
            others_.push_back(start_worker(environment_of(rank, listening->port)));
    return Read::message;
}

bool WorkerGroup::send(const protocol::Command& command) { return first_->write(protocol::encode(command) + "\n"); }

/// Rank 0 finds out by itself when another is gone, and says more about it; this is for when it cannot.
std::optional<Fault> WorkerGroup::lost_rank() {
    for (std::size_t i = 0; i < others_.size(); ++i) {
        if (others_[i]->running()) continue;
        if (!lost_since_) lost_since_ = std::chrono::steady_clock::now();
        if (std::chrono::steady_clock::now() - *lost_since_ < std::chrono::seconds(15)) return std::nullopt;
        const auto how = others_[i]->wait().describe();
        return Fault{"rank " + std::to_string(i + 1), "its worker " + (how.empty() ? "ended early" : how),
                     "the run cannot go on without it", "Look at its messages above"};
    }
    return std::nullopt;
}

std::string WorkerGroup::wait(double patience_s) { return first_->wait_at_most(patience_s).describe(); }

}  // namespace skippipe
