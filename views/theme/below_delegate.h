// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <algorithm>
#include <utility>

#include <QApplication>
#include <QHeaderView>
#include <QPainter>
#include <QStyledItemDelegate>
#include <QTableView>

#include "views/theme/row_hover.h"
#include "views/theme/theme.h"

namespace skippipe {

/// Words of parts with ", " between them, in at most so many lines no wider than that: parts stay whole, and "…" stands
/// for those at the end that have no room.
inline QStringList lines_of_parts(const QString& words, const QFontMetrics& font, int width, qsizetype most) {
    const QStringList parts = words.split(QStringLiteral(", "), Qt::SkipEmptyParts);
    QStringList lines;
    for (qsizetype i = 0; i < parts.size(); ++i) {
        const bool is_last_line = lines.size() == most;
        const auto tail = is_last_line && i + 1 < parts.size() ? ", …" : "";
        const QString longer = lines.isEmpty() ? QString{} : lines.last() + QStringLiteral(", ") + parts[i];
        if (!lines.isEmpty() && font.horizontalAdvance(longer + QString::fromUtf8(tail)) <= width) {
            lines.last() = longer;
        } else if (is_last_line) {
            lines.last() += QString::fromUtf8(", …");
            break;
        } else {
            lines << parts[i];
        }
    }
    return lines;
}

/// Cells with words below their text, smaller and paler, in two lines where the row has room for them. Across a table,
/// words go on below the cells that follow, and the text of all stands in the first line.
class BelowDelegate final : public QStyledItemDelegate {
public:
    static constexpr int row = 40, tall_row = 52;  ///< pixels with one line of them, and with two

    /// `below`: the role of the words, parts with ", " between them; `first_colour`: that of the colour of their first
    /// part, of a cell that has one.
    explicit BelowDelegate(int below, QObject* parent = nullptr, int first_colour = -1)
        : QStyledItemDelegate(parent), below_(below), first_colour_(first_colour) {}

    /// The role of words that stand in frames behind the last of those below, as far as there is room.
    void set_chips(int role) { chips_ = role; }

    /// Of all cells of that table: those of the column have the words.
    void go_across(const QTableView& table, int column) {
        table_ = &table;
        column_ = column;
    }
    /// Pixels that words have across the table.
    int room_across() const {
        const auto& heads = *table_->horizontalHeader();
        return heads.length() - heads.sectionPosition(column_) - inset(*table_) - size::unit;
    }

    /// Pixels that words have in a cell so wide.
    int room(const QModelIndex& index, const QWidget& view, int width) const {
        QStyleOptionViewItem cell;
        cell.initFrom(&view);
        cell.widget = &view;
        cell.rect = {0, 0, width, row};
        initStyleOption(&cell, index);
        return place(cell).width();
    }

