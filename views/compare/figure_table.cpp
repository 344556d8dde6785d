// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/compare/figure_table.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>

#include <QHeaderView>
#include <QHelpEvent>
#include <QMenu>
#include <QPainter>
#include <QScrollBar>
#include <QStyledItemDelegate>
#include <QToolTip>

#include "views/runs/run_marks.h"
#include "views/theme/row_hover.h"
#include "views/theme/theme.h"
#include "views/theme/widgets.h"

namespace skippipe {
namespace {

constexpr int value_role = Qt::UserRole, change_role = Qt::UserRole + 1, verdict_role = Qt::UserRole + 2,
              figure_role = Qt::UserRole + 3, best_role = Qt::UserRole + 4, run_role = Qt::UserRole + 5,
              same_role = Qt::UserRole + 6;
const QString nothing_words = QString::fromUtf8("–");
constexpr int swatch_width = 24, swatch_height = 12;  ///< beside a run's name, with the space between them
constexpr int least_run = 64, least_names = 100, enough_names = 240, most_names = 400, alone_names = 320;
constexpr int long_words = 480, short_words = 152, middle_words = 92, brief_words = 72;
constexpr int stacked_row = 40, most_lines = 3;
constexpr int wide_padding = size::gap + size::unit, narrow_padding = size::unit + 1;

Verdict verdict_of(const QModelIndex& index) { return static_cast<Verdict>(index.data(verdict_role).toInt()); }

/// "-47.9 % ✓": colour is not the only channel.
QString change_words(const QString& change, Verdict verdict) {
    return change + (verdict == Verdict::better  ? QStringLiteral(" ✓")
                     : verdict == Verdict::worse ? QStringLiteral(" ✗")
                                                 : QString{});
}

int width_of(const QFont& font, const QString& text) { return QFontMetrics(font).horizontalAdvance(text); }

/// A figure stays beside its unit wherever lines break.
QString unbroken(QString text) { return text.replace(QChar(0x2009), QChar(0x202f)); }

/// Lines of words that wrap in so many pixels.
int lines_of(const QFont& font, const QString& words, int width) {
    const QFontMetrics metrics(font);
    const QString text = unbroken(words);
    if (metrics.horizontalAdvance(text) <= width) return 1;
    const QRect room(0, 0, std::max(1, width), metrics.lineSpacing() * (most_lines + 2));
    return (metrics.boundingRect(room, Qt::TextWordWrap, text).height() + metrics.lineSpacing() / 2) /
           metrics.lineSpacing();
}

/// As many of its words as have room in those lines, with an ellipsis where some have not.
QString in_lines(const QFont& font, const QString& text, int width, int lines) {
    if (lines <= 1 && width_of(font, text) <= width) return text;  // eliding measures it otherwise, by a hair
    if (lines <= 1) return QFontMetrics(font).elidedText(text, Qt::ElideRight, width);
    QString shorter = unbroken(text);
    while (shorter.size() > 1 && lines_of(font, shorter, width) > lines) {
        shorter.chop(shorter.endsWith(QChar(0x2026)) ? 2 : 1);
        shorter += QChar(0x2026);
    }
    return shorter;
}

int lines_in(const QFont& font, int height) { return std::max(1, height / QFontMetrics(font).lineSpacing()); }

}  // namespace

/// What runs are called, above where their figures end.
class FigureTable::Heads : public QHeaderView {
public:
    explicit Heads(FigureTable& table) : QHeaderView(Qt::Horizontal, &table), table_(table) {}

