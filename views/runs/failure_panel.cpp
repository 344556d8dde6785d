// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/runs/failure_panel.h"

#include <vector>

#include <QEvent>
#include <QHeaderView>
#include <QPainter>
#include <QVBoxLayout>

#include "views/theme/numbers.h"
#include "views/theme/theme.h"
#include "views/theme/widgets.h"
#include "views/timeline/colours.h"

namespace skippipe {

FailurePanel::FailurePanel(QWidget* parent) : QWidget(parent), table_(new QTableWidget(0, 2)) {
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, size::unit, 0, 0);
    column->addWidget(table_);
    make_figures(*table_, tr("Failures of the run"));
    table_->setObjectName("failures");
    table_->horizontalHeader()->setSectionResizeMode(0, QHeaderView::Stretch);
    table_->horizontalHeader()->setSectionResizeMode(1, QHeaderView::ResizeToContents);
}

void FailurePanel::show_account(const LossAccount& account) {
    struct Row {
        QString words, value, tip;
    };
    std::vector<Row> rows{
        {tr("Nodes lost"), QString::number(account.nodes), tr("A node that was lost twice counts twice")},
        {tr("Iterations disturbed"), QString::number(account.iterations), tr("Iterations in which something was lost")},
        {tr("Iterations begun again"), QString::number(account.begun_again),
         tr("Where there was no way to go on without what was lost")},
        {tr("Until it was known"), duration(account.detection_s),
         tr("From each loss to when it was known, network time, added up")},
        {tr("Planning again"), duration(account.replanning_s), tr("Machine time, added up")},
        {tr("Fetching weights again"), duration(account.refetching_s),
         tr("What nodes that came back waited for weights and AdamW's state, added up")},
        {tr("Operations run again"), QString::number(account.redone_operations),
         tr("Forwards and backwards that lost nodes had done, and others did again")},
        {tr("Gradients lost"), QString::number(account.lost_gradients),
         tr("Gradients of one microbatch and stage that their iteration went without")},
        {tr("Iteration time lost"), duration(account.lost_s),
         tr("What the disturbed iterations took longer than %1 each, network time").arg(duration(account.usual_s))}};
    if (account.recovery_s > 0)
        rows.push_back({tr("Until training went on"), duration(account.recovery_s),
                        tr("From losses of ranks to the next iteration, added up")});
    table_->setRowCount(static_cast<int>(rows.size()));
    for (int i = 0; i < table_->rowCount(); ++i) {
        const Row& row = rows[static_cast<std::size_t>(i)];
        auto* words = new QTableWidgetItem(row.words);
        auto* value = new QTableWidgetItem(row.value);
        value->setTextAlignment(Qt::AlignRight | Qt::AlignVCenter);
        for (auto* item : {words, value}) item->setToolTip(row.tip);
        table_->setItem(i, 0, words);
        table_->setItem(i, 1, value);
    }
}

LossKey::LossKey(QWidget* parent) : QToolButton(parent) {
    setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
    setAutoRaise(true);
    setObjectName("loss_key");
    setToolTip(tr("Drawn so: a node that is lost, full red until that was known. Shows what it cost"));
    setIconSize({20, 12});
    draw_key();
    hide();
}

void LossKey::show_losses(int nodes) {
    const QString words = nodes == 1 ? tr("1 node lost") : tr("%1 nodes lost").arg(nodes);
    setText(' ' + words);  // the style sets icon and text edge to edge
    setVisible(nodes > 0);
}

void LossKey::changeEvent(QEvent* event) {
    QToolButton::changeEvent(event);
    if (event->type() == QEvent::StyleChange) draw_key();
}

/// As the timeline's painter draws an outage.
void LossKey::draw_key() {
    const double scale = devicePixelRatioF();
    QPixmap picture(iconSize() * scale);
    picture.setDevicePixelRatio(scale);
    picture.fill(outage_fill(theme()));
    QPainter painter(&picture);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(outage_ink(theme()), 2));
    for (int x = 4; x < 40; x += 8) painter.drawLine(x, 0, x - 12, 12);
    painter.fillRect(0, 0, 5, 12, theme().bad);
    painter.end();
    setIcon(picture);
}

}  // namespace skippipe
