// SPDX-License-Identifier: GPL-3.0-or-later
// A node of a run that goes on is made to fail: its menu in the network, and the command that the run takes.
#include <QDoubleSpinBox>
#include <QHBoxLayout>
#include <QJsonDocument>
#include <QJsonObject>
#include <QLineEdit>
#include <QMenu>
#include <QPushButton>
#include <QWidgetAction>

#include "views/failures/failure_lanes.h"
#include "views/runs/run_table.h"
#include "views/theme/numbers.h"
#include "views/theme/theme.h"
#include "views/window/watch_page.h"

namespace skippipe {
namespace {
constexpr double usual_back_s = 60, most_back_s = 1e6;
constexpr double short_iterations = 2, long_iterations = 20;

/// 20, not 20.000.
class SecondsBox final : public QDoubleSpinBox {
public:
    QString textFromValue(double seconds) const override { return QString::number(seconds, 'g', 9); }
};

}  // namespace

QString WatchPage::why_not_fail() const {
    const RunInfo* run = feed_.run(run_);
    if (run == nullptr) return tr("No run is shown");
    if (run->state != RunState::running)
        return tr("Run %1 does not go on (%2)").arg(run_).arg(state_words(*run).toLower());
    if (shown_ && shown_->experiment.execution.clock == Clock::wall && shown_->experiment.execution.ranks == 1)
        return tr("Run %1 has one rank, and would end with it").arg(run_);
    return {};
}

void WatchPage::fail_now(const std::string& node, std::optional<double> back_after_s) {
    if (const QString why = why_not_fail(); !why.isEmpty()) return Q_EMIT told(why);
    const QJsonObject payload{
        {"node", QString::fromStdString(node)},
        {"back_after_s", back_after_s ? QJsonValue(*back_after_s) : QJsonValue(QJsonValue::Null)}};
    feed_.send(run_, "fail", QJsonDocument(payload).toJson(QJsonDocument::Compact).toStdString());
    replay_->keep_event_room(true);
    const QString name = QString::fromStdString(node);
    Q_EMIT told(back_after_s
                    ? tr("Run %1 was told: %2 fails now, back %3 later").arg(run_).arg(name, duration(*back_after_s))
                    : tr("Run %1 was told: %2 fails now, for good").arg(run_).arg(name));
}

void WatchPage::fill_menu(const Selection& subject, QMenu& menu) {
    if (subject.nodes.size() != 1) {
        for (auto* action : network_->actions())
            if (action->text() == tr("Fold or unfold regions")) menu.addAction(action);
        return;
    }
    network_->add_reduction_entry(subject, menu);
    const std::string node = *subject.nodes.begin();
    if (const QString why = why_not_fail(); !why.isEmpty()) {
        // The reason stands in the entry too: nobody rests on what is off.
        auto* off = menu.addAction(tr("Fail now: %1").arg(why.left(1).toLower() + why.mid(1)));
        off->setObjectName("fail_now");
        off->setEnabled(false);
        off->setToolTip(why);
        return;
    }
    auto* fail = menu.addMenu(tr("Fail now"));
    fail->setObjectName("fail_now");
    fail->setToolTipsVisible(true);
    const QString tip = tr("The node is lost at once, in network time, and what it had not handed on is done again");
    const auto offer = [&](const QString& words, std::optional<double> back_after_s) {
        auto* action = fail->addAction(words);
        action->setToolTip(tip);
        connect(action, &QAction::triggered, this, [this, node, back_after_s] { fail_now(node, back_after_s); });
    };
    const double iteration_s = shown_ ? shown_->info.iteration_s.value_or(shown_->info.predicted_iteration_s) : 0;
    if (iteration_s > 0)
        for (const double iterations : {short_iterations, long_iterations})
            offer(tr("Back after %1").arg(duration(clock_step(iterations * iteration_s))),
                  clock_step(iterations * iteration_s));
    offer(tr("For good"), std::nullopt);
    fail->addSeparator();

    auto* row = new QWidget;
    auto* line = new QHBoxLayout(row);
    line->setContentsMargins(size::wide_gap, size::unit, size::gap, size::unit);
    auto* seconds = new SecondsBox;
    seconds->setObjectName("back_after_s");
    seconds->setAccessibleName(tr("Back after, seconds of network time"));
    seconds->setRange(0.001, most_back_s);
    seconds->setDecimals(3);
    seconds->setButtonSymbols(QAbstractSpinBox::NoButtons);
    seconds->setStepType(QAbstractSpinBox::AdaptiveDecimalStepType);
    seconds->setValue(
        back_after_s_.value_or(iteration_s > 0 ? clock_step(long_iterations * iteration_s) : usual_back_s));
    seconds->setSuffix(QString(QChar(0x2009)) + 's');
    auto* go = new QPushButton(tr("Fail"));
    go->setObjectName("fail_node");
    line->addWidget(new QLabel(tr("Back after")));
    line->addWidget(seconds, 1);
    line->addWidget(go);
    connect(go, &QPushButton::clicked, this, [this, node, seconds, whole = &menu] {
        back_after_s_ = seconds->value();
        fail_now(node, back_after_s_);
        whole->close();
    });
    if (auto* typed = seconds->findChild<QLineEdit*>())
        connect(typed, &QLineEdit::returnPressed, go, &QPushButton::click);
    auto* entry = new QWidgetAction(fail);
    entry->setDefaultWidget(row);
    fail->addAction(entry);
}

}  // namespace skippipe
