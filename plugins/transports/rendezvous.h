// SPDX-License-Identifier: GPL-3.0-or-later
// How ranks find each other and notice that one is gone: a shared store, with heartbeats of our own.
#pragma once
#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "core/base/fault.h"
#include "core/engine/launch.h"

namespace skippipe {

class RunStore;

/// What may end a run from outside.
struct LostRank {
    int rank = -1;           ///< that is gone; -1: not known
    std::string how;         ///< "its connection broke", "silent for 5 s"
    Faults faults;           ///< what it said before it ended itself
    double unnoticed_s = 0;  ///< from its last sign of life, or the break, until it was told
};

/// Who is there. The first, 0, is that of all ranks; each loss that is outlived, and each return, makes the next.
struct Meeting {
    int number = 0;
    std::vector<int> members;  ///< ascending
    LostRank loss;             ///< that led to it; rank -1: none
};

/// Seconds between two beats of each of so many ranks, by which the store gets at most some 200 requests a second.
double beat_interval_s(int world_size);

/// The store all ranks share. Ranks of one host keep it on a socket that no network reaches (local_store.h); else rank
/// 0 hosts LibTorch's, or torchrun's agent does. The host outlives the others (`leave`). Every key is behind the run's
/// token.
class Rendezvous {
public:
    /// Rank 0: opens the store; the others wait for it. Throws InputError where they do not meet within `patience_s`,
    /// or where rank 0 is another build, which rank 0 hears too. `build`: what this program is made of; empty:
    /// build_id() and LibTorch's version. The process ignores SIGPIPE from now on.
    explicit Rendezvous(LaunchEnvironment launch, double patience_s = 120, std::string build = {});
    ~Rendezvous();

    const LaunchEnvironment& launch() const { return launch_; }
    /// Where the others find it: MASTER_PORT for them.
    int port() const { return port_; }
    /// A connection of one's own: one thread each. What waits on it ends with Aborted once `stop` is set.
    std::shared_ptr<RunStore> connect(std::shared_ptr<const std::atomic<bool>> stop = {}) const;

    /// Rank 0's text on every rank, once a key.
    std::string share(const std::string& key, const std::string& text);

    /// Whether this rank was there before, as another process: the others do not wait for it, and take it in when it
    /// meets them.
    bool came_back() const { return came_back_; }
    /// Such a one that has not been taken in.
    bool waits_to_be_taken_in() const;

    /// Beats from now on, and calls `lost` once a meeting, from a thread, when a rank is silent for `limit_s` (longer
    /// where many ranks share the store: five beats) or another rank lost it. Suspicion is a belief: a rank that is
    /// only stopped is named like one that is dead.
    void watch(std::function<void(const LostRank&)> lost, double limit_s);
    std::vector<int> members() const;
    /// After a loss, or to take in who has come back: rank 0 finds out who answers, and all agree. Every rank that is
    /// there calls it; one that has come back waits in it until it is taken in. Throws Aborted once `stop` is set,
    /// InputError where the others have given this rank up, or one of them said that it cannot go on.
    Meeting meet(const std::shared_ptr<const std::atomic<bool>>& stop);
    /// Whether a rank that is not there waits to be taken in. On rank 0.
    bool somebody_waits() const { return somebody_waits_; }
    /// Whether losses are outlived: then who is lost need not be known before all meet again.
    void outlive_losses(bool outlives) { outlives_ = outlives; }
    /// Those who met have begun to work: from now on silence is borne for as long as `watch` said.
    void settle() { settled_ = true; }
    /// This rank's connection to another (-1: to one of several) broke. Returns at once; soon everybody hears of it,
    /// and `lost` is called here, unless a rank says meanwhile why it ended, or, for -1, is found silent.
    void report_broken(int rank, const std::string& how);
    /// Those who met cannot talk: all are told of a loss by nobody (rank -1), and meet again.
    void call_meeting(const std::string& why);
    /// This rank cannot go on: the others hear why. `lost` is not called here any more.
    void report_failed(const Faults& faults);
    /// Everybody is through: waits for all, rank 0 longest, at most `patience_s`.
    void leave();

private:
    struct Server;
    struct Suspicion {
        LostRank loss;
        double since_s = 0, until_s = 0;
    };
    void check_build(const std::string& build);
    void say_alive(RunStore& store);
    void look_for_returns(RunStore& store);
    std::vector<int> returning() const;
    bool listens() const;
    double answer_within_s() const;
    double answers_of_store_within_s() const;
    Meeting decide(RunStore& store, int number);
    Meeting hear(RunStore& store, int number);
    void wait_to_be_taken_in(RunStore& store, int number);
    void beat();
    void sweep();
    void watch_store();
    void listen(RunStore& store);
    void look_at(RunStore& store, int rank);
    void confirm_suspicion(RunStore& store);
    void tell_all(RunStore& store, const LostRank& loss);
    bool pause(double seconds);
    void stop_threads();
    void lose(const LostRank& loss);

    LaunchEnvironment launch_;
    double patience_s_;
    int port_ = 0;
    std::unique_ptr<Server> server_;
    std::shared_ptr<RunStore> store_;
    std::function<void(const LostRank&)> lost_;
    double beat_every_s_ = 0.2, limit_s_ = 5;
    bool came_back_ = false;
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    bool stop_ = false, told_ = false, ended_ = false, failed_ = false;
    std::vector<Suspicion> suspicions_;
    Meeting meeting_;  ///< the last
    int come_to_ = 0;  ///< the meeting that this rank waits for, or was at last
    std::uint64_t beats_ = 0;
    std::atomic<bool> somebody_waits_{false}, outlives_{false}, settled_{true};
    struct Heard {
        std::string beat;
        double since_s = 0;
        int looks = 0;  ///< that found the same beat
    };
    std::vector<Heard> heard_;  ///< by rank, in the meeting looked_in_
    int looked_in_ = 0;
    std::map<int, std::string> returns_heard_;  ///< by rank: what it said last while it waited to be taken in
    std::vector<int> returning_;                ///< who has said so since the last look, ascending
    double said_that_it_waits_s_ = 0;           ///< steady_s()
    std::atomic<double> answered_at_s_{0};      ///< by the store, to the heart
    std::shared_ptr<std::atomic<bool>> over_ = std::make_shared<std::atomic<bool>>(false);  ///< for those threads
    std::thread heart_, sweeper_, store_watch_;
};

}  // namespace skippipe
