// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <QPainter>
#include <QStyledItemDelegate>

#include "views/theme/theme.h"

namespace skippipe {

/// Rows of a list that have, paler at the right, what else is to be known of them: a figure, keys; and, in a column
/// left of that, where they belong.
class AsideDelegate final : public QStyledItemDelegate {
public:
    static constexpr int aside = Qt::UserRole + 1, place = Qt::UserRole + 2;
    static constexpr int place_right = 132;  ///< of that column's end to the row's

    explicit AsideDelegate(int row, QObject* parent = nullptr) : QStyledItemDelegate(parent), row_(row) {}
    void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override {
        QStyledItemDelegate::paint(painter, option, index);
        painter->save();
        painter->setFont(small_font());
        painter->setPen(theme().text_2);
        const QRect in = option.rect.adjusted(0, 0, -size::gap, 0);
        painter->drawText(in, Qt::AlignRight | Qt::AlignVCenter, index.data(aside).toString());
        painter->drawText(in.adjusted(0, 0, -place_right, 0), Qt::AlignRight | Qt::AlignVCenter,
                          index.data(place).toString());
        painter->restore();
    }
    QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override {
        return {QStyledItemDelegate::sizeHint(option, index).width(), row_};
    }

private:
    int row_;
};

}  // namespace skippipe
