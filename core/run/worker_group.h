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
    std::string wait(double patience_s) override;

private:
    std::vector<std::string> environment_of(int rank, int port) const;

    int ranks_;
    bool launched_;
    std::string token_;  ///< that the ranks meet behind
    std::unique_ptr<Subprocess> first_;
    std::vector<std::unique_ptr<Subprocess>> others_;
    std::optional<std::chrono::steady_clock::time_point> lost_since_;
};

}  // namespace skippipe
