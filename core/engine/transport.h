// SPDX-License-Identifier: GPL-3.0-or-later
// What carries messages and sums between ranks. Plug-ins fill it (plugins/transports); it knows no tensors.
#pragma once
#include <atomic>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "core/base/fault.h"
#include "core/device/device_queue.h"
#include "core/engine/delivery_gate.h"
#include "core/engine/schedule.h"
#include "core/engine/shaping.h"

namespace skippipe {

/// Bytes on their way, of this host or of a device; not cleared when made. Behind them is room for what a transport
/// writes on the envelope, so that it need not send that by itself.
class Buffer {
public:
    static constexpr std::size_t envelope_bytes = 32;

    Buffer() = default;
    explicit Buffer(std::size_t bytes)
        : data_(std::make_unique_for_overwrite<std::byte[]>(bytes + envelope_bytes)), size_(bytes) {}
    /// A message in a device's memory, of envelope_bytes less than that; written once `ready` is reached.
    Buffer(DeviceMemory memory, EventPointer ready)
        : memory_(std::move(memory)), ready_(std::move(ready)), size_(memory_.size() - envelope_bytes) {}

    /// Of the host, for copies of a device: a message of envelope_bytes less than that.
    explicit Buffer(StagingMemory memory) : staging_(std::move(memory)), size_(staging_.size() - envelope_bytes) {}

    MemoryKind kind() const { return memory_.data() == nullptr ? MemoryKind::host : MemoryKind::device; }
    /// Of a device's: nobody reads it before; never null there.
    const EventPointer& ready() const { return ready_; }
    std::byte* data() { return address(); }
    const std::byte* data() const { return address(); }
    std::size_t size() const { return size_; }
    /// envelope_bytes of them, right behind the message.
    std::byte* envelope() { return data() + size_; }

private:
    std::byte* address() const {
        if (kind() == MemoryKind::device) return memory_.data();
        return staging_.data() != nullptr ? staging_.data() : data_.get();
    }

    std::unique_ptr<std::byte[]> data_;
    StagingMemory staging_;
    DeviceMemory memory_;
    EventPointer ready_;
    std::size_t size_ = 0;
};

/// A message with the times of its transfer, in seconds of the run's common clock.
struct Delivery {
    RankTransfer transfer;
    TransferTimes times;
    Buffer bytes;
};

/// What a call that waits for other ranks ends with once its transport has been aborted.
class Aborted : public std::runtime_error {
public:
    Aborted() : std::runtime_error("the transport between ranks was aborted") {}
};

/// A rank sent what cannot be, or is another build.
class PeerFault : public InputError {
public:
    /// `rank` -1: one of several.
    PeerFault(int rank, const std::string& what);
    int rank() const noexcept { return rank_; }

private:
    int rank_;
};

/// Whether the times of a transfer can be: finite, in their order, and at most a day off `now_s`.
bool plausible(const TransferTimes& times, double now_s);

/// Most bytes of one text of `gather` and of `broadcast`: what a rank allocates because another says so.
constexpr std::size_t most_gathered_bytes = std::size_t{1} << 30, most_broadcast_bytes = std::size_t{1} << 28;

/// Who is there once ranks were lost or have come back.
struct Regrouping {
    std::vector<int> members;  ///< ranks, ascending
    std::string how;           ///< "its connection broke": why the loss was believed; empty: none was lost
    double detection_s = 0;    ///< from its last sign of life, or the break, until all were told
};

/// Between the ranks of one run. Calls of the collectives block, and are made by every rank concerned in the same
/// order. Every call that waits can end with Aborted (`abort`), or with PeerFault where what came cannot be.
class RankTransport {
public:
    virtual ~RankTransport() = default;

    /// Ends everything that waits here, and what would wait later: each such call throws Aborted. From any thread, any
    /// number of times; within a second. To the other ranks this one is gone, so tell them first why. No `deliver` runs
    /// any more when it returns (called from inside one: none but that), so hold no lock that `deliver` takes.
    virtual void abort() noexcept = 0;
    /// `broken` is called, once, from any thread, where the iteration will not come to its end: a transfer cannot be
    /// sent or received, or the transport is aborted (then with Aborted). Between iterations; nobody is told after a
    /// call with none has returned.
    virtual void when_broken(std::function<void(std::exception_ptr)> broken) = 0;

    virtual int rank() const = 0;
    virtual int ranks() const = 0;
    /// Ranks that are there, ascending: all, until some are lost. What the collectives give by rank is empty for the
    /// others.
    virtual std::vector<int> members() const;

