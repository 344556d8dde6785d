// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <vector>

#include <QGraphicsItem>

#include "core/analysis/reductions.h"
#include "views/topology/items.h"

namespace skippipe {

/// An edge of a stage's reduction between two nodes of the canvas, and what its card says.
struct DrawnReductionEdge {
    ReductionEdge edge;
    NodeItem *from = nullptr, *to = nullptr;
    bool slowest = false;
};

/// How a stage's gradient is summed: an arrow an edge, as wide as the share of the gradient that goes there. Parts and
/// partial sums go up in full lines, sums come down in dashed ones; the slowest edge carries its time.
class ReductionItem final : public QGraphicsItem {
public:
    ReductionItem();
    int type() const override { return UserType + 10; }
    QRectF boundingRect() const override { return bounds_; }
    QPainterPath shape() const override;
    void paint(QPainter*, const QStyleOptionGraphicsItem*, QWidget*) override;

    void set_edges(std::vector<DrawnReductionEdge> edges);
    void follow_nodes();
    bool is_empty() const { return edges_.empty(); }
    /// What the arrow there says; empty: there is none.
    QString words_at(QPointF place) const;

private:
    struct Arrow {
        std::size_t edge = 0;
        bool down = false;
        double width = 1;
        QPainterPath curve;
        QPointF tip;
        double angle = 0;
    };
    void add_arrow(std::size_t edge, bool down);
    void paint_arrow(QPainter* painter, const Arrow& arrow) const;
    void paint_slowest(QPainter* painter) const;

    std::vector<DrawnReductionEdge> edges_;
    std::vector<Arrow> arrows_;
    QRectF bounds_;
};

/// An edge of a reduction in words.
QString reduction_edge_words(const ReductionEdge& edge, const QString& from, const QString& to);

}  // namespace skippipe
