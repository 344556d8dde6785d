// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/run/session_reports.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <string>

#include <fmt/format.h>

#include "core/experiment/io.h"

namespace skippipe {

Pulse::Pulse(CoordinatorLink& link)
    : thread_([&link](const std::stop_token& stop) {
          std::mutex mutex;
          std::condition_variable_any wake;
          std::unique_lock lock(mutex);
          while (!wake.wait_for(lock, stop, std::chrono::seconds(1), [] { return false; }) && !stop.stop_requested())
              link.send(protocol::Heartbeat{});
      }) {}

void Spokesman::validated(int done, double network_s, double machine_s, std::int64_t tokens,
                          const ValidationResult& result) {
    link_.send(protocol::Validated{done, network_s, machine_s, tokens, result});
}

void Spokesman::iterated(const IterationReport& r) {
    link_.send(protocol::Iterated{r.iteration, r.offset_s, r.timeline->iteration_s, r.machine_s, r.tokens, r.result,
                                  r.timeline->spans, r.devices});
}

void Spokesman::recovered(int iteration, double offset_s, const RecoveryReport& report) {
    link_.send(protocol::Recovered{iteration, offset_s, report});
}

void Spokesman::rejoined(int iteration, double at_s, const RejoinReport& report) {
    link_.send(protocol::Rejoined{iteration, at_s, report});
}

void Spokesman::went_back(const TrainingPosition& position, const Setback& setback) {
    link_.send(protocol::WentBack{position, setback.lost_iterations, setback.lost_s, setback.why});
}

void Spokesman::regrouped(const RegroupReport& report) {
    commands_.came_back(report.joined);
    link_.send(protocol::Regrouped{report});
}

void Spokesman::speeds_changed(int iteration, double at_s, const std::vector<SpeedChange>& changes) {
    std::string what;
    for (const auto& change : changes) what += (what.empty() ? "" : ", ") + describe(change, problem_);
    link_.send(
        protocol::SpeedsChanged{iteration, at_s, changes.empty() ? "nodes and links are as fast as before" : what});
}

void Spokesman::plan_switched(int iteration, const Plan& plan, const std::string& why) {
    link_.send(protocol::PlanSwitched{iteration, to_json(plan, problem_, nullptr).dump(), why});
}

TrainingCommand Spokesman::next() {
    const bool stands_still = commands_.paused();
    if (stands_still) link_.send(protocol::Paused{true});
    auto command = commands_.next();
    if (stands_still) link_.send(protocol::Paused{false});
    stopped_ = command.stop;
    return command;
}

TellProgress preparation(CoordinatorLink* link, const Commands* commands) {
    using Clock = std::chrono::steady_clock;
    if (!link) return {};
    return [link, commands, next = Clock::now() + std::chrono::milliseconds(500)](const std::string& what,
                                                                                  double share) mutable {
        if (commands && commands->stop_asked()) throw Stopped{};
        if (Clock::now() < next) return;
        next = Clock::now() + std::chrono::milliseconds(500);
        link->send(protocol::Preparing{what, share});
    };
}

}  // namespace skippipe
