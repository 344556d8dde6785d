// SPDX-License-Identifier: GPL-3.0-or-later
// What ranks say to each other whatever carries their messages: who is there, what is small or seldom, the common
// clock.
#pragma once
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>

#include "core/engine/transport.h"
#include "plugins/transports/assembly.h"

namespace skippipe {

/// Ranks as processes, on one host or many, that meet through the store and talk over connections of their own
/// (rank_sockets.h). It carries nothing of the schedule: `gloo` and `nccl` do that beside it (core/engine/
/// beside_control.h). A broken connection is reported to the rendezvous, and the call that met it waits for what comes
/// of that, at most ten seconds: `abort`, or the end of the process. After a meeting (`regroup`) all connections are
/// made anew, under names of that meeting.
class ControlTransport final : public RankTransport {
public:
    /// Every rank at once; one that has come back connects to nobody yet. Throws InputError where a connection cannot
    /// be made.
    explicit ControlTransport(Rendezvous& rendezvous, ControlOptions options = {});
    /// Aborts what is still under way.
    ~ControlTransport() override;

    int rank() const override { return rendezvous_.launch().rank; }
    int ranks() const override { return rendezvous_.launch().world_size; }
    std::vector<int> members() const override { return rendezvous_.members(); }
    /// A rank is lost: true where this one is to go on without it, and has been told. From any thread.
    bool lose(const LostRank& loss) noexcept;
    void outlive_losses(bool outlives) override;
    bool must_regroup() const override { return must_regroup_; }
    bool somebody_waits() const override { return rendezvous_.somebody_waits(); }
    Regrouping regroup() override;
    void abort() noexcept override;
    void when_broken(std::function<void(std::exception_ptr)> broken) override;
    double now_s() const override { return assembly_->clock().now_s(); }
    double common_s(double local_s) const override { return assembly_->clock().common_s(local_s); }
    /// Of a schedule only who hosts which stage.
    void follow(const RankSchedule& schedule) override;
    void begin_iteration(std::function<std::size_t(const RankTransfer&)> bytes,
                         std::function<void(Delivery)> deliver) override;
    void send(Delivery message) override;
    void end_iteration() override { check(); }
    void all_reduce(int stage, std::span<float> values) override;
    std::vector<std::vector<double>> gather_stage(int stage, const std::vector<double>& values) override;
    /// Every so often the clocks are compared as well.
    std::vector<std::vector<double>> all_gather(const std::vector<double>& values) override;
    std::vector<std::string> gather(const std::string& text) override;
    std::string broadcast(const std::string& text) override;
    void send_to(int rank, std::span<const std::byte> bytes) override;
    void receive_from(int rank, std::span<std::byte> bytes) override;
    std::unique_ptr<LineBook> line_book(std::size_t lines) override;

    /// How far off this rank's common clock may be; 0 on rank 0 and beside it.
    double clock_error_s() const { return assembly_->clock().error_s(); }
    /// Throws Aborted after `abort`, and until those who are left have met.
    void check() const { assembly_->check(); }
    /// Since the last meeting.
    const std::shared_ptr<Assembly>& assembly() const { return assembly_; }

private:
    std::shared_ptr<Assembly> present() const;
    template <class Value>
    std::vector<Value> by_rank(std::vector<Value> of_members) const;

    Rendezvous& rendezvous_;
    ControlOptions options_;
    std::atomic<bool> outlives_{false}, must_regroup_{false};
    int fruitless_ = 0;         ///< meetings since the last iteration that changed nothing
    mutable std::mutex mutex_;  ///< of the pointer, which a thread that tells of a loss reads meanwhile
    std::shared_ptr<Assembly> assembly_;
    std::vector<std::vector<int>> hosts_;  ///< ranks of each stage
};

}  // namespace skippipe
