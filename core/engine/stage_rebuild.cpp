// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/engine/stage_rebuild.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/base/index.h"
#include "core/experiment/model_size.h"

namespace skippipe {

std::vector<RebuildSource> neighbours_of(const PerStage<std::vector<NodeIndex>>& stages, int stage,
                                         const std::function<bool(NodeIndex)>& has_weights,
                                         const std::vector<double>& squared_norms) {
    std::vector<RebuildSource> sources;
    for (const int beside : {stage - 1, stage + 1}) {
        if (stage == 0 || at(beside) >= stages.size()) continue;
        const auto& ring = stages[at(beside)];
        const auto there = std::find_if(ring.begin(), ring.end(), has_weights);
        if (there == ring.end()) continue;
        const double norm = at(beside) < squared_norms.size() ? squared_norms[at(beside)] : -1;
        sources.push_back({*there, norm > 0 && std::isfinite(norm) ? norm : -1});
    }
    const bool known = std::all_of(sources.begin(), sources.end(), [](const auto& one) { return one.share > 0; });
    double sum = 0;
    for (auto& source : sources) sum += source.share = known ? source.share : 1;
    for (auto& source : sources) source.share /= sum;
    return sources;
}

namespace {

class NeighbourExchange {
public:
    NeighbourExchange(const ModelSpec& model, const RankSchedule& everybody, ComputeBackend& compute,
                      RankTransport& transport)
        : model_(model), everybody_(everybody), compute_(compute), transport_(transport) {}

    /// For the nodes of a stage on one rank.
    void rebuild(const NeighbourRebuild& how, int on_rank) {
        std::vector<NodeIndex> there;
        for (const NodeIndex node : everybody_.plan.stages[at(how.stage)])
            if (rank_of(node) == on_rank) there.push_back(node);
        if (there.empty()) return;
        std::vector<NeighbourWeights> parts;
        for (const auto& source : how.sources) {
            const NodeIndex node(source.node);
            if (rank_of(node) == transport_.rank()) {
                auto weights = compute_.weights(node);
                if (on_rank == transport_.rank())
                    parts.push_back({stage_of(node), source.share, std::move(weights)});
                else if (!weights.empty())
                    transport_.send_to(on_rank, std::as_bytes(std::span(weights)));
            } else if (on_rank == transport_.rank() && !compute_.weights(there.front()).empty()) {
                parts.push_back({stage_of(node), source.share, receive(node)});
            }
        }
        if (on_rank != transport_.rank() || parts.size() != how.sources.size()) return;
        for (const NodeIndex node : there) compute_.rebuild(node, parts, how.learning_rate);
    }

private:
    int rank_of(NodeIndex node) const { return everybody_.rank_of[at(node)]; }
    int stage_of(NodeIndex node) const {
        const auto& stages = everybody_.plan.stages;
        const auto has = [&](const auto& ring) { return std::find(ring.begin(), ring.end(), node) != ring.end(); };
        return static_cast<int>(std::find_if(stages.begin(), stages.end(), has) - stages.begin());
    }
    std::vector<float> receive(NodeIndex from) {
        const int stage = stage_of(from);
        std::vector<float> weights(
            static_cast<std::size_t>(stage_parameters(model_, everybody_.plan.blocks[at(stage)], stage == 0)));
        transport_.receive_from(rank_of(from), std::as_writable_bytes(std::span(weights)));
        return weights;
    }

    const ModelSpec& model_;
    const RankSchedule& everybody_;
    ComputeBackend& compute_;
    RankTransport& transport_;
};

}  // namespace

void rebuild_from_neighbours(const ModelSpec& model, const RankSchedule& everybody, const std::vector<int>& joined,
                             const std::vector<NeighbourRebuild>& stages, ComputeBackend& compute,
                             RankTransport& transport) {
    NeighbourExchange exchange(model, everybody, compute, transport);
    for (const auto& stage : stages)
        for (const int rank : joined) exchange.rebuild(stage, rank);
}

}  // namespace skippipe
