// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/timeline/span_view.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include <QHeaderView>

#include "views/theme/theme.h"
#include "views/theme/widgets.h"

namespace skippipe {
namespace {

constexpr int padding = 12, header_padding = 14;  ///< pixels of a cell, and of a column's head, beside its words

}  // namespace

SpanView::SpanView(SpanTable& spans, QWidget* parent) : QTableView(parent), spans_(spans) {
    setModel(&spans);
    make_plain(*this, tr("Spans of the node"));
    setProperty("role", "narrow");
    setWordWrap(false);
    setSelectionBehavior(QAbstractItemView::SelectRows);
    horizontalHeader()->setSectionResizeMode(QHeaderView::Interactive);
    horizontalHeader()->setMinimumSectionSize(size::row);
    connect(&spans, &QAbstractItemModel::modelReset, this, &SpanView::fit);
}

void SpanView::resizeEvent(QResizeEvent* event) {
    QTableView::resizeEvent(event);
    fit();
}

/// Of iterations alike one says what the others do; the last ones have the longest numbers.
int SpanView::width_of(int column) const {
    int width = QFontMetrics(small_font())
                    .horizontalAdvance(spans_.headerData(column, Qt::Horizontal, Qt::DisplayRole).toString()) +
                header_padding - padding;
    const auto widen = [&](const QString& words) { width = std::max(width, fontMetrics().horizontalAdvance(words)); };
    constexpr int looked_at = 64;
    const int rows = spans_.rowCount({});
    for (int row = 0; row < rows; row = row + 1 == looked_at ? std::max(row + 1, rows - looked_at) : row + 1)
        widen(spans_.data(spans_.index(row, column), Qt::DisplayRole).toString());
    return width + padding;
}

void SpanView::fit() {
    std::vector<int> widths;
    for (int c = 0; c < spans_.columnCount(); ++c) widths.push_back(width_of(c));
    const int all = std::accumulate(widths.begin(), widths.end(), 0);
    const int more = std::max(0, viewport()->width() - all) / spans_.columnCount();  // the figures at the right
    for (int c = 0; c < spans_.columnCount(); ++c) setColumnWidth(c, widths[static_cast<std::size_t>(c)] + more);
}

}  // namespace skippipe
