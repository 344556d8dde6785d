// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/theme/empty_note.h"

#include <algorithm>

#include <QVBoxLayout>

#include "views/theme/theme.h"
#include "views/theme/widgets.h"

namespace skippipe {
namespace {
constexpr int bar_width = 240, whole_bar = 1000;
}

EmptyNote::EmptyNote(const QString& words, QWidget* parent)
    : QWidget(parent),
      words_(words_label(words, "secondary")),
      bar_(new QProgressBar),
      button_(new QPushButton(tr("Go on"))) {
    setObjectName("empty_note");
    words_->setAlignment(Qt::AlignCenter);
    button_->setObjectName("empty_note_button");
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(size::wide_gap, size::gap, size::wide_gap, size::gap);
    column->setSpacing(size::gap);
    column->addStretch();
    column->addWidget(words_);
    column->addWidget(bar_, 0, Qt::AlignHCenter);
    column->addWidget(button_, 0, Qt::AlignHCenter);
    column->addStretch();
    button_->hide();
    bar_->setObjectName("empty_note_bar");
    bar_->setTextVisible(false);
    bar_->setFixedWidth(bar_width);
    bar_->hide();
    connect(button_, &QPushButton::clicked, this, &EmptyNote::pressed);
}

void EmptyNote::show_bar(double share) {
    bar_->setMaximum(share < 0 ? 0 : whole_bar);
    bar_->setValue(static_cast<int>(whole_bar * std::max(share, 0.0)));
    bar_->setAccessibleName(words());
    bar_->show();
}

void EmptyNote::hide_bar() { bar_->hide(); }

void EmptyNote::show_button(const QString& words) {
    if (!words.isEmpty()) button_->setText(words);
    button_->setVisible(!words.isEmpty());
}

}  // namespace skippipe
