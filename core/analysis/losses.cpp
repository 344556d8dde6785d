// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/analysis/losses.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "core/analysis/iterations.h"

namespace skippipe {
namespace {

/// Sums and differences of times, rounded.
double tolerance(double time_s) { return 1e-9 * std::max(1.0, std::abs(time_s)); }

}  // namespace

std::vector<Loss> losses_of(const std::vector<Metric>& metrics) {
    std::vector<Loss> losses;
    bool open = false;
    for (const auto& metric : metrics) {
        if (metric.name == "nodes_lost") {
            open = metric.value > 0;  // 0: ranks that came back
            if (!open) continue;
            Loss loss;
            loss.iteration = metric.iteration;
            loss.nodes = static_cast<int>(metric.value);
            loss.begin_s = loss.end_s = metric.network_s;
            losses.push_back(loss);
        }
        if (!open) continue;
        Loss& loss = losses.back();
        if (metric.name == "detection_s") {
            loss.detection_s = metric.value;
            loss.begin_s = loss.end_s - metric.value;
        } else if (metric.name == "replanning_s") {
            loss.replanning_s = metric.value;
        } else if (metric.name == "redone_operations") {
            loss.redone_operations = static_cast<int>(metric.value);
        } else if (metric.name == "lost_gradients") {
            loss.lost_gradients = static_cast<int>(metric.value);
        } else if (metric.name == "recovery_s") {
            loss.recovery_s = metric.value;
            loss.begin_s = metric.network_s;
            loss.end_s = metric.network_s + metric.value;
        }
    }
    const auto ended = iteration_times(metrics);
    for (auto& loss : losses)
        if (const auto found = ended.find(loss.iteration); found != ended.end())
            loss.begun_again = loss.end_s <= found->second.begin_s() + tolerance(found->second.end_s);
    return losses;
}

std::vector<Refetch> refetches_of(const std::vector<Metric>& metrics) {
    std::map<int, double> seconds;
    for (const auto& metric : metrics)
        if (metric.name == "refetching_s") seconds[metric.iteration] = metric.value;
    std::vector<Refetch> refetches;
    for (const auto& [iteration, lasted_s] : seconds) refetches.push_back({iteration, lasted_s});
    return refetches;
}

std::vector<LostTime> lost_times_of(const std::vector<Metric>& metrics) {
    std::map<int, double> begins_s;  // of each iteration, for the last time
    std::map<int, int> again;
    const auto ended = iteration_times(metrics);
    for (const auto& metric : metrics) {
        if (metric.name != "lost_iterations") continue;
        again[metric.iteration] += static_cast<int>(metric.value);
        begins_s[metric.iteration] = metric.network_s;  // it has not ended yet
    }
    for (const auto& [iteration, one] : ended) begins_s[iteration] = one.begin_s();
    std::vector<LostTime> lost;
    for (const auto& [iteration, begin_s] : begins_s) {
        const auto previous = ended.find(iteration - 1);
        if (previous == ended.end() && iteration > 0) continue;  // it is not known where that ended
        const double since_s = iteration > 0 ? previous->second.end_s : 0;
        if (begin_s - since_s <= tolerance(begin_s)) continue;
        LostTime time{since_s, begin_s, iteration};
        if (const auto found = again.find(iteration); found != again.end()) {
            time.why = LostTime::Why::went_back;
            time.iterations_again = found->second;
        }
        lost.push_back(time);
    }
    for (const auto& loss : losses_of(metrics))
        for (auto& time : lost)
            if (time.why == LostTime::Why::waited && loss.begun_again && loss.iteration == time.iteration)
                time.why = LostTime::Why::begun_again;
    return lost;
}

LossAccount account_losses(const std::vector<Metric>& metrics, double predicted_s) {
    LossAccount account;
    std::set<int> disturbed, begun_again;
    for (const auto& loss : losses_of(metrics)) {
        account.nodes += loss.nodes;
        account.detection_s += loss.detection_s;
        account.replanning_s += loss.replanning_s;
        account.recovery_s += loss.recovery_s.value_or(0);
        account.redone_operations += loss.redone_operations;
        account.lost_gradients += loss.lost_gradients;
        disturbed.insert(loss.iteration);
        if (loss.begun_again) begun_again.insert(loss.iteration);
    }
    for (const auto& metric : metrics)
        if (metric.name == "refetching_s") account.refetching_s += metric.value;
    account.iterations = static_cast<int>(disturbed.size());
    account.begun_again = static_cast<int>(begun_again.size());
    if (disturbed.empty()) return account;
    const auto ended = iteration_times(metrics);
    double before_s = 0;
    int before = 0;
    for (const auto& [iteration, one] : ended)
        if (iteration < *disturbed.begin()) before_s += one.length_s, ++before;
    account.usual_s = before > 0 ? before_s / before : predicted_s;
    for (const int iteration : disturbed) {
        const auto found = ended.find(iteration), previous = ended.find(iteration - 1);
        if (found == ended.end()) continue;  // it goes on
        const bool is_whole = iteration == 0 || previous != ended.end();
        const double begin_s = iteration == 0 ? 0 : is_whole ? previous->second.end_s : 0;
        const double took_s = is_whole ? found->second.end_s - begin_s : found->second.length_s;
        account.lost_s += took_s - account.usual_s;
    }
    account.lost_s = std::max(account.lost_s, 0.0);
    return account;
}

}  // namespace skippipe
