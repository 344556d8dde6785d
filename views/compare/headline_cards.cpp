// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/compare/headline_cards.h"

#include <algorithm>
#include <utility>

#include <QEvent>
#include <QFrame>
#include <QLabel>
#include <QStringList>
#include <QVBoxLayout>

#include "views/runs/run_marks.h"
#include "views/theme/numbers.h"
#include "views/theme/theme.h"
#include "views/theme/widgets.h"

namespace skippipe {

HeadlineCards::HeadlineCards(QWidget* parent)
    : QWidget(parent),
      title_(new QLabel),
      words_(words_label({}, "body")),
      race_(new QPushButton(tr("To a loss"))),
      ended_(new QPushButton),
      answer_(new QWidget),
      row_(new QHBoxLayout) {
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(size::gap, size::gap, size::gap, size::unit);
    column->setSpacing(size::gap);
    auto* line = new QHBoxLayout(answer_);
    line->setContentsMargins(size::unit, 0, size::unit, 0);
    line->setSpacing(size::wide_gap);
    title_->setProperty("role", "title");
    for (auto* label : {title_, words_}) {
        label->setTextInteractionFlags(Qt::TextSelectableByMouse);
        line->addWidget(label, label == words_ ? 1 : 0, Qt::AlignTop);
    }
    race_->setObjectName("answer_race");
    race_->setToolTip(tr("What each run takes to a loss that all of them reach"));
    connect(race_, &QPushButton::clicked, this, &HeadlineCards::race_requested);
    ended_->setObjectName("answer_ended");
    ended_->setAccessibleName(tr("What can be done about the run that ended"));
    connect(ended_, &QPushButton::clicked, this, [this] {
        if (!shown_.answer) return;
        const auto [run, can_resume] = std::pair(shown_.answer->ended, shown_.answer->can_resume);
        can_resume ? Q_EMIT resume_requested(run) : Q_EMIT watch_requested(run);
    });
    for (auto* button : {ended_, race_}) line->addWidget(button, 0, Qt::AlignTop);
    column->addWidget(answer_);
    row_->setSpacing(size::gap);
    column->addLayout(row_);
    setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Maximum);
    hide();
}

QString HeadlineCards::text() const {
    QStringList lines;
    if (shown_.answer) lines << to_text(*shown_.answer);
    for (const auto& headline : shown_.cards) lines << to_text(headline);
    return lines.join('\n');
}

void HeadlineCards::show_headlines(Headlines headlines) {
    shown_ = std::move(headlines);
    captions_.clear();
    while (auto* item = row_->takeAt(0)) {
        delete item->widget();
        delete item;
    }
    answer_->setVisible(shown_.answer.has_value());
    if (shown_.answer) {
        title_->setText(shown_.answer->title);
        words_->setText(with_words_before(shown_.answer->words));
        race_->setVisible(shown_.answer->asks_for_race);
        ended_->setVisible(shown_.answer->ended != 0);
        ended_->setText(
            (shown_.answer->can_resume ? tr("Resume run %1") : tr("Watch run %1")).arg(shown_.answer->ended));
        ended_->setToolTip(shown_.answer->can_resume ? tr("Goes on from its newest checkpoint")
                                                     : tr("Opens it in Watch, with its log and what happened to it"));
    }
    for (const auto& headline : shown_.cards) row_->addWidget(card(headline), 1);
    setVisible(shown_.answer || !shown_.cards.empty());
}

/// Captions are as high as the highest: captions begin, and figures stand, on one line in all cards.
bool HeadlineCards::eventFilter(QObject* watched, QEvent* event) {
    if (event->type() == QEvent::Resize && std::find(captions_.begin(), captions_.end(), watched) != captions_.end()) {
        int high = 0;
        for (const auto* caption : captions_) high = std::max(high, caption->heightForWidth(caption->width()));
        for (auto* caption : captions_) caption->setMinimumHeight(high);
    }
    return QWidget::eventFilter(watched, event);
}

QWidget* HeadlineCards::card(const Headline& headline) {
    auto* frame = new QFrame;
    frame->setProperty("role", "card");
    frame->setAccessibleName(to_text(headline));
    auto* column = new QVBoxLayout(frame);
    column->setContentsMargins(size::gap + size::unit, size::gap, size::gap + size::unit, size::gap);
    column->setSpacing(2);
    auto* caption = words_label(with_words_before(headline.title), "small");
    caption->setAlignment(Qt::AlignTop | Qt::AlignLeft);
    caption->installEventFilter(this);
    captions_.push_back(caption);
    column->addWidget(caption);
    auto* line = new QHBoxLayout;
    line->setSpacing(size::gap);
    if (headline.run != 0) {
        auto* swatch = new QLabel;
        swatch->setPixmap(run_swatch(headline.run));
        line->addWidget(swatch);
        line->addWidget(new QLabel(tr("Run %1").arg(headline.run)));
    }
    auto* figure = new QLabel(headline.figure);
    figure->setProperty("role", "title");
    figure->setTextInteractionFlags(Qt::TextSelectableByMouse);
    line->addWidget(figure);
    line->addStretch();
    column->addLayout(line);
    auto* words = words_label(with_words_before(headline.words), "secondary");
    words->setTextInteractionFlags(Qt::TextSelectableByMouse);
    words->setAlignment(Qt::AlignTop | Qt::AlignLeft);
    column->addWidget(words, 1);
    return frame;
}

}  // namespace skippipe
