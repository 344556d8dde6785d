// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/idle/split_table.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

#include <QApplication>
#include <QHeaderView>
#include <QKeyEvent>
#include <QPainter>
#include <QPixmap>
#include <QScrollBar>
#include <QStyledItemDelegate>
#include <QVBoxLayout>

#include "views/theme/numbers.h"
#include "views/theme/theme.h"
#include "views/theme/widgets.h"
#include "views/timeline/colours.h"
#include "views/timeline/lane_key.h"

namespace skippipe {
namespace {

constexpr int split_role = Qt::UserRole;
constexpr int name_column = 0, work_column = 1, idle_column = 2, split_columns = 3;
constexpr int share_width = 76, least_split_width = 60;
constexpr int split_row = 20, tall_split_row = 32;  ///< pixels: of many nodes as many as can be read are in sight
constexpr int low_split_row = 17;                   ///< where all of them are in sight then
constexpr double least_named_share = 0.01, least_named_of_a_row = 0.03;  ///< that the key names

/// A share in the three figures that it is written in.
double as_written(double share) {
    const double steps = share >= 0.1 ? 1e3 : share >= 0.01 ? 1e4 : 1e5;
    return std::round(share * steps) / steps;
}

QColor busy_colour() { return mix(theme().surface, theme().text_2, 0.8); }  // no cause is as dark

/// The longest first.
std::vector<std::size_t> causes_by_length(const IdleSplit& split) {
    std::vector<std::size_t> order(idle_causes);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return split.idle_s[a] > split.idle_s[b]; });
    return order;
}

/// Work, or a wait as beside the causes and in the lanes.
void paint_part(QPainter& painter, const QRectF& part, std::optional<IdleCause> cause) {
    if (!cause) return painter.fillRect(part, busy_colour());
    painter.fillRect(part, cause_fill(theme(), *cause, ColourBy::cause));
    painter.fillRect(part, cause_brush(theme(), *cause, painter.device()->devicePixelRatioF()));
    painter.fillRect(QRectF(part.left(), part.top(), 1, part.height()), cause_ink(theme(), *cause, ColourBy::cause));
}

/// A part as the bars have it.
QPixmap part_picture(std::optional<IdleCause> cause, double pixel_ratio) {
    constexpr QSize picture(16, 10);
    QPixmap pixmap(picture * pixel_ratio);
    pixmap.setDevicePixelRatio(pixel_ratio);
    pixmap.fill(theme().surface);
    QPainter painter(&pixmap);
    paint_part(painter, QRectF({}, picture), cause);
    return pixmap;
}

class SplitDelegate final : public QStyledItemDelegate {
public:
    using QStyledItemDelegate::QStyledItemDelegate;
    void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override {
        const auto* style = option.widget != nullptr ? option.widget->style() : QApplication::style();
        style->drawPrimitive(QStyle::PE_PanelItemViewItem, &option, painter, option.widget);  // selected
        const auto parts = index.data(split_role).toList();
        const QRectF box = QRectF(option.rect).adjusted(4, option.rect.height() / 5, -8, -option.rect.height() / 5);
        double from = 0;
        for (qsizetype i = 0; i + 1 < parts.size(); i += 2) {
            const double share = parts[i].toDouble(), to = from + share;
            const int cause = parts[i + 1].toInt();
            const double x0 = std::round(box.left() + from * box.width()),
                         x1 = std::round(box.left() + to * box.width());
            from = to;
            if (x1 <= x0) continue;
            const QRectF part(x0, box.top(), x1 - x0, box.height());
            paint_part(*painter, part, cause < 0 ? std::nullopt : std::optional(IdleCause(cause)));
        }
    }
};

}  // namespace

QString split_words(const IdleSplit& split) {
    const double whole_s = split.whole_s();
    if (!(whole_s > 0)) return QObject::tr("Nothing was recorded");
    QStringList lines{QObject::tr("%1 in all").arg(duration(whole_s)),
                      QObject::tr("works %1, %2").arg(duration(split.busy_s), percent(split.busy_s / whole_s))};
    for (const auto cause : causes_by_length(split)) {
        if (!(split.idle_s[cause] > 0)) break;
        lines << QObject::tr("%1 %2, %3")
                     .arg(cause_in_sentence(static_cast<IdleCause>(cause)), duration(split.idle_s[cause]),
                          percent(split.idle_s[cause] / whole_s));
    }
    return lines.join('\n');
}

