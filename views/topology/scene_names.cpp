// SPDX-License-Identifier: GPL-3.0-or-later
// Names of nodes in a picture that is too small for all of them: those that cover nothing.
#include <algorithm>
#include <vector>

#include <QFontMetrics>

#include "views/theme/theme.h"
#include "views/topology/item_marks.h"
#include "views/topology/scene.h"

namespace skippipe {
namespace {

constexpr double least_named_zoom = 0.12;  // where nodes are five pixels
constexpr std::size_t most_named = 100;
constexpr double name_edge = 1;  // pixels between a name and what it must not touch

}  // namespace

void TopologyScene::place_far_names() {
    if (editable_) return;  // folded regions have names there
    const bool has_names = zoom_ >= least_named_zoom && zoom_ < least_name_zoom && nodes_.size() <= most_named;
    std::vector<QRectF> taken;
    std::vector<NodeItem*> waiting;
    for (auto& [id, item] : nodes_) {
        item->set_far_name({}, zoom_);
        const QPointF at = item->seen_at();
        const double reach = node_radius + far_ring / zoom_;
        taken.emplace_back(at.x() - reach, at.y() - reach, 2 * reach, 2 * reach);
        if (has_names && item->isVisible()) waiting.push_back(item);
    }
    std::stable_partition(waiting.begin(), waiting.end(), [](const NodeItem* one) { return one->isSelected(); });
    const double edge = name_edge / zoom_;
    for (auto* item : waiting)
        for (const auto side : {FarName::below, FarName::above, FarName::right, FarName::left}) {
            const QRectF box = item->far_name_box(side, zoom_).translated(item->pos());
            const QRectF kept = box.adjusted(-edge, 0, edge, 0);
            if (std::any_of(taken.begin(), taken.end(), [&](const QRectF& other) { return other.intersects(kept); }))
                continue;
            taken.push_back(box);
            item->set_far_name(side, zoom_);
            break;
        }
}

}  // namespace skippipe
