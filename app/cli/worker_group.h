// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/cli/worker_process.h"
#include "core/base/fault.h"
#include "core/engine/protocol.h"

namespace skippipe::cli {

/// The ranks of one job: rank 0's worker, which talks to this process, and, unless a launcher has started them, the
/// others.
class WorkerGroup {
public:
    WorkerGroup(const protocol::Job& job, int ranks, bool launched);

    /// Handles messages until `ended` says so or the worker is gone; `idle` is called at least five times a second. The
    /// fault that ended it early, if one did and the worker did not say so itself.
    std::optional<Fault> listen(const std::function<void(const protocol::Message&)>& handle,
                                const std::function<bool()>& ended, const std::function<void()>& idle);

    /// A line for rank 0; false where it is gone.
    bool tell(const std::string& line) { return first_.write_line(line); }

private:
    std::vector<std::string> environment_of(int rank, int port) const;
    void receive(const std::string& line, const std::function<void(const protocol::Message&)>& handle);
    std::optional<Fault> lost_rank();

    int ranks_;
    bool launched_;
    std::string token_;  ///< that the ranks meet behind
    WorkerProcess first_;
    std::vector<std::unique_ptr<WorkerProcess>> others_;
    std::optional<std::chrono::steady_clock::time_point> lost_since_;
};

}  // namespace skippipe::cli
