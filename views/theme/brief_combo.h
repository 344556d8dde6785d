// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <QAbstractItemView>
#include <QComboBox>
#include <QHelpEvent>
#include <QStyleOptionComboBox>
#include <QStylePainter>
#include <QToolTip>

namespace skippipe {

/// A choice that shows the first of its words, up to a comma, where what is chosen is told beside it anyway: "Run 5".
/// Its list and its tip have them all.
class BriefCombo : public QComboBox {
    Q_OBJECT
public:
    using QComboBox::QComboBox;
    QString seen_text() const { return currentText().section(QStringLiteral(", "), 0, 0); }
    void showPopup() override {
        view()->setMinimumWidth(view()->sizeHintForColumn(0) +
                                2 * view()->style()->pixelMetric(QStyle::PM_ScrollBarExtent));
        QComboBox::showPopup();
    }

protected:
    bool event(QEvent* event) override {
        if (event->type() != QEvent::ToolTip || !toolTip().isEmpty()) return QComboBox::event(event);
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
