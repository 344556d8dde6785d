// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/worker_group.h"

#include "core/engine/launch.h"

namespace skippipe::cli {

WorkerGroup::WorkerGroup(const protocol::Job& job, int ranks, bool launched)
    : ranks_(ranks), launched_(launched), token_(make_token()), first_(environment_of(0, 0)) {
    first_.write_line(protocol::encode(job));
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

void WorkerGroup::receive(const std::string& line, const std::function<void(const protocol::Message&)>& handle) {
    const auto message = protocol::decode(line);
    const auto* listening = std::get_if<protocol::Listening>(&message);
    if (!listening) return handle(message);
    for (int rank = 1; rank < ranks_; ++rank)
        others_.push_back(std::make_unique<WorkerProcess>(environment_of(rank, listening->port)));
}

/// Rank 0 finds out by itself when another is gone, and says more about it; this is for when it cannot.
std::optional<Fault> WorkerGroup::lost_rank() {
    for (std::size_t i = 0; i < others_.size(); ++i) {
        if (others_[i]->running()) continue;
        if (!lost_since_) lost_since_ = std::chrono::steady_clock::now();
        if (std::chrono::steady_clock::now() - *lost_since_ < std::chrono::seconds(15)) return std::nullopt;
        const auto how = others_[i]->wait();
        return Fault{"rank " + std::to_string(i + 1), "its worker " + (how.empty() ? "ended early" : how),
                     "the run cannot go on without it", "Look at its messages above"};
    }
    return std::nullopt;
}

std::optional<Fault> WorkerGroup::listen(const std::function<void(const protocol::Message&)>& handle,
                                         const std::function<bool()>& ended, const std::function<void()>& idle) {
    std::string line;
    while (!ended()) {
        const auto read = first_.read_line(line, 0.2);
        if (read == WorkerProcess::Read::line) receive(line, handle);
        if (read == WorkerProcess::Read::closed) break;
        if (read == WorkerProcess::Read::timeout)
            if (auto fault = lost_rank()) return fault;
        idle();
    }
    const auto how = first_.wait();
    if (ended()) return std::nullopt;
    return Fault{"worker", "the training worker " + (how.empty() ? "ended without a word" : how),
                 "the run cannot go on without it",
                 "Look at its messages above; if memory ran out, use a smaller model, fewer samples or fewer threads"};
}

}  // namespace skippipe::cli
