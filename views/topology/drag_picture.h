// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <vector>

#include <QPixmap>
#include <QPointF>
#include <QTransform>

class QGraphicsItem;
class QGraphicsView;
class QPainter;

namespace skippipe {

/// What a canvas shows while things of it are dragged. Drawn once: what stays where it is, and what moves as one, nodes
/// and the links between them; so a frame costs what changes its shape.
class DragPicture {
public:
    /// `moving`: all that is not where it was, the lowest first; `as_one`: those of it that keep their places beside
    /// each other. They live as long as this.
    DragPicture(const std::vector<QGraphicsItem*>& moving, const std::vector<QGraphicsItem*>& as_one);

    /// Draws the view's items, all but its background; what is drawn once anew where the view is another one.
    void draw(QPainter& painter, const QGraphicsView& view);

private:
    /// A picture of things that move as one.
    struct Moved {
        QPixmap picture;
        QPointF corner;    ///< of the view, when it was made
        bool all = false;  ///< of the things, those out of sight too
    };
    void prepare(const QGraphicsView& view);
    void prepare_still(const QGraphicsView& view);
    void prepare_moved(const QGraphicsView& view);
    static Moved picture_of(const std::vector<QGraphicsItem*>& items, const QGraphicsView& view);
    /// Pixels that what moves as one is from where it was drawn.
    QPointF moved_by(const QGraphicsView& view) const;

    std::vector<QGraphicsItem*> areas_, links_, marks_, words_;  ///< moving, each below the next
    std::vector<QGraphicsItem*> links_as_one_, nodes_as_one_;
    QPixmap below_, above_;  ///< what stays: areas and links; nodes and names
    Moved links_moved_, nodes_moved_;
    QPointF drawn_at_;  ///< in the scene, the first of what moves as one
    QTransform place_;
    QSize size_;
};

}  // namespace skippipe
