// SPDX-License-Identifier: GPL-3.0-or-later
// How ranks find each other and notice that one is gone: LibTorch's store, with heartbeats of our own.
#pragma once
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "core/base/fault.h"
#include "core/engine/launch.h"
#include "plugins/transports/c10d_compat.h"

namespace skippipe {

/// What may end a run from outside.
struct Loss {
    int rank = -1;    ///< that is gone; -1: not known
    std::string how;  ///< "its connection broke", "silent for 5 s"
    Faults faults;    ///< what it said before it ended itself
};

/// The store all ranks share. Rank 0 hosts it, or torchrun's agent does; the host outlives the others (`leave`).
class Rendezvous {
public:
    /// Rank 0: opens the store; the others wait for it. Throws InputError where they do not meet within `patience_s`.
    explicit Rendezvous(LaunchEnvironment launch, double patience_s = 120);
    ~Rendezvous();

    const LaunchEnvironment& launch() const { return launch_; }
    int port() const { return port_; }
    /// A connection of one's own: one thread each.
    c10::intrusive_ptr<c10d::TCPStore> connect() const;
    const Store& store() const { return store_; }

    /// Rank 0's text on every rank, once a key.
    std::string share(const std::string& key, const std::string& text);

    /// Beats from now on, and calls `lost` once, from a thread, when a rank is silent for `limit_s` or another rank
    /// lost it.
    void watch(std::function<void(const Loss&)> lost, double limit_s);
    /// This rank's connection to another broke: tells everybody, and calls `lost` here. Never returns where `lost` does
    /// not.
    void report_broken(int rank, const std::string& how);
    /// This rank cannot go on: rank 0 hears why.
    void report_failed(const Faults& faults);
    /// Everybody is through: waits for all, rank 0 longest.
    void leave();

private:
    void beat();
    bool look(c10d::TCPStore& store);
    void lose(const Loss& loss);

    LaunchEnvironment launch_;
    int port_ = 0;
    c10::intrusive_ptr<c10d::TCPStore> server_;
    Store store_;
    std::function<void(const Loss&)> lost_;
    double limit_s_ = 5;
    std::atomic<bool> stop_{false};
    std::mutex mutex_;
    bool told_ = false;
    std::vector<std::pair<std::string, double>> beats_;  ///< last value of each rank, and when it changed
    std::thread heart_;
};

}  // namespace skippipe
