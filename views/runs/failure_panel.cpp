// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/runs/failure_panel.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include <QApplication>
#include <QEvent>
#include <QHeaderView>
#include <QPainter>
#include <QStyledItemDelegate>
#include <QVBoxLayout>

#include "views/runs/clock_words.h"
#include "views/theme/numbers.h"
#include "views/theme/theme.h"
#include "views/theme/widgets.h"
#include "views/timeline/colours.h"

namespace skippipe {
namespace {

constexpr int account_row = 22;  ///< pixels of what losses came to: the list above it is read

/// "3, of n11", "5, of 2 nodes".
QString losses_value(int losses, const QStringList& nodes) {
    if (nodes.isEmpty()) return QString::number(losses);
    return QObject::tr("%1, of %2")
        .arg(losses)
        .arg(nodes.size() == 1 ? nodes.front() : QObject::tr("%1 nodes").arg(nodes.size()));
}

/// "n11 lost", "n11 lost 3 times", "3 nodes lost", "5 losses of 2 nodes"; where nobody knows of whom, "3 losses". In
/// brief "n11 lost 3×" and "5 losses".
QString lost_words(int losses, const QStringList& nodes, bool is_brief) {
    if (nodes.isEmpty()) return losses == 1 ? QObject::tr("1 node lost") : QObject::tr("%1 losses").arg(losses);
    if (nodes.size() > 1 && nodes.size() == losses) return QObject::tr("%1 nodes lost").arg(losses);
    if (nodes.size() > 1)
        return (is_brief ? QObject::tr("%1 losses") : QObject::tr("%1 losses of %2 nodes"))
            .arg(QString::number(losses), QString::number(nodes.size()));
    const QString times = losses == 1   ? QString{}
                          : is_brief    ? QObject::tr(" %1×").arg(losses)
                          : losses == 2 ? QObject::tr(" twice")
                                        : QObject::tr(" %1 times").arg(losses);
    return QObject::tr("%1 lost").arg(nodes.front()) + times;
}

/// Words that stand at the top of their row are as far from its edge there as below.
class RowDelegate final : public QStyledItemDelegate {
public:
    using QStyledItemDelegate::QStyledItemDelegate;
    void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override {
        QStyleOptionViewItem whole(option);
        initStyleOption(&whole, index);
        const auto* style = option.widget != nullptr ? option.widget->style() : QApplication::style();
        style->drawPrimitive(QStyle::PE_PanelItemViewItem, &whole, painter, option.widget);  // selected
        QStyleOptionViewItem words(option);
        words.rect.setTop(words.rect.top() + size::unit);
        QStyledItemDelegate::paint(painter, words, index);
    }
};

}  // namespace

FailurePanel::FailurePanel(QWidget* parent)
    : QWidget(parent), events_(new QTableWidget(0, 2)), table_(new QTableWidget(0, 2)) {
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(0);
    column->addWidget(events_, 1);
    column->addWidget(table_);

    make_plain(*events_, tr("What happened to the run"));
    events_->setObjectName("events");
    events_->setHorizontalHeaderLabels({tr("At"), tr("What happened")});
    events_->horizontalHeaderItem(0)->setToolTip(tr("From the run's start"));
    events_->horizontalHeaderItem(0)->setTextAlignment(Qt::AlignRight | Qt::AlignVCenter);
    events_->horizontalHeaderItem(1)->setTextAlignment(Qt::AlignLeft | Qt::AlignVCenter);
    events_->horizontalHeader()->setSectionResizeMode(0, QHeaderView::ResizeToContents);
    events_->horizontalHeader()->setSectionResizeMode(1, QHeaderView::Stretch);
    events_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    events_->setVerticalScrollMode(QAbstractItemView::ScrollPerPixel);
    events_->setWordWrap(true);
    events_->setItemDelegate(new RowDelegate(events_));
    events_->viewport()->installEventFilter(this);
    events_->setSelectionMode(QAbstractItemView::SingleSelection);
    events_->setToolTip(tr("Enter or a click goes to that moment"));
    const auto choose = [this](int row, int) {
        if (const auto* item = events_->item(row, 0)) Q_EMIT chosen(item->data(Qt::UserRole).toDouble());
    };
    connect(events_, &QTableWidget::cellClicked, this, choose);
    connect(events_, &QTableWidget::cellActivated, this, choose);

    make_figures(*table_, tr("Failures of the run"));
    table_->setObjectName("failures");
    table_->verticalHeader()->setMinimumSectionSize(account_row);
    table_->verticalHeader()->setDefaultSectionSize(account_row);
    table_->horizontalHeader()->setSectionResizeMode(0, QHeaderView::Stretch);
    table_->horizontalHeader()->setSectionResizeMode(1, QHeaderView::ResizeToContents);
}

/// New ones are added below those that are there, so that a selection and where it is scrolled to stay.
void FailurePanel::show_events(RunId run, const std::vector<RunEvent>& events) {
    const auto rows = static_cast<std::size_t>(events_->rowCount());
    if (run != run_ || rows > events.size() || (rows > 0 && events[rows - 1] != last_)) events_->setRowCount(0);
    run_ = run;
    last_ = events.empty() ? RunEvent{} : events.back();
    const int before = events_->rowCount();
    for (auto k = static_cast<std::size_t>(before); k < events.size(); ++k) add(events[k]);
    if (events_->rowCount() != before) wrap();
    events_->setVisible(!events.empty());
}

/// Sentences are seen whole; of very many, which would take long to lay out, a line each. Qt's own rows to contents
/// know nothing of the style sheet's margins.
void FailurePanel::wrap() {
    constexpr int most_wrapped = 500, margins = 2 * (size::gap + 3);
    const QFontMetrics& font = events_->fontMetrics();
    const QRect room(0, 0, events_->columnWidth(1) - margins, std::numeric_limits<short>::max());
    const bool wraps = events_->rowCount() <= most_wrapped;
    for (int row = 0; row < events_->rowCount(); ++row) {
        const int words = wraps ? font.boundingRect(room, Qt::TextWordWrap, events_->item(row, 1)->text()).height() : 0;
        events_->setRowHeight(row, std::max(words + 2 * size::unit, size::row));
    }
}

/// The columns have their widths after the viewport has its own.
bool FailurePanel::eventFilter(QObject* watched, QEvent* event) {
    if (watched == events_->viewport() && (event->type() == QEvent::Resize || event->type() == QEvent::Show))
        QMetaObject::invokeMethod(this, &FailurePanel::wrap, Qt::QueuedConnection);
    return QWidget::eventFilter(watched, event);
}

void FailurePanel::add(const RunEvent& event) {
    const int row = events_->rowCount();
    events_->insertRow(row);
    auto* when = new QTableWidgetItem(unbroken_numbers(duration(event.network_s)));
    when->setData(Qt::UserRole, event.network_s);
    auto* what = new QTableWidgetItem(unbroken_numbers(QString::fromStdString(event.what)));
    when->setTextAlignment(Qt::AlignRight | Qt::AlignTop);
    what->setTextAlignment(Qt::AlignLeft | Qt::AlignTop);
    auto tip = tr("In iteration %1, or before it").arg(event.iteration + 1);
    if (event.lasted_s > 0) tip += tr("; %1 until training went on, or could").arg(duration(event.lasted_s));
    for (auto* item : {when, what}) item->setToolTip(tip);
    events_->setItem(row, 0, when);
    events_->setItem(row, 1, what);
}

void FailurePanel::choose_event(double network_s) {
    const auto apart_s = [&](int row) {
        return std::abs(events_->item(row, 0)->data(Qt::UserRole).toDouble() - network_s);
    };
    int nearest = -1;
    for (int row = 0; row < events_->rowCount(); ++row)
        if (nearest < 0 || apart_s(row) < apart_s(nearest)) nearest = row;
    if (nearest < 0) return;
    events_->setCurrentCell(nearest, 1);
    events_->scrollToItem(events_->item(nearest, 0));
    Q_EMIT chosen(events_->item(nearest, 0)->data(Qt::UserRole).toDouble());
}

void FailurePanel::show_account(const LossAccount& account, const QStringList& nodes, RunClock clock) {
    struct Row {
        QString words, value, tip;
        bool happened = true;
    };
    const auto number = [](const QString& words, int count, const QString& tip) {
        return Row{words, QString::number(count), tip, count > 0};
    };
    const auto time = [](const QString& words, double seconds, const QString& tip) {
        return Row{words, duration(seconds), tip, seconds > 0};
    };
    const QString clock_words = in_sentence(time_name(clock));
    Row gradients = number(tr("Gradients lost"), account.lost_gradients,
                           tr("Gradients of one microbatch and stage that their iteration went without"));
    gradients.happened = true;  // that there were none matters
    std::vector<Row> rows{
        Row{tr("Losses"), losses_value(account.nodes, nodes), nodes.join(QStringLiteral(", ")), account.nodes > 0},
        time(tr("Iteration time lost"), account.lost_s,
             tr("What the disturbed iterations took longer than %1 each, %2")
                 .arg(duration(account.usual_s), clock_words)),
        std::move(gradients),
        number(tr("Operations run again"), account.redone_operations,
               tr("Forwards and backwards that lost nodes had done, and others did again")),
        time(tr("Until it was known"), account.detection_s,
             tr("From each loss to when it was known, %1, added up").arg(clock_words)),
        time(tr("Planning again"), account.replanning_s, tr("Machine time, added up")),
        time(tr("Fetching weights again"), account.refetching_s,
             tr("What nodes that came back waited for weights and AdamW's state, added up")),
        number(tr("Iterations disturbed"), account.iterations, tr("Iterations in which something was lost")),
        number(tr("Iterations begun again"), account.begun_again,
               tr("Where there was no way to go on without what was lost")),
        time(tr("Until training went on"), account.recovery_s,
             tr("From losses of ranks to the next iteration, added up"))};
    std::erase_if(rows, [](const Row& row) { return !row.happened; });
    table_->setVisible(account.nodes > 0);
    table_->setRowCount(static_cast<int>(rows.size()));
    for (int i = 0; i < table_->rowCount(); ++i) {
        const Row& row = rows[static_cast<std::size_t>(i)];
        auto* words = new QTableWidgetItem(row.words);
        auto* value = new QTableWidgetItem(row.value);
        value->setTextAlignment(Qt::AlignRight | Qt::AlignVCenter);
        for (auto* item : {words, value}) item->setToolTip(row.tip);
        table_->setItem(i, 0, words);
        table_->setItem(i, 1, value);
    }
    table_->setFixedHeight(table_->verticalHeader()->length() + 2 * table_->frameWidth());
}

LossKey::LossKey(QWidget* parent) : QToolButton(parent) {
    setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
    setAutoRaise(true);
    setObjectName("loss_key");
    setIconSize({20, 12});
    draw_key();
    hide();
}

void LossKey::show_losses(const LossAccount& account, const QStringList& nodes) {
    who_ = lost_words(account.nodes, nodes, false);
    who_in_brief_ = lost_words(account.nodes, nodes, true);
    cost_ = account.cost_time() ? tr(", +%1").arg(duration(account.lost_s)) : QString();
    this->name();
    setToolTip(
        tr("Drawn so: a node that is lost, full red until that was known.%1 A click leads from loss to loss and shows "
           "what they cost")
            .arg(account.cost_time() ? ' ' + tr("Iterations with losses took %1 longer than %2 each.")
                                                 .arg(duration(account.lost_s), duration(account.usual_s))
                                     : QString()));
    setVisible(account.nodes > 0);
}

void LossKey::set_short(bool on) {
    if (std::exchange(is_short_, on) != on) name();
}

void LossKey::name() {
    setText(' ' + (is_short_ ? who_in_brief_ : who_ + cost_));
}  // the style sets icon and text edge to edge

void LossKey::changeEvent(QEvent* event) {
    QToolButton::changeEvent(event);
    if (event->type() == QEvent::StyleChange) draw_key();
}

/// As the timeline's painter draws an outage.
void LossKey::draw_key() {
    const double scale = devicePixelRatioF();
    QPixmap picture(iconSize() * scale);
    picture.setDevicePixelRatio(scale);
    picture.fill(outage_fill(theme()));
    QPainter painter(&picture);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(outage_ink(theme()), 2));
    for (int x = 4; x < 40; x += 8) painter.drawLine(x, 0, x - 12, 12);
    painter.fillRect(0, 0, 5, 12, theme().bad);
    painter.end();
    setIcon(picture);
}

}  // namespace skippipe
