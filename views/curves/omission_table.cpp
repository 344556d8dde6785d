// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/curves/omission_table.h"

#include <algorithm>

#include <QHeaderView>
#include <QScrollBar>

#include "views/theme/numbers.h"
#include "views/theme/theme.h"
#include "views/theme/widgets.h"

namespace skippipe {
namespace {

constexpr int columns_each = 3;  ///< for a run

QString stages_text(const std::vector<int>& stages) {
    QStringList words;
    for (const int stage : stages) words << QString::number(stage);
    return words.join(", ");
}

QString row_name(const KeptRow& row, int stages) {
    const auto kept = QObject::tr("%1 of %2").arg(row.kept).arg(stages);
    return row.without_stage_0 ? QObject::tr("%1, without stage 0").arg(kept) : kept;
}

QString sets_text(const KeptRow& row) {
    if (row.without_stage_0) return QObject::tr("stage 0's blocks left out");
    if (static_cast<double>(row.sets) < row.all_sets)
        return QObject::tr("%1 of %2 sets")
            .arg(row.sets)
            .arg(row.all_sets, 0, row.all_sets < 1e6 ? 'f' : 'g', row.all_sets < 1e6 ? 0 : 2);
    return row.sets == 1 ? QObject::tr("the only set") : QObject::tr("all %1 sets").arg(row.sets);
}

QString to_all_kept(const KeptRow& row, const std::vector<KeptRow>& rows) {
    return change(row.perplexity / rows.front().perplexity - 1);
}

}  // namespace

QString words_of(const EvaluatedRun& run, const KeptRow& row) {
    QStringList lines{QObject::tr("%1: %2 of %3 stages kept, %4")
                          .arg(run.name)
                          .arg(row.kept)
                          .arg(run.evaluation.stages)
                          .arg(sets_text(row)),
                      QObject::tr("Perplexity %1").arg(three_digits(row.perplexity))};
    if (&row != &run.rows.front()) lines.back() += QObject::tr(", %1 against all kept").arg(to_all_kept(row, run.rows));
    if (const auto bits = bits_per_byte(row.loss_nats, run.evaluation))
        lines << QObject::tr("%1 bits per byte").arg(three_digits(*bits));
    if (row.sets > 1)
        lines << QObject::tr("Least %1 without %2; most %3 without %4")
                     .arg(three_digits(row.least), stages_text(row.best), three_digits(row.most),
                          stages_text(row.worst));
    return lines.join('\n');
}

OmissionTable::OmissionTable(QWidget* parent) : QTableWidget(parent) {
    make_plain(*this, tr("Perplexity by stages kept, as numbers"));
    setWordWrap(false);
    horizontalHeader()->setDefaultAlignment(Qt::AlignRight | Qt::AlignVCenter);
    setHorizontalScrollMode(QAbstractItemView::ScrollPerPixel);
}

void OmissionTable::show_runs(const std::vector<EvaluatedRun>& runs) {
    clear();
    setColumnCount(1 + columns_each * static_cast<int>(runs.size()));
    QStringList headers{tr("Stages kept")};
    for (const auto& run : runs)
        for (const auto& what : {tr("perplexity"), tr("least to most"), tr("against all kept")})
            headers << tr("Run %1").arg(run.id) + '\n' + what;
    setHorizontalHeaderLabels(headers);
    horizontalHeaderItem(0)->setTextAlignment(Qt::AlignLeft | Qt::AlignVCenter);
    // A row for what any of the runs has: twins have the same.
    QStringList names;
    for (const auto& run : runs)
        for (const auto& row : run.rows)
            if (const auto name = row_name(row, run.evaluation.stages); !names.contains(name)) names << name;
    setRowCount(static_cast<int>(names.size()));
    for (int r = 0; r < names.size(); ++r) setItem(r, 0, new QTableWidgetItem(names[r]));
    for (std::size_t run = 0; run < runs.size(); ++run)
        for (const auto& row : runs[run].rows)
            fill_row(static_cast<int>(names.indexOf(row_name(row, runs[run].evaluation.stages))),
                     1 + columns_each * static_cast<int>(run), runs[run], row);
    divide_columns();
    setMaximumHeight(horizontalHeader()->sizeHint().height() + size::row * static_cast<int>(names.size()) +
                     horizontalScrollBar()->sizeHint().height());
}

/// Figures take what they need, and the names what is left: the table ends where the plot does.
void OmissionTable::divide_columns() {
    const QFontMetrics small(small_font());
    const auto needed = [&](int column) {
        int width = QAbstractItemView::sizeHintForColumn(column);
        const auto* header = horizontalHeaderItem(column);
        for (const auto& line : header == nullptr ? QStringList{} : header->text().split('\n'))
            width = std::max(width, small.horizontalAdvance(line) + size::wide_gap + size::gap);
        const bool next_run = column > columns_each && column % columns_each == 1;
        return width + (next_run ? size::wide_gap : size::unit);
    };
    int left = viewport()->width();
    for (int column = 1; column < columnCount(); ++column) {
        setColumnWidth(column, needed(column));
        left -= columnWidth(column);
    }
    if (columnCount() > 0) setColumnWidth(0, std::max(left, needed(0)));
}

void OmissionTable::fill_row(int at, int column, const EvaluatedRun& run, const KeptRow& row) {
    const auto words = words_of(run, row);
    const auto put = [&](const QString& text, bool secondary) {
        auto* item = new QTableWidgetItem(text);
        item->setTextAlignment(Qt::AlignRight | Qt::AlignVCenter);
        if (secondary) item->setForeground(theme().text_2);
        item->setToolTip(words);
        setItem(at, column++, item);
    };
    put(three_digits(row.perplexity), false);
    put(row.sets > 1 ? tr("%1 to %2").arg(three_digits(row.least), three_digits(row.most)) : QString{}, true);
    put(&row != &run.rows.front() ? to_all_kept(row, run.rows) : QString{}, false);
}

void OmissionTable::resizeEvent(QResizeEvent* event) {
    QTableWidget::resizeEvent(event);
    divide_columns();
}

}  // namespace skippipe
