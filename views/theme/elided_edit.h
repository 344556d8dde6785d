// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <functional>

#include <QHelpEvent>
#include <QLineEdit>
#include <QPainter>
#include <QStyleOptionFrame>
#include <QToolTip>

namespace skippipe {

/// A field whose text ends in an ellipsis where there is no room for all of it, unless somebody is in it; where it has
/// no tip of its own, that has the whole text then.
/// A text that says more than is read can be shown in short while nobody is in it.
class ElidedEdit : public QLineEdit {
    Q_OBJECT
public:
    using QLineEdit::QLineEdit;
    /// What is seen of the text while nobody is in it.
    QString seen_text() const {
        return fontMetrics().elidedText(in_short ? in_short(text()) : text(), Qt::ElideRight, inside().width());
    }
    std::function<QString(const QString& text)> in_short;

protected:
    bool event(QEvent* event) override {
        if (event->type() != QEvent::ToolTip || !toolTip().isEmpty() || seen_text() == text())
            return QLineEdit::event(event);
        QToolTip::showText(dynamic_cast<QHelpEvent*>(event)->globalPos(), text(), this);
        return true;
    }
    void paintEvent(QPaintEvent* event) override {
        const QString seen = seen_text();
        if (hasFocus() || seen == text()) return QLineEdit::paintEvent(event);
        QPainter painter(this);
        QStyleOptionFrame frame;
        initStyleOption(&frame);
        style()->drawPrimitive(QStyle::PE_PanelLineEdit, &frame, &painter, this);
        painter.setPen(palette().color(isEnabled() ? QPalette::Active : QPalette::Disabled, QPalette::Text));
        painter.drawText(inside(), Qt::AlignVCenter | Qt::AlignLeft, seen);
    }

private:
    QRect inside() const {
        constexpr int text_margin = 2;  // QLineEdit's own
        QStyleOptionFrame frame;
        initStyleOption(&frame);
        return style()
            ->subElementRect(QStyle::SE_LineEditContents, &frame, this)
            .adjusted(text_margin, 0, -text_margin, 0);
    }
};

}  // namespace skippipe
