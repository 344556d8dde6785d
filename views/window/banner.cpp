// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/window/banner.h"

#include <algorithm>
#include <utility>

#include <QEvent>
#include <QPushButton>
#include <QStyle>

#include "views/theme/theme.h"

namespace skippipe {

Banner::Banner(QWidget* parent) : QWidget(parent), text_(new QLabel), buttons_(new QHBoxLayout) {
    setObjectName("banner");
    setAttribute(Qt::WA_StyledBackground);
    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(size::wide_gap, size::unit, size::gap, size::unit);
    text_->setWordWrap(true);
    text_->setTextInteractionFlags(Qt::TextSelectableByMouse);
    row->addWidget(text_, 1);
    row->addLayout(buttons_);
    hide();
}

void Banner::lie_over(QWidget& page) {
    page_ = &page;
    setParent(page.parentWidget());
    page.installEventFilter(this);
    place();
}

bool Banner::eventFilter(QObject* watched, QEvent* event) {
    if (event->type() == QEvent::Resize || event->type() == QEvent::Move) place();
    return QWidget::eventFilter(watched, event);
}

/// As wide as its words and buttons, in the middle; in several lines where they have no room.
void Banner::place() {
    if (page_ == nullptr) return;
    int words = 0;
    for (const auto& line : text_->text().split('\n'))
        words = std::max(words, text_->fontMetrics().horizontalAdvance(line));
    const QMargins edge = layout()->contentsMargins();
    const int wanted = words + buttons_->sizeHint().width() + edge.left() + edge.right() + 2 * size::gap;
    const QRect room = page_->geometry().adjusted(size::gap, size::gap, -size::gap, -size::gap);
    const int wide = std::min(wanted, room.width());
    const int high = std::min(layout()->totalHeightForWidth(wide), room.height());
    setGeometry(room.center().x() - wide / 2, room.bottom() - high + 1, wide, high);
    raise();
}

void Banner::show_message(const QString& text, const std::vector<Action>& actions) {
    if (const auto gone = std::exchange(gone_, {})) gone();
    show_text(text, actions, Tone::attention);
}

void Banner::alarm(const QString& text, const std::vector<Action>& actions) {
    if (const auto gone = std::exchange(gone_, {})) gone();
    show_text(text, actions, Tone::failure);
}

void Banner::tell(const QString& text, const std::vector<Action>& actions, std::function<void()> gone) {
    if (const auto before = std::exchange(gone_, std::move(gone))) before();
    show_text(text, actions, Tone::calm);
}

void Banner::dismiss() {
    hide();
    if (const auto gone = std::exchange(gone_, {})) gone();
}

void Banner::show_text(const QString& text, const std::vector<Action>& actions, Tone tone) {
    const bool is_calm = tone == Tone::calm, is_failure = tone == Tone::failure;
    if (property("calm").toBool() != is_calm || property("failure").toBool() != is_failure) {
        setProperty("calm", is_calm);
        setProperty("failure", is_failure);
        style()->polish(this);
    }
    text_->setText(text);
    while (auto* item = buttons_->takeAt(0)) {
        if (item->widget() != nullptr) item->widget()->deleteLater();
        delete item;
    }
    const auto add = [this](const QString& words, std::function<void()> run) {
        auto* button = new QPushButton(words);
        connect(button, &QPushButton::clicked, this, [this, run = std::move(run)] {
            const auto gone = std::exchange(gone_, {});
            hide();
            if (run) run();
            if (gone) gone();
        });
        buttons_->addWidget(button);
    };
    for (const auto& action : actions) add(action.text, action.run);
    add(tr("Dismiss"), {});
    ensurePolished();
    for (auto* button : findChildren<QPushButton*>()) button->ensurePolished();
    place();
    show();
}

}  // namespace skippipe