SplitTable::SplitTable(const QString& name, const QString& head, Order first, QWidget* parent)
    : QWidget(parent),
      finding_(words_label({}, "heading")),
      table_(new QTableWidget(0, split_columns)),
      legend_(new FlowKey(small_font())) {
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, size::unit, 0, 0);
    column->setSpacing(0);
    finding_->setWordWrap(true);  // what it says ends in its figure
    finding_->setObjectName("idles_most");
    finding_->setContentsMargins(size::gap + 3, 0, size::gap, size::unit);
    column->addWidget(finding_);
    column->addWidget(table_, 1);
    column->addWidget(legend_);
    column->addStretch();  // the key stands below the last row
    legend_->setContentsMargins(size::gap + 3, size::unit, size::gap, size::unit);
    make_plain(*table_, name);
    table_->setHorizontalHeaderLabels({head, tr("Works and waits"), tr("Idle")});
    auto& heads = *table_->horizontalHeader();
    heads.setHighlightSections(false);
    heads.setFixedHeight(split_row);
    for (int i = 0; i < split_columns; ++i) {
        auto* item = table_->horizontalHeaderItem(i);
        item->setTextAlignment((i == idle_column ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
        item->setToolTip(i == name_column   ? tr("Orders them as the run has them (S)")
                         : i == work_column ? tr("Orders them by the share that they work (S)")
                                            : tr("Orders them by the share that they idle (S)"));
        if (i != name_column) item->setData(Qt::InitialSortOrderRole, Qt::DescendingOrder);
    }
    table_->verticalHeader()->setMinimumSectionSize(low_split_row);
    table_->verticalHeader()->setDefaultSectionSize(split_row);
    table_->setSelectionBehavior(QAbstractItemView::SelectRows);
    table_->setSelectionMode(QAbstractItemView::SingleSelection);
    table_->setItemDelegateForColumn(work_column, new SplitDelegate(table_));
    table_->setVerticalScrollMode(QAbstractItemView::ScrollPerItem);
    heads.setMinimumSectionSize(least_split_width);
    heads.setSectionResizeMode(name_column, QHeaderView::ResizeToContents);
    heads.setSectionResizeMode(work_column, QHeaderView::Stretch);
    heads.setSectionResizeMode(idle_column, QHeaderView::Fixed);
    table_->setColumnWidth(idle_column, share_width);
    heads.setSectionsClickable(true);
    heads.setSortIndicatorShown(true);
    if (first == Order::as_given)
        heads.setSortIndicator(name_column, Qt::AscendingOrder);
    else
        heads.setSortIndicator(idle_column, Qt::DescendingOrder);
    connect(&heads, &QHeaderView::sortIndicatorChanged, this, &SplitTable::arrange);
    table_->installEventFilter(this);
    const auto choose = [this](int row) {
        Q_EMIT chosen(row < static_cast<int>(order_.size()) ? order_[static_cast<std::size_t>(row)] : -1);
    };
    connect(table_, &QTableWidget::cellClicked, this, choose);
    connect(table_, &QTableWidget::cellActivated, this, choose);
}

void SplitTable::show_rows(const std::vector<Row>& rows, const QString& all) {
    const bool same = std::equal(rows.begin(), rows.end(), rows_.begin(), rows_.end(),
                                 [](const Row& a, const Row& b) { return a.name == b.name; });
    rows_ = rows;
    std::vector<IdleSplit> parts;
    for (const auto& row : rows_) parts.push_back(row.split);
    sum_ = {all, sum_of(parts)};
    if (!same) order_.clear();
    arrange();
    if (!same) select(marked_);
    explain();
    fit();
}

/// Rows first: what idles most is told in one line, with the cause as the key has it where it would not fit, and not at
/// all where its line is what the last rows lack; a key of several lines is folded as long as rows are out of sight.
void SplitTable::fit() {
    const QMargins aside = finding_->contentsMargins();
    const int wide = width() - aside.left() - aside.right();
    QString words = unbroken_numbers(finding(cause_in_sentence));
    if (QFontMetrics(bold_font()).horizontalAdvance(words) > wide) words = unbroken_numbers(finding(short_cause_words));
    finding_->setText(words);
    const int told = words.isEmpty() ? 0 : finding_->heightForWidth(width());
    const int whole = height() - told - size::unit - legend_->whole_height(width());
    const int rows = static_cast<int>(rows_.size()) + 1;  // with their sum
    const bool folds = whole < split_row * (rows + 1);    // and their head
    legend_->set_folds(folds);
    const int left = folds ? height() - told - size::unit - legend_->heightForWidth(width()) : whole;
    const int head = split_row + 2 * table_->frameWidth();
    const auto all_fit = [&](int pixels) { return (pixels - head) / rows >= low_split_row; };
    const bool gives_way = !all_fit(left) && all_fit(left + told);
    finding_->setVisible(told > 0 && !gives_way);
    const int room_for_rows = (gives_way ? left + told : left) - head;
    const int seen = all_fit(room_for_rows + head) ? rows : std::max(1, room_for_rows / split_row);  // whole ones
    const int row = std::clamp(room_for_rows / seen, low_split_row, tall_split_row);
    table_->verticalHeader()->setDefaultSectionSize(row);
    table_->setMaximumHeight(head + seen * row);
}

void SplitTable::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    fit();
}

