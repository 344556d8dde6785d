// SPDX-License-Identifier: GPL-3.0-or-later
// What TorchCompute keeps: nodes, microbatches under way, and the threads that work on them.
#pragma once
#include <algorithm>
#include <map>
#include <stdexcept>

#include <fmt/format.h>

#include "core/base/index.h"
#include "core/experiment/counts.h"
#include "core/engine/piece_sums.h"
#include "core/model/blas.h"
#include "core/model/gradient_feedback.h"
#include "core/model/node_build.h"
#include "core/model/reduction.h"
#include "core/model/torch_compute.h"
#include "core/model/wire.h"

namespace skippipe {

class TorchPieceSums;

struct TorchCompute::Implementation {
    Implementation(const Experiment& given, const RankSchedule& given_schedule, int given_rank,
                   std::optional<Batches> given_batches, int workers, QueueOfDevice given_queues = {})
        : experiment(given),
          schedule(given_schedule),
          rank(given_rank),
          batches(std::move(given_batches)),
          nodes(build_nodes(experiment, schedule.plan, experiment.seed,
                            [&](int node) { return schedule.rank_of.at(at(node)) == rank; })),
          sums(schedule.plan.stages.size()),
          steps(schedule.plan.stages.size(), 0),
          learning_rates(schedule.plan.stages.size(), 1),
          queue_of_device(std::move(given_queues)),
          queues(nodes.size()),
          sums_graph(prepare_blas() ? workers : 1, use_one_thread),
          graph(prepare_blas() ? workers : 1, use_one_thread) {
        if (batches) require_vocabulary(experiment, *batches);
        for (std::size_t index = 0; index < nodes.size(); ++index)
            if (nodes[index]) take_queue(static_cast<int>(index));
        keeps_inputs = skippipe::keeps_inputs(experiment);
        expect_microbatches();
    }

    /// Only in here, and while nothing runs, the maps change.
    void expect_microbatches() {
        microbatches.clear();
        for (const auto& path : schedule.plan.paths)
            for (const int node : path.nodes)
                if (schedule.rank_of[at(node)] == rank) microbatches[path.microbatch].path = path.nodes;
    }

    /// Of a node that is here from now on.
    void take_queue(int index) {
        auto& queue = queues.at(at(index));
        if (!queue && queue_of_device) queue = queue_of_device(experiment.topology.nodes[at(index)].device);
    }

    NodeState& node(int index) { return nodes.at(at(index)).value(); }
    bool is_lost(int index) const { return std::find(lost.begin(), lost.end(), index) != lost.end(); }
    /// Where all of a stage's nodes here are lost, the last of them has its newest weights on its own disk; -1: none
    /// is.
    int last_lost(int stage) const {
        const auto last = std::find_if(lost.rbegin(), lost.rend(), [&](int index) {
            return hosted(index) && nodes[at(index)]->stage.stage() == stage;
        });
        return last == lost.rend() ? -1 : *last;
    }
    /// The first of a stage's nodes that is not lost, or the one lost last.
    int first_index(int stage) const {
        for (const int index : schedule.plan.stages[at(stage)])
            if (!is_lost(index)) return index;
        if (const int last = last_lost(stage); last >= 0) return last;
        throw std::logic_error(fmt::format("stage {} has no node left", stage));
    }
    NodeState& first_node(int stage) { return node(first_index(stage)); }
    /// The first of this rank's copies of a stage.
    NodeIndex first_here(int stage) const {
        for (const NodeIndex index : schedule.plan.stages[at(stage)])
            if (hosted(index) && !is_lost(index)) return index;
        throw std::logic_error(fmt::format("stage {} has no node on rank {}", stage, rank));
    }
    /// The node, or where it is lost one of its stage that is not, or that was lost last.
    NodeState& present(int index) {
        if (!is_lost(index)) return node(index);
        const int stage = node(index).stage.stage();
        for (std::size_t other = 0; other < nodes.size(); ++other)
            if (nodes[other] && nodes[other]->stage.stage() == stage && !is_lost(static_cast<int>(other)))
                return *nodes[other];
        return node(last_lost(stage));
    }
    int first_rank(int stage) const { return schedule.rank_of[at(first_index(stage))]; }
    /// Whether an iteration has begun and not ended.
    bool is_underway() const {
        return std::any_of(microbatches.begin(), microbatches.end(), [](const auto& one) {
            const auto& done = one.second.submitted;
            return std::any_of(done.begin(), done.end(), [](auto step) { return step != 0; }) &&
                   !std::all_of(done.begin(), done.end(), [](auto step) { return step != 0; });
        });
    }
    bool hosted(int index) const { return index >= 0 && at(index) < nodes.size() && nodes[at(index)].has_value(); }
    std::int64_t width() const { return experiment.model.width; }
    WireType wire() const { return experiment.costs.wire; }
    std::int64_t tokens_of(int microbatch) const {
        return std::int64_t{samples_of(experiment.pipeline, microbatch)} * experiment.model.sequence;
    }
    /// This rank's copies of a stage, in the plan's order; empty where it hosts none.
    StageCopies copies_of(int stage) {
        StageCopies copies;
        for (const int index : schedule.plan.stages[at(stage)])
            if (hosted(index) && !is_lost(index)) {
                copies.nodes.push_back(&node(index));
                copies.tokens += node(index).tokens;
            }
        if (experiment.costs.all_reduce == AllReduceRule::planned && !schedule.plan.reductions.empty() &&
            copies.nodes.size() == schedule.plan.stages[at(stage)].size())
            copies.pieces = schedule.plan.reductions[at(stage)];
        // Until all ranks have committed, each keeps its own gradients as they are: a sum may have to be made anew.
        if ((schedule.ranks > 1 || !schedule.pieces.empty()) && !copies.nodes.empty()) {
            auto& sum = sums.at(at(stage));
            const auto& own = copies.nodes.front()->stage.gradient();
            // The first copy may be another one than before, elsewhere.
            if (!sum.defined() || sum.device() != own.device()) sum = torch::zeros_like(own);
            copies.apart = sum;
        }
        return copies;
    }

