// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/omissions.h"

#include <algorithm>
#include <functional>
#include <mutex>
#include <numeric>
#include <optional>
#include <stdexcept>

#include <fmt/format.h>

#include "core/base/fault.h"
#include "core/base/index.h"
#include "core/model/blas.h"
#include "core/model/node_build.h"

namespace skippipe {

namespace {

using Sets = std::vector<std::size_t>;

/// One copy of each stage, on the first of its nodes.
class Stages {
public:
    Stages(const Experiment& experiment, const Plan& plan, const StageWeights& weights)
        : nodes_(build_nodes(experiment, plan, experiment.seed, [&](int node) {
              return std::any_of(plan.stages.begin(), plan.stages.end(),
                                 [&](const auto& stage) { return !stage.empty() && stage.front() == node; });
          })) {
        for (const auto& stage : plan.stages) {
            auto& node = nodes_[at(stage.front())].value();
            node.m = node.v = torch::Tensor();  // nothing steps here
            if (weights) set_weights(node, weights(node.stage.stage()));
            node.refresh();
            stages_.push_back(&node);
        }
    }

    std::size_t count() const { return stages_.size(); }
    const NodeState& operator[](std::size_t stage) const { return *stages_[stage]; }

private:
    static void set_weights(NodeState& node, const std::vector<float>& values) {
        if (static_cast<std::int64_t>(values.size()) != node.stage.size())
            throw InputError(fmt::format("stage {}", node.stage.stage()),
                             fmt::format("{} weights; the model has {} there", values.size(), node.stage.size()),
                             "they are another model's", "Name the weights of this model");
        torch::NoGradGuard no_gradient;
        node.stage.weights().copy_(torch::from_blob(const_cast<float*>(values.data()), {node.stage.size()}));
    }

    std::vector<std::optional<NodeState>> nodes_;
    std::vector<const NodeState*> stages_;
};

/// A batch of samples through all sets at once: as a tree of the stages in their order, each branch computed once.
class Descent {
public:
    /// `ended` is told of sets as they come to their end.
    Descent(const Stages& stages, const std::vector<std::vector<bool>>& omits,
            const std::function<void(std::size_t sets)>& ended)
        : stages_(stages), omits_(omits), ended_(ended) {}

    /// Of each set the summed loss (nats).
    std::vector<double> losses(const Batch& batch) {
        torch::NoGradGuard no_gradient;
        losses_.assign(omits_.size(), 0);
        torch::Tensor tokens;
        set_tokens(batch, stages_[0].stage.device(), tokens, targets_);
        Sets all(omits_.size());
        std::iota(all.begin(), all.end(), 0);
        descend(0, stages_[0].stage.embed(tokens), all);
        return std::move(losses_);
    }

private:
    void descend(std::size_t stage, const torch::Tensor& x, const Sets& sets) {
        if (sets.empty()) return;
        if (stage == stages_.count()) {
            const double loss = evaluate_loss(stages_[0], x.to(stages_[0].stage.device()), targets_);
            for (const auto set : sets) losses_[set] = loss;
            ended_(sets.size());
            return;
        }
        Sets kept, passed_by;
        for (const auto set : sets) (omits_[set][stage] ? passed_by : kept).push_back(set);
        if (!kept.empty()) descend(stage + 1, evaluate(stages_[stage], x.to(stages_[stage].stage.device())), kept);
        descend(stage + 1, x, passed_by);
    }

    const Stages& stages_;
    const std::vector<std::vector<bool>>& omits_;
    const std::function<void(std::size_t)>& ended_;
    torch::Tensor targets_;
    std::vector<double> losses_;
};

std::vector<std::vector<bool>> by_stage(const std::vector<std::vector<int>>& omitted, std::size_t stages) {
    std::vector<std::vector<bool>> omits;
    for (const auto& set : omitted) {
        auto& one = omits.emplace_back(stages, false);
        for (const int stage : set) {
            if (stage < 0 || at(stage) >= stages)
                throw std::logic_error(fmt::format("stage {} of {} is to be left out", stage, stages));
            one[at(stage)] = true;
        }
    }
    return omits;
}

}  // namespace

OmissionLosses losses_with_omissions(const Experiment& experiment, const Plan& plan, const Batches& batches,
                                     const std::vector<std::vector<int>>& omitted, int workers,
                                     const Progress& progress, const StageWeights& weights) {
    const Stages stages(experiment, plan, weights);
    require_vocabulary(experiment, batches);
    const auto omits = by_stage(omitted, stages.count());
    // The batches of a validation, so that sums are taken in its order.
    const int total = batches.validation_samples(), each = std::max(1, experiment.pipeline.microbatch_samples);
    std::vector<std::vector<double>> losses(at((total + each - 1) / each));
    std::mutex mutex;
    std::size_t done = 0;
    const std::function<void(std::size_t)> ended = [&](std::size_t sets) {
        const std::lock_guard lock(mutex);
        done += sets;
        if (progress)
            progress("evaluating", static_cast<double>(done) / static_cast<double>(losses.size() * omitted.size()));
    };
    TaskGraph graph(prepare_blas() ? workers : 1, use_one_thread);
    graph.for_each(losses.size(), [&](std::size_t i) {
        const int first = static_cast<int>(i) * each;
        losses[i] = Descent(stages, omits, ended).losses(batches.validation(first, std::min(each, total - first)));
    });
    OmissionLosses result{std::vector<double>(omitted.size()), std::int64_t{total} * experiment.model.sequence};
    for (std::size_t set = 0; set < omitted.size(); ++set) {
        double sum = 0;
        for (const auto& batch : losses) sum += batch[set];
        result.loss_nats[set] = sum / static_cast<double>(result.tokens);
    }
    return result;
}

}  // namespace skippipe
