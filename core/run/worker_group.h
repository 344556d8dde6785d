// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/subprocess.h"
#include "core/run/rank_group.h"

namespace skippipe {

/// The ranks of one job as processes: rank 0's worker, and, unless a launcher has started them, the others.
class WorkerGroup final : public RankGroup {
public:
    WorkerGroup(const protocol::Job& job, int ranks, bool launched);

    Read read(protocol::Message& message, double timeout_s) override;
    bool send(const protocol::Command& command) override;
    std::optional<Fault> lost_rank() override;
    void regrouped(const std::vector<int>& lost, const std::vector<int>& joined) override;
    bool can_kill(int rank) const override;
    void kill(int rank, double back_after_s) override;
    void kill_first() override;
    std::string wait(double patience_s) override;

private:
    using Clock = std::chrono::steady_clock;
    /// A rank's worker, and what is to become of it.
    struct Other {
        std::unique_ptr<Subprocess> worker;
        bool is_in = true;                              ///< the others know it and train with it
        std::optional<Clock::time_point> gone_since;    ///< it has ended, and nobody has said so
        std::optional<Clock::time_point> starts_again;  ///< the others go on without it
        std::chrono::seconds pause{1};                  ///< before it is started again
        std::optional<Clock::time_point> not_before;    ///< it was killed on command, and is back then
    };
    std::vector<std::string> environment_of(int rank, int port) const;
    void start_again();
    static void wait_to_start(Other& other);

    int ranks_;
    bool launched_;
    int port_ = 0;
    std::string token_;  ///< that the ranks meet behind
    std::unique_ptr<Subprocess> first_;
    std::vector<Other> others_;  ///< from rank 1 on
};

}  // namespace skippipe
