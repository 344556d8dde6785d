// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <algorithm>

#include <QPushButton>
#include <QStyleOptionButton>
#include <QStylePainter>

namespace skippipe {

/// A button whose words end in an ellipsis where there is no room for all of them; its tip has them whole.
class ElidedButton : public QPushButton {
public:
    explicit ElidedButton(const QString& words, QWidget* parent = nullptr) : QPushButton(words, parent) {
        setToolTip(words);
        setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Fixed);
    }
    QSize minimumSizeHint() const override {
        return {std::min(fontMetrics().averageCharWidth() * least_letters, QPushButton::minimumSizeHint().width()),
                QPushButton::minimumSizeHint().height()};
    }

protected:
    void paintEvent(QPaintEvent*) override {
        QStylePainter painter(this);
        QStyleOptionButton option;
        initStyleOption(&option);
        const int room = style()->subElementRect(QStyle::SE_PushButtonContents, &option, this).width();
        option.text = fontMetrics().elidedText(option.text, Qt::ElideRight, room);
        painter.drawControl(QStyle::CE_PushButton, option);
    }

private:
    static constexpr int least_letters = 16;
};

}  // namespace skippipe
