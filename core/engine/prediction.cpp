// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/engine/prediction.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "core/base/index.h"
#include "core/device/gpus.h"
#include "core/engine/cost_compute.h"
#include "core/engine/costs.h"
#include "core/engine/virtual_clock.h"

namespace skippipe {

namespace {

/// Free workers and cores, and ranks at work for parts and sums, as the virtual clock goes on.
class FreeCores final : public Admission {
public:
    FreeCores(const RankSchedule& schedule, const Machines& machines)
        : schedule_(schedule), machines_(machines), free_(machines.cores) {
        for (const auto& rank : machines.ranks) workers_.push_back(rank.workers);
        sums_.assign(machines.ranks.size(), false);
        if (!machines.gpus_are_shared) return;
        for (const int gpu : machines.gpu_of) busy_gpus_.resize(std::max(busy_gpus_.size(), at(std::max(gpu, -1) + 1)));
    }
    bool enter(int node) override {
        const int rank = schedule_.rank_of[at(node)], host = machines_.ranks[at(rank)].host;
        if (workers_[at(rank)] == 0 || free_[at(host)] == 0) return false;
        if (const int gpu = machines_.gpu_of_node(node); machines_.gpus_are_shared && gpu != no_gpu) {
            if (busy_gpus_[at(gpu)]) return false;
            busy_gpus_[at(gpu)] = true;
        }
        --workers_[at(rank)];
        --free_[at(host)];
        return true;
    }
    void leave(int node) override {
        const int rank = schedule_.rank_of[at(node)];
        ++workers_[at(rank)];
        ++free_[at(machines_.ranks[at(rank)].host)];
        if (const int gpu = machines_.gpu_of_node(node); machines_.gpus_are_shared && gpu != no_gpu)
            busy_gpus_[at(gpu)] = false;
    }
    bool enter_part(int node) override {
        const int rank = schedule_.rank_of[at(node)], host = machines_.ranks[at(rank)].host;
        if (sums_[at(rank)] || free_[at(host)] == 0) return false;
        sums_[at(rank)] = true;
        --free_[at(host)];
        return true;
    }
    void leave_part(int node) override {
        const int rank = schedule_.rank_of[at(node)];
        sums_[at(rank)] = false;
        ++free_[at(machines_.ranks[at(rank)].host)];
    }

private:
    const RankSchedule& schedule_;
    const Machines& machines_;
    std::vector<int> workers_, free_;
    std::vector<bool> sums_;  ///< ranks that work for a part or sum
    std::vector<bool> busy_gpus_;
};

/// The cost model's seconds, what ranks work for parts and sums, and on crowded hosts what their cores work for
/// messages between ranks.
class RankTimes final : public Durations {
public:
    RankTimes(const Problem& problem, const RankSchedule& schedule, const Machines& machines)
        : problem_(problem),
          schedule_(schedule),
          machines_(machines),
          routes_(schedule.plan),
          stage_of_(stage_of_nodes(schedule.plan, problem.nodes())),
          workers_(machines.cores.size(), 0) {
        for (const auto& rank : machines.ranks) workers_[at(rank.host)] += rank.workers;
        for (const auto& transfer : schedule.transfers)
            if (!transfer.is_reduction())
                arrives_.insert({transfer.to_node, transfer.operation.microbatch, transfer.operation.kind});
    }
    std::optional<double> operation_s(int node, const Operation& operation) const override {
        if (!is_crowded(node)) return std::nullopt;
        const auto next = routes_.after(operation, node);
        const double cpu_s = end_s(node, operation) + (next.node < 0 ? 0 : end_s(next.node, next.operation));
        return operation_seconds(problem_, operation, node, stage_of_[at(node)]) + cpu_s;
    }
    std::optional<double> transfer_s(int, int, const Operation&) const override { return std::nullopt; }
    double part_s(int from, int to, double bytes) const override {
        const bool same_rank = schedule_.rank_of[at(from)] == schedule_.rank_of[at(to)];
        const bool message = !same_rank && is_crowded(from);
        const int gpu = machines_.gpu_of_node(from);
        const bool by_host = problem_.weight_bytes_per_gradient_byte > 2;  // the host's processor rounds to int8
        if (same_rank && gpu != no_gpu && gpu == machines_.gpu_of_node(to) && !by_host) return 0;
        return (problem_.reduction_cpu_s_per_byte * bytes + (message ? message_s(bytes) : 0)) / 2;
    }

private:
    bool is_crowded(int node) const {
        const int host = machines_.ranks[at(schedule_.rank_of[at(node)])].host;
        return machines_.cores[at(host)] <= workers_[at(host)];
    }
    double message_s(double bytes) const { return problem_.transfer_cpu_s + problem_.transfer_cpu_s_per_byte * bytes; }
    /// Of one end of the message, if there is one, that brings the operation's input.
    double end_s(int node, const Operation& operation) const {
        if (!arrives_.contains({node, operation.microbatch, operation.kind})) return 0;
        const double bytes = problem_.relative_size(operation.microbatch) *
                             (is_backward(operation.kind) ? problem_.backward_bytes : problem_.forward_bytes);
        return message_s(bytes) / 2;
    }

