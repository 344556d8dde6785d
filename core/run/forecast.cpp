// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/run/forecast.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/base/index.h"
#include "core/device/gpus.h"

namespace skippipe {

namespace {

Machines machines_of(const Experiment& experiment, const Problem& problem,
                     const std::vector<protocol::RankMachine>& ranks) {
    Machines machines;
    std::map<std::string, int> hosts;
    std::map<std::pair<int, int>, int> gpus;  // of a host, their number among all
    machines.gpu_of.assign(at(problem.nodes()), no_gpu);
    for (const auto& rank : ranks) {
        const auto [host, added] = hosts.try_emplace(rank.host, static_cast<int>(hosts.size()));
        // Sleeping takes no core.
        const bool sleeps = experiment.execution.compute == Compute::cost;
        if (added) machines.cores.push_back(sleeps ? problem.nodes() : rank.cores);
        machines.ranks.push_back({host->second, rank.workers});
        for (const auto& [node, number] : rank.gpus)
            machines.gpu_of.at(at(node)) =
                gpus.try_emplace({host->second, number}, static_cast<int>(gpus.size())).first->second;
    }
    return machines;
}

}  // namespace

Forecast::Forecast(const Experiment& experiment, const Problem& problem, const Plan& plan,
                   const std::vector<protocol::RankMachine>& machines, bool calibrate)
    : experiment_(experiment),
      problem_(problem),
      machines_(machines_of(experiment, problem, machines)),
      schedule_(make_schedule(problem, plan, assign_ranks(experiment, plan), experiment.execution.ranks)) {
    if (calibrate) costs_.emplace(problem, !experiment.execution.shape_links);
}

double Forecast::iteration_s() const { return predict(now(), schedule_, machines_).iteration_s; }

double Forecast::observe(const protocol::Iterated& m) {
    Timeline measured;
    measured.spans = m.spans;
    measured.iteration_s = m.iteration_s;
    add_totals(schedule_.plan, measured);
    if (costs_ || !predicted_s_) predicted_s_ = iteration_s();
    constexpr double pause_s = 2;
    if (differences_.size() < 8 || m.machine_s > explained_at_s_ + pause_s) {
        differences_.push_back(explain_difference(now(), schedule_, machines_, measured));
        explained_at_s_ = m.machine_s;
    }
    return *predicted_s_;
}

std::optional<BetterPlan> Forecast::better_plan(const protocol::Iterated& m) {
    if (!costs_) return std::nullopt;
    costs_->observe(schedule_.plan, m.spans);
    // Measured operations include what ranks take of each other's cores, and of a GPU.
    for (auto& cores : machines_.cores) cores = problem_.nodes();
    machines_.gpus_are_shared = false;
    constexpr int settled = 3;  // iterations until the medians tell more than chance
    if (told_ || m.iteration + 1 < considered_ + settled || m.iteration + 2 >= experiment_.training.iterations)
        return std::nullopt;
    considered_ = m.iteration + 1;
    auto better = plan_again(*costs_, schedule_, machines_);
    costs_->planned();
    return better;
}

std::optional<std::string> Forecast::switched() {
    if (!told_) return std::nullopt;
    schedule_ = std::move(told_->schedule);
    auto why = std::move(told_->why);
    told_.reset();
    return why;
}

std::optional<Difference> median_difference(const std::vector<Difference>& differences) {
    // The first iteration warms up.
    std::vector<Difference> sorted(differences.begin() + (differences.size() > 2 ? 1 : 0), differences.end());
    if (sorted.empty()) return std::nullopt;
    std::sort(sorted.begin(), sorted.end(),
              [](const Difference& a, const Difference& b) { return a.measured_s < b.measured_s; });
    return sorted[sorted.size() / 2];
}

nlohmann::ordered_json to_json(const Difference& d) {
    return {{"predicted_s", d.predicted_s}, {"measured_s", d.measured_s},         {"operations_s", d.operations_s},
            {"transfers_s", d.transfers_s}, {"coordination_s", d.coordination_s}, {"reduction_s", d.reduction_s}};
}

}  // namespace skippipe