/// "n0 idles most, 95.0 %: waiting for a gradient 40.2 %"; of what is selected "n3 idles 54.0 %: ...". Empty: nothing
/// idles, or there is one row.
QString SplitTable::finding(QString (*called)(IdleCause)) const {
    const auto most = std::max_element(rows_.begin(), rows_.end(), [](const Row& a, const Row& b) {
        return a.split.idle_share() < b.split.idle_share();
    });
    const bool any_marked = marked_ && *marked_ >= 0 && static_cast<std::size_t>(*marked_) < rows_.size();
    // One that never idles leaves its line to the one that does most.
    const auto told = any_marked && rows_[static_cast<std::size_t>(*marked_)].split.idle_share() > 0
                          ? rows_.begin() + *marked_
                          : most;
    if (rows_.size() < 2 || !(told->split.idle_share() > 0)) return {};
    const std::size_t cause = causes_by_length(told->split).front();
    return (told == most ? tr("%1 idles most, %2: %3 %4") : tr("%1 idles %2: %3 %4"))
        .arg(told->name, percent(told->split.idle_share()), called(static_cast<IdleCause>(cause)),
             percent(told->split.idle_s[cause] / told->split.whole_s()));
}

void SplitTable::mark(std::optional<int> row) {
    const bool is_other = std::exchange(marked_, row) != row;
    select(row);
    if (is_other && !row) go_to_top();  // where it was scrolled to for somebody
    if (is_other) fit();                // what it says is of that row
}

void SplitTable::go_to_top() { table_->scrollToTop(); }

void SplitTable::select(std::optional<int> row) {
    const auto place = row ? std::find(order_.begin(), order_.end(), *row) : order_.end();
    if (place == order_.end()) return table_->clearSelection();
    table_->selectRow(static_cast<int>(place - order_.begin()));
}

/// By the head that has the indicator; what is equal as it is written there, as it was given: rows of a run that goes
/// on would change places all the time for what nobody sees.
std::vector<int> SplitTable::ordered() const {
    const auto& heads = *table_->horizontalHeader();
    const auto key = [&](int i) {
        const auto& split = rows_[static_cast<std::size_t>(i)].split;
        switch (heads.sortIndicatorSection()) {
            case work_column: return as_written(split.whole_s() > 0 ? split.busy_s / split.whole_s() : 0.0);
            case idle_column: return as_written(split.idle_share());
            default: return static_cast<double>(i);
        }
    };
    std::vector<int> order(rows_.size());
    std::iota(order.begin(), order.end(), 0);
    const bool falls = heads.sortIndicatorOrder() == Qt::DescendingOrder;
    std::stable_sort(order.begin(), order.end(),
                     [&](int a, int b) { return falls ? key(a) > key(b) : key(a) < key(b); });
    return order;
}

