// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <QHelpEvent>
#include <QLabel>
#include <QPainter>
#include <QToolTip>

namespace skippipe {

/// A line of words that ends in an ellipsis where there is no room for all of it; its tip has the whole line.
class ElidedLabel : public QLabel {
    Q_OBJECT
public:
    using QLabel::QLabel;
    QSize minimumSizeHint() const override { return {0, QLabel::minimumSizeHint().height()}; }

protected:
    static constexpr qsizetype least_letters = 8;
    bool event(QEvent* event) override {
        if (event->type() != QEvent::ToolTip || !toolTip().isEmpty()) return QLabel::event(event);
        QToolTip::showText(static_cast<QHelpEvent*>(event)->globalPos(), text(), this);
        return true;
    }
    void paintEvent(QPaintEvent*) override {
        QPainter painter(this);
        painter.setPen(palette().color(foregroundRole()));
        const QString words = fontMetrics().elidedText(text(), Qt::ElideRight, contentsRect().width());
        if (words != text() && words.size() < least_letters) return;  // "Ru…" says nothing
        painter.drawText(contentsRect(), static_cast<int>(alignment()), words);
    }
};

}  // namespace skippipe
