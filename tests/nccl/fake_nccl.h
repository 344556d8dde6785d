// SPDX-License-Identifier: GPL-3.0-or-later
// NCCL in this process's memory, behind the table of the real one: ranks are threads, each with a host device
// (tests/device/host_queue.h). It blocks as the real one does: in the queue, until the other side is there; connecting
// takes until all have come. What the real one would hang or break on it refuses, and remembers.
#pragma once
#include <string>
#include <vector>

#include "core/device/nccl_api.h"

namespace skippipe::testing {

/// The table. One world for the whole process.
NcclApi fake_nccl();

/// Forgets everything; with nothing under way.
void reset_fake_nccl();

/// What was done that NCCL does not allow, in words: another size, type or communicator on the other side, a rank or
/// device twice in a communicator, one that was given up, a peer that is none of its ranks, a stream of another device,
/// a call while the one before is still going on, an order in which all wait for each other.
std::vector<std::string> fake_violations();

/// Calls on a communicator that told an error since `reset`.
struct FakeCounts {
    int communicators = 0;  ///< made, counted once a rank
    int transfers = 0, sums = 0, groups = 0;
    int aborts = 0;
};
FakeCounts fake_counts();

/// From now on nothing that the device of this name does gets through: its ranks look alive and are not.
void fake_stall(const std::string& device);
/// From now on communicators of the device of this name tell that error.
void fake_fail(const std::string& device, NcclResult error);
/// From now on: whether who is aborted tells its peers, as sockets do, or they wait on, as memory that is shared does.
void fake_tells_of_ends(bool tells);

}  // namespace skippipe::testing
