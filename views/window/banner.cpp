// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/window/banner.h"

#include <QPushButton>

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

void Banner::show_message(const QString& text, const std::vector<Action>& actions) {
    text_->setText(text);
    while (auto* item = buttons_->takeAt(0)) {
        if (item->widget() != nullptr) item->widget()->deleteLater();
        delete item;
    }
    const auto add = [this](const QString& words, std::function<void()> run) {
        auto* button = new QPushButton(words);
        connect(button, &QPushButton::clicked, this, [this, run = std::move(run)] {
            hide();
            if (run) run();
        });
        buttons_->addWidget(button);
    };
    for (const auto& action : actions) add(action.text, action.run);
    add(tr("Dismiss"), {});
    show();
}

}  // namespace skippipe
