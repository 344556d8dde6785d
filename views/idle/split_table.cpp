// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/idle/split_table.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include <QBuffer>
#include <QEvent>
#include <QHeaderView>
#include <QPainter>
#include <QPixmap>
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
constexpr int share_width = 76, least_split_width = 60;
constexpr int split_row = 20;                ///< pixels: of many nodes as many as can be read are in sight
constexpr double least_named_share = 0.005;  ///< of all rows: of one row it may be much

QColor busy_colour() { return mix(theme().surface, theme().text_2, 0.8); }  // no cause is as dark

/// Work first, in grey; then the causes, the longest first: the same order as in words.
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

/// A part as the bars have it, within rich text.
QString swatch_html(std::optional<IdleCause> cause, double pixel_ratio) {
    constexpr QSize picture(16, 10);
    QPixmap pixmap(picture * pixel_ratio);
    pixmap.setDevicePixelRatio(pixel_ratio);
    pixmap.fill(theme().surface);
    QPainter painter(&pixmap);
    paint_part(painter, QRectF({}, picture), cause);
    painter.end();
    QByteArray png;
    QBuffer buffer(&png);
    buffer.open(QIODevice::WriteOnly);
    pixmap.save(&buffer, "PNG");
    return QStringLiteral("<img width=\"%1\" height=\"%2\" src=\"data:image/png;base64,%3\">")
        .arg(picture.width())
        .arg(picture.height())
        .arg(QString::fromLatin1(png.toBase64()));
}

class SplitDelegate final : public QStyledItemDelegate {
public:
    using QStyledItemDelegate::QStyledItemDelegate;
    void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override {
        const auto parts = index.data(split_role).toList();
        const QRectF box = QRectF(option.rect).adjusted(4, 4, -8, -4);
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
        const auto words = describe(static_cast<IdleCause>(cause));
        lines << QObject::tr("%1 %2, %3")
                     .arg(QString::fromUtf8(words.data(), static_cast<qsizetype>(words.size())),
                          duration(split.idle_s[cause]), percent(split.idle_s[cause] / whole_s));
    }
    return lines.join('\n');
}

SplitTable::SplitTable(const QString& name, QWidget* parent)
    : QWidget(parent), table_(new QTableWidget(0, 3)), legend_(words_label({}, "small")) {
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, size::unit, 0, 0);
    column->setSpacing(0);
    column->addWidget(table_);
    column->addWidget(legend_);
    legend_->setContentsMargins(size::gap + 3, size::unit, size::gap, size::unit);
    legend_->setTextFormat(Qt::RichText);
    make_plain(*table_, name);
    table_->setHorizontalHeaderLabels({QString{}, tr("Works and waits"), tr("Idle")});
    table_->horizontalHeader()->setHighlightSections(false);
    table_->horizontalHeader()->setFixedHeight(split_row);
    table_->horizontalHeaderItem(0)->setTextAlignment(Qt::AlignLeft | Qt::AlignVCenter);
    table_->horizontalHeaderItem(1)->setTextAlignment(Qt::AlignLeft | Qt::AlignVCenter);
    table_->horizontalHeaderItem(2)->setTextAlignment(Qt::AlignRight | Qt::AlignVCenter);
    table_->verticalHeader()->setDefaultSectionSize(split_row);
    table_->setSelectionBehavior(QAbstractItemView::SelectRows);
    table_->setSelectionMode(QAbstractItemView::SingleSelection);
    table_->setItemDelegateForColumn(1, new SplitDelegate(table_));
    table_->setVerticalScrollMode(QAbstractItemView::ScrollPerPixel);
    table_->horizontalHeader()->setMinimumSectionSize(least_split_width);
    table_->horizontalHeader()->setSectionResizeMode(0, QHeaderView::ResizeToContents);
    table_->horizontalHeader()->setSectionResizeMode(1, QHeaderView::Stretch);
    table_->horizontalHeader()->setSectionResizeMode(2, QHeaderView::Fixed);
    table_->setColumnWidth(2, share_width);
    const auto choose = [this](int row) { Q_EMIT chosen(row + 1 < table_->rowCount() ? row : -1); };
    connect(table_, &QTableWidget::cellClicked, this, choose);
    connect(table_, &QTableWidget::cellActivated, this, choose);
}

void SplitTable::show_rows(const std::vector<Row>& rows, const QString& all) {
    table_->setRowCount(static_cast<int>(rows.size()) + 1);
    std::vector<IdleSplit> parts;
    for (const auto& row : rows) parts.push_back(row.split);
    for (int i = 0; i < static_cast<int>(rows.size()); ++i) put(i, rows[static_cast<std::size_t>(i)], false);
    sum_ = sum_of(parts);
    put(static_cast<int>(rows.size()), {all, sum_}, true);
    explain();
}

/// The causes of the bars, in their order; a row's card names all of them.
void SplitTable::explain() {
    const auto entry = [this](std::optional<IdleCause> cause, const QString& words) {
        return swatch_html(cause, devicePixelRatioF()) + QStringLiteral("&nbsp;") + unbroken_html(words);
    };
    QStringList entries{entry(std::nullopt, tr("Works"))};
    for (const auto cause : causes_by_length(sum_)) {
        if (!(sum_.idle_s[cause] > least_named_share * sum_.whole_s())) break;
        const auto one = static_cast<IdleCause>(cause);
        entries << entry(one, short_cause_words(one));
    }
    QString words;
    if (sum_.whole_s() > 0) {
        // In cells, and in short, since a line may break between a picture and its words.
        constexpr qsizetype across = 3;
        words = QStringLiteral("<table width=\"100%\">");
        for (qsizetype i = 0; i < entries.size(); ++i) {
            const bool last = i % across == across - 1 || i + 1 == entries.size();
            words +=
                QStringLiteral("%1<td>%2</td>%3").arg(i % across == 0 ? "<tr>" : "", entries[i], last ? "</tr>" : "");
        }
        words += QStringLiteral("</table>");
    }
    if (legend_->text() != words) legend_->setText(words);
    legend_->setVisible(!words.isEmpty());
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
        for (const auto cause : causes_by_length(what.split))
            parts << what.split.idle_s[cause] / whole_s << static_cast<int>(cause);
    }
    auto* name = new QTableWidgetItem(what.name);
    auto* bar = new QTableWidgetItem;
    auto* idle = new QTableWidgetItem(percent(what.split.idle_share()));
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
