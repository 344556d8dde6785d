// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <string>
#include <vector>

#include <QLabel>
#include <QPushButton>
#include <QWidget>

#include "views/document/selection_model.h"
#include "views/plan/node_lane_view.h"
#include "views/theme/empty_note.h"

namespace skippipe {

class Document;
struct PlanOutcome;

/// Lanes, and whether the planner or a hand places the nodes.
class StageLanes : public QWidget {
    Q_OBJECT
public:
    StageLanes(Document& document, SelectionModel& selection, QWidget* parent = nullptr);
    /// Null: there is no plan; what was placed by hand is shown all the same. `pale`: of another state of the document,
    /// only to be looked at.
    void show_plan(const PlanOutcome* outcome, bool pale = false);
    NodeLaneView& view() { return *view_; }
    QPushButton& button() { return *button_; }
    /// Puts a node into another stage, and holds all others where they are.
    void move(const std::string& node, int stage);
    /// In the place of lanes where there are none.
    EmptyNote& note() { return *note_; }

Q_SIGNALS:
    void told(const QString& what);

private:
    void follow();
    void fix_or_leave();

    Document& document_;
    NodeLaneView* view_;
    QLabel* words_;
    QPushButton* button_;
    EmptyNote* note_;
    QWidget *head_, *lanes_;
    std::vector<NodeLane> planned_;
    bool is_pale_ = false;
};

}  // namespace skippipe
