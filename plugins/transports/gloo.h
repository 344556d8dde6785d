// SPDX-License-Identifier: GPL-3.0-or-later
// `transport: gloo`: ranks as processes, on one host or many, through LibTorch's c10d.
#pragma once
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>

#include "core/engine/transport.h"
#include "plugins/transports/rendezvous.h"

namespace skippipe {

class GlooGroups;

struct GlooOptions {
    std::function<double()> local_s = steady_s;  ///< this rank's own clock
    /// Ranks of one host have one clock, which need not be compared.
    bool one_clock_a_host = true;
    double compare_clocks_every_s = 10;
};

/// One two-rank group for each pair of ranks and direction that the schedule uses, one for each stage on several ranks,
/// and one of all ranks: a rank that is gone harms only what it took part in. A broken connection is reported to the
/// rendezvous, and the call that met it waits for what comes of that, at most ten seconds: `abort`, or the end of the
/// process. After a meeting (`regroup`) all groups are made anew, under names of that meeting.
class GlooTransport final : public RankTransport {
public:
    /// Every rank at once, with the same schedule; one that has come back connects to nobody yet. Throws InputError
    /// where a connection cannot be made.
    GlooTransport(Rendezvous& rendezvous, const RankSchedule& schedule, GlooOptions options = {});
    /// Aborts what is still under way.
    ~GlooTransport() override;

    int rank() const override;
    int ranks() const override;
    std::vector<int> members() const override;
    /// A rank is lost: true where this one is to go on without it, and has been told. From any thread.
    bool lose(const LostRank& loss) noexcept;
    void outlive_losses(bool outlives) override;
    bool must_regroup() const override { return must_regroup_; }
    bool somebody_waits() const override;
    Regrouping regroup() override;
    void abort() noexcept override;
    void when_broken(std::function<void(std::exception_ptr)> broken) override;
    double now_s() const override;
    double common_s(double local_s) const override;
    void follow(const RankSchedule& schedule) override;
    void begin_iteration(std::function<std::size_t(const RankTransfer&)> bytes,
                         std::function<void(Delivery)> deliver) override;
    void send(Delivery message) override;
    void end_iteration() override;
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
    double clock_error_s() const;

private:
    std::shared_ptr<GlooGroups> present() const;

    std::atomic<bool> outlives_{false}, must_regroup_{false};
    int fruitless_ = 0;         ///< meetings since the last iteration that changed nothing
    mutable std::mutex mutex_;  ///< of the pointer, which a thread that tells of a loss reads meanwhile
    std::shared_ptr<GlooGroups> groups_;
};

}  // namespace skippipe
