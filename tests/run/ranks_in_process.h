// SPDX-License-Identifier: GPL-3.0-or-later
// A whole run in one process: ranks as threads, each with its session, and the line to the coordinator as a queue.
#pragma once
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

#include "core/run/rank_group.h"
#include "core/run/session.h"
#include "tests/engine/thread_transport.h"

namespace skippipe::testing {

/// Rank 0's messages on their way to the coordinator.
class MessageQueue final : public CoordinatorLink {
public:
    void send(const protocol::Message& message) override {
        const std::lock_guard lock(mutex_);
        // Through text and back, as between processes.
        messages_.push_back(protocol::decode(protocol::encode(message)));
        changed_.notify_all();
    }
    void close() {
        const std::lock_guard lock(mutex_);
        closed_ = true;
        changed_.notify_all();
    }
    RankGroup::Read read(protocol::Message& message, double timeout_s) {
        std::unique_lock lock(mutex_);
        changed_.wait_for(lock, std::chrono::duration<double>(timeout_s),
                          [this] { return closed_ || !messages_.empty(); });
        if (messages_.empty()) return closed_ ? RankGroup::Read::closed : RankGroup::Read::timeout;
        message = std::move(messages_.front());
        messages_.pop_front();
        return RankGroup::Read::message;
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<protocol::Message> messages_;
    bool closed_ = false;
};

/// The threads of a job. `wait` joins them: whoever hangs fails the test by its time-out.
class RanksInProcess final : public RankGroup {
public:
    /// `gpus`: read every 5 ms where nodes are on GPUs.
    RanksInProcess(const protocol::Job& job, RankBackend& backend, GpuSource gpus = {})
        : gpus_(std::move(gpus)),
          job_(job),
          work_(understand(job)),
          schedule_(schedule_of(work_)),
          exchange_(schedule_.ranks) {
        for (int rank = 0; rank < schedule_.ranks; ++rank)
            threads_.emplace_back([this, rank, &backend] { run(rank, backend); });
    }
    ~RanksInProcess() override {
        commands_.put(protocol::Stop{});
        threads_.clear();
    }

    Read read(protocol::Message& message, double timeout_s) override { return queue_.read(message, timeout_s); }
    bool send(const protocol::Command& command) override {
        commands_.put(protocol::decode_command(protocol::encode(command)));
        return true;
    }
    std::optional<Fault> lost_rank() override { return std::nullopt; }
    std::string wait(double) override {
        threads_.clear();
        return "";
    }
    /// Ranks whose session said it had failed.
    int failed() const { return failed_; }

private:
    void run(int rank, RankBackend& backend) {
        ThreadTransport many(exchange_, schedule_, rank);
        LocalTransport one;
        RankTransport& transport = schedule_.ranks == 1 ? static_cast<RankTransport&>(one) : many;
        RankPlace place{.transport = transport, .ranks_on_host = schedule_.ranks};
        place.gpus = gpus_;
        place.read_gpus_every = std::chrono::milliseconds(5);
        if (rank == 0) {
            place.coordinator = &queue_;
            place.commands = &commands_;
        } else {
            // Between processes the rendezvous brings it to rank 0.
            place.failed = [this](const Faults& faults) { queue_.send(protocol::Failed{faults}); };
        }
        if (!run_rank(job_, work_, schedule_, backend, place)) ++failed_;
        if (rank == 0) queue_.close();
    }

    GpuSource gpus_;
    protocol::Job job_;
    Work work_;
    RankSchedule schedule_;
    Exchange exchange_;
    MessageQueue queue_;
    Commands commands_;
    std::atomic<int> failed_ = 0;
    std::vector<std::jthread> threads_;
};

}  // namespace skippipe::testing
