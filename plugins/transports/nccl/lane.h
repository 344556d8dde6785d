// SPDX-License-Identifier: GPL-3.0-or-later
// A rank's one way to its GPU's neighbours: one thread, one queue, transfers and sums in the order that all ranks share
// (core/engine/lane_order.h).
#pragma once
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <thread>
#include <vector>

#include "core/device/device_queue.h"
#include "core/device/nccl_api.h"
#include "core/engine/lane_order.h"
#include "core/engine/transport.h"
#include "plugins/transports/nccl/communicator.h"

namespace skippipe {

struct NcclOptions {
    double connect_within_s = 60;  ///< else a connection cannot be made
    double stalled_after_s = 600;  ///< what is under way and does not move for so long has failed
    double lost_within_s = 10;     ///< who met a failure waits so long for the news of who is lost
    bool keeps_on_device = false;  ///< messages are delivered in the device's memory
};

/// A step as one rank sees it.
struct LaneTask {
    enum class Kind { send, receive, sum } kind = Kind::send;
    RankTransfer transfer;   ///< but of a sum
    int peer = -1;           ///< rank; but of a sum
    int stage = -1;          ///< of a sum
    std::vector<int> ranks;  ///< of a sum
    /// "the transfer 12 to rank 1".
    std::string name() const;
};
std::vector<LaneTask> lane_tasks(const RankSchedule& schedule, int rank);

class Lane {
public:
    struct Calls {
        std::function<std::size_t(const RankTransfer&)> bytes;  ///< asked within begin() alone
        std::function<void(Delivery)> deliver;
        std::function<void(std::exception_ptr)> failed;  ///< the iteration will not come to its end; once
    };

    /// `now_s`: the common clock.
    Lane(const NcclApi& api, std::shared_ptr<DeviceQueue> queue, NcclOptions options, std::function<double()> now_s);
    ~Lane();

    /// All that waits here ends with Aborted, and what is begun later. Returns at once. From any thread.
    void abort() noexcept;

    /// With the other `ranks`, all at once; the first are all that are there. Between iterations, as what follows.
    void connect(const std::vector<int>& ranks, int rank, const NcclUniqueId& id);
    bool is_connected(const std::vector<int>& ranks) const { return communicators_.contains(ranks); }
    /// Makes the ways from rank to rank that NCCL makes when they are first used: a byte on each, in an order that all
    /// share.
    void warm_up(const std::vector<LaneTask>& transfers);
    void follow(std::vector<LaneTask> tasks) { tasks_ = std::move(tasks); }

    void begin(Calls calls);
    /// From any thread, within an iteration.
    void put(Delivery message);
    /// Waits; from any thread. Within an iteration at its place in the order, else at once.
    void sum(const std::vector<int>& ranks, int stage, std::span<float> values);
    /// No sum will be asked for any more; until all is done. Throws what went wrong.
    void end();

private:
    friend class LaneIteration;
    /// That was asked for within an iteration.
    struct Sum {
        std::span<float> values;
        bool done = false;
    };

    void call(std::function<void()> job);
    void run(const std::function<void()>& job);
    void work();
    void check() const;
    void check_communicators() const;
    void wait_for(const EventPointer& event) const;
    template <class Kept, class Work>
    void keeping(Kept& kept, const Work& work);
    void sum_now(Communicator& communicator, std::span<float> values);
    Communicator& communicator_of(const std::vector<int>& ranks) const;
    bool break_off() noexcept;
    void wait_for_abort();

    const NcclApi& api_;
    std::shared_ptr<DeviceQueue> queue_;
    NcclOptions options_;
    std::function<double()> now_s_;
    std::map<std::vector<int>, std::unique_ptr<Communicator>> communicators_;
    Communicator* all_ = nullptr;  ///< of all that are there: by it goes what goes from rank to rank
    std::vector<LaneTask> tasks_;
    std::vector<std::size_t> bytes_;  ///< of each task's message, where it is received

    std::atomic<bool> aborted_{false};
    std::mutex mutex_;
    std::condition_variable changed_;
    std::function<void()> job_;
    std::function<void(std::exception_ptr)> failed_;  ///< told of the iteration's end
    bool busy_ = false, stop_ = false;
    bool iterates_ = false, ended_ = false;
    std::exception_ptr error_;
    std::map<int, Delivery> ready_;  ///< handed over, not yet sent; by number
    std::map<int, Sum> sums_;        ///< asked for, by stage
    std::thread thread_;
};

}  // namespace skippipe
