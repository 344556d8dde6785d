// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/theme/empty_note.h"

#include <QVBoxLayout>

#include "views/theme/theme.h"
#include "views/theme/widgets.h"

namespace skippipe {

EmptyNote::EmptyNote(const QString& words, QWidget* parent)
    : QWidget(parent), words_(words_label(words, "secondary")), button_(new QPushButton(tr("Go on"))) {
    setObjectName("empty_note");
    words_->setAlignment(Qt::AlignCenter);
    button_->setObjectName("empty_note_button");
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(size::wide_gap, size::gap, size::wide_gap, size::gap);
    column->setSpacing(size::gap);
    column->addStretch();
    column->addWidget(words_);
    column->addWidget(button_, 0, Qt::AlignHCenter);
    column->addStretch();
    button_->hide();
    connect(button_, &QPushButton::clicked, this, &EmptyNote::pressed);
}

void EmptyNote::show_button(const QString& words) {
    if (!words.isEmpty()) button_->setText(words);
    button_->setVisible(!words.isEmpty());
}

}  // namespace skippipe
