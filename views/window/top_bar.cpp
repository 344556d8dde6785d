// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/window/top_bar.h"

#include <utility>

#include <QEvent>
#include <QHBoxLayout>
#include <QLocale>
#include <QStyle>

#include "core/experiment/counts.h"
#include "views/inspector/inspector.h"
#include "views/theme/elided_edit.h"
#include "views/theme/elided_label.h"
#include "views/theme/theme.h"

namespace skippipe {

TopBar::TopBar(Document& document, const PlannerRegistry& planners, QWidget* parent)
    : QWidget(parent),
      document_(document),
      planners_(planners),
      name_(new ElidedEdit),
      state_(new QLabel),
      subject_(new ElidedLabel),
      draft_(new ElidedLabel),
      skip_(new QPushButton),
      planner_(new QPushButton),
      launch_(new QPushButton(tr("Launch"))),
      pause_(new QPushButton(tr("Pause"))),
      stop_(new QPushButton(tr("Stop"))),
      extend_(new QPushButton(tr("Extend…"))) {
    setObjectName("bar");
    setAttribute(Qt::WA_StyledBackground);
    setFixedHeight(size::bar);
    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(size::gap, 0, size::wide_gap, 0);
    row->setSpacing(size::gap);
    name_->setProperty("role", "name");
    name_->setAccessibleName(tr("Name of the experiment"));
    name_->setMinimumWidth(72);
    state_->setProperty("role", "secondary");
    launch_->setProperty("role", "accent");
    launch_->setObjectName("launch");
    pause_->setObjectName("pause");
    stop_->setObjectName("stop");
    stop_->setEnabled(false);
    extend_->setObjectName("extend");
    extend_->setToolTip(tr("Gives the run more iterations while it goes on"));
    extend_->hide();

    // What is edited in the form is told here, and leads there: one value has one field.
    const auto link = [&](const QString& words, QPushButton* to, const char* name, const QString& pointer) {
        auto* l = new QLabel(words);
        l->setProperty("role", "secondary");
        l->setBuddy(to);
        to->setProperty("role", "link");
        to->setObjectName(QString::fromUtf8(name));
        row->addWidget(l);
        row->addWidget(to);
        of_design_.insert(of_design_.end(), {l, to});
        connect(to, &QPushButton::clicked, this, [this, pointer] { Q_EMIT setting_wanted(pointer); });
    };
    subject_->setObjectName("subject");
    subject_->setContentsMargins(size::gap, 0, 0, 0);
    draft_->setProperty("role", "secondary");
    draft_->setAlignment(Qt::AlignRight | Qt::AlignVCenter);
    of_design_ = {name_, state_};
    row->addWidget(subject_, 3);
    row->addWidget(name_, 1);
    row->addWidget(state_);
    row->addSpacing(size::wide_gap);
    link(tr("Skip ratio"), skip_, "skip_link", QStringLiteral("/pipeline/skip_ratio"));
    row->addSpacing(size::gap);
    link(tr("Planner"), planner_, "planner_link", QStringLiteral("/pipeline/planner"));
    row->addSpacing(size::gap);
    row->addWidget(draft_, 1);
    row->addWidget(extend_);  // comes and goes, and moves no button then
    row->addWidget(launch_);
    row->addWidget(pause_);
    row->addWidget(stop_);
    set_pause(Pause::impossible, false);
    for (auto* button : {pause_, stop_}) button->installEventFilter(this);

    connect(name_, &QLineEdit::textEdited, this, [this](const QString& text) {
        document_.edit(
            tr("Name"), [&](Experiment& e) { e.name = text.toStdString(); }, "experiment/name");
    });
    connect(launch_, &QPushButton::clicked, this, &TopBar::launch_requested);
    connect(pause_, &QPushButton::clicked, this, [this] {
        if (pause_told_) return;
        if (pause_does_ == Pause::pause) Q_EMIT pause_requested();
        if (pause_does_ == Pause::resume) Q_EMIT resume_requested();
    });
    connect(stop_, &QPushButton::clicked, this, &TopBar::stop_requested);
    connect(extend_, &QPushButton::clicked, this, &TopBar::extend_requested);
    connect(&document, &Document::changed, this, &TopBar::follow);
    connect(&document, &Document::file_changed, this, &TopBar::follow);
    follow();
}

void TopBar::follow() {
    const Experiment& e = document_.experiment();
    const QString name = QString::fromStdString(e.name);
    if (name_->text() != name) {
        name_->setText(name);
        name_->setCursorPosition(0);
    }
    const bool saved = !document_.file().empty() && !document_.is_modified();
    const QString state = document_.file_has_faults() ? tr("has faults")
                          : saved                     ? tr("saved")
                          : document_.is_modified()   ? tr("edited")
                                                      : tr("not saved");
    for (auto* widget : of_design_) widget->setVisible(is_in_sight_);
    for (auto* widget : {subject_, draft_}) widget->setVisible(!is_in_sight_);
    state_->setText(state);
    draft_->setText(tr("Draft: %1").arg(name));
    const QString file =
        document_.file().empty() ? tr("No file yet") : QString::fromStdString(document_.file().string());
    state_->setToolTip(file);
    draft_->setToolTip(tr("What Design draws and Launch would start: skip ratio %1, planner %2, %3\n%4")
                           .arg(e.pipeline.skip_ratio)
                           .arg(QString::fromStdString(e.pipeline.planner), state, file));
    name_launch();
    show_settings(e.pipeline);
}

/// The ratio in as many digits as it has, and what it comes to.
void TopBar::show_settings(const Pipeline& pipeline) {
    const Planner* planner = planners_.find(pipeline.planner);
    const bool ignored = planner != nullptr && planner->full_pipeline();
    const QString ratio = QLocale::c().toString(pipeline.skip_ratio, 'g', QLocale::FloatingPointShortest);
    skip_->setText(ignored ? tr("ignored, all %1 stages").arg(pipeline.stages)
                           : tr("%1, %2 of %3 stages")
                                 .arg(ratio)
                                 .arg(path_length(pipeline.stages, pipeline.skip_ratio))
                                 .arg(pipeline.stages));
    skip_->setAccessibleName(tr("Skip ratio %1").arg(skip_->text()));
    skip_->setToolTip(tr("%1\nIts field is in the form").arg(skip_words(pipeline, planners_)));
    planner_->setText(QString::fromStdString(pipeline.planner));
    planner_->setAccessibleName(tr("Planner %1").arg(planner_->text()));
    planner_->setToolTip(planner == nullptr
                             ? tr("Chosen in the form")
                             : tr("%1\nChosen in the form").arg(QString::fromStdString(planner->description())));
}

void TopBar::set_is_in_sight(bool on) {
    is_in_sight_ = on;
    follow();
}

void TopBar::set_subject(const QString& words) { subject_->setText(words); }

/// Without tensors nothing is trained: it is not called so.
void TopBar::name_launch() {
    launch_->setText(launching_ == Launching::searches                           ? tr("Planning…")
                     : launching_ == Launching::starts                           ? tr("Starting…")
                     : document_.experiment().execution.compute == Compute::cost ? tr("Simulate")
                                                                                 : tr("Launch"));
}

void TopBar::set_launch(const QString& why_not, Launching launching) {
    launching_ = launching;
    name_launch();
    enable(*launch_, why_not.isEmpty());
    launch_->setToolTip(!why_not.isEmpty() ? why_not
                        : document_.experiment().execution.compute == Compute::cost
                            ? tr("Simulates this experiment, which has costs and no tensors: there is no loss to see "
                                 "(Ctrl+Enter)")
                            : tr("Trains this experiment in a process of its own (Ctrl+Enter)"));
}

/// Qt hands the keys of a button that goes pale to the next one, where a key pressed twice would do something else.
void TopBar::enable(QPushButton& button, bool on) {
    if (button.isEnabled() == on) return;
    const bool had_keys = window()->focusWidget() == &button;
    button.setEnabled(on);
    if (had_keys && !on) setFocus();
}

/// Whoever lets a button do something, or no longer.
bool TopBar::eventFilter(QObject* watched, QEvent* event) {
    if (event->type() == QEvent::EnabledChange) Q_EMIT possible_changed();
    return QWidget::eventFilter(watched, event);
}

void TopBar::set_pause(Pause what, bool told) {
    pause_does_ = what;
    if (std::exchange(pause_told_, told) != told) {
        pause_->setProperty("told", told);
        pause_->style()->unpolish(pause_);
        pause_->style()->polish(pause_);
    }
    enable(*pause_, what != Pause::impossible);
    pause_->setText(what == Pause::resume ? tr("Resume") : tr("Pause"));
    pause_->setToolTip(what == Pause::impossible ? tr("Nothing runs")
                       : told                    ? tr("The run was told; it obeys after the operation at hand")
                       : what == Pause::resume   ? tr("Lets the run go on")
                                                 : tr("Holds the run after the operation at hand until it is resumed"));
    // Both words fit, so that nothing moves when it changes.
    pause_->setMinimumWidth(
        std::max(pause_->minimumWidth(), pause_->fontMetrics().horizontalAdvance(tr("Resume")) + 2 * size::wide_gap));
}

void TopBar::set_stop(bool possible) {
    enable(*stop_, possible);
    stop_->setToolTip(possible ? tr("Ends the run after the iteration at hand; what was recorded stays")
                               : tr("Nothing runs"));
}

}  // namespace skippipe
