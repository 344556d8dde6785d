// SPDX-License-Identifier: GPL-3.0-or-later
// What rank 0 says to the coordinator while it trains, and what it hears from there.
#pragma once
#include <string>
#include <thread>

#include "core/run/session.h"

namespace skippipe {

/// Tells the coordinator about once a second that this process runs.
class Pulse {
public:
    explicit Pulse(CoordinatorLink& link);

private:
    std::jthread thread_;
};

/// Rank 0's reports and orders.
class Spokesman final : public TrainingListener, public TrainingController {
public:
    /// All outlive it.
    Spokesman(const Problem& problem, CoordinatorLink& link, Commands& commands)
        : problem_(problem), link_(link), commands_(commands) {}

    void validated(int done, double network_s, double machine_s, std::int64_t tokens,
                   const ValidationResult& result) override;
    void iterated(const IterationReport& r) override;
    void recovered(int iteration, double offset_s, const RecoveryReport& report) override;
    void rejoined(int iteration, double at_s, const RejoinReport& report) override;
    void went_back(const TrainingPosition& position, const Setback& setback) override;
    void regrouped(const RegroupReport& report) override;
    void speeds_changed(int iteration, double at_s, const std::vector<SpeedChange>& changes) override;
    void plan_switched(int iteration, const Plan& plan, const std::string& why) override;
    TrainingCommand next() override;
    std::vector<int> never_back() override { return commands_.never_back(); }
    int iterations() override { return commands_.iterations(); }
    bool stopped() const { return stopped_; }

private:
    const Problem& problem_;
    CoordinatorLink& link_;
    Commands& commands_;
    bool stopped_ = false;
};

/// Says twice a second how far reading the data has come; what takes less is not spoken of. Throws Stopped where that
/// was asked for. Null: of a rank that tells nobody.
TellProgress preparation(CoordinatorLink* link, const Commands* commands);

}  // namespace skippipe
