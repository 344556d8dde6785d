// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <string>
#include <vector>

#include <QString>
#include <QWidget>

#include "views/document/selection_model.h"

namespace skippipe {

/// Something that nodes are in or on, with those that are.
struct NodeLane {
    int key = -1;     ///< whoever shows lanes knows them by it
    QString name;     ///< "Stage 2", "cuda:0"
    QString figures;  ///< "2 blocks, 40 visits"
    std::vector<std::string> nodes;
    bool is_stage = false;  ///< stage `key`: in its colour, selected by a click
};

/// The lanes themselves: a node is a chip that is dragged from lane to lane, or moved by Alt+Up and Alt+Down.
class NodeLaneView : public QWidget {
    Q_OBJECT
public:
    /// `name`: what a screen reader says. `head_width`: of names and figures; `hint`: what a chip's card says.
    NodeLaneView(SelectionModel& selection, const QString& name, int head_width, const QString& hint);
    void show_lanes(std::vector<NodeLane> lanes);
    const std::vector<NodeLane>& lanes() const { return lanes_; }
    /// Where a node's chip is; none: null.
    QRect chip(const std::string& node) const;
    /// Where the lane of that key is.
    QRect lane(int key) const;

Q_SIGNALS:
    /// A node was dropped on, or moved to, another lane.
    void moved(const std::string& node, int key);
    void menu_wanted(const std::string& node, QPoint at);  ///< on the screen

protected:
    void paintEvent(QPaintEvent*) override;
    void resizeEvent(QResizeEvent*) override;
    void mousePressEvent(QMouseEvent*) override;
    void mouseMoveEvent(QMouseEvent*) override;
    void mouseReleaseEvent(QMouseEvent*) override;
    void keyPressEvent(QKeyEvent*) override;
    void contextMenuEvent(QContextMenuEvent*) override;
    bool event(QEvent*) override;

private:
    struct Chip {
        std::string node;
        std::size_t lane;
        QRect box;
    };
    void lay_out();
    const Chip* chip_at(QPoint at) const;
    int lane_at(int y) const;  ///< index; -1: below all
    void paint_lane(QPainter& painter, std::size_t index) const;
    void paint_chip(QPainter& painter, const Chip& chip, QPoint by) const;
    void step(int key);
    /// Of names and figures, which leave chips their room.
    int head_width() const;

    SelectionModel& selection_;
    const int head_width_;
    const QString hint_;
    std::vector<NodeLane> lanes_;
    std::vector<Chip> chips_;
    std::vector<QRect> boxes_;  ///< of the lanes
    std::string held_;          ///< the node that the mouse holds
    QPoint held_at_, held_from_;
    bool dragging_ = false;
};

}  // namespace skippipe