    void paintSection(QPainter* painter, const QRect& rect, int section) const override {
        if (section == 0) return QHeaderView::paintSection(painter, rect, section);
        QStyleOptionHeader option;
        initStyleOption(&option);
        option.rect = rect;
        option.section = section;
        painter->save();
        style()->drawControl(QStyle::CE_HeaderSection, &option, painter, this);
        painter->setFont(small_font());
        painter->setPen(theme().text_2);
        const QString text = model()->headerData(section, Qt::Horizontal).toString();
        const QRect beside = table_.beside_changes(rect, section);
        const int padding = table_.padding_;
        const bool fits = table_.columns_[static_cast<std::size_t>(section - 1)].head <= beside.width();
        const QRect there = (fits ? beside : rect.adjusted(padding, 0, -padding, 0)).adjusted(0, size::gap, 0, 0);
        const QFontMetrics font(small_font());
        const int line = font.horizontalAdvance(text.section('\n', 0, 0));
        const bool is_left = table_.side() == Qt::AlignLeft;
        const QRect words_in = is_left ? there.adjusted(swatch_width, 0, 0, 0) : there;
        painter->drawText(words_in, table_.side() | Qt::AlignTop, text);
        const QRect words = font.boundingRect(words_in, static_cast<int>(table_.side() | Qt::AlignTop), text);
        const auto run = model()->headerData(section, Qt::Horizontal, run_role).toLongLong();
        painter->drawPixmap(is_left ? there.left() : there.right() - line - swatch_width,
                            words.top() + (font.height() - swatch_height) / 2, run_swatch(run));
        const int changes = table_.change_widths_[static_cast<std::size_t>(section - 1)];
        if (fits && changes >= font.horizontalAdvance(table_.against_))
            painter->drawText(rect.adjusted(padding, size::gap, -padding, 0), Qt::AlignRight | Qt::AlignTop,
                              table_.against_);
        painter->restore();
    }

private:
    FigureTable& table_;
};

/// Figures end where the changes of their column begin; words that are wider end at the column's edge.
class FigureTable::Painter : public QStyledItemDelegate {
public:
    explicit Painter(FigureTable& table) : QStyledItemDelegate(&table), table_(table) {}

