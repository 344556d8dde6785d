// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
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

protected:
    static constexpr int padding = 6;  ///< pixels beside a head's words: the style sheet's of narrow tables
    /// Each line of a head across is cut by itself, where its column is narrow.
    void initStyleOptionForIndex(QStyleOptionHeader* option, int section) const override {
        QHeaderView::initStyleOptionForIndex(option, section);
        if (orientation() != Qt::Horizontal) return;
        QStringList lines = option->text.split('\n');
        for (auto& line : lines)
            line = option->fontMetrics.elidedText(line, Qt::ElideRight, sectionSize(section) - 2 * padding);
        option->text = lines.join('\n');
    }
    void paintSection(QPainter* painter, const QRect& rect, int section) const override {
        painter->save();
        QHeaderView::paintSection(painter, rect, section);
        painter->restore();
        if (!model()->headerData(section, orientation(), marked).toBool()) return;
        constexpr int wide = 3;
        const QRect edge = orientation() == Qt::Horizontal
                               ? QRect(rect.left(), rect.bottom() - wide + 1, rect.width(), wide)
                               : QRect(rect.right() - wide + 1, rect.top(), wide, rect.height());
        painter->fillRect(edge, theme().accent);
    }
};

}  // namespace skippipe
