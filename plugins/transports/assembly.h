// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/engine/delivery_gate.h"
#include "plugins/transports/rank_clock.h"
#include "plugins/transports/rendezvous.h"
#include "plugins/transports/run_store.h"
#include "plugins/transports/star.h"

namespace skippipe {

struct ControlOptions {
    std::function<double()> local_s;  ///< this rank's own clock; none: steady_s
    /// Ranks of one host have one clock, which need not be compared.
    bool one_clock_a_host = true;
    double compare_clocks_every_s = 10;
};

/// A rank among those it has met, from one meeting to the next: who is there, the connections to them, the common
/// clock, and what becomes of a connection that breaks. What carries transfers and sums leans on it.
class Assembly {
public:
    Assembly(Rendezvous& rendezvous, const ControlOptions& options);

    /// Who is there, and the connections to all of them; `address`: of this host as before, else found.
    void open(Meeting meeting, std::string address);
    void find_clocks() { clock_.find(star_, *store_); }
    /// From here on it is connected to nobody; who waits ends with Aborted. From any thread.
    void abort() noexcept;
    /// It never was connected to anybody.
    void set_aborted() { *aborted_ = true; }
    /// Throws Aborted after `abort`.
    void check() const;

    int rank() const { return rendezvous_.launch().rank; }
    int ranks() const { return rendezvous_.launch().world_size; }
    Rendezvous& rendezvous() const { return rendezvous_; }
    const Meeting& meeting() const { return meeting_; }
    RunStore& store() const { return *store_; }
    const std::string& address() const { return address_; }
    const StopFlag& aborted() const { return stop_; }
    const Star& star() const { return star_; }
    const RankClock& clock() const { return clock_; }
    RankClock& clock() { return clock_; }
    /// Of the iteration, and what calls into the engine from threads of what carries messages.
    BreakSignal& broken() { return broken_; }
    DeliveryGate& gate() { return gate_; }

    /// Runs what talks to a peer (-1: to several). A broken connection is reported: this rank hears what comes of it.
    void guarded(int peer, const std::function<void()>& work);
    /// Runs what connects it with a peer (-1: with several), who has so long to come: minutes where a run begins,
    /// unless it is known to be there.
    void connect(int peer, const std::function<void(std::chrono::milliseconds patience)>& make, bool are_there = false);
    /// Called when this ends by `abort`, before anybody is told; not where it has ended already. With none: never
    /// again, once that has returned.
    void when_aborted(std::function<void()> work);

private:
    void wait_for_abort();

    Rendezvous& rendezvous_;
    Meeting meeting_;
    std::shared_ptr<std::atomic<bool>> aborted_ = std::make_shared<std::atomic<bool>>(false);
    StopFlag stop_ = aborted_;
    DeliveryGate gate_;
    std::shared_ptr<RunStore> store_;
    std::string address_;
    RankClock clock_;

    std::mutex mutex_;  ///< of what `abort` ends
    std::condition_variable changed_;
    Star star_;
    std::function<void()> when_aborted_;
    BreakSignal broken_;
};

}  // namespace skippipe
