// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/run/rank_failures.h"

#include <algorithm>
#include <limits>

#include <nlohmann/json.hpp>

#include "core/base/index.h"

namespace skippipe {

NodeLoss loss_of_command(const std::string& payload_json, const Problem& problem, const std::vector<int>& rank_of) {
    using Json = nlohmann::json;
    const auto json = Json::parse(payload_json, nullptr, false);
    const auto member = [&](const char* name) { return json.is_object() ? json.value(name, Json()) : Json(); };
    const auto node = member("node"), back = member("back_after_s");
    const auto& ids = problem.node_ids;
    const auto found = node.is_string() ? std::find(ids.begin(), ids.end(), node.get<std::string>()) : ids.end();
    if (found == ids.end())
        throw InputError("command fail", "it names no node of this run", "",
                         "Name one of the experiment's nodes (`skippipe fail RUN NODE`)");
    if (!back.is_null() && (!back.is_number() || back.get<double>() < 0))
        throw InputError("command fail", "back_after_s is no time", "",
                         "Give seconds, or leave it out: the node does not come back");
    const auto index = found - ids.begin();
    return {static_cast<int>(index), rank_of[at(index)],
            back.is_null() ? std::numeric_limits<double>::infinity() : back.get<double>()};
}

RankFailures::RankFailures(const Experiment& experiment, const Problem& problem,
                           PerStage<std::vector<NodeIndex>> stages, std::vector<int> rank_of, int reached)
    : experiment_(experiment),
      schedule_(experiment, problem),
      stages_(std::move(stages)),
      rank_of_(std::move(rank_of)),
      reached_(reached) {}

void RankFailures::follow(const PerStage<std::vector<NodeIndex>>& stages) {
    const auto stays = [&](StageIndex stage, NodeIndex node) {
        return std::find(stages_[stage].begin(), stages_[stage].end(), node) != stages_[stage].end();
    };
    for (StageIndex stage = 0; at(stage) < stages.size(); ++stage)
        for (const NodeIndex node : stages[stage])
            if (!stays(stage, node)) {
                stages_ = stages;
                return;
            }
}

void RankFailures::begin_iteration(int iteration, double network_s, double expected_s) {
    if (experiment_.failures.empty() || experiment_.execution.clock == skippipe::Clock::virtual_time) return;
    const auto now = std::chrono::steady_clock::now();
    // What was due in the iteration before happens now; of the others those by time are worked out anew.
    std::erase_if(due_, [&](const Due& due) { return !due.once && due.at > now; });
    for (auto& due : due_) {
        due.at = std::min(due.at, now);
        remember(due);
    }
    const auto add = [&](std::size_t of, double at_s, int node, int rank) {
        const auto& failure = experiment_.failures[of];
        const bool once = failure.at_iteration || failure.probability_per_iteration;
        if (once ? happened_.contains({of, iteration}) : has_happened(of, node, network_s + at_s)) return;
        const auto in = std::chrono::duration<double>(at_s);
        const NodeLoss loss{node, rank, failure.rejoin_after_s.value_or(std::numeric_limits<double>::infinity())};
        due_.push_back({now + std::chrono::duration_cast<Clock::duration>(in), loss, once, of, network_s + at_s});
    };
    for (const auto& event : schedule_.of_iteration(iteration, network_s, expected_s, stages_))
        if (const auto& change = event.disturbance.change; change.kind == NetworkChange::Kind::node_down)
            add(event.failure, event.disturbance.at_s, change.node, rank_of_[at(change.node)]);
    if (iteration > reached_)
        for (const auto& loss : schedule_.coordinator_losses(iteration, network_s, expected_s))
            add(loss.failure, loss.at_s, -1, 0);
    std::stable_sort(due_.begin(), due_.end(), [](const Due& a, const Due& b) { return a.at < b.at; });
    for (std::size_t k = 0; k < experiment_.failures.size(); ++k) happened_.insert({k, iteration});
}

/// They happen in the order of their times, which come out a little different from iteration to iteration.
bool RankFailures::has_happened(std::size_t failure, int node, double network_s) const {
    constexpr double same_s = 1e-6;
    const auto found = happened_until_s_.find({failure, node});
    return found != happened_until_s_.end() && network_s <= found->second + same_s;
}

void RankFailures::remember(const Due& due) {
    if (due.once) return;
    auto& until_s = happened_until_s_.try_emplace({due.failure, due.loss.node}, due.network_s).first->second;
    until_s = std::max(until_s, due.network_s);
}

std::vector<NodeLoss> RankFailures::take_due() {
    std::vector<NodeLoss> due;
    const auto now = std::chrono::steady_clock::now();
    while (!due_.empty() && due_.front().at <= now) {
        due.push_back(due_.front().loss);
        remember(due_.front());
        due_.erase(due_.begin());
    }
    return due;
}

}  // namespace skippipe
