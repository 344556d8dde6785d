// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/plan/node_gains.h"

#include <algorithm>
#include <utility>

#include "core/planner/explain/node_what_ifs.h"

namespace skippipe {
namespace {

NodeIndex node_index_in(const PlanOutcome& outcome, const std::string& node) {
    const auto& ids = outcome.problem.node_ids;
    const auto found = std::find(ids.begin(), ids.end(), node);
    return NodeIndex(found == ids.end() ? -1 : static_cast<int>(found - ids.begin()));
}

}  // namespace

NodeGains::NodeGains(QObject* parent) : QObject(parent) {}

void NodeGains::ask(std::shared_ptr<const PlanOutcome> outcome, const std::string& node) {
    if (outcome == outcome_ && node == node_) return;
    outcome_ = std::move(outcome);
    node_ = node;
    reader_.forget();
    const bool had = !std::exchange(answers_, {}).empty();
    const bool has_end = outcome_ && outcome_->has_plan && outcome_->timeline.complete;
    const auto place = has_end ? node_index_in(*outcome_, node) : NodeIndex(-1);
    if (place < 0) {
        if (had) Q_EMIT answered();
        return;
    }
    const auto found = std::make_shared<std::vector<WhatIf>>();
    reader_.read(
        [found, plan = outcome_, place] { *found = node_what_ifs(plan->problem, plan->plan, plan->timeline, place); },
        [this, found](const QString&) {
            answers_ = std::move(*found);
            Q_EMIT answered();
        });
}

}  // namespace skippipe
