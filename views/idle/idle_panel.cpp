// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/idle/idle_panel.h"

#include <algorithm>
#include <numeric>

#include <QEvent>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QPainter>
#include <QStyledItemDelegate>
#include <QVBoxLayout>

#include "views/theme/numbers.h"
#include "views/theme/theme.h"
#include "views/theme/widgets.h"
#include "views/theme/words.h"
#include "views/timeline/colours.h"
#include "views/timeline/lane_key.h"

namespace skippipe {
namespace {

constexpr int narrowest_bar = 20, number_width = 76;
constexpr int least_told_bar = 90;           ///< pixels: in fewer, causes could not be told apart by their bars
constexpr int cause_bar = 12, low_row = 16;  ///< pixels; rows are as low where else some would not be seen
constexpr int tall_row = 36;                 ///< where there is room
constexpr int least_width = 316;             ///< the longest cause is written out
constexpr int share_role = Qt::UserRole,     // of a whole bar
    cause_role = Qt::UserRole + 1;

/// What a whole bar is, as a share of the time: short bars could not be told apart, and where each panel had its own
/// longest they could not be compared.
double whole_bar(double largest) {
    for (const double whole : {0.1, 0.2, 0.5})
        if (largest <= whole) return whole;
    return 1;
}

/// In lines that end where they have no more room.
QString wrapped(const QStringList& lines) { return Qt::convertFromPlainText(lines.join('\n'), Qt::WhiteSpaceNormal); }

/// Draws a cause's share of the time as a bar of its colour.
class BarDelegate final : public QStyledItemDelegate {
public:
    using QStyledItemDelegate::QStyledItemDelegate;
    void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override {
        const double share = std::clamp(index.data(share_role).toDouble(), 0.0, 1.0);
        const auto cause = static_cast<IdleCause>(index.data(cause_role).toInt());
        const double tall = std::max<double>(cause_bar, option.rect.height() / 2);
        const double aside = (option.rect.height() - tall) / 2;
        QRectF box = QRectF(option.rect).adjusted(4, aside, -8, -aside);
        box.setWidth(std::max(share > 0 ? 2.0 : 0.0, box.width() * share));
        paint_cause_bar(*painter, box, cause);
    }
};

}  // namespace

IdlePanel::IdlePanel(QWidget* parent)
    : QWidget(parent),
      title_(new QLabel),
      scale_(new QLabel),
      devices_(new QLabel),
      empty_(new QLabel),
      table_(new QTableWidget(0, 3)),
      room_(new QWidget) {
    setMinimumWidth(least_width);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, size::gap, 0, 0);
    column->setSpacing(size::unit);
    title_->setProperty("role", "heading");
    title_->setContentsMargins(size::gap + 3, 0, size::gap, 0);
    title_->setWordWrap(true);
    title_->setMinimumHeight(size::row);
    title_->setObjectName("why_idle");
    scale_->setProperty("role", "small");
    scale_->setContentsMargins(0, 0, size::gap + 3, 0);
    scale_->setObjectName("cause_scale");
    empty_->setProperty("role", "secondary");
    empty_->setAlignment(Qt::AlignCenter);
    empty_->setWordWrap(true);
    devices_->setProperty("role", "secondary");
    devices_->setContentsMargins(size::gap + 3, 0, size::gap, size::unit);
    devices_->setWordWrap(true);
    devices_->hide();
    auto* head = new QHBoxLayout;
    head->setSpacing(0);
    head->addWidget(title_, 1);
    head->addWidget(scale_);
    column->addLayout(head);
    column->addWidget(devices_);
    auto* room_column = seamless_column(room_);
    room_column->addWidget(table_, 1);
    room_column->addStretch();
    column->addWidget(room_, 1);
    column->addWidget(empty_, 1);
    table_->setItemDelegateForColumn(1, new BarDelegate(table_));
    make_figures(*table_, tr("Idle time by cause"));
    table_->setFocusPolicy(Qt::TabFocus);  // rows lead to the waits: by keys too
    table_->setSelectionMode(QAbstractItemView::SingleSelection);
    table_->setSelectionBehavior(QAbstractItemView::SelectRows);
    const auto choose = [this](int row) {
        if (const auto* item = table_->item(row, 1))
            Q_EMIT chosen(static_cast<IdleCause>(item->data(cause_role).toInt()));
    };
    connect(table_, &QTableWidget::cellClicked, this, choose);
    connect(table_, &QTableWidget::cellActivated, this, choose);
    table_->viewport()->setCursor(Qt::PointingHandCursor);
    table_->verticalHeader()->setMinimumSectionSize(low_row);
    table_->setVerticalScrollMode(QAbstractItemView::ScrollPerItem);  // whole rows
    table_->horizontalHeader()->setMinimumSectionSize(narrowest_bar);
    table_->horizontalHeader()->setSectionResizeMode(QHeaderView::Fixed);
    table_->viewport()->installEventFilter(this);
    room_->installEventFilter(this);
}

void IdlePanel::name_causes(QString (*words_of)(IdleCause)) {
    for (int row = 0; row < table_->rowCount(); ++row)
        table_->item(row, 0)->setText(words_of(static_cast<IdleCause>(table_->item(row, 1)->data(cause_role).toInt())));
}

