// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/theme/row_hover.h"

#include <QHelpEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QTableView>

#include "views/theme/theme.h"

namespace skippipe {
namespace {

constexpr const char* hovered_row = "hovered_row";  ///< property of the table; -1: none

class HoverFollower final : public QObject {
public:
    explicit HoverFollower(QTableView& table) : QObject(&table), table_(table) {
        table.viewport()->setMouseTracking(true);
        table.viewport()->installEventFilter(this);
        table.setProperty(hovered_row, -1);
    }

protected:
    bool eventFilter(QObject* watched, QEvent* event) override {
        switch (event->type()) {
            case QEvent::MouseMove: {
                const auto index = table_.indexAt(static_cast<QMouseEvent*>(event)->position().toPoint());
                // A heading among rows is none of them.
                hover(index.isValid() && index.flags().testFlag(Qt::ItemIsSelectable) ? index.row() : -1);
                break;
            }
            case QEvent::Leave: hover(-1); break;
            case QEvent::ToolTip: return repeats(table_.indexAt(static_cast<QHelpEvent*>(event)->pos()));
            default: break;
        }
        return QObject::eventFilter(watched, event);
    }

private:
    void hover(int row) {
        if (table_.property(hovered_row).toInt() == row) return;
        table_.setProperty(hovered_row, row);
        table_.viewport()->update();
    }
    /// Whether the cell's tip is what it shows, in room enough.
    bool repeats(const QModelIndex& index) const {
        if (!index.isValid() || index.data(Qt::ToolTipRole) != index.data(Qt::DisplayRole)) return false;
        QStyleOptionViewItem cell;
        cell.initFrom(&table_);
        cell.widget = &table_;
        return table_.itemDelegateForIndex(index)->sizeHint(cell, index).width() <= table_.visualRect(index).width();
    }

    QTableView& table_;
};

}  // namespace

void follow_hover(QTableView& table) { new HoverFollower(table); }

void paint_hover(QPainter& painter, const QStyleOptionViewItem& option, const QModelIndex& index) {
    constexpr double share = 0.04;
    if (option.widget == nullptr || option.state.testFlag(QStyle::State_Selected)) return;
    const QVariant row = option.widget->property(hovered_row);
    if (row.isValid() && row.toInt() == index.row())
        painter.fillRect(option.rect, mix(theme().surface, theme().text, share));
}

}  // namespace skippipe