/// Rows in their order, their sum last; whoever is selected stays so where it goes.
void SplitTable::arrange() {
    const auto before = std::exchange(order_, ordered());
    const auto count = static_cast<int>(rows_.size());
    table_->setRowCount(count + 1);
    for (int i = 0; i < count; ++i) put(i, rows_[static_cast<std::size_t>(order_[static_cast<std::size_t>(i)])], false);
    put(count, sum_, true);
    const auto selected = table_->selectionModel()->selectedRows();
    if (selected.isEmpty() || selected.front().row() >= static_cast<int>(before.size()) || before == order_) return;
    const int scrolled = table_->verticalScrollBar()->value();
    select(before[static_cast<std::size_t>(selected.front().row())]);
    table_->verticalScrollBar()->setValue(scrolled);
}

/// S: by the next head; with Shift the other way round.
bool SplitTable::eventFilter(QObject* watched, QEvent* event) {
    const auto* key = event->type() == QEvent::KeyPress ? dynamic_cast<QKeyEvent*>(event) : nullptr;
    if (key == nullptr || key->key() != Qt::Key_S || (key->modifiers() & ~Qt::ShiftModifier) != 0)
        return QWidget::eventFilter(watched, event);
    auto& heads = *table_->horizontalHeader();
    const bool turns = key->modifiers() == Qt::ShiftModifier;
    const int column = turns ? heads.sortIndicatorSection() : (heads.sortIndicatorSection() + 1) % split_columns;
    const bool falls = turns ? heads.sortIndicatorOrder() == Qt::AscendingOrder : column != name_column;
    heads.setSortIndicator(column, falls ? Qt::DescendingOrder : Qt::AscendingOrder);
    return true;
}

/// The causes of the bars, in their order; a row's card names all of them.
void SplitTable::explain() {
    std::vector<FlowKey::Entry> entries;
    const double whole_s = sum_.split.whole_s();
    if (whole_s > 0) entries.push_back({part_picture(std::nullopt, devicePixelRatioF()), tr("Works")});
    for (const auto cause : causes_by_length(sum_.split)) {
        const auto is_seen = [cause](const Row& row) {
            return row.split.idle_s[cause] > least_named_of_a_row * row.split.whole_s();
        };
        if (!(sum_.split.idle_s[cause] > least_named_share * whole_s) &&
            std::none_of(rows_.begin(), rows_.end(), is_seen))
            continue;
        const auto one = static_cast<IdleCause>(cause);
        entries.push_back({part_picture(one, devicePixelRatioF()), short_cause_words(one)});
    }
    legend_->set_entries(std::move(entries));
}

void SplitTable::changeEvent(QEvent* event) {
    QWidget::changeEvent(event);
    if (event->type() == QEvent::StyleChange) explain();
}

void SplitTable::put(int row, const Row& what, bool is_sum) {
    const double whole_s = what.split.whole_s();
    QVariantList parts;
    if (whole_s > 0) {
        parts << what.split.busy_s / whole_s << -1;
        for (const auto cause : causes_by_length(sum_.split))
            parts << what.split.idle_s[cause] / whole_s << static_cast<int>(cause);
    }
    auto* name = new QTableWidgetItem(what.name);
    auto* bar = new QTableWidgetItem;
    auto* idle = new QTableWidgetItem(whole_s > 0 ? percent(what.split.idle_share()) : QString(QChar(0x2013)));
    bar->setData(split_role, parts);
    idle->setTextAlignment(Qt::AlignRight | Qt::AlignVCenter);
    if (is_sum) name->setFont(bold_font()), idle->setFont(bold_font());
    int column = 0;
    for (auto* item : {name, bar, idle}) {
        item->setToolTip(split_words(what.split));
        table_->setItem(row, column++, item);
    }
}

}  // namespace skippipe
