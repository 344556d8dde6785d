// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <algorithm>

#include <QHeaderView>
#include <QPainter>
#include <QStyleOption>

#include "views/theme/theme.h"

namespace skippipe {

/// Heads of a matrix: those of what is selected have an accent along their cells.
class MarkedHeader final : public QHeaderView {
public:
    /// A model's role: whether the head is of what is selected.
    static constexpr int marked = Qt::UserRole;

    explicit MarkedHeader(Qt::Orientation orientation) : QHeaderView(orientation) {
        setSectionsClickable(true);
        setHighlightSections(true);
    }

    /// Heads across read upwards, each whole, where columns are narrower than their words.
    void set_upright(bool upright) {
        if (upright == is_upright_) return;
        is_upright_ = upright;
        if (count() == 0) return;
        headerDataChanged(orientation(), 0, count() - 1);
        Q_EMIT geometriesChanged();
    }
    bool is_upright() const { return is_upright_; }

protected:
    static constexpr int most_high = 96;  ///< pixels of an upright head, beyond which it is cut
    static constexpr int padding = 6;     ///< pixels beside a head's words: the style sheet's of narrow tables
    /// Each line of a head across is cut by itself, where its column is narrow.
    void initStyleOptionForIndex(QStyleOptionHeader* option, int section) const override {
        QHeaderView::initStyleOptionForIndex(option, section);
        if (orientation() != Qt::Horizontal) return;
        if (is_upright_) return option->text.clear();  // drawn by itself
        QStringList lines = option->text.split('\n');
        for (auto& line : lines)
            line = QFontMetrics(small_font()).elidedText(line, Qt::ElideRight, sectionSize(section) - 2 * padding);
        option->text = lines.join('\n');
    }
    void paintSection(QPainter* painter, const QRect& rect, int section) const override {
        painter->save();
        QHeaderView::paintSection(painter, rect, section);
        painter->restore();
        if (is_upright_) paint_upright(*painter, rect, section);
        if (!model()->headerData(section, orientation(), marked).toBool()) return;
        constexpr int wide = 3;
        const QRect edge = orientation() == Qt::Horizontal
                               ? QRect(rect.left(), rect.bottom() - wide + 1, rect.width(), wide)
                               : QRect(rect.right() - wide + 1, rect.top(), wide, rect.height());
        painter->fillRect(edge, theme().accent);
    }
    QSize sectionSizeFromContents(int section) const override {
        const QSize usual = QHeaderView::sectionSizeFromContents(section);
        if (!is_upright_) return usual;
        const QFontMetrics font(small_font());
        int high = 0;
        for (const auto& line : words_of(section).split('\n')) high = std::max(high, font.horizontalAdvance(line));
        constexpr int edge = 4;  // the style's own, below
        return {usual.width(), std::min(high, most_high) + 2 * padding + edge};
    }

private:
    QString words_of(int section) const {
        return model()->headerData(section, orientation(), Qt::DisplayRole).toString();
    }
    void paint_upright(QPainter& painter, const QRect& rect, int section) const {
        painter.save();
        painter.setFont(small_font());
        painter.setPen(theme().text_2);
        painter.translate(rect.bottomLeft());
        painter.rotate(-90);
        const QRect box(padding, 0, rect.height() - 2 * padding, rect.width());
        QStringList lines = words_of(section).split('\n');
        for (auto& line : lines) line = painter.fontMetrics().elidedText(line, Qt::ElideRight, box.width());
        painter.drawText(box, Qt::AlignLeft | Qt::AlignVCenter, lines.join('\n'));
        painter.restore();
    }

    bool is_upright_ = false;
};

}  // namespace skippipe
