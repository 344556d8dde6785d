// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <vector>

#include <QWidget>

namespace skippipe {

class TopologyView;

/// The whole network small in a corner of its canvas, with a frame round what is in sight; a click or drag brings the
/// place there into the middle. Shown where a part of the network is out of sight and a corner is free: it covers no
/// node, stays in its corner while that is free, and is smaller where there is less room.
class MiniMap : public QWidget {
    Q_OBJECT
public:
    explicit MiniMap(TopologyView& view);
    /// After the canvas moved, was magnified or drawn anew.
    void follow();

Q_SIGNALS:
    void place_wanted(QPointF scene_place);

protected:
    void paintEvent(QPaintEvent*) override;
    void mousePressEvent(QMouseEvent*) override;
    void mouseMoveEvent(QMouseEvent*) override;
    void mouseReleaseEvent(QMouseEvent*) override;

private:
    /// From the scene to this widget.
    QTransform place() const;
    /// What nodes take of the view.
    std::vector<QRectF> taken_places() const;
    QRect free_corner() const;
    TopologyView& view_;
    QRectF whole_;
    bool is_held_ = false;  ///< by the mouse, to which it does not get away
};

}  // namespace skippipe
