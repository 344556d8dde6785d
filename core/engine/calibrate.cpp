// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/engine/calibrate.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/base/index.h"
#include "core/engine/costs.h"
#include "core/planner/timeline/reduction_machine.h"
#include "core/planner/plan/plan.h"

namespace skippipe {

namespace {

std::string region_of(int rank) { return fmt::format("rank-{}", rank); }

void take_speeds(Experiment& experiment, const RankSchedule& schedule, const std::vector<RankProbe>& ranks) {
    const auto stage_of = stage_of_nodes(schedule.plan, static_cast<int>(experiment.topology.nodes.size()));
    std::vector<double> backward, loss;
    for (const auto& rank : ranks)
        for (const auto& speed : rank.nodes) {
            const int stage = stage_of.at(at(speed.node));
            if (stage < 0 || speed.forward_s.median <= 0) continue;
            experiment.topology.nodes[at(speed.node)].seconds_per_sample_per_block =
                speed.forward_s.median / (experiment.pipeline.microbatch_samples * schedule.plan.blocks.at(at(stage)));
            backward.push_back(speed.backward_s.median / speed.forward_s.median);
            if (stage == 0) loss.push_back(speed.loss_s.median / speed.forward_s.median);
        }
    if (!backward.empty()) experiment.costs.backward_factor = summarize(std::move(backward)).median;
    if (!loss.empty()) experiment.costs.loss_factor = summarize(std::move(loss)).median;
}

/// Of the schedule's transfers together.
double bytes_between_ranks(const Problem& problem, const RankSchedule& schedule) {
    ReductionMachine reductions;
    if (!schedule.pieces.empty()) reductions.prepare(problem, schedule.plan.stages, schedule.pieces);
    double bytes = 0;
    for (const auto& transfer : schedule.transfers) {
        if (transfer.is_reduction()) {
            const auto part = reductions.handed(static_cast<std::uint32_t>(transfer.slot));
            bytes += schedule.pieces[part.stage][at(part.piece)].share * problem.gradient_bytes[part.stage];
        } else {
            bytes += problem.relative_size(transfer.operation.microbatch) *
                     (is_backward(transfer.operation.kind) ? problem.backward_bytes : problem.forward_bytes);
        }
    }
    return bytes;
}

/// What messages cost the cores, whether or not the links are kept: what whole iterations without arithmetic cost,
/// dealt out to their messages, which is more than sending and receiving alone. A byte's share is known from messages
/// of several sizes.
void take_message_work(Costs& costs, const Problem& problem, const RankSchedule& schedule,
                       const std::vector<RankProbe>& ranks) {
    std::vector<double> each, byte, summed;
    for (const auto& rank : ranks) {
        summed.push_back(rank.reduction_cpu_s_per_byte);
        for (const auto& link : rank.links) {
            each.push_back(link.cpu_s);
            byte.push_back(link.cpu_s_per_byte);
        }
    }
    costs.reduction_cpu_s_per_byte = summarize(std::move(summed)).median;
    costs.transfer_cpu_s = summarize(std::move(each)).median;
    costs.transfer_cpu_s_per_byte = summarize(std::move(byte)).median;
    if (schedule.transfers.empty()) return;
    double iteration_cpu_s = 0;
    for (const auto& rank : ranks) iteration_cpu_s += rank.iteration_cpu_s;
    const PlannedProblem planned(problem, schedule.plan.blocks);
    const double for_bytes_s = costs.transfer_cpu_s_per_byte * bytes_between_ranks(planned.get(), schedule);
    costs.transfer_cpu_s = std::max(costs.transfer_cpu_s,
                                    (iteration_cpu_s - for_bytes_s) / static_cast<double>(schedule.transfers.size()));
}

/// Of the links' rates together, from which on several at once take no less than one by one: scatter and headers.
constexpr double unlimited_share = 0.75;

void take_links(Topology& topology, const RankSchedule& schedule, const std::vector<RankProbe>& ranks) {
    double left = topology.regions.empty() ? 0 : topology.regions.front().x,
           top = topology.regions.empty() ? 0 : topology.regions.front().y;
    topology.regions.clear();
    topology.links.clear();
    topology.hop_matrix_s.clear();
    std::vector<double> handover, copy;
    for (std::size_t r = 0; r < ranks.size(); ++r) {
        topology.regions.push_back({region_of(static_cast<int>(r)), left + 320.0 * static_cast<double>(r), top});
        for (const auto& link : ranks[r].links)
            topology.links.push_back({region_of(link.from), region_of(link.to), link.latency_s.median,
                                      link.bandwidth_bytes_per_s.median, false});
        handover.push_back(ranks[r].handover_s.median);
        copy.push_back(ranks[r].copy_bytes_per_s);
    }
    topology.within_region = {summarize(std::move(handover)).median, std::max(1.0, summarize(std::move(copy)).median)};
    for (std::size_t n = 0; n < topology.nodes.size(); ++n) {
        const int rank = std::max(0, schedule.rank_of[n]);
        topology.nodes[n].region = region_of(rank);
        topology.nodes[n].rank = rank;
        const auto limits = schedule.rank_of[n] < 0 ? ConnectionLimits{} : connection_limits(ranks, rank);
        topology.nodes[n].up_bytes_per_s = limits.up_bytes_per_s;
        topology.nodes[n].down_bytes_per_s = limits.down_bytes_per_s;
    }
}

}  // namespace

ConnectionLimits connection_limits(const std::vector<RankProbe>& ranks, int rank) {
    const auto& connection = ranks.at(at(rank)).connection;
    const auto is_peer = [&](int other) {
        return std::find(connection.peers.begin(), connection.peers.end(), other) != connection.peers.end();
    };
    double sent = 0, received = 0;
    for (const auto& one : ranks)
        for (const auto& link : one.links) {
            if (link.from == rank && is_peer(link.to)) sent += link.bandwidth_bytes_per_s.median;
            if (link.to == rank && is_peer(link.from)) received += link.bandwidth_bytes_per_s.median;
        }
    const auto limit = [&](const Measured& together, double one_by_one) {
        return together.median > 0 && together.median < unlimited_share * one_by_one ? std::optional(together.median)
                                                                                     : std::nullopt;
    };
    if (connection.peers.size() < 2) return {};
    return {limit(connection.up_bytes_per_s, sent), limit(connection.down_bytes_per_s, received)};
}

Experiment measured_experiment(const Experiment& experiment, const RankSchedule& schedule,
                               const std::vector<RankProbe>& ranks, bool keep_links, const std::string& when) {
    auto measured = experiment;
    take_speeds(measured, schedule, ranks);
    take_message_work(measured.costs, make_problem(experiment), schedule, ranks);
    double step_s = 0;
    for (const auto& rank : ranks) step_s = std::max(step_s, rank.step_s.median);
    if (step_s > 0) measured.costs.step_seconds = step_s;
    if (!keep_links) take_links(measured.topology, schedule, ranks);
    measured.topology.measured_at = when;
    return measured;
}

}  // namespace skippipe
