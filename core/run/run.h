// SPDX-License-Identifier: GPL-3.0-or-later
// One run in progress. What it does stands in files of one matter each: run_start.cpp, run_messages.cpp,
// run_alarms.cpp, run_losses.cpp, run_commands.cpp; the loop and the end in coordinator.cpp.
#pragma once
#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/analysis/idle_mean.h"
#include "core/run/alarms.h"
#include "core/run/coordinator.h"
#include "core/run/rank_failures.h"
#include "core/run/run_log.h"

namespace skippipe {

/// How long the worker has said nothing.
class Silence {
public:
    /// True where its silence was told before.
    bool heard() {
        since_ = std::chrono::steady_clock::now();
        has_spoken_ = true;
        return std::exchange(told_, false);
    }
    bool has_spoken() const { return has_spoken_; }
    double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - since_).count(); }
    /// True once each time that it lasts so long.
    bool lasts(double limit_s) {
        if (told_ || seconds() < limit_s) return false;
        return told_ = true;
    }

private:
    std::chrono::steady_clock::time_point since_ = std::chrono::steady_clock::now();
    bool told_ = false, has_spoken_ = false;
};

/// Every message of a run's ranks goes to the record, every command of people to its ranks.
class Run {
public:
    Run(const RunJob& job, Recorder& recorder, RankGroup& ranks, const RunProgress& progress);
    RunOutcome go();

private:
    void listen();
    void look_after_ranks();
    void fail(Faults faults);
    void warn(const Fault& fault);
    void tell_warnings();
    RunOutcome finish();

    // run_start.cpp
    void receive(const protocol::Hello& m);
    void begin(const std::string& versions);
    void take_up();
    void continue_from(const TrainingPosition& position);
    void open_log();

    // run_messages.cpp
    void receive(const protocol::Validated& m);
    void receive(const protocol::Iterated& m);
    void receive(const protocol::PlanSwitched& m);
    void receive(const protocol::Checkpointed& m);
    void receive(const protocol::Paused& m);
    void receive(const protocol::Done& m);
    void receive(const protocol::Warned& m) { warn(m.fault); }
    void receive(const protocol::Failed& m) { fail(m.faults); }
    void receive(const protocol::Preparing& m) {
        if (progress_.preparing) progress_.preparing(m);
    }
    void receive(const protocol::Listening&) {}
    void receive(const protocol::Probed&) {}
    void receive(const protocol::Evaluated&) {}
    void receive(const protocol::Heartbeat&) {}
    /// What GPUs said while an iteration ran.
    void keep_devices(const protocol::Iterated& m);
    void begin_iteration(int iteration);
    void offer_better_plan(const protocol::Iterated& m);
    void place_checkpoints(bool recorded = false);
    Plan plan_of(const std::string& json) const;
    void count_tokens(std::int64_t tokens, double machine_s);
    void metric(int iteration, const char* name, double value, double network_s, double machine_s, std::int64_t tokens);

    // run_alarms.cpp
    void look_at_figures(const protocol::Iterated& m);
    void raise(const Alarm& alarm);
    void end_of_silence();

    // run_losses.cpp
    void receive(const protocol::SpeedsChanged& m);
    void receive(const protocol::Recovered& m);
    void receive(const protocol::Rejoined& m);
    void receive(const protocol::WentBack& m);
    void receive(const protocol::Regrouped& m);
    void require_node(int node) const;
    void tell_event(RunEvent event);

    // run_commands.cpp
    void poll_commands();
    void obey(const Command& taken);
    void fail_node(const std::string& payload);
    void extend(const std::string& payload);
    void kill_rank_of(const NodeLoss& loss);
    void lose_coordinator();

    const RunJob& job_;
    RankGroup& ranks_;
    const RunProgress& progress_;
    Recorder& recorder_;
    RunLog log_;
    RunOutcome outcome_;
    int iterations_;                    ///< to be done in all
    Plan plan_;                         ///< in force
    std::optional<Forecast> forecast_;  ///< under the wall clock, from the workers' hello on, while all ranks are there
    std::vector<protocol::RankMachine> machines_;
    double network_s_ = 0;           ///< where the last iteration ended
    double began_s_ = 0;             ///< where the first one of its own began: a fork's in the middle of another run
    double began_machine_s_ = 0;     ///< what that run had taken
    std::int64_t began_tokens_ = 0;  ///< and trained
    RankFailures failures_;
    IdleMean idle_;
    std::vector<protocol::Checkpointed> written_;  ///< that do not count yet
    std::chrono::steady_clock::time_point place_again_{};
    LossWatch losses_;
    std::optional<std::pair<int, std::int64_t>> record_at_first_;  ///< after this iteration it had so many bytes
    std::chrono::steady_clock::time_point look_at_disk_again_{};
    bool disk_told_ = false, device_trouble_told_ = false;
    std::string warning_, before_silence_;  ///< the record's last word, and the one before a silence
    Silence silence_;
    bool started_ = false, ended_ = false, stop_sent_ = false;
};

}  // namespace skippipe
