// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <utility>

#include "core/run/session.h"

namespace skippipe {

void Commands::put(const protocol::Command& command) {
    const std::lock_guard lock(mutex_);
    if (std::holds_alternative<protocol::Stop>(command)) stop_ = true;
    if (std::holds_alternative<protocol::Pause>(command)) paused_ = true;
    if (std::holds_alternative<protocol::Resume>(command)) paused_ = false;
    if (const auto* change = std::get_if<protocol::SwitchPlan>(&command)) plan_ = change->plan_json;
    if (const auto* lost = std::get_if<protocol::FailNode>(&command))
        losses_.push_back({lost->node, lost->back_after_s});
    if (const auto* ended = std::get_if<protocol::EndRank>(&command)) never_back_.push_back(ended->rank);
    if (const auto* more = std::get_if<protocol::Extend>(&command))
        iterations_ = std::max(iterations_, more->iterations);
    changed_.notify_all();
}

bool Commands::stop_asked() const {
    const std::lock_guard lock(mutex_);
    return stop_;
}

bool Commands::paused() const {
    const std::lock_guard lock(mutex_);
    return paused_ && !stop_;
}

std::vector<int> Commands::never_back() const {
    const std::lock_guard lock(mutex_);
    return never_back_;
}

void Commands::came_back(const std::vector<int>& ranks) {
    const std::lock_guard lock(mutex_);
    std::erase_if(never_back_, [&](int rank) { return std::find(ranks.begin(), ranks.end(), rank) != ranks.end(); });
}

int Commands::iterations() const {
    const std::lock_guard lock(mutex_);
    return iterations_;
}

TrainingCommand Commands::next() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return stop_ || !paused_; });
    return {stop_, std::exchange(plan_, {}), std::exchange(losses_, {})};
}

}  // namespace skippipe
