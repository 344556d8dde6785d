// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/window/banner.h"

#include <algorithm>
#include <utility>

#include <QEvent>
#include <QPushButton>
#include <QShortcut>
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
    auto* escape = new QShortcut(QKeySequence(Qt::Key_Escape), this);
    escape->setContext(Qt::WidgetWithChildrenShortcut);
    connect(escape, &QShortcut::activated, this, &Banner::dismiss);
    hide();
}

void Banner::lie_over(QWidget& bar) {
    bar_ = &bar;
    setParent(bar.parentWidget());
    bar.installEventFilter(this);
    place();
}

bool Banner::eventFilter(QObject* watched, QEvent* event) {
    if (event->type() == QEvent::Resize || event->type() == QEvent::Move || event->type() == QEvent::LayoutRequest)
        place();
    return QWidget::eventFilter(watched, event);
}

/// As wide as its words and buttons, and no wider than up to the bar's buttons; in several lines where they have no
/// room.
void Banner::place() {
    if (bar_ == nullptr) return;
    QRect room = bar_->geometry();
    for (const auto* button : bar_->findChildren<QPushButton*>())
        if (button->isVisible()) room.setRight(std::min(room.right(), bar_->x() + button->x()));
    room.adjust(size::gap, 0, -size::gap, 0);
    int words = 0;
    for (const auto& line : text_->text().split('\n'))
        words = std::max(words, text_->fontMetrics().horizontalAdvance(line));
    const QMargins edge = layout()->contentsMargins();
    const int wanted = words + buttons_->sizeHint().width() + edge.left() + edge.right() + 2 * size::gap;
    const int wide = std::min(wanted, room.width());
    const int high = layout()->totalHeightForWidth(wide);
    setGeometry(room.left(), std::max(room.top(), room.center().y() - high / 2), wide, high);
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
        button->show();  // else a layout that is seen counts it only later
    };
    for (const auto& action : actions) add(action.text, action.run);
    add(tr("Dismiss"), {});
    ensurePolished();
    for (auto* button : findChildren<QPushButton*>()) button->ensurePolished();
    place();
    show();
}

}  // namespace skippipe
