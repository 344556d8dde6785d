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
#include "core/engine/transport.h"
#include "plugins/transports/nccl/lane.h"

namespace skippipe {

/// Transfers and sums go over the rank's lane; all that is small or seldom, who is there and the common clock over
/// another transport, which also tells who is lost. Then the communicators are given up, and those who are left make
/// new ones among themselves.
class NcclTransport final : public RankTransport {
public:
    /// Every rank at once, with the same schedule, on its own device; one that has come back connects to nobody yet.
    /// `control`, which outlives it, carries nothing of the schedule itself. Throws InputError where two ranks have one
    /// device, or NCCL cannot connect them.
    NcclTransport(RankTransport& control, const NcclApi& api, std::shared_ptr<DeviceQueue> queue,
                  const RankSchedule& schedule, NcclOptions options = {});
    /// Aborts what is still under way.
    ~NcclTransport() override;

    int rank() const override { return control_.rank(); }
    int ranks() const override { return control_.ranks(); }
    std::vector<int> members() const override { return control_.members(); }
    void outlive_losses(bool outlives) override { control_.outlive_losses(outlives); }
    bool must_regroup() const override { return control_.must_regroup(); }
    bool somebody_waits() const override { return control_.somebody_waits(); }
    Regrouping regroup() override;
    void abort() noexcept override;
    void when_broken(std::function<void(std::exception_ptr)> broken) override { broken_.set(std::move(broken)); }
    double now_s() const override { return control_.now_s(); }
    double common_s(double local_s) const override { return control_.common_s(local_s); }
    void follow(const RankSchedule& schedule) override;
    void begin_iteration(std::function<std::size_t(const RankTransfer&)> bytes,
                         std::function<void(Delivery)> deliver) override;
    void send(Delivery message) override;
    void end_iteration() override;
    void all_reduce(int stage, std::span<float> values) override;
    std::vector<std::vector<double>> gather_stage(int stage, const std::vector<double>& values) override;
    std::vector<std::vector<double>> all_gather(const std::vector<double>& values) override;
    std::vector<std::string> gather(const std::string& text) override;
    std::string broadcast(const std::string& text) override;
    void send_to(int rank, std::span<const std::byte> bytes) override;
    void receive_from(int rank, std::span<std::byte> bytes) override;
    std::unique_ptr<LineBook> line_book(std::size_t lines) override;

private:
    void check() const;
    void listen();
    void open_lane();
    void connect(const RankSchedule& schedule);
    std::vector<std::vector<int>> missing_groups(const RankSchedule& schedule) const;
    std::string introduce(std::size_t groups);

    RankTransport& control_;
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
