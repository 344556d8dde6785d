// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <QComboBox>
#include <QHelpEvent>
#include <QStyleOptionComboBox>
#include <QStylePainter>
#include <QToolTip>

namespace skippipe {

/// A choice whose words end in an ellipsis where there is no room for all of them; its tip has them whole then.
class ElidedCombo : public QComboBox {
    Q_OBJECT
public:
    using QComboBox::QComboBox;
    /// What is seen of the chosen words.
    QString seen_text() const {
        QStyleOptionComboBox option;
        initStyleOption(&option);
        constexpr int text_margin = 4;
        const auto room =
            style()->subControlRect(QStyle::CC_ComboBox, &option, QStyle::SC_ComboBoxEditField, this).width();
        return fontMetrics().elidedText(currentText(), Qt::ElideRight, room - text_margin);
    }

protected:
    bool event(QEvent* event) override {
        if (event->type() != QEvent::ToolTip || !toolTip().isEmpty() || seen_text() == currentText())
            return QComboBox::event(event);
        QToolTip::showText(dynamic_cast<QHelpEvent*>(event)->globalPos(), currentText(), this);
        return true;
    }
    void paintEvent(QPaintEvent*) override {
        QStylePainter painter(this);
        painter.setPen(palette().color(QPalette::Text));
        QStyleOptionComboBox option;
        initStyleOption(&option);
        painter.drawComplexControl(QStyle::CC_ComboBox, option);
        option.currentText = seen_text();
        painter.drawControl(QStyle::CE_ComboBoxLabel, option);
    }
};

}  // namespace skippipe