    const Problem& problem_;
    const RankSchedule& schedule_;
    const Machines& machines_;
    RouteTable routes_;
    PerNode<StageIndex> stage_of_;
    std::vector<int> workers_;
    std::set<std::tuple<int, int, OpKind>> arrives_;
};

/// Measured seconds instead of drawn ones.
class MeasuredTimes final : public Durations {
public:
    MeasuredTimes(const Timeline& measured, bool transfers) {
        for (const auto& span : measured.spans) {
            if (is_compute(span.kind)) operations_[{span.node, span.microbatch, span.kind}] = span.end_s - span.start_s;
            if (transfers && is_transfer(span.kind))
                transfers_[{span.node, span.to_node, span.microbatch, span.kind}] = span.end_s - span.ready_s;
        }
    }
    std::optional<double> operation_s(int node, const Operation& operation) const override {
        const auto found = operations_.find({node, operation.microbatch, span_kind(operation.kind)});
        return found == operations_.end() ? std::nullopt : std::optional(found->second);
    }
    std::optional<double> transfer_s(int from, int to, const Operation& next) const override {
        const auto kind = is_backward(next.kind) ? SpanKind::transfer_backward : SpanKind::transfer_forward;
        const auto found = transfers_.find({from, to, next.microbatch, kind});
        return found == transfers_.end() ? std::nullopt : std::optional(found->second);
    }
    double part_s(int, int, double) const override {
        return 0;
    }  // sums end after the last operation: makespans alone count

private:
    std::map<std::tuple<int, int, SpanKind>, double> operations_;
    std::map<std::tuple<int, int, int, SpanKind>, double> transfers_;
};

Timeline execute(const Problem& problem, const RankSchedule& schedule, const Machines& machines,
                 const Durations* durations) {
    CostCompute none(problem, schedule);
    FreeCores cores(schedule, machines);
    VirtualDriver driver(problem, schedule.plan, none);
    driver.clock().use(durations, &cores);
    return driver.run_iteration();
}

}  // namespace

int Machines::gpu_of_node(int node) const { return at(node) < gpu_of.size() ? gpu_of[at(node)] : no_gpu; }

Timeline predict(const Problem& given, const RankSchedule& schedule, const Machines& machines) {
    if (given.transfer_cpu_s + given.transfer_cpu_s_per_byte + given.reduction_cpu_s_per_byte <= 0)
        return execute(given, schedule, machines, nullptr);
    const PlannedProblem planned(given, schedule.plan.blocks);
    const RankTimes times(planned.get(), schedule, machines);
    return execute(given, schedule, machines, &times);
}

Difference explain_difference(const Problem& problem, const RankSchedule& schedule, const Machines& machines,
                              const Timeline& measured) {
    const auto predicted = predict(problem, schedule, machines);
    const MeasuredTimes operations(measured, false), everything(measured, true);
    // Measured operations include what ranks took of each other's cores, and of a GPU; their own workers they still
    // wait for.
    auto workers_alone = machines;
    workers_alone.gpus_are_shared = false;
    for (auto& cores : workers_alone.cores) cores = problem.nodes();
    const double with_operations_s = execute(problem, schedule, workers_alone, &operations).makespan_s;
    const double with_transfers_s = execute(problem, schedule, workers_alone, &everything).makespan_s;
    Difference difference{.predicted_s = predicted.iteration_s, .measured_s = measured.iteration_s};
    difference.operations_s = with_operations_s - predicted.makespan_s;
    difference.transfers_s = with_transfers_s - with_operations_s;
    difference.coordination_s = measured.makespan_s - with_transfers_s;
    difference.reduction_s =
        (measured.iteration_s - measured.makespan_s) - (predicted.iteration_s - predicted.makespan_s);
    return difference;
}

}  // namespace skippipe
