// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/compare/run_plans_panel.h"

#include <algorithm>

#include <QHBoxLayout>
#include <QHeaderView>
#include <QVBoxLayout>

#include "views/theme/theme.h"
#include "views/theme/widgets.h"

namespace skippipe {
namespace {

QString stage_words(int stage) {
    return stage == NodeChange::not_there     ? QObject::tr("not there")
           : stage == NodeChange::in_no_stage ? QObject::tr("in no stage")
                                              : QObject::tr("stage %1").arg(stage);
}

}  // namespace

RunPlansPanel::RunPlansPanel(QWidget* parent)
    : QWidget(parent), other_(new QComboBox), words_(words_label({}, "secondary")), table_(new QTableWidget(0, 3)) {
    make_plain(*table_, tr("Differences of networks and plans"));
    table_->setObjectName("plan_differences");
    table_->horizontalHeader()->setDefaultAlignment(Qt::AlignLeft | Qt::AlignVCenter);
    table_->horizontalHeader()->setSectionResizeMode(QHeaderView::Stretch);
    other_->setObjectName("other_run");
    other_->setAccessibleName(tr("Run that is held against the baseline"));
    auto* row = head_row();
    row->setContentsMargins(size::gap, size::unit, size::gap, size::unit);  // as the table below
    row->addWidget(other_);
    row->addWidget(words_, 1);
    auto* column = seamless_column(this);
    column->addLayout(row);
    column->addWidget(table_, 1);
    connect(other_, &QComboBox::activated, this, &RunPlansPanel::draw);
}

void RunPlansPanel::show_runs(const std::vector<const RunData*>& runs) {
    std::vector<RunId> before, now;
    for (const auto& run : shown_) before.push_back(run.id);
    for (const auto* run : runs) now.push_back(run->info.id);
    const auto is_read = [](const RunData* run) { return run->problem.has_value(); };
    const bool were_read =
        std::all_of(shown_.begin(), shown_.end(), [](const Shown& run) { return run.problem.has_value(); });
    // A run's plan and network are frozen: new rows of its record change nothing here.
    if (before == now && were_read && std::all_of(runs.begin(), runs.end(), is_read)) return;
    const QVariant chosen = other_->currentData();
    shown_.clear();
    other_->clear();
    for (const auto* run : runs) {
        shown_.push_back({run->info.id, run->experiment.topology, run->problem, run->plan});
        if (shown_.size() > 1) other_->addItem(tr("Run %1").arg(run->info.id), qint64(run->info.id));
    }
    if (const int index = other_->findData(chosen); index >= 0) other_->setCurrentIndex(index);
    other_->setVisible(other_->count() > 1);
    draw();
}

void RunPlansPanel::add_heading(const QString& words) {
    const int row = table_->rowCount();
    table_->insertRow(row);
    auto* item = new QTableWidgetItem(words);
    item->setFont(bold_font());
    table_->setItem(row, 0, item);
    table_->setSpan(row, 0, 1, 3);
}

void RunPlansPanel::add_row(const QString& what, const QString& a, const QString& b) {
    const int row = table_->rowCount();
    table_->insertRow(row);
    int column = 0;
    for (const QString& text : {what, a, b}) {
        auto* item = new QTableWidgetItem(text);
        item->setToolTip(text);
        table_->setItem(row, column++, item);
    }
}

void RunPlansPanel::draw() {
    table_->clear();
    table_->clearSpans();
    table_->setRowCount(0);
    const auto index = static_cast<std::size_t>(std::max(0, other_->currentIndex()) + 1);
    table_->setVisible(index < shown_.size());
    if (index >= shown_.size())
        return words_->setText(tr("Select two runs in the list to see how their networks and plans differ"));
    const Shown &a = shown_.front(), &b = shown_[index];
    table_->setHorizontalHeaderLabels({tr("What differs"), tr("Run %1 (baseline)").arg(a.id), tr("Run %1").arg(b.id)});
    const auto network = network_difference(a.topology, b.topology);
    if (!network.empty()) add_heading(tr("Network"));
    for (const auto& change : network) {
        const auto name = QString::fromStdString(change.thing);
        add_row(change.field.empty() ? name : name + ", " + QString::fromStdString(change.field),
                QString::fromStdString(change.value_a), QString::fromStdString(change.value_b));
    }
    if (!a.problem || !b.problem)
        return words_->setText(tr("The experiment of one of them cannot be understood: its plan is not compared"));
    const auto plan = compare_plans(*a.problem, a.plan, *b.problem, b.plan);
    if (std::any_of(plan.stages.begin(), plan.stages.end(), [](const auto& s) { return s.differs(); })) {
        add_heading(tr("Stages"));
        const auto words = [](int nodes, int blocks, int visits) {
            return (nodes == 1 ? tr("1 node") : tr("%1 nodes").arg(nodes)) + ", " +
                   (blocks == 1 ? tr("1 block") : tr("%1 blocks").arg(blocks)) + ", " +
                   (visits == 1 ? tr("1 visit") : tr("%1 visits").arg(visits));
        };
        for (const auto& s : plan.stages)
            if (s.differs())
                add_row(tr("Stage %1").arg(s.stage), words(s.nodes_a, s.blocks_a, s.visits_a),
                        words(s.nodes_b, s.blocks_b, s.visits_b));
    }
    if (!plan.nodes.empty()) add_heading(tr("Nodes that serve another stage"));
    for (const auto& node : plan.nodes)
        add_row(QString::fromStdString(node.node), stage_words(node.stage_a), stage_words(node.stage_b));
    words_->setText(
        tr("%1 of %2 microbatches take the same nodes, %3 the same stages; %4; networks %5")
            .arg(plan.same_paths)
            .arg(plan.microbatches_a)
            .arg(plan.same_stages)
            .arg(plan.same_orders ? tr("every node works in the same order") : tr("nodes work in other orders"),
                 network.empty() ? tr("are alike") : tr("differ")));
}

}  // namespace skippipe