    void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override {
        const QString value = index.data(value_role).toString();
        paint_hover(*painter, option, index);
        if (value.isEmpty()) return QStyledItemDelegate::paint(painter, option, index);
        QStyleOptionViewItem empty = option;
        initStyleOption(&empty, index);
        empty.text.clear();
        table_.style()->drawControl(QStyle::CE_ItemViewItem, &empty, painter, &table_);
        const QFont font = index.data(best_role).toBool() ? bold_font() : table_.font();
        QRect inside = option.rect.adjusted(table_.padding_, 0, -table_.padding_, 0);
        QRect change = inside;
        const QRect beside = table_.beside_changes(option.rect, index.column());
        if (index.data(figure_role).toBool() || width_of(font, value) <= beside.width()) inside = beside;  // in a line
        const bool is_figure = index.data(figure_role).toBool();
        if (table_.stacked_ && is_figure && option.rect.height() > size::row) {
            inside.setHeight(option.rect.height() / 2 + size::unit);
            change.setTop(inside.bottom() - size::unit);
        }
        painter->save();
        painter->setFont(font);
        painter->setPen(value == nothing_words || index.data(same_role).toBool() ? theme().text_2 : theme().text);
        const int lines = is_figure ? 1 : lines_in(font, inside.height());
        painter->drawText(inside,
                          static_cast<int>(table_.side() | Qt::AlignVCenter) | (lines > 1 ? Qt::TextWordWrap : 0),
                          in_lines(font, value, inside.width(), lines));
        painter->setFont(small_font());
        const Verdict verdict = verdict_of(index);
        painter->setPen(verdict == Verdict::better  ? theme().good
                        : verdict == Verdict::worse ? theme().bad
                                                    : theme().text_2);
        painter->drawText(change, Qt::AlignRight | Qt::AlignVCenter,
                          change_words(index.data(change_role).toString(), verdict));
        painter->restore();
    }

private:
    FigureTable& table_;
};

FigureTable::FigureTable(QWidget* parent) : QTableWidget(parent) {
    setObjectName("differences");
    make_plain(*this, tr("Differences"));
    follow_hover(*this);
    setWordWrap(true);
    setTextElideMode(Qt::ElideRight);
    setItemDelegate(new Painter(*this));
    setHorizontalHeader(new Heads(*this));
    horizontalHeader()->setDefaultAlignment(Qt::AlignLeft | Qt::AlignVCenter);
    setHorizontalScrollMode(QAbstractItemView::ScrollPerPixel);
    horizontalHeader()->setContextMenuPolicy(Qt::CustomContextMenu);
    connect(horizontalHeader(), &QWidget::customContextMenuRequested, this, &FigureTable::offer_baseline);
}

/// Of the run whose head was pressed.
void FigureTable::offer_baseline(QPoint place) {
    const int column = horizontalHeader()->logicalIndexAt(place);
    if (column < 1 || columnCount() < 3) return;
    const auto run = horizontalHeaderItem(column)->data(run_role).toLongLong();
    auto* menu = new QMenu(this);
    menu->setObjectName("head_menu");
    menu->setAttribute(Qt::WA_DeleteOnClose);
    auto* action =
        menu->addAction(tr("Run %1 as baseline").arg(run), this, [this, run] { Q_EMIT baseline_requested(run); });
    action->setEnabled(column > 1);
    menu->popup(horizontalHeader()->mapToGlobal(place));
}

QRect FigureTable::beside_changes(const QRect& cell, int column) const {
    const int changes = change_widths_[static_cast<std::size_t>(column - 1)];
    return cell.adjusted(padding_, 0, -padding_ - (changes > 0 ? changes + size::gap : 0), 0);
}

void FigureTable::show_rows(const std::vector<DifferenceRow>& rows, const std::vector<const RunData*>& runs) {
    clear();
    clearSpans();
    setColumnCount(static_cast<int>(runs.size()) + 1);
    setRowCount(0);
    QStringList headers{tr("Figure")};
    for (std::size_t i = 0; i < runs.size(); ++i)
        headers << tr("Run %1").arg(runs[i]->info.id) + (runs.size() > 1 && i == 0 ? tr("\n(baseline)") : QString{});
    setHorizontalHeaderLabels(headers);
    against_ = runs.size() > 1 ? tr("to run %1").arg(runs.front()->info.id) : QString{};
    for (int c = 1; c < columnCount(); ++c) {
        const RunData& run = *runs[static_cast<std::size_t>(c - 1)];
        const auto text = [](const std::string& words) { return QString::fromStdString(words); };
        auto* head = horizontalHeaderItem(c);
        QString tip = tr("%1, planned by %2").arg(text(run.info.name), text(run.info.planner));
        if (!run.experiment.description.empty()) tip += '\n' + text(run.experiment.description);
        head->setToolTip(tip);
        head->setData(run_role, QVariant::fromValue<qlonglong>(run.info.id));
    }
    std::optional<DifferenceSection> section;
    for (const auto& row : rows) {
        const bool is_alone = runs.size() == 1 && row.section == DifferenceSection::same_parameters;
        if (section != row.section) add_heading(is_alone ? tr("Parameters") : describe(row.section));
        section = row.section;
        add_row(row);
    }
    measure();
    divide();
}

void FigureTable::add_row(const DifferenceRow& row) {
    const int r = rowCount();
    insertRow(r);
    auto* name = new QTableWidgetItem(row.name);
    if (!row.is_metric) name->setForeground(theme().text_2);
    setItem(r, 0, name);
    for (int c = 0; c < row.values.size(); ++c) {
        const Verdict verdict = row.verdicts[static_cast<std::size_t>(c)];
        // What a run never came to is said, not left out.
        const QString value = row.values[c].isEmpty() && row.is_metric ? nothing_words : row.values[c],
                      &change = row.deltas[c];
        const QString whole = value + (change.isEmpty() ? QString{} : QStringLiteral("  (%1)").arg(change));
        auto* item = new QTableWidgetItem(change_words(whole, verdict));
        item->setData(value_role, value);
        item->setData(change_role, change);
        item->setData(verdict_role, static_cast<int>(verdict));
        item->setData(figure_role, row.is_figure);
        item->setData(best_role, row.best == c);
        item->setData(same_role, c > 0 && !row.is_metric && value == row.values.front());  // what differs stands out
        const QString details = row.details.value(c);
        item->setToolTip(!details.isEmpty()           ? details
                         : verdict == Verdict::better ? tr("%1: better than the baseline").arg(whole)
                         : verdict == Verdict::worse  ? tr("%1: worse than the baseline").arg(whole)
                                                      : QString{});
        setItem(r, c + 1, item);
    }
}

void FigureTable::add_heading(const QString& words) {
    const int row = rowCount();
    insertRow(row);
    auto* item = new QTableWidgetItem(words);
    item->setFont(bold_font());
    item->setFlags(Qt::ItemIsEnabled);
    setItem(row, 0, item);
    if (columnCount() > 1) setSpan(row, 0, 1, columnCount());
}

void FigureTable::measure() {
    columns_.assign(static_cast<std::size_t>(columnCount() - 1), {});
    names_ = 0;
    int widest = 0;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
        const QString head = horizontalHeaderItem(static_cast<int>(i) + 1)->text();
        widest = std::max({widest, QFontMetrics(small_font()).size(0, head).width(),
                           width_of(small_font(), head.section('\n', 0, 0)) + swatch_width});
    }
    for (auto& column : columns_) column.head = widest;
    for (int r = 0; r < rowCount(); ++r) {
        if (columnSpan(r, 0) > 1) continue;
        names_ = std::max(names_, width_of(font(), item(r, 0)->text()));
        for (int c = 1; c < columnCount(); ++c) {
            const auto* cell = item(r, c);
            if (cell == nullptr) continue;
            auto& column = columns_[static_cast<std::size_t>(c - 1)];
            const bool is_figure = cell->data(figure_role).toBool();
            const int value =
                width_of(cell->data(best_role).toBool() ? bold_font() : font(), cell->data(value_role).toString());
            const QString change = change_words(cell->data(change_role).toString(),
                                                static_cast<Verdict>(cell->data(verdict_role).toInt()));
            (is_figure ? column.figures : column.words) = std::max(is_figure ? column.figures : column.words, value);
            if (!change.isEmpty()) column.changes = std::max(column.changes, width_of(small_font(), change));
        }
    }
}

