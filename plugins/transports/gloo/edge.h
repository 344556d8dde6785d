// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <atomic>
#include <condition_variable>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "core/engine/delivery_gate.h"
#include "core/engine/transport.h"
#include "plugins/transports/gloo/posts.h"

namespace skippipe {

/// What all edges of a rank share.
struct EdgeContext {
    /// Runs what talks to a peer; what a broken connection comes to.
    std::function<void(int peer, const std::function<void()>&)> guarded;
    std::function<void(std::exception_ptr)> broken;
    std::function<double()> now_s;
    const std::atomic<bool>* aborted = nullptr;
    DeliveryGate* gate = nullptr;
};

/// Transfers of one direction between this rank and another, through a group of the two, by a thread of its own. A new
/// plan may leave it without any.
class Edge {
public:
    /// `context` outlives it.
    Edge(const EdgeContext& context, Group group, int peer, bool sends);
    /// After `abort`, or between iterations.
    ~Edge();

    bool sends() const { return sends_; }
    const std::vector<RankTransfer>& transfers() const { return transfers_; }
    /// Between iterations.
    void follow(std::vector<RankTransfer> transfers) { transfers_ = std::move(transfers); }

    /// One iteration's transfers, in their order; receives are posted `ahead` at a time.
    void begin(const std::function<std::size_t(const RankTransfer&)>& bytes, std::function<void(Delivery)> deliver,
               std::size_t ahead);
    void put(Delivery message);
    /// Until the thread rests; what it ended with, if not well.
    std::exception_ptr end();
    /// Wakes the thread; the transport has been aborted.
    void wake();
    void break_up() { group_->break_up(); }

private:
    void run();
    void send_all();
    void receive_all();
    Delivery take(int number);

    const EdgeContext& context_;
    Group group_;
    int peer_;
    bool sends_;
    std::vector<RankTransfer> transfers_;
    std::vector<std::size_t> bytes_;  ///< of each transfer, where it is received
    std::function<void(Delivery)> deliver_;
    std::size_t ahead_ = 1;

    std::mutex mutex_;
    std::condition_variable changed_;
    bool busy_ = false, stop_ = false;
    std::exception_ptr error_;
    std::map<int, Delivery> ready_;  ///< handed over, not yet sent; by number
    std::thread thread_;
};

}  // namespace skippipe
