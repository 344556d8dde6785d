// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/base/fault.h"
#include "core/run/messages.h"

namespace skippipe {

/// The ranks of one job as its coordinator sees them: rank 0 talks to it. Processes (WorkerGroup), or threads in tests.
class RankGroup {
public:
    virtual ~RankGroup() = default;

    enum class Read { message, timeout, closed };
    /// Waits at most `timeout_s` for the next message. Throws InputError where what comes is none.
    virtual Read read(protocol::Message& message, double timeout_s) = 0;
    /// False where rank 0 is gone.
    virtual bool send(const protocol::Command& command) = 0;
    /// A rank that is gone although nobody said so, once the others have had time to notice.
    virtual std::optional<Fault> lost_rank() = 0;
    /// The others have gone on without the ranks that are `lost`, and with those that have `joined` them: who has
    /// started ranks starts again those that are not there.
    virtual void regrouped(const std::vector<int>& lost, const std::vector<int>& joined) {
        static_cast<void>(lost), static_cast<void>(joined);
    }
    /// Whether `kill` reaches a rank; not rank 0, nor one that a launcher has started elsewhere.
    virtual bool can_kill(int rank) const {
        static_cast<void>(rank);
        return false;
    }
    /// Kills such a rank; it is started again after `back_after_s` (infinite: never). One that is not there is not
    /// killed again, but is started no more where it is lost for ever now.
    virtual void kill(int rank, double back_after_s) { static_cast<void>(rank), static_cast<void>(back_after_s); }
    /// Kills rank 0, and with it the run.
    virtual void kill_first() {}
    /// Waits for rank 0's end, `patience_s` at most, then ends it; "" where it ended well, else how ("was killed by
    /// signal 9").
    virtual std::string wait(double patience_s) = 0;
};

}  // namespace skippipe
