// SPDX-License-Identifier: GPL-3.0-or-later
// `transport: nccl`: ranks as processes with a GPU each, through NCCL's plain C interface.
#pragma once
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/device/device_queue.h"
#include "core/device/nccl_api.h"
#include "core/engine/beside_control.h"
#include "plugins/transports/nccl/lane.h"

namespace skippipe {

/// Transfers and sums go over the rank's lane; all that is small or seldom, who is there and the common clock over
/// another transport, which also tells who is lost. Then the communicators are given up, and those who are left make
/// new ones among themselves.
class NcclTransport final : public BesideControl {
public:
    /// Every rank at once, with the same schedule, on its own device; one that has come back connects to nobody yet.
    /// `control`, which outlives it, carries nothing of the schedule itself. Throws InputError where two ranks have one
    /// device, or NCCL cannot connect them.
    NcclTransport(RankTransport& control, const NcclApi& api, std::shared_ptr<DeviceQueue> queue,
                  const RankSchedule& schedule, NcclOptions options = {});
    /// Aborts what is still under way.
    ~NcclTransport() override;

    Regrouping regroup() override;
    void abort() noexcept override;
    void when_broken(std::function<void(std::exception_ptr)> broken) override { broken_.set(std::move(broken)); }
    void follow(const RankSchedule& schedule) override;
    void begin_iteration(std::function<std::size_t(const RankTransfer&)> bytes,
                         std::function<void(Delivery)> deliver) override;
    void send(Delivery message) override;
    void end_iteration() override;
    void all_reduce(int stage, std::span<float> values) override;

private:
    void check() const;
    void listen();
    void open_lane();
    void connect(const RankSchedule& schedule);
    std::vector<std::vector<int>> missing_groups(const RankSchedule& schedule) const;
    std::string introduce(std::size_t groups);

    const NcclApi& api_;
    std::shared_ptr<DeviceQueue> queue_;
    NcclOptions options_;
    std::atomic<bool> aborted_{false};
    BreakSignal broken_;
    std::unique_ptr<DeliveryGate> gate_;
    std::unique_ptr<Lane> lane_;
    std::set<std::vector<int>> connected_;      ///< groups of ranks, of this meeting
    std::set<std::pair<int, int>> warm_;        ///< from rank to rank, of all ranks
    std::map<int, std::vector<int>> of_stage_;  ///< ranks of each stage that several host
};

/// The schedule as `control` of an NcclTransport carries it: no transfers.
RankSchedule without_transfers(RankSchedule schedule);

}  // namespace skippipe
