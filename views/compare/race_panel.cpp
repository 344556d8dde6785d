// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/compare/race_panel.h"

#include <QDoubleValidator>
#include <QEvent>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QScrollBar>
#include <QSignalBlocker>
#include <QVBoxLayout>

#include "views/compare/loss_box.h"
#include "views/curves/curve_set.h"
#include "views/runs/clock_words.h"
#include "views/runs/same_work.h"
#include "views/theme/numbers.h"
#include "views/theme/row_hover.h"
#include "views/theme/theme.h"
#include "views/theme/widgets.h"

namespace skippipe {
namespace {

constexpr WorkAxis race_axes[] = {WorkAxis::network_time, WorkAxis::machine_time, WorkAxis::microbatches,
                                  WorkAxis::block_flops,  WorkAxis::tokens,       WorkAxis::iteration};
constexpr const char* chosen = "chosen";  ///< property: what somebody has chosen, not what stands there unasked
constexpr int least_letters = 8, target_width = 72, least_name = 140, beside_names = 60;  ///< icon and padding
constexpr int least_width = Qt::UserRole;  ///< of a column: pixels of what stands in it
constexpr int least_table = 160;

QLabel* small_label(const QString& text) { return words_label(text, "secondary"); }

/// Of a column; what a style asks for a head has room for marks that are not there.
int width_of_words(const QAbstractItemView& table, const QTableWidgetItem& head, int column) {
    constexpr int head_padding = 24;
    return std::max(QFontMetrics(small_font()).size(0, head.text()).width() + head_padding,
                    table.sizeHintForColumn(column));
}

/// "run 1" of "Run 1, gpipe", "runs 1 and 3" of "Runs 1 and 3: skip ratio 0".
QString short_name(const QString& name) {
    const QString group = name.section(QStringLiteral(": "), 0, 0);
    QString words = group.startsWith(QObject::tr("Run ")) ? group.section(QStringLiteral(", "), 0, 0) : group;
    if (words.startsWith(QStringLiteral("Run"))) words[0] = words[0].toLower();
    return words;
}

}  // namespace

RacePanel::RacePanel(QWidget* parent)
    : QWidget(parent),
      controls_(new QWidget),
      metric_(new QComboBox),
      axis_(new QComboBox),
      group_(new QComboBox),
      target_(new QLineEdit),
      table_(new QTableWidget),
      chart_(new CurveChart),
      finding_(words_label({}, "heading")),
      words_(words_label({}, "secondary")),
      empty_(words_label({}, "secondary")),
      there_(new ElidedLabel) {
    auto* column = seamless_column(this);
    auto* row = new QHBoxLayout(controls_);
    row->setContentsMargins(size::gap, size::unit, size::gap, size::unit);
    row->setSpacing(size::gap);
    fill_losses(*metric_, {"validation_loss", "loss", "bits_per_byte"});
    for (const auto axis : race_axes)
        axis_->addItem(axis == WorkAxis::block_flops ? tr("Block FLOPs") : axis_label(axis));
    metric_->setAccessibleName(tr("Loss"));
    axis_->setAccessibleName(tr("Equal"));
    group_->setAccessibleName(tr("Group runs by"));
    for (auto* box : {metric_, axis_, group_}) {  // so narrow that the page fits a window of 1024 pixels
        box->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
        box->setMinimumContentsLength(least_letters);
    }
    connect(group_, &QComboBox::activated, this,
            [this](int index) { group_->setProperty(chosen, group_->itemText(index)); });
    target_->setAccessibleName(tr("Loss to reach"));
    target_->setToolTip(tr("The loss to reach; empty: the worst last one, which all reach"));
    target_->setObjectName("race_target");
    target_->setFixedWidth(target_width);
    auto* number = new QDoubleValidator(0, 1e9, 9, target_);
    number->setLocale(QLocale::c());
    target_->setValidator(number);
    for (auto* widget : std::initializer_list<QWidget*>{metric_, small_label(tr("to")), target_,
                                                        small_label(tr("over")), axis_, small_label(tr("by")), group_})
        row->addWidget(widget);
    row->addStretch();
    column->addWidget(controls_);
    words_->setWordWrap(true);
    words_->setContentsMargins(size::gap, 0, size::gap, size::unit);
    finding_->setObjectName("race_finding");
    finding_->setContentsMargins(size::gap, 0, size::gap, 0);
    column->addWidget(finding_);
    column->addWidget(words_);
    column->addWidget(table_);
    there_->setObjectName("race_crosshair");
    there_->setProperty("role", "secondary");
    there_->setContentsMargins(size::gap, 0, size::gap, 0);
    column->addWidget(there_);
    column->addWidget(chart_, 1);
    chart_->setObjectName("race_chart");
    connect(chart_, &CurveChart::hovered, this, [this](double x) {
        chart_->set_crosshair(x);
        tell_crosshair();
    });
    connect(chart_, &CurveChart::left, this, [this] {
        chart_->set_crosshair({});
        tell_crosshair();
    });
    connect(chart_, &CurveChart::all_wanted, this, &RacePanel::draw_chart);
    empty_->setAlignment(Qt::AlignCenter);
    empty_->setWordWrap(true);
    column->addWidget(empty_, 1);
    table_->setObjectName("race");
    make_plain(*table_, tr("To a loss"));
    table_->setItemDelegate(new HoverDelegate(table_));
    follow_hover(*table_);
    table_->setWordWrap(true);
    table_->setTextElideMode(Qt::ElideNone);
    table_->setHorizontalScrollMode(QAbstractItemView::ScrollPerPixel);
    table_->horizontalHeader()->setMinimumSectionSize(24);
    table_->viewport()->installEventFilter(this);
    for (auto* box : {metric_, axis_, group_}) connect(box, &QComboBox::currentIndexChanged, this, &RacePanel::draw);
    connect(target_, &QLineEdit::textChanged, this, &RacePanel::draw);
}

/// What is chosen stays, where it is there.
void RacePanel::fill_groups() {
    const QSignalBlocker quiet(group_);
    const QString before = group_->property(chosen).toString();
    groupings_ = groupings(shown_);
    if (shown_.size() > 1) {
        QStringList own;
        for (const auto* run : shown_)
            own << tr("Run %1, %2").arg(run->info.id).arg(QString::fromStdString(run->info.planner));
        groupings_.insert(groupings_.begin(), {tr("Nothing"), own});
    }
    group_->clear();
    for (const auto& grouping : groupings_) group_->addItem(grouping.name);
    const int place = before.isEmpty() ? -1 : group_->findText(before);
    const int seeds = group_->findText(tr("All but seed"));
    group_->setCurrentIndex(place >= 0 ? place : seeds >= 0 ? seeds : std::min(1, group_->count() - 1));
}

void RacePanel::show_runs(const std::vector<std::shared_ptr<const RunData>>& runs) {
    std::vector<const RunData*> all;
    for (const auto& run : runs) all.push_back(run.get());
    const auto held = held_against(all, 0);
    held_.clear();
    shown_.clear();
    aside_.clear();
    for (std::size_t i = 0; i < runs.size(); ++i) {
        if (held[i])
            held_.push_back(runs[i]), shown_.push_back(all[i]);
        else
            aside_.push_back(all[i]->info.id);
    }
    points_.keep(held_);
    choose_readable_loss(*metric_, shown_);
    axis_->setItemText(0, axis_label(race_axes[0], clock_of(shown_)));
    fill_groups();
    draw();
}

QStringList RacePanel::keys() const {
    const int chosen = group_->currentIndex();
    return chosen < 0 ? QStringList{} : groupings_[static_cast<std::size_t>(chosen)].keys;
}

void RacePanel::changeEvent(QEvent* event) {
    QWidget::changeEvent(event);
    if (event->type() == QEvent::StyleChange) draw();
}

void RacePanel::draw() {
    RaceChoice choice{metric_->currentData().toString().toStdString(), race_axes[axis_->currentIndex()], {}, keys()};
    bool is_number = false;
    if (const double target = QLocale::c().toDouble(target_->text(), &is_number); is_number) choice.target = target;
    const auto race = race_table(shown_, choice, points_);
    const bool any = !race.rows.empty();
    table_->setVisible(any);
    words_->setVisible(any);
    empty_->setVisible(!any);
    empty_->setText(shown_.size() < 2 ? tr("Select two or more runs to see which is first at a loss")
                                      : tr("The selected runs have no values of this kind"));
    chart_->setVisible(any);
    there_->setVisible(any);
    controls_->setVisible(shown_.size() > 1);
    level_ = race.target;
    target_->setPlaceholderText(race.target ? three_digits(*race.target) : tr("loss"));
    words_->setText(race.words + (aside_.empty() ? QString{} : tr(" %1.").arg(set_aside_words(aside_))));
    finding_->setText(race.finding);
    finding_->setVisible(any && !race.finding.isEmpty());
    table_->clear();
    table_->setColumnCount(static_cast<int>(race.headers.size()));
    table_->setRowCount(static_cast<int>(race.rows.size()));
    table_->setHorizontalHeaderLabels(race.headers);
    for (int r = 0; r < table_->rowCount(); ++r)
        for (int c = 0; c < table_->columnCount(); ++c) {
            const auto& cell = race.rows[static_cast<std::size_t>(r)][static_cast<std::size_t>(c)];
            auto* item = new QTableWidgetItem(cell.words);
            item->setToolTip(cell.details);
            if (c == 0)
                item->setIcon(QIcon(run_swatch(race.first_runs[static_cast<std::size_t>(r)])));
            else
                item->setTextAlignment(Qt::AlignRight | Qt::AlignVCenter);
            if (cell.verdict != Verdict::none)
                item->setForeground(cell.verdict == Verdict::better ? theme().good : theme().bad);
            table_->setItem(r, c, item);
        }
    for (int c = 0; c < table_->columnCount(); ++c) {
        table_->horizontalHeaderItem(c)->setTextAlignment((c > 0 ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
        table_->horizontalHeaderItem(c)->setData(least_width,
                                                 width_of_words(*table_, *table_->horizontalHeaderItem(c), c));
    }
    if (any) share_width();
    draw_chart();
}

/// What is not seen is not drawn.
void RacePanel::draw_chart() {
    if (!isVisible()) return;
    CurveChoice choice;
    choice.metric = metric_->currentData().toString().toStdString();
    choice.x = race_axes[axis_->currentIndex()];
    choice.groups = keys();
    auto set = curve_set(shown_, shown_.empty() ? 0 : shown_.front()->info.id, choice, points_);
    if (set.y_label.isEmpty()) set.y_label = metric_->currentText();
    chart_->show_set(std::move(set), false);
    chart_->set_level(level_);
    tell_crosshair();
}

/// "Network time 12.0 s: run 1 3.42, run 2 5.01"; where the mouse is elsewhere, what it would tell.
void RacePanel::tell_crosshair() {
    const QString where = chart_->crosshair_words();
    if (where.isEmpty()) return there_->setText(tr("The losses under the pointer stand here"));
    QStringList values;
    for (const auto& curve : chart_->set().curves)
        if (const QString value = chart_->value_words(curve); curve.in_legend && !value.isEmpty())
            values << short_name(curve.name) + ' ' + value;
    there_->setText(values.isEmpty() ? where : where + QStringLiteral(": ") + values.join(QStringLiteral("; ")));
}

void RacePanel::showEvent(QShowEvent*) { draw_chart(); }

/// A style lays words out in fewer pixels than it asks rows to be high for.
int RacePanel::name_height(int row) const {
    const int room = table_->columnWidth(0) - beside_names;
    const QRect words = table_->fontMetrics().boundingRect(QRect(0, 0, std::max(1, room), 10'000), Qt::TextWordWrap,
                                                           table_->item(row, 0)->text());
    return words.height() + size::gap;
}

/// Columns that say nothing are not there; names have what the figures leave, and before their own lines wrap the
/// space between the figures.
void RacePanel::share_width() {
    int figures = 0, shown = 0, names = 0;
    for (int r = 0; r < table_->rowCount(); ++r)
        names = std::max(names, table_->fontMetrics().horizontalAdvance(table_->item(r, 0)->text()) + beside_names);
    for (int c = 1; c < table_->columnCount(); ++c) {
        bool says_something = false;
        for (int r = 0; r < table_->rowCount(); ++r)
            says_something = says_something || !table_->item(r, c)->text().isEmpty();
        table_->setColumnHidden(c, !says_something);
        if (!says_something) continue;
        ++shown;
        figures += table_->horizontalHeaderItem(c)->data(least_width).toInt();
    }
    const int free = table_->viewport()->width() - figures - names;
    const int apart = shown == 0 ? 0 : std::clamp(free / shown, 0, int{size::gap});
    for (int c = 1; c < table_->columnCount(); ++c)
        if (!table_->isColumnHidden(c))
            table_->setColumnWidth(c, table_->horizontalHeaderItem(c)->data(least_width).toInt() + apart);
    figures += shown * apart;
    if (table_->columnCount() > 0)
        table_->setColumnWidth(0, std::max(least_name, table_->viewport()->width() - figures));
    table_->resizeRowsToContents();
    int height = table_->horizontalHeader()->sizeHint().height() + table_->horizontalScrollBar()->sizeHint().height();
    for (int r = 0; r < table_->rowCount(); ++r) {
        table_->setRowHeight(r, std::max({int{size::row}, table_->rowHeight(r) + size::gap, name_height(r)}));
        height += table_->rowHeight(r);
    }
    table_->setFixedHeight(std::min(height, std::max(least_table, this->height() / 2)));
}

bool RacePanel::eventFilter(QObject* watched, QEvent* event) {
    if (event->type() == QEvent::Resize && watched == table_->viewport()) share_width();
    return QWidget::eventFilter(watched, event);
}

}  // namespace skippipe
