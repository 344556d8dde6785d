// SPDX-License-Identifier: GPL-3.0-or-later
// A job as numbers, and what goes wrong with it in words.
#include <algorithm>
#include <new>
#include <utility>

#include "core/device/gpus.h"
#include "core/engine/devices.h"
#include "core/experiment/io.h"
#include "core/run/session.h"

namespace skippipe {

Work understand(const protocol::Job& job) {
    auto parsed = parse_experiment(job.experiment_json);
    if (has_errors(parsed.faults)) throw InputError(parsed.faults);
    Work work{std::move(parsed.experiment), {}, {}};
    if (!job.start_from.empty()) work.experiment.training.initial_weights.clear();
    if (auto& initial = work.experiment.training.initial_weights; !initial.empty())
        initial = (std::filesystem::path(job.base_dir) / initial).string();
    work.problem = make_problem(work.experiment);
    Faults faults;
    work.plan = parse_plan(parse_json(job.plan_json, faults), work.problem, faults);
    if (has_errors(faults)) throw InputError(faults);
    return work;
}

RankSchedule schedule_of(const Work& work) {
    const int ranks = work.experiment.execution.ranks;
    const auto order =
        work.experiment.execution.transport == Transport::nccl ? TransferOrder::lanes : TransferOrder::pairs;
    return make_schedule(work.problem, work.plan, assign_ranks(work.experiment, work.plan), ranks, order);
}

void place_on_devices(Work& work, const RankSchedule& schedule, int rank, LocalRank local, bool check_memory,
                      const std::function<AttachedGpus()>& look) {
    auto& nodes = work.experiment.topology.nodes;
    std::vector<std::size_t> hosted;  // those without a stage may get one
    for (std::size_t node = 0; node < nodes.size(); ++node)
        if (schedule.rank_of[node] == rank) hosted.push_back(node);
    const auto& how = work.experiment.execution;
    if (how.compute != Compute::torch ||
        (how.transport != Transport::nccl &&
         std::all_of(hosted.begin(), hosted.end(), [&](std::size_t node) { return nodes[node].device == "cpu"; })))
        return;
    const auto gpus = look();
    if (auto faults = check_devices(work.experiment, schedule, rank, local, gpus); !faults.empty())
        throw InputError(std::move(faults));
    const auto devices = deal_devices(work.experiment.topology, schedule, rank, local, gpus);
    if (check_memory)
        if (auto faults = check_gpu_memory(work.experiment, work.problem, work.plan, devices, gpus); !faults.empty())
            throw InputError(std::move(faults));
    for (const std::size_t node : hosted) nodes[node].device = devices[node];
}

JobKind kind_of(const protocol::Job& job) {
    return !job.omitted.empty() ? JobKind::evaluation : job.probe ? JobKind::probe : JobKind::training;
}

Faults faults_of(const std::exception_ptr& error, JobKind kind) {
    struct Words {
        const char *where, *why, *remedy;
    };
    static constexpr Words words[] = {
        {"training", "training cannot go on",
         "See the message; with less memory or another device try a smaller model"},
        {"probe", "nothing was measured", "See the message; with less memory or another device try a smaller model"},
        {"evaluation", "no loss is known, and the record stays as it was",
         "See the message; with less memory try fewer threads (--threads)"}};
    const auto& of = words[static_cast<std::size_t>(kind)];
    const auto fault = [&](std::string where, std::string what) {
        return Faults{{std::move(where), std::move(what), of.why, of.remedy}};
    };
    try {
        std::rethrow_exception(error);
    } catch (const InputError& input) {
        return input.faults();
    } catch (const ComputeError& compute) {
        return fault(compute.where(), compute.what());
    } catch (const std::bad_alloc&) {
        return fault(of.where, "memory ran out");
    } catch (const std::exception& other) {
        return fault(of.where, other.what());
    } catch (...) {
        return fault(of.where, "something that is no exception was thrown");
    }
}

}  // namespace skippipe
