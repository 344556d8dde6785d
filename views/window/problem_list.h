// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <optional>

#include <QListWidget>

#include "core/base/fault.h"
#include "views/document/document.h"
#include "views/plan/plan_service.h"

namespace skippipe {

/// "Seed: -1 is out of range".
QString fault_words(const Fault& fault, const Document& document);
/// "Seed"; empty where it is of the whole.
QString fault_place(const Fault& fault, const Document& document);
/// Nodes that get no microbatch, of a stage or left out: no fault, but seldom meant. Many are told in one.
Faults unused_nodes(const PlanOutcome& plan);
/// The stage that a node serves of which a plan's warning says that it executes nothing; nothing: it says no such
/// thing, or the plan leaves the node out.
std::optional<int> idle_stage(const Fault& fault);

/// What is wrong with the experiment, a fault a row; one that is clicked selects what it speaks of.
class ProblemList : public QListWidget {
    Q_OBJECT
public:
    ProblemList(const Document& document, const PlanService& plans, QWidget* parent = nullptr);

    /// Faults of the document, texts that fields refuse, why there is no plan, and what in a plan is seldom meant:
    /// what keeps it from being launched before all else.
    Faults faults() const;
    void show_faults(const Faults& faults);
    /// Shows this at the lower edge of the row at hand, in which it has room while it is not hidden.
    void set_foot(QWidget* foot);

Q_SIGNALS:
    /// `pointer` is the fault's own: its field, where it has one.
    void chosen(const Selection& subject, const QString& pointer);

protected:
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void updateGeometries() override;
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    void make_room();
    void place_foot();

    QWidget* foot_ = nullptr;
    const Document& document_;
    const PlanService& plans_;
};

}  // namespace skippipe
