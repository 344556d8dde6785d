// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <utility>

#include <QApplication>
#include <QPainter>
#include <QStyledItemDelegate>

#include "views/theme/theme.h"

namespace skippipe {

/// Cells with a second line below their text, smaller and paler.
class TwoLineDelegate final : public QStyledItemDelegate {
public:
    static constexpr int row = 40;  ///< pixels that both need

    /// `below`: the role of the second line.
    explicit TwoLineDelegate(int below, QObject* parent = nullptr) : QStyledItemDelegate(parent), below_(below) {}

    void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override {
        QStyleOptionViewItem cell = option;
        initStyleOption(&cell, index);
        const QWidget* widget = option.widget;
        const QStyle* style = widget != nullptr ? widget->style() : QApplication::style();
        const int left = style->subElementRect(QStyle::SE_ItemViewItemText, &cell, widget).left() + beside_text;
        const QString first = std::exchange(cell.text, QString{}), second = index.data(below_).toString();
        style->drawControl(QStyle::CE_ItemViewItem, &cell, painter, widget);
        const QFont small = small_font();
        const QRect in = QRect(QPoint(left, option.rect.top()), option.rect.bottomRight() - QPoint(size::unit, 0));
        const int high = QFontMetrics(cell.font).height(), low = second.isEmpty() ? 0 : QFontMetrics(small).height();
        const int top = in.top() + (in.height() - high - low) / 2;
        painter->save();
        const auto line = [&](const QString& text, const QFont& font, const QColor& colour, int y, int height) {
            painter->setFont(font);
            painter->setPen(colour);
            painter->drawText(QRect(in.left(), y, in.width(), height), Qt::AlignLeft | Qt::AlignVCenter,
                              QFontMetrics(font).elidedText(text, Qt::ElideRight, in.width()));
        };
        line(first, cell.font, theme().text, top, high);
        line(second, small, theme().text_2, top + high, low);
        painter->restore();
    }

private:
    static constexpr int beside_text = 3;  ///< pixels that a style leaves before a cell's text

    int below_;
};

}  // namespace skippipe
