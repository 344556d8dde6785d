// SPDX-License-Identifier: GPL-3.0-or-later
// `transport: gloo`: ranks as processes, on one host or many, through LibTorch's c10d.
#pragma once
#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>
#include <unordered_map>

#include "core/engine/transport.h"
#include "plugins/transports/rendezvous.h"

namespace skippipe {

/// One two-rank group for each pair of ranks and direction that the schedule uses, one for each stage on several ranks,
/// and one of all ranks: a rank that is gone harms only what it took part in. A broken connection is reported to the
/// rendezvous.
class GlooTransport final : public RankTransport {
public:
    /// Every rank at once, with the same schedule. Throws InputError where a connection cannot be made.
    GlooTransport(Rendezvous& rendezvous, const RankSchedule& schedule);
    ~GlooTransport() override;

    int rank() const override { return rendezvous_.launch().rank; }
    int ranks() const override { return rendezvous_.launch().world_size; }
    double now_s() const override { return steady_s() + clock_offset_s_; }
    void follow(const RankSchedule& schedule) override;
    void begin_iteration(std::function<std::size_t(const RankTransfer&)> bytes,
                         std::function<void(Delivery)> deliver) override;
    void send(Delivery message) override;
    void end_iteration() override;
    void all_reduce(int stage, std::span<float> values) override;
    double latest(int stage, double value) override;
    std::vector<std::vector<double>> all_gather(const std::vector<double>& values) override;
    std::vector<std::string> gather(const std::string& text) override;
    std::string broadcast(const std::string& text) override;
    void send_to(int rank, std::span<const std::byte> bytes) override;
    void receive_from(int rank, std::span<std::byte> bytes) override;
    std::unique_ptr<LineBook> line_book(std::size_t lines) override;

private:
    /// Handed over, not yet sent; by number.
    struct Outbox {
        std::mutex mutex;
        std::condition_variable changed;
        std::map<int, Delivery> ready;
        void put(Delivery message);
        Delivery take(int number);
    };
    /// Transfers from one rank to another, one of which is this one. A new plan may leave it without any.
    struct Edge {
        Group group;
        std::vector<RankTransfer> transfers;
        std::unique_ptr<Outbox> outbox = std::make_unique<Outbox>();
    };
    Group connect(const std::string& name, int rank, int size) const;
    void measure_clock();
    void send_all(int peer, Edge& edge);
    void receive_all(int peer, Edge& edge, const std::function<std::size_t(const RankTransfer&)>& bytes,
                     const std::function<void(Delivery)>& deliver);
    template <class Work>
    auto guarded(int peer, Work work) -> decltype(work());

    Rendezvous& rendezvous_;
    double clock_offset_s_ = 0;
    std::shared_ptr<::gloo::transport::Device> device_;
    std::map<std::pair<int, int>, Edge> edges_;  ///< by both ranks, sender first
    /// Several ranks; `peer`: the other one where there are two, else -1.
    struct Circle {
        Group group;
        int peer = -1;
    };
    std::map<int, Circle> stages_;
    Circle world_;
    std::unordered_map<int, Outbox*> outbox_of_;  ///< by number
    std::vector<std::jthread> threads_;
};

}  // namespace skippipe
