// SPDX-License-Identifier: GPL-3.0-or-later
// `transport: gloo`: messages and sums between ranks as processes, on one host or many, through LibTorch's c10d.
#pragma once
#include <functional>
#include <memory>

#include "core/engine/beside_control.h"
#include "plugins/transports/control.h"

namespace skippipe {

class GlooGroups;

/// One two-rank group for each pair of ranks and direction that the schedule uses, and one for each stage on several
/// ranks: a rank that is gone harms only what it took part in. A broken connection is the control's to report. After a
/// meeting all groups are made anew, under names of that meeting.
class GlooTransport final : public BesideControl {
public:
    /// Every rank at once, with the same schedule; one that has come back connects to nobody yet. `control` outlives
    /// it. Throws InputError where a connection cannot be made.
    GlooTransport(ControlTransport& control, const RankSchedule& schedule);
    /// Aborts what is still under way.
    ~GlooTransport() override;

    Regrouping regroup() override;
    void abort() noexcept override { control_.abort(); }
    void when_broken(std::function<void(std::exception_ptr)> broken) override;
    void follow(const RankSchedule& schedule) override;
    void begin_iteration(std::function<std::size_t(const RankTransfer&)> bytes,
                         std::function<void(Delivery)> deliver) override;
    void send(Delivery message) override;
    void end_iteration() override;
    void all_reduce(int stage, std::span<float> values) override;
    /// By Gloo too, so that `probe` measures what trains, in a group that two ranks make when they first need it.
    void send_to(int rank, std::span<const std::byte> bytes) override;
    void receive_from(int rank, std::span<std::byte> bytes) override;

private:
    void open_line(int from, int to);
    ControlTransport& control() const { return static_cast<ControlTransport&>(control_); }

    std::unique_ptr<GlooGroups> groups_;
};

}  // namespace skippipe