    /// Whether one process rounds what its replicas would hand each other.
    bool sums_rounded() const {
        return schedule.ranks == 1 && experiment.training.gradient_wire != WireType::fp32 &&
               experiment.costs.all_reduce == AllReduceRule::planned;
    }
    Pieces pieces_of(int stage) const {
        const auto& given = schedule.plan.reductions;
        const auto replicas = static_cast<int>(schedule.plan.stages[at(stage)].size());
        return given.empty() || given[at(stage)].empty() ? default_pieces(replicas) : given[at(stage)];
    }

    void require_next(const ComputeTask& task, const MicrobatchState& state) const;
    void settle();
    void wait_for_devices();
    void take_over(const std::vector<GradientResidual>& owed);
    void give_up_all();
    void take_path(int microbatch, MicrobatchState& state, const std::vector<NodeIndex>& path);
    std::function<void()> work(const ComputeTask& task, NodeState& node, MicrobatchState& state);
    double validation_loss(int first, int count, RankTransport& transport);
    torch::Tensor pass_on(torch::Tensor x, int from, int to, int rows, RankTransport& transport) const;

    Experiment experiment;
    RankSchedule schedule;
    int rank = 0, iteration = 0;
    std::optional<Batches> batches;
    std::vector<std::optional<NodeState>> nodes;
    std::vector<torch::Tensor> sums;              ///< of each stage's gradients, where several ranks train
    std::vector<long long> steps;                 ///< of each stage's optimizer
    std::vector<double> learning_rates;           ///< factor of each stage's
    bool keeps_inputs = false;                    ///< for what is run again where a node is lost
    bool disturbed = false;                       ///< in this iteration nodes were lost
    std::vector<int> lost;                        ///< nodes whose copies are gone, as they were lost
    std::map<int, MicrobatchState> microbatches;  ///< those that pass here
    std::map<int, Residuals> residuals;           ///< of their messages from here
    GradientFeedback gradient_feedback;           ///< of planned reductions in int8
    std::unique_ptr<TorchPieceSums> piece_sums;   ///< of planned reductions
    QueueOfDevice queue_of_device;
    /// Of each node's device; null: work is done when a call returns.
    std::vector<std::shared_ptr<DeviceQueue>> queues;
    TaskGraph sums_graph;  ///< reductions, beside operations
    TaskGraph graph;       ///< last: its threads end before what they work on
};

}  // namespace skippipe