/// Words and numbers first: a bar is as wide as they leave room for. Where that is too little for bars, causes are
/// called as in keys.
void IdlePanel::share_width() {
    const auto widest = [&](int column) {
        int width = 0;
        for (int row = 0; row < table_->rowCount(); ++row)
            width = std::max(width, table_->fontMetrics().horizontalAdvance(table_->item(row, column)->text()));
        return width + 2 * size::gap;
    };
    const int numbers = std::max(number_width, widest(2) + size::gap), room = table_->viewport()->width() - numbers;
    name_causes(cause_words);
    if (room - widest(0) - size::gap < least_told_bar)
        name_causes([](IdleCause cause) { return capitalised(short_cause_words(cause)); });
    const int words = std::min(widest(0) + size::gap, room - narrowest_bar);
    table_->setColumnWidth(0, words);
    table_->setColumnWidth(1, room - words);
    table_->setColumnWidth(2, numbers);
}

/// Rows are as high as lets all be seen, else as many as can be read are seen whole, and none in part.
void IdlePanel::share_height() {
    const int count = table_->rowCount(), frame = 2 * table_->frameWidth(), room = room_->height() - frame;
    if (count == 0) return;
    const int seen = std::clamp(room / low_row, 1, count);
    const int row = std::clamp(room / seen, low_row, tall_row);
    table_->verticalHeader()->setDefaultSectionSize(row);
    table_->setMaximumHeight(seen < count ? seen * row + frame : QWIDGETSIZE_MAX);
}

void IdlePanel::mark(std::optional<IdleCause> cause) {
    marked_ = cause;
    select_marked();
}

void IdlePanel::select_marked() {
    table_->clearSelection();
    for (int row = 0; row < table_->rowCount() && marked_; ++row)
        if (table_->item(row, 1)->data(cause_role).toInt() == static_cast<int>(*marked_)) table_->selectRow(row);
}

/// The viewport's width changes with the panel, and where a scroll bar comes or goes.
bool IdlePanel::eventFilter(QObject* watched, QEvent* event) {
    if (watched == table_->viewport() && event->type() == QEvent::Resize) share_width();
    if (watched == room_ && event->type() == QEvent::Resize) share_height();
    return QWidget::eventFilter(watched, event);
}

/// Where the title keeps its line beside it.
void IdlePanel::fit_scale() {
    const QMargins aside = title_->contentsMargins();
    const int title = title_->fontMetrics().horizontalAdvance(title_->text()) + aside.left() + aside.right();
    scale_->setVisible(!scale_->text().isEmpty() && title + scale_->sizeHint().width() < width());
}

void IdlePanel::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    fit_scale();
}

void IdlePanel::show_nothing(const QString& why) {
    title_->setText(tr("Why nodes idle"));
    room_->hide();
    scale_->clear();
    fit_scale();
    empty_->setText(why);
    empty_->show();
}

void IdlePanel::show_devices(const QString& words, const QString& meaning) {
    devices_->setText(words);
    devices_->setToolTip(meaning);
    devices_->setVisible(!words.isEmpty());
}

void IdlePanel::show_shares(const QString& title, const std::array<double, idle_causes>& shares) {
    title_->setText(title);
    empty_->hide();
    room_->show();
    std::array<std::size_t, idle_causes> order{};
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return shares[a] > shares[b]; });
    const auto count = static_cast<int>(std::count_if(shares.begin(), shares.end(), [](double s) { return s > 5e-6; }));
    const double whole = count > 0 ? whole_bar(shares[order[0]]) : 1;
    scale_->setText(count > 0 ? tr("bars 0–%1").arg(whole_percent(whole)) : QString{});
    scale_->setToolTip(tr("What bars have room for: up to %1 of the time").arg(whole_percent(whole)));
    fit_scale();
    table_->setRowCount(count);  // the last of what lays out: rows have no items yet
    for (int row = 0; row < count; ++row) {
        const auto cause = order[static_cast<std::size_t>(row)];
        auto* words = new QTableWidgetItem(cause_words(static_cast<IdleCause>(cause)));
        const QStringList tip{cause_words(static_cast<IdleCause>(cause)), cause_meaning(static_cast<IdleCause>(cause)),
                              tr("A click finds these waits in the timeline")};
        words->setToolTip(wrapped(tip));
        words->setData(Qt::AccessibleTextRole, cause_words(static_cast<IdleCause>(cause)));
        auto* bar = new QTableWidgetItem;
        bar->setData(share_role, shares[cause] / whole);
        bar->setToolTip(wrapped(tip + QStringList{scale_->toolTip()}));
        bar->setData(cause_role, static_cast<int>(cause));
        auto* number = new QTableWidgetItem(percent(shares[cause]));
        number->setToolTip(words->toolTip());
        number->setTextAlignment(Qt::AlignRight | Qt::AlignVCenter);
        table_->setItem(row, 0, words);
        table_->setItem(row, 1, bar);
        table_->setItem(row, 2, number);
    }
    select_marked();
    share_width();
    share_height();
}

}  // namespace skippipe
