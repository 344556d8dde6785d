// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <string>
#include <vector>

#include <QLabel>
#include <QPushButton>
#include <QScrollArea>

#include "views/document/selection_model.h"

namespace skippipe {

class Document;
struct PlanOutcome;

/// A stage with its nodes as they are shown: the plan's, or those that were placed by hand.
struct StageLane {
    int stage = -1;   ///< -1: nodes that serve none
    QString figures;  ///< "2 blocks, 40 visits": by how many microbatches
    std::vector<std::string> nodes;
};

/// The lanes themselves: a node is a chip that is dragged from lane to lane, or moved by Alt+Up and Alt+Down.
class StageLaneView : public QWidget {
    Q_OBJECT
public:
    explicit StageLaneView(SelectionModel& selection, QWidget* parent = nullptr);
    void show_lanes(std::vector<StageLane> lanes);
    const std::vector<StageLane>& lanes() const { return lanes_; }
    /// Where a node's chip is; none: null.
    QRect chip(const std::string& node) const;
    /// Where a stage's lane is.
    QRect lane(int stage) const;

Q_SIGNALS:
    /// A node was dropped on, or moved to, another stage; -1: on the lane of those that serve none.
    void moved(const std::string& node, int stage);

protected:
    void paintEvent(QPaintEvent*) override;
    void resizeEvent(QResizeEvent*) override;
    void mousePressEvent(QMouseEvent*) override;
    void mouseMoveEvent(QMouseEvent*) override;
    void mouseReleaseEvent(QMouseEvent*) override;
    void keyPressEvent(QKeyEvent*) override;
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

    SelectionModel& selection_;
    std::vector<StageLane> lanes_;
    std::vector<Chip> chips_;
    std::vector<QRect> boxes_;  ///< of the lanes
    std::string held_;          ///< the node that the mouse holds
    QPoint held_at_, held_from_;
    bool dragging_ = false;
};

/// Lanes, and whether the planner or a hand places the nodes.
class StageLanes : public QWidget {
    Q_OBJECT
public:
    StageLanes(Document& document, SelectionModel& selection, QWidget* parent = nullptr);
    /// Null: there is no plan; what was placed by hand is shown all the same.
    void show_plan(const PlanOutcome* outcome);
    StageLaneView& view() { return *view_; }
    QPushButton& button() { return *button_; }

Q_SIGNALS:
    void told(const QString& what);

private:
    void follow();
    void move(const std::string& node, int stage);
    void fix_or_leave();

    Document& document_;
    StageLaneView* view_;
    QLabel* words_;
    QPushButton* button_;
    std::vector<StageLane> planned_;
};

}  // namespace skippipe