/// Figures are whole, since a figure without its end is another one; names are where there is room, words then.
void FigureTable::divide() {
    const int room = viewport()->width() - size::wide_gap, names = std::min(names_ + 2 * size::gap, most_names);
    std::vector<int> widths(columns_.size());
    const auto fits = [&](int most_words, int padding, bool stacked) {
        padding_ = padding;
        stacked_ = stacked;
        Column widest;
        for (const auto& column : columns_) {
            widest.figures = std::max({widest.figures, column.figures, std::min(column.words, most_words)});
            widest.changes = std::max(widest.changes, column.changes);
        }
        change_widths_.assign(columns_.size(), 0);
        for (std::size_t i = 0; i < widths.size(); ++i) {
            const auto& column = columns_[i];
            if (!stacked && column.changes > 0) change_widths_[i] = widest.changes;
            const int beside = change_widths_[i] > 0 ? change_widths_[i] + size::gap : 0;
            const int own = std::max({widest.figures, column.head, stacked ? widest.changes : 0});
            widths[i] = std::max(least_run, 2 * padding + own + beside);
        }
        return std::accumulate(widths.begin(), widths.end(), stacked ? std::min(names, enough_names) : names) <= room;
    };
    // Runs have columns of one width. Where changes have no room beside figures, they stand below them.
    for (const auto& [most_words, padding, stacked] : {std::tuple{long_words, wide_padding, false},
                                                       {short_words, wide_padding, false},
                                                       {short_words, narrow_padding, false},
                                                       {short_words, wide_padding, true},
                                                       {middle_words, narrow_padding, true},
                                                       {brief_words, narrow_padding, true}})
        if (fits(most_words, padding, stacked)) break;
    // What is left over goes to words that need it.
    const int named = stacked_ ? std::min(names, enough_names) : names;
    const int spare = room - named - std::accumulate(widths.begin(), widths.end(), 0);
    const auto words = std::max_element(columns_.begin(), columns_.end(),
                                        [](const auto& a, const auto& b) { return a.words < b.words; });
    if (spare > 0 && words != columns_.end())
        for (int& width : widths)
            width = std::max(width, std::min(width + spare / static_cast<int>(widths.size()),
                                             2 * padding_ + std::min(words->words, long_words)));
    // A run alone has what names leave, whatever its words: what is read from run to run stays where it was.
    if (widths.size() == 1) {
        const int all = width() - verticalScrollBar()->sizeHint().width();
        widths[0] = std::max(least_run, all - std::min(all * 2 / 5, alone_names) - size::wide_gap);
    }
    for (std::size_t i = 0; i < widths.size(); ++i) setColumnWidth(static_cast<int>(i) + 1, widths[i]);
    if (columnCount() > 0)
        setColumnWidth(0, std::clamp(room - std::accumulate(widths.begin(), widths.end(), 0), least_names,
                                     std::max(most_names, names_ + 2 * size::gap)));
    for (int r = 0; r < rowCount(); ++r) setRowHeight(r, row_height(r));
}

