// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <memory>

#include <QLabel>
#include <QSplitter>
#include <QTableWidget>
#include <QWidget>

#include "core/planner/explain/explain.h"
#include "views/plan/gain_rows.h"
#include "views/plan/node_gains.h"
#include "views/plan/plan_service.h"
#include "views/theme/empty_note.h"

namespace skippipe {

class Document;
class SelectionModel;

/// Why the plan takes as long as it does: its critical node and link, what one unit more would give (of the
/// selected node whatever it is), and what the selected microbatch pays and waits for. A row chosen is selected in all
/// views.
class WhyPanel : public QWidget {
    Q_OBJECT
public:
    WhyPanel(Document& document, SelectionModel& selection, PlanService& plans, QWidget* parent = nullptr);

    const QLabel& summary() const { return *summary_; }
    QTableWidget& what_ifs() { return *what_ifs_; }
    QTableWidget& microbatch() { return *microbatch_; }
    /// In the place of all else where nothing is explained.
    EmptyNote& note() { return *note_; }

Q_SIGNALS:
    /// The user chose a row; the selection is set.
    void chosen();

protected:
    void changeEvent(QEvent*) override;
    void resizeEvent(QResizeEvent*) override;
    void showEvent(QShowEvent*) override;

private:
    void show_explanation();
    void show_note(bool on);
    void show_nothing(const QString& why);
    void show_why(const Explanation& why);
    void show_gains();
    void ask_of_node();
    void show_microbatch();
    void choose_what_if(int row);
    void choose_wait(int row);
    void select(int node, const std::vector<int>& lines);

    Document& document_;
    SelectionModel& selection_;
    PlanService& plans_;
    std::shared_ptr<const PlanOutcome> outcome_;  ///< what is shown
    std::shared_ptr<const Explanation> explanation_;
    QLabel *summary_, *microbatch_title_;
    QSplitter* columns_;
    QTableWidget *what_ifs_, *microbatch_;
    EmptyNote* note_;
    NodeGains gains_;                                                    ///< of the selected node
    std::vector<GainRow> gain_rows_;                                     ///< as they stand in what_ifs_
    std::vector<std::pair<int, std::vector<int>>> microbatch_subjects_;  ///< node and lines of each row
};

}  // namespace skippipe
