// SPDX-License-Identifier: GPL-3.0-or-later
// How the selected stage sums its gradient: arrows between its nodes, and a sentence.
#include <algorithm>
#include <utility>

#include "views/theme/numbers.h"
#include "views/topology/scene.h"

namespace skippipe {

void TopologyScene::show_reductions(std::vector<StageReduction> reductions) {
    reductions_ = std::move(reductions);
    show_reduction();
}

int TopologyScene::stage_of(const std::string& id) const {
    const auto found = stages_.find(id);
    return found == stages_.end() ? -1 : found->second;
}

const StageReduction* TopologyScene::selected_reduction() const {
    const auto& stage = selection_.now().stage;
    if (!stage || *stage < 0 || at(*stage) >= reductions_.size()) return nullptr;
    return &reductions_[at(*stage)];
}

void TopologyScene::show_traffic(Traffic traffic) {
    traffic_now_ = std::move(traffic);
    place_traffic();
}

void TopologyScene::place_traffic() {
    Traffic drawn = traffic_now_;
    // Of a microbatch that is selected its way is drawn, and where on it it is.
    if (const auto microbatch = selection_.now().microbatch) drawn = only_parcels(std::move(drawn), *microbatch);
    std::vector<NodeItem*> items;
    if (!selection_.now().stage && (!selection_.now().microbatch || !drawn.parcels.empty()))
        for (const auto& name : drawn.names) items.push_back(node(name));
    for (auto* link : links_) {
        if (std::exchange(link->beneath, !items.empty()) != link->beneath) link->settle_depth();
    }
    const bool was_empty = traffic_->is_empty();
    traffic_->set_traffic(items.empty() ? Traffic{} : std::move(drawn), items);
    if (was_empty != traffic_->is_empty()) show_link_words();
}

void TopologyScene::show_reduction() {
    std::vector<DrawnReductionEdge> drawn;
    const auto item_of = [this](NodeIndex index) {
        return index >= 0 && at(index) < plan_ids_.size() ? node(plan_ids_[at(index)]) : nullptr;
    };
    if (const auto* reduction = selected_reduction())
        for (std::size_t i = 0; i < reduction->edges.size(); ++i) {
            const auto& edge = reduction->edges[i];
            if (auto* from = item_of(edge.from), *to = item_of(edge.to); from != nullptr && to != nullptr)
                drawn.push_back({edge, from, to, i == reduction->slowest});
        }
    reduction_->set_edges(std::move(drawn));
    place_traffic();
}

QString TopologyScene::reduction_words() const {
    const auto* reduction = selected_reduction();
    if (reduction == nullptr) return {};
    if (reduction->edges.empty())
        return tr("Stage %1: no gradient crosses the network").arg(static_cast<int>(reduction->stage));
    const auto& slowest = reduction->edges[reduction->slowest];
    const auto name = [this](NodeIndex index) { return QString::fromStdString(plan_ids_.at(at(index))); };
    return (reduction->planned ? tr("Reduction of stage %1: full lines parts, dashed sums, as wide as their share; "
                                    "slowest edge %2 to %3, %4")
                               : tr("Reduction of stage %1: a ring in the order of the stage; slowest edge %2 to %3, "
                                    "%4 over all rounds"))
        .arg(static_cast<int>(reduction->stage))
        .arg(name(slowest.from), name(slowest.to), duration(slowest.seconds));
}

QString TopologyScene::reduction_in_short() const {
    const auto* reduction = selected_reduction();
    if (reduction == nullptr || reduction->edges.empty()) return reduction_words();
    const auto& slowest = reduction->edges[reduction->slowest];
    const auto name = [this](NodeIndex index) { return QString::fromStdString(plan_ids_.at(at(index))); };
    return tr("Reduction: slowest %1 to %2, %3").arg(name(slowest.from), name(slowest.to), duration(slowest.seconds));
}

void TopologyScene::toggle_reduction() {
    Selection s = selection_.now();
    int wanted = s.nodes.size() == 1 ? stage_of(*s.nodes.begin()) : -1;
    if (wanted < 0) {
        const int from = s.stage.value_or(-1);
        for (const auto& reduction : reductions_)
            if (wanted < 0 && reduction.stage > from && !reduction.edges.empty()) wanted = reduction.stage;
    }
    s.stage = wanted < 0 || s.stage == wanted ? std::nullopt : std::optional{wanted};
    selection_.select(s);
}

}  // namespace skippipe