    void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override {
        QStyleOptionViewItem cell = option;
        initStyleOption(&cell, index);
        QRect in = place(cell);
        const QString first = std::exchange(cell.text, QString{});
        paint_hover(*painter, cell, index);
        style_of(cell)->drawControl(QStyle::CE_ItemViewItem, &cell, painter, cell.widget);
        const QModelIndex whose = table_ == nullptr ? index : index.siblingAtColumn(column_);
        QRect words_in = in;
        if (table_ != nullptr) {
            if (index.column() != column_) in.setRight(cell.rect.right() - inset(*table_) + 1);
            words_in.setLeft(table_->columnViewportPosition(column_) + inset(*table_));
            words_in.setWidth(room_across());
        }
        const QFont small = small_font();
        const int high = QFontMetrics(cell.font).height(), low = QFontMetrics(small).height();
        const auto below = lines_of_parts(whose.data(below_).toString(), QFontMetrics(small), words_in.width(),
                                          std::clamp((in.height() - high) / low, 1, 2));
        int y = in.top() + (in.height() - high - low * static_cast<int>(below.size())) / 2;
        painter->save();
        const auto line = [&](const QRect& place, const QString& text, const QFont& font, const QColor& colour,
                              int height, Qt::Alignment side = Qt::AlignLeft) {
            painter->setFont(font);
            painter->setPen(colour);
            painter->drawText(QRect(place.left(), y, place.width(), height), side | Qt::AlignVCenter,
                              QFontMetrics(font).elidedText(text, Qt::ElideRight, place.width()));
            y += height;
        };
        const auto own = index.data(Qt::ForegroundRole);
        line(in, first, cell.font, table_ != nullptr && own.isValid() ? own.value<QColor>() : theme().text, high,
             cell.displayAlignment & Qt::AlignHorizontal_Mask);
        if (table_ != nullptr) {  // each cell draws the part that is below it
            const auto& heads = *table_->horizontalHeader();
            if (heads.visualIndex(index.column()) < heads.visualIndex(column_)) return painter->restore();
            painter->setClipRect(cell.rect, Qt::IntersectClip);
        }
        const int words_top = y;
        for (const auto& words : below) line(words_in, words, small, theme().text_2, low);
        if (chips_ >= 0) {
            const int used = below.isEmpty() ? 0 : QFontMetrics(small).horizontalAdvance(below.last()) + size::gap;
            const QRect free(words_in.left() + used, below.isEmpty() ? y : y - low, words_in.width() - used, low);
            draw_chips(*painter, free, whose.data(chips_).toStringList(), small);
        }
        const auto colour = first_colour_ < 0 ? QColor{} : whose.data(first_colour_).value<QColor>();
        if (colour.isValid() && !below.isEmpty()) {
            y = words_top;
            line(words_in, below.front().section(QStringLiteral(", "), 0, 0), small, colour, low);
        }
        painter->restore();
    }

private:
    static constexpr int beside_text = 3;  ///< pixels that a style leaves before a cell's text

    /// The last one is cut where it ends at the edge; of one that has room for no letter there is the ellipsis.
    static void draw_chips(QPainter& painter, const QRect& room, const QStringList& words, const QFont& font) {
        constexpr int inside = size::unit, least = 10;
        const QFontMetrics metrics(font);
        int x = room.left();
        painter.setFont(font);
        painter.setRenderHint(QPainter::Antialiasing);
        for (const auto& word : words) {
            const int wanted = metrics.horizontalAdvance(word) + 2 * inside, left = room.right() + 1 - x;
            if (left < least) return;
            const QRectF frame(x + 0.5, room.top() + 0.5, std::min(wanted, left) - 1, room.height() - 1);
            painter.setPen(mix(theme().surface, theme().text_2, 0.5));
            painter.drawRoundedRect(frame, 3, 3);
            painter.setPen(theme().text_2);
            const QString cut = metrics.elidedText(word, Qt::ElideRight, left - 2 * inside);
            painter.drawText(frame, Qt::AlignCenter,
                             wanted <= left  ? word
                             : cut.isEmpty() ? QString(QChar(0x2026))
                                             : cut);
            x += wanted + size::unit;
        }
    }

    /// Pixels of a cell before its text.
    static int inset(const QTableView& table) {
        QStyleOptionViewItem cell;
        cell.initFrom(&table);
        cell.widget = &table;
        cell.features = QStyleOptionViewItem::HasDisplay;
        cell.rect = {0, 0, row, row};
        return place(cell).left();
    }

    static const QStyle* style_of(const QStyleOptionViewItem& cell) {
        return cell.widget != nullptr ? cell.widget->style() : QApplication::style();
    }
    static QRect place(const QStyleOptionViewItem& cell) {
        const int left =
            style_of(cell)->subElementRect(QStyle::SE_ItemViewItemText, &cell, cell.widget).left() + beside_text;
        return {QPoint(left, cell.rect.top()), cell.rect.bottomRight() - QPoint(size::unit, 0)};
    }

    int below_, first_colour_, chips_ = -1;
    const QTableView* table_ = nullptr;  ///< null: words stay in their cell
    int column_ = 0;
};

}  // namespace skippipe
