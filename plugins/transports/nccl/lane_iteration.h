// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <deque>

#include "plugins/transports/nccl/lane.h"

namespace skippipe {

/// One iteration's tasks on a lane, on its thread: each is put into the queue, in their order, as soon as what it takes
/// is there, and told as done when its event is reached.
class LaneIteration {
public:
    LaneIteration(Lane& lane, const Lane::Calls& calls);

    /// Until all tasks are done. Throws Aborted, NcclFailure, PeerFault, and what `deliver` throws.
    void run();
    /// What is under way, and what it reads and writes.
    auto& flights() { return flights_; }

private:
    /// A task in the queue.
    struct Flight {
        const LaneTask* task = nullptr;
        Buffer host;          ///< what the host gives or gets, where the device copies without anybody's waiting
        DeviceMemory device;  ///< the same on the device
        Delivery message;     ///< of a send, until it is done
        EventPointer done;
    };

    Buffer staged(std::size_t bytes) const;
    bool finish_done();
    void finish(Flight& flight);
    bool issue();
    std::size_t sends_ready() const;
    void issue_sends(std::size_t count);
    void load(Flight& flight, Delivery message);
    void issue_receive(const LaneTask& task);
    bool issue_sum(const LaneTask& task);
    void rest(bool moved);

    Lane& lane_;
    const Lane::Calls& calls_;
    DeviceQueue& queue_;
    std::size_t ahead_ = 1;  ///< most flights at once
    std::size_t next_ = 0;   ///< task to put into the queue
    std::deque<Flight> flights_;
    double moved_at_s_ = 0, pause_s_ = 0;
};

}  // namespace skippipe
