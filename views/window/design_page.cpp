// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/window/design_page.h"

#include <algorithm>

#include <QEvent>
#include <QHeaderView>
#include <QMenu>
#include <QPushButton>
#include <QSplitter>
#include <QVBoxLayout>

#include "core/analysis/reductions.h"
#include "views/theme/numbers.h"
#include "views/theme/theme.h"
#include "views/theme/widgets.h"

namespace skippipe {
namespace {

QTableWidget* table_with_row_names(const QString& name) {
    auto* table = new QTableWidget;
    make_plain(*table, name);
    table->verticalHeader()->show();
    return table;
}

}  // namespace

DesignPage::DesignPage(Document& document, SelectionModel& selection, PlanService& plans, QWidget* parent)
    : QWidget(parent),
      document_(document),
      selection_(selection),
      plans_(plans),
      failures_(document, selection),
      canvas_(new TopologyView(document, selection, true)),
      inspector_(new Inspector(document, selection, failures_, plans.planners())),
      stages_(table_with_row_names(tr("Stages"))),
      matrix_(table_with_row_names(tr("Hop times"))),
      plan_(new PlanArea(document, selection, failures_, plans)),
      problems_(new ProblemList(document, plans)),
      why_(new WhyPanel(document, selection, plans)),
      bottom_(new QTabWidget) {
    auto* tabs = new QTabWidget;
    tabs->setDocumentMode(true);
    tabs->addTab(canvas_, tr("Canvas"));
    tabs->addTab(matrix_, tr("Matrix"));
    tabs->addTab(stages_, tr("Stages"));
    connect(tabs, &QTabWidget::currentChanged, this, [this] { show_matrix(); });

    auto* middle = new QSplitter(Qt::Vertical);
    middle->addWidget(tabs);
    fill_bottom();
    middle->addWidget(bottom_);
    middle->setSizes({390, 330});
    middle->setStretchFactor(0, 1);
    auto* across = new QSplitter(Qt::Horizontal, this);
    across->addWidget(palette());
    across->addWidget(middle);
    across->addWidget(inspector_);
    across->setSizes({132, 760, 324});
    middle->setObjectName("design_rows");
    across->setObjectName("design_columns");
    across->setStretchFactor(1, 1);
    across->setChildrenCollapsible(false);
    inspector_->setMinimumWidth(280);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->addWidget(across);

    connect(&plans, &PlanService::planned, this, &DesignPage::show_plan);
    connect(&plans, &PlanService::busy_changed, this, &DesignPage::show_plan);
    connect(&document, &Document::faults_changed, this, &DesignPage::show_problems);
    connect(problems_, &ProblemList::chosen, this, [this](const Selection& subject) {
        selection_.select(subject);
        if (!subject.empty()) canvas_->center_selection();
    });
    connect(&plan_->axis(), &FailureAxis::edit_requested, inspector_, &Inspector::enter);
    connect(canvas_, &TopologyView::menu_wanted, this, &DesignPage::fill_menu);
    connect(why_, &WhyPanel::chosen, this, [this] { canvas_->center_selection(); });
    stages_->setSelectionBehavior(QAbstractItemView::SelectRows);
    connect(stages_, &QTableWidget::itemSelectionChanged, this, [this] {
        Selection s = selection_.now();
        const auto rows = stages_->selectionModel()->selectedRows();
        s.stage = rows.isEmpty() ? std::nullopt : std::optional{rows.front().row()};
        selection_.select(s);
    });
    show_problems();
    show_plan();
}

QWidget* DesignPage::palette() {
    auto* panel = new QWidget;
    panel->setMinimumWidth(120);
    auto* column = new QVBoxLayout(panel);
    column->setContentsMargins(size::gap, size::gap, size::gap, size::gap);
    column->setSpacing(size::unit);
    const auto heading = [&](const QString& text) {
        auto* label = new QLabel(text);
        label->setProperty("role", "heading");
        label->setMinimumHeight(size::row);
        column->addWidget(label);
    };
    const auto button = [&](const QString& text, const QString& tip, auto action) {
        auto* b = new QPushButton(text);
        b->setToolTip(tip);
        connect(b, &QPushButton::clicked, this, action);
        column->addWidget(b);
        return b;
    };
    heading(tr("Add"));
    button(tr("Node"), tr("A machine that holds one stage (N, or double-click the canvas)"), [this] {
        canvas_->add_node_here();
    })->setObjectName("add_node");
    button(tr("Region"), tr("A place whose nodes share links; takes the selected nodes in (R)"),
           [this] { canvas_->add_region_here(); });
    heading(tr("Start from"));
    const std::pair<QString, QString> templates[] = {{tr("Quick start"), "quick-start"},
                                                     {tr("Quick start, planned reductions"), "planned-reductions"},
                                                     {tr("One cluster"), "single-cluster"},
                                                     {tr("Authors' 18"), "authors-18"},
                                                     {tr("Authors' 20"), "authors-20"},
                                                     {tr("Authors' 42"), "authors-42"},
                                                     {tr("Churn"), "churn"},
                                                     {tr("Empty"), {}}};
    for (const auto& [words, name] : templates)
        button(words, name.isEmpty() ? tr("An empty canvas") : tr("Opens a copy of %1.json").arg(name),
               [this, n = name] { Q_EMIT template_requested(n); });
    heading(tr("This machine"));
    measure_ = button(tr("Measure"),
                      tr("Measures each stage's forward and backward on every node and, unless the experiment "
                         "simulates them, the links between ranks, "
                         "and puts the values in (Ctrl+M). Takes some seconds; Stop ends it, undo takes it back"),
                      [this] { Q_EMIT measure_requested(); });
    column->addStretch();
    auto* hint =
        new QLabel(tr("Drag from a node's rim to link it. Ctrl+A, then L: links all. A click on empty canvas: the "
                      "experiment's settings"));
    hint->setWordWrap(true);
    hint->setProperty("role", "small");
    column->addWidget(hint);
    return panel;
}

void DesignPage::set_measuring(bool measuring) {
    measure_->setEnabled(!measuring);
    measure_->setText(measuring ? tr("Measuring…") : tr("Measure"));
}

void DesignPage::fill_bottom() {
    bottom_->setDocumentMode(true);
    bottom_->addTab(plan_, tr("Plan"));
    bottom_->addTab(problems_, tr("Problems"));
    bottom_->addTab(why_, tr("Why"));
}

void DesignPage::show_plan() {
    const auto outcome = plans_.outcome();
    plan_->show_plan();
    if (!outcome || !outcome->has_plan) {
        canvas_->scene_model().show_plan(nullptr, {});
        stages_->setRowCount(0);
    } else {
        canvas_->scene_model().show_plan(&outcome->plan, outcome->problem.node_ids);
        canvas_->scene_model().show_reductions(reductions_of(outcome->problem, outcome->plan));
        show_stages(*outcome);
        show_matrix();
    }
    show_problems();
}

void DesignPage::show_stages(const PlanOutcome& outcome) {
    stages_->setColumnCount(3);
    stages_->setHorizontalHeaderLabels(
        {outcome.problem.plan_blocks ? tr("Blocks, planned") : tr("Blocks"), tr("Microbatches"), tr("Nodes")});
    stages_->horizontalHeader()->setStretchLastSection(true);
    stages_->setRowCount(static_cast<int>(outcome.plan.stages.size()));
    const auto stage_of = stage_of_nodes(outcome.plan, outcome.problem.nodes());
    std::vector<int> visits(outcome.plan.stages.size());
    for (const auto& path : outcome.plan.paths)
        for (const int node : path.nodes)
            if (const int stage = stage_of[static_cast<std::size_t>(node)]; stage >= 0)
                ++visits[static_cast<std::size_t>(stage)];
    QStringList names;
    for (std::size_t stage = 0; stage < outcome.plan.stages.size(); ++stage) {
        names << tr("Stage %1").arg(stage);
        QStringList nodes;
        for (const int node : outcome.plan.stages[stage])
            nodes << QString::fromStdString(outcome.problem.node_ids[static_cast<std::size_t>(node)]);
        const int row = static_cast<int>(stage);
        stages_->setItem(
            row, 0,
            new QTableWidgetItem(QString::number(stage < outcome.plan.blocks.size() ? outcome.plan.blocks[stage] : 0)));
        stages_->setItem(row, 1, new QTableWidgetItem(QString::number(visits[stage])));
        stages_->setItem(row, 2, new QTableWidgetItem(nodes.join(", ")));
    }
    stages_->setVerticalHeaderLabels(names);
}

void DesignPage::show_matrix() {
    const auto outcome = plans_.outcome();
    if (!matrix_->isVisible() || !outcome || !outcome->has_plan || outcome->problem.nodes() > 200) return;
    const Problem& p = outcome->problem;
    QStringList names;
    for (const auto& id : p.node_ids) names << QString::fromStdString(id);
    matrix_->setRowCount(p.nodes());
    matrix_->setColumnCount(p.nodes());
    matrix_->setVerticalHeaderLabels(names);
    matrix_->setHorizontalHeaderLabels(names);
    for (NodeIndex a = 0; a < p.nodes(); ++a)
        for (NodeIndex b = 0; b < p.nodes(); ++b) {
            const Hop& hop = p.hop(a, b);
            auto* item = new QTableWidgetItem(a == b              ? QString{}
                                              : p.reachable(a, b) ? duration(hop.latency_s + hop.seconds_per_forward)
                                                                  : QStringLiteral("–"));
            item->setToolTip(tr("%1 to %2: an activation takes %3").arg(names[a], names[b], item->text()));
            matrix_->setItem(a, b, item);
        }
}

void DesignPage::show_problems() {
    const Faults faults = problems_->faults();
    problems_->show_faults(faults);
    bottom_->setTabText(1, tr("Problems (%1)").arg(faults.size()));
    bottom_->tabBar()->setTabTextColor(1, has_errors(faults) ? theme().bad
                                          : faults.empty()   ? QColor{}
                                                             : theme().warning);
}

void DesignPage::changeEvent(QEvent* event) {
    QWidget::changeEvent(event);
    if (event->type() == QEvent::StyleChange) show_plan();  // its words carry colours
}

/// What the canvas can do with what was clicked; its actions have their keys beside them.
void DesignPage::fill_menu(const Selection& subject, QMenu& menu) {
    failures_.fill_menu(subject, menu);
    menu.addSeparator();
    canvas_->add_reduction_entry(subject, menu);
    const QStringList wanted =
        subject.nodes.empty() ? QStringList{tr("Delete")} : QStringList{tr("Copy"), tr("Duplicate"), tr("Delete")};
    for (auto* action : canvas_->actions())
        if (wanted.contains(action->text())) menu.addAction(action);
}

}  // namespace skippipe
