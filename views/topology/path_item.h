// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <vector>

#include <QGraphicsItem>

#include "views/topology/items.h"

namespace skippipe {

/// A hop of a microbatch's way as it is drawn: an arrow, and the disc with its number.
struct DrawnHop {
    int number = 1;
    QPointF from, control, to;  ///< of a quadratic curve
    QPointF chip;

    QPointF at(double share) const {
        const double rest = 1 - share;
        return rest * rest * from + 2 * rest * share * control + share * share * to;
    }
};

/// The way of one microbatch, hop by hop: round the nodes, the names and the numbers that are in its way.
class PathItem final : public QGraphicsItem {
public:
    PathItem();
    QRectF boundingRect() const override;
    void paint(QPainter*, const QStyleOptionGraphicsItem*, QWidget*) override;
    void set_way(const std::vector<NodeItem*>& nodes);
    void follow_nodes() { set_way(nodes_); }
    /// Round its nodes; empty: there is no way.
    QRectF nodes_box() const { return box_; }
    /// As drawn where the canvas is magnified by `zoom`.
    const std::vector<DrawnHop>& hops(double zoom);
    static double chip_radius(double zoom);

private:
    void lay_out(double zoom);

    std::vector<NodeItem*> nodes_;
    std::vector<DrawnHop> hops_;
    double laid_out_for_ = 0;  ///< that zoom; 0: for none
    QRectF box_;
};

}  // namespace skippipe
