// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/curves/evaluate_bar.h"

#include <utility>

#include <QHBoxLayout>
#include <QLabel>
#include <QProgressBar>
#include <QPushButton>
#include <QVBoxLayout>

#include "views/runs/evaluator.h"
#include "views/runs/parameters.h"
#include "views/theme/theme.h"
#include "views/theme/widgets.h"

namespace skippipe {
namespace {

constexpr int progress_width = 160, progress_steps = 1000;

}  // namespace

EvaluateBar::EvaluateBar(Evaluator& evaluator, QWidget* parent)
    : QWidget(parent),
      evaluator_(evaluator),
      evaluate_(new QPushButton),
      cancel_(new QPushButton(tr("Cancel"))),
      progress_(new QProgressBar),
      row_(new QWidget),
      words_(new QLabel),
      failed_(words_label({}, "secondary")) {
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(size::gap);
    column->addWidget(row_);
    column->addWidget(failed_);
    auto* row = new QHBoxLayout(row_);
    row->setContentsMargins(0, 0, 0, 0);
    row->setSpacing(size::gap);
    row->addWidget(evaluate_);
    row->addWidget(cancel_);
    row->addWidget(progress_);
    row->addWidget(words_);
    words_->setProperty("role", "secondary");
    evaluate_->setObjectName("evaluate");
    evaluate_->setToolTip(
        tr("Reads the run's newest checkpoint and validates it with each set of stages left out, here, on all cores. "
           "The record keeps what comes of it"));
    cancel_->setObjectName("cancel_evaluation");
    cancel_->setToolTip(tr("Nothing is recorded of the run that is being evaluated"));
    progress_->setTextVisible(false);
    progress_->setRange(0, progress_steps);
    progress_->setFixedWidth(progress_width);
    progress_->setAccessibleName(tr("Progress of the evaluation"));
    failed_->setTextInteractionFlags(Qt::TextSelectableByMouse);
    connect(evaluate_, &QPushButton::clicked, this, [this] {
        failures_.clear();
        evaluator_.evaluate(offered_);
    });
    connect(cancel_, &QPushButton::clicked, &evaluator, &Evaluator::cancel);
    connect(&evaluator, &Evaluator::changed, this, &EvaluateBar::follow);
    connect(&evaluator, &Evaluator::failed, this, [this](qint64 run, const QString& why) { failures_[run] = why; });
    follow();
}

void EvaluateBar::offer(std::vector<RunId> runs) {
    if (offered_ == runs) return;
    offered_ = std::move(runs);
    follow();
}

void EvaluateBar::set_centred(bool centred) {
    layout()->setAlignment(row_, centred ? Qt::AlignHCenter : Qt::AlignLeft);
    failed_->setAlignment(centred ? Qt::AlignCenter : Qt::AlignLeft);
}

QString EvaluateBar::words() const { return words_->isHidden() ? failed_->text() : words_->text(); }

void EvaluateBar::follow() {
    const auto& work = evaluator_.work();
    QStringList failed;
    for (const auto& [run, why] : failures_) failed << tr("Run %1 was not evaluated: %2").arg(run).arg(why);
    evaluate_->setText(tr("Evaluate %1").arg(run_numbers(offered_)));
    evaluate_->setVisible(!work && !offered_.empty());
    cancel_->setVisible(work.has_value());
    progress_->setVisible(work.has_value());
    progress_->setValue(work ? static_cast<int>(progress_steps * work->share) : 0);
    words_->setVisible(work.has_value());
    words_->setText(evaluator_.words());
    failed_->setText(failed.join('\n'));
    failed_->setVisible(!failed.isEmpty());
    setVisible(work || !offered_.empty() || !failed.isEmpty());
}

}  // namespace skippipe