/// Pixels that a cell has for words in a line.
int FigureTable::words_room(int row, int column) const {
    if (column == 0) return columnWidth(0) - size::wide_gap;
    const QRect whole(0, 0, columnWidth(column), 1);
    return item(row, column)->data(figure_role).toBool() ? beside_changes(whole, column).width()
                                                         : whole.width() - 2 * padding_;
}

/// Words that have no room in one line wrap; figures never do.
int FigureTable::row_height(int row) const {
    if (columnSpan(row, 0) > 1) return size::row;
    int lines = 1;
    for (int c = 0; c < columnCount(); ++c)
        if (const auto* cell = item(row, c); cell != nullptr && !cell->data(figure_role).toBool())
            lines = std::max(
                lines, lines_of(font(), c == 0 ? cell->text() : cell->data(value_role).toString(), words_room(row, c)));
    const int spacing = QFontMetrics(font()).lineSpacing(),
              words = size::row + (std::min(lines, most_lines) - 1) * spacing;
    return stacked_ && has_changes(row) ? std::max(stacked_row, words) : words;
}

bool FigureTable::has_changes(int row) const {
    for (int c = 1; c < columnCount(); ++c)
        if (const auto* cell = item(row, c); cell != nullptr && !cell->data(change_role).toString().isEmpty())
            return true;
    return false;
}

/// What has no room is said; what is seen whole is not said again.
bool FigureTable::viewportEvent(QEvent* event) {
    if (event->type() != QEvent::ToolTip) return QTableWidget::viewportEvent(event);
    const auto* help = static_cast<QHelpEvent*>(event);
    const auto* cell = itemAt(help->pos());
    if (cell == nullptr || !cell->toolTip().isEmpty() || is_whole(cell->row(), cell->column()))
        return QTableWidget::viewportEvent(event);
    QToolTip::showText(help->globalPos(), cell->text(), viewport());
    return true;
}

void FigureTable::resizeEvent(QResizeEvent* event) {
    QTableWidget::resizeEvent(event);
    divide();
}

bool FigureTable::is_whole(int row, int column) const {
    const auto* cell = item(row, column);
    if (cell == nullptr) return true;
    const int room = words_room(row, column);
    if (cell->data(figure_role).toBool())
        return width_of(cell->data(best_role).toBool() ? bold_font() : font(), cell->data(value_role).toString()) <=
               room;
    return lines_of(font(), column == 0 ? cell->text() : cell->data(value_role).toString(), room) <=
           lines_in(font(), rowHeight(row));
}

}  // namespace skippipe