    /// Whether the loss of a rank is to end this one's waiting (Aborted) instead of this process: who says so regroups
    /// then. Between iterations.
    virtual void outlive_losses(bool outlives) { static_cast<void>(outlives); }
    /// Whether a rank is lost that has not been left behind yet, or this one has still to be taken in.
    virtual bool must_regroup() const { return false; }
    /// Whether a rank that is not there wants to be taken in. On rank 0.
    virtual bool somebody_waits() const { return false; }
    /// Who is left agrees on who is there, and takes in who waits. Every rank that is there calls it, with nothing
    /// under way; one that has come back calls it first of all. From then on there are the collectives among the
    /// members, and nothing to transfer and to reduce until `follow`. Throws Aborted where a rank is lost meanwhile
    /// (then it is called again), InputError where the others have given this rank up.
    virtual Regrouping regroup();

    /// The run's common clock: seconds, the same on every rank up to what the measurement of clocks leaves (well below
    /// 1 ms).
    virtual double now_s() const = 0;
    /// What the common clock showed when steady_s() was this.
    virtual double common_s(double local_s) const { return local_s; }

    /// From the next iteration on the transfers are those of another schedule, with the nodes on the same ranks. Every
    /// rank at once. It names no nodes of ranks that are not there.
    virtual void follow(const RankSchedule& schedule) = 0;
    /// Posts the receives of one iteration, transfer by transfer in the schedule's order, each of `bytes(transfer)`,
    /// which is asked within this call alone; `deliver` is called from the transport's threads.
    virtual void begin_iteration(std::function<std::size_t(const RankTransfer&)> bytes,
                                 std::function<void(Delivery)> deliver) = 0;
    /// Returns at once; sent when all earlier ones of the same pair of ranks have been. `times` travel with it.
    virtual void send(Delivery message) = 0;
    /// Until everything of the iteration is sent and received. Throws what went wrong on the way.
    virtual void end_iteration() = 0;

    /// Sums in place over the ranks that host nodes of the stage, which all get the same bits. Without values: there is
    /// nothing to sum on any of them, and those whose lanes have an order need not wait for it (lane_order.h).
    virtual void all_reduce(int stage, std::span<float> values) = 0;
    /// What the ranks that host nodes of the stage gave, by rank; all give equally many.
    virtual std::vector<std::vector<double>> gather_stage(int stage, const std::vector<double>& values) = 0;
    /// What every rank gave, by rank; all give equally many.
    virtual std::vector<std::vector<double>> all_gather(const std::vector<double>& values) = 0;
    /// On rank 0 what every rank gave, by rank; elsewhere empty.
    virtual std::vector<std::string> gather(const std::string& text) = 0;
    /// Rank 0's text, on every rank.
    virtual std::string broadcast(const std::string& text) = 0;
    /// From one rank to another, waiting for both, each pair from a thread of its own if wanted; not part of the plan.
    virtual void send_to(int rank, std::span<const std::byte> bytes) = 0;
    virtual void receive_from(int rank, std::span<std::byte> bytes) = 0;

    /// Books lines whose senders live on several ranks.
    virtual std::unique_ptr<LineBook> line_book(std::size_t lines) = 0;
};

/// `transport: local`: one rank, nothing to carry.
class LocalTransport final : public RankTransport {
public:
    int rank() const override { return 0; }
    int ranks() const override { return 1; }
    void abort() noexcept override;
    void when_broken(std::function<void(std::exception_ptr)> broken) override { broken_.set(std::move(broken)); }
    double now_s() const override;
    void follow(const RankSchedule&) override { check(); }
    void begin_iteration(std::function<std::size_t(const RankTransfer&)>, std::function<void(Delivery)>) override {
        check();
    }
    void send(Delivery) override;
    void end_iteration() override { check(); }
    void all_reduce(int, std::span<float>) override { check(); }
    std::vector<std::vector<double>> gather_stage(int, const std::vector<double>& values) override {
        return check(), std::vector<std::vector<double>>{values};
    }
    std::vector<std::vector<double>> all_gather(const std::vector<double>& values) override {
        return check(), std::vector<std::vector<double>>{values};
    }
    std::vector<std::string> gather(const std::string& text) override {
        return check(), std::vector<std::string>{text};
    }
    std::string broadcast(const std::string& text) override { return check(), text; }
    void send_to(int, std::span<const std::byte>) override;
    void receive_from(int, std::span<std::byte>) override;
    std::unique_ptr<LineBook> line_book(std::size_t lines) override { return std::make_unique<LocalLineBook>(lines); }

private:
    void check() const {
        if (aborted_) throw Aborted();
    }
    std::atomic<bool> aborted_{false};
    BreakSignal broken_;
};

/// Seconds of this machine's steady clock.
double steady_s();
/// The time point of a reading of steady_s().
std::chrono::steady_clock::time_point steady_point(double steady_s);

}  // namespace skippipe
