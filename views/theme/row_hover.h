// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <QStyledItemDelegate>

class QTableView;

namespace skippipe {

/// The table knows the row under the mouse, and leaves out tips that only repeat what a cell shows whole. Its delegate
/// paints the row with `paint_hover`.
void follow_hover(QTableView& table);

/// The ground of a cell whose row is under the mouse and not selected; else nothing.
void paint_hover(QPainter& painter, const QStyleOptionViewItem& option, const QModelIndex& index);

/// A delegate that does no more.
class HoverDelegate : public QStyledItemDelegate {
public:
    using QStyledItemDelegate::QStyledItemDelegate;
    void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override {
        paint_hover(*painter, option, index);
        QStyledItemDelegate::paint(painter, option, index);
    }
};

}  // namespace skippipe
