// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/curves/curve_panel.h"

#include <algorithm>

#include <QActionGroup>
#include <QComboBox>
#include <QGridLayout>
#include <QLabel>
#include <QListView>
#include <QMenu>
#include <QPushButton>
#include <QScrollArea>
#include <QSignalBlocker>
#include <QStandardItemModel>
#include <QToolButton>
#include <QVBoxLayout>

#include "views/curves/equal_words.h"
#include "views/curves/plot.h"
#include "views/runs/clock_words.h"
#include "views/runs/run_marks.h"
#include "views/runs/run_table.h"
#include "views/theme/flow_key.h"
#include "views/theme/numbers.h"
#include "views/theme/theme.h"
#include "views/theme/widgets.h"

namespace skippipe {
namespace {

constexpr WorkAxis x_choices[] = {WorkAxis::iteration,   WorkAxis::microbatches, WorkAxis::tokens,
                                  WorkAxis::block_flops, WorkAxis::network_time, WorkAxis::machine_time,
                                  WorkAxis::money};
constexpr std::pair<const char*, double> smoothings[] = {
    {"None", 0}, {"Light", 0.6}, {"Medium", 0.9}, {"Strong", 0.97}};
constexpr int two_columns_from = 640, three_columns_from = 1200, least_chart_height = 168, usual_in_column = 72,
              least_in_column = 40;
constexpr int x_words_height = 20;       ///< pixels of an axis of x with figures
constexpr double pleasant_aspect = 1.8;  ///< width of a chart over its height

/// So many charts a row that each is as near as can be to a pleasant shape, none lower than the least.
int columns_of(int charts, QSize room, int least_height) {
    const int most = room.width() >= three_columns_from ? 3 : room.width() >= two_columns_from ? 2 : 1;
    int best = std::min(most, charts);
    double least = INFINITY;
    for (int columns = 1; columns <= std::min(most, charts); ++columns) {
        const int rows = (charts + columns - 1) / columns;
        const double height = std::max(1, room.height()) / static_cast<double>(rows);
        if (height < least_height) continue;
        const double off = std::abs(std::log(room.width() / (columns * height * pleasant_aspect))) +
                           (rows * columns > charts ? 0.5 : 0);  // a gap in the last row
        if (off < least) least = off, best = columns;
    }
    return best;
}

QToolButton* menu_button(const QString& text, const QString& tip) {
    auto* button = new QToolButton;
    button->setText(text);
    button->setToolTip(tip);
    button->setPopupMode(QToolButton::InstantPopup);
    button->setMenu(new QMenu(button));
    return button;
}

std::vector<RunId> ids_of(const std::vector<const RunData*>& runs) {
    std::vector<RunId> ids;
    for (const auto* run : runs) ids.push_back(run->info.id);
    return ids;
}

}  // namespace

CurvePanel::CurvePanel(QWidget* parent)
    : QWidget(parent),
      grid_widget_(new QWidget),
      grid_(new QGridLayout(grid_widget_)),
      scroll_(new QScrollArea(this)),
      empty_words_(words_label({}, "secondary")),
      finding_(words_label({}, "heading")),
      equal_(words_label({}, "secondary")),
      key_(new FlowKey(body_font(), this)),
      instead_(new QPushButton),
      empty_(new QWidget(this)) {
    auto* column = seamless_column(this);
    column->addWidget(controls());
    column->addWidget(finding_);
    column->addWidget(equal_);
    column->addWidget(key_);
    column->addWidget(scroll_, 1);
    column->addWidget(empty_, 1);
    grid_->setContentsMargins(0, 0, 0, 0);
    grid_->setSpacing(0);
    scroll_->setAccessibleName(tr("Charts"));
    scroll_->setWidget(grid_widget_);
    scroll_->setWidgetResizable(true);
    scroll_->setFrameShape(QFrame::NoFrame);
    scroll_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    scroll_->installEventFilter(this);
    finding_->setObjectName("curves_finding");
    for (auto* label : {finding_, equal_}) {
        label->setContentsMargins(size::gap, 0, size::gap, size::unit);
        label->setTextInteractionFlags(Qt::TextSelectableByMouse);
    }
    key_->setContentsMargins(size::gap, 0, size::gap, size::unit);
    key_->setObjectName("curve_key");
    auto* middle = new QVBoxLayout(empty_);
    middle->setContentsMargins(size::wide_gap, 0, size::wide_gap, 0);
    middle->setSpacing(size::gap);
    middle->addStretch();
    middle->addWidget(empty_words_);
    middle->addWidget(instead_, 0, Qt::AlignHCenter);
    middle->addStretch();
    empty_words_->setAlignment(Qt::AlignCenter);
    instead_->setObjectName("instead");
    connect(instead_, &QPushButton::clicked, this, [this] { set_metrics(instead_metrics_); });
    set_empty_text({});
    setAccessibleName(tr("Curves"));
    make_charts();
}

QWidget* CurvePanel::controls() {
    auto* bar = new QWidget;
    auto* row = new QHBoxLayout(bar);
    row->setContentsMargins(size::gap, size::unit, size::gap, size::unit);
    row->setSpacing(size::gap);
    x_ = new QComboBox;
    for (const auto choice : x_choices)
        x_->addItem(choice == WorkAxis::block_flops ? tr("Block FLOPs")
                    : choice == WorkAxis::money     ? tr("Money")
                                                    : axis_label(choice));
    offer_money(false);
    x_->setAccessibleName(tr("Horizontal axis"));
    connect(x_, &QComboBox::currentIndexChanged, this, &CurvePanel::show_all);
    connect(x_, &QComboBox::activated, this, [this] { axis_chosen_ = true; });
    auto* fit = new QPushButton(tr("Fit"));
    fit->setToolTip(tr("All of the curves in sight; a double-click in a chart does the same"));
    connect(fit, &QPushButton::clicked, this, &CurvePanel::show_all);
    row->addWidget(chart_button());
    row->addWidget(x_);
    row->addWidget(view_button());
    row->addStretch();
    row->addWidget(fit);
    return bar;
}

QToolButton* CurvePanel::chart_button() {
    auto* button = menu_button(tr("Charts"), tr("What is drawn, a chart each"));
    button->setObjectName("charts");
    for (const auto& metric : curve_metrics()) {
        auto* action = button->menu()->addAction(tr(metric.words));
        action->setData(QString(metric.name));
        action->setCheckable(true);
        action->setChecked(metric_actions_.empty());
        connect(action, &QAction::triggered, this, [this, action] {
            const bool none = std::none_of(metric_actions_.begin(), metric_actions_.end(),
                                           [](const QAction* one) { return one->isChecked(); });
            if (none) return action->setChecked(true);  // a panel without a chart says nothing
            make_charts();
        });
        metric_actions_.push_back(action);
    }
    stay_open(*button->menu());
    return button;
}

QToolButton* CurvePanel::view_button() {
    auto* button =
        menu_button(tr("View"), tr("Axes, smoothing, files. In a chart a drag zooms, with Shift it moves; the wheel "
                                   "zooms, a double-click shows all"));
    button->setObjectName("curve_view");
    auto* menu = button->menu();
    const auto toggle = [&](const QString& words, const QString& tip) {
        auto* action = menu->addAction(words);
        action->setCheckable(true);
        action->setToolTip(tip);
        return action;
    };
    log_x_ = toggle(tr("Logarithmic x"), {});
    log_y_ = toggle(tr("Logarithmic y"), {});
    less_baseline_ = toggle(tr("Less the baseline's"), tr("Each curve less that of the baseline at the same x: how far "
                                                          "apart runs are that lie on each other"));
    less_baseline_->setObjectName("less_baseline");
    for (auto* action : {log_x_, log_y_, less_baseline_})
        connect(action, &QAction::toggled, this, &CurvePanel::show_all);
    follow_ = toggle(tr("Follow"), tr("What is in sight, once zoomed, goes on with the newest points"));
    add_heading(menu, tr("Smoothing"));
    auto* group = new QActionGroup(menu);
    for (const auto& [words, weight] : smoothings) {
        auto* action = toggle(tr(words), {});
        action->setData(weight);
        action->setChecked(weight == 0);
        group->addAction(action);
        smoothing_actions_.push_back(action);
        connect(action, &QAction::triggered, this, [this, w = weight] { set_smoothing(w); });
    }
    menu->addSeparator();
    group_menu_ = menu->addMenu(tr("Group runs by"));
    group_menu_->setObjectName("group_runs");
    fill_groups();
    auto* files = menu->addMenu(tr("Export charts"));
    for (const auto format : {CurveFormat::png, CurveFormat::svg, CurveFormat::pdf, CurveFormat::csv})
        files->addAction(tr("As %1…").arg(name_of(format)), this, [this, format] { Q_EMIT export_wanted(format); });
    return button;
}

void CurvePanel::set_empty_text(const QString& text, const std::vector<std::string>& instead) {
    empty_words_->setText(text);
    instead_metrics_ = instead;
    QStringList names;
    for (const auto* action : metric_actions_)
        if (std::find(instead.begin(), instead.end(), action->data().toString().toStdString()) != instead.end())
            names << action->text().toLower();
    instead_->setText(tr("Show %1").arg(names.join(", ")));
    instead_->setVisible(!names.isEmpty());
}

void CurvePanel::set_metrics(const std::vector<std::string>& metrics) {
    bool any = false;
    for (auto* action : metric_actions_) {
        const auto found = std::find(metrics.begin(), metrics.end(), action->data().toString().toStdString());
        action->setChecked(found != metrics.end());
        any = any || action->isChecked();
    }
    if (!any) metric_actions_.front()->setChecked(true);
    make_charts();
}

/// A chart a metric that is checked.
void CurvePanel::make_charts() {
    for (auto* chart : charts_) delete chart;
    charts_.clear();
    for (const auto* action : metric_actions_) {
        if (!action->isChecked()) continue;
        auto* chart = new CurveChart;
        chart->setProperty("metric", action->data());
        connect(chart, &CurveChart::moved, this, [this, chart] { share_sight(*chart); });
        connect(chart, &CurveChart::outgrown, this, &CurvePanel::align, Qt::QueuedConnection);
        connect(chart, &CurveChart::all_wanted, this, &CurvePanel::show_all);
        connect(chart, &CurveChart::hovered, this, [this](double x) { share_crosshair(x); });
        connect(chart, &CurveChart::left, this, [this] { share_crosshair({}); });
        charts_.push_back(chart);
    }
    arrange();
    keeps_range_ = false;
    draw();
}

void CurvePanel::arrange() {
    const bool column = was_column_ = is_column();
    const int count = static_cast<int>(charts_.size());
    const QSize room = scroll_->isVisible() ? scroll_->size() : size();
    // As low as they can be read, so that all of a few are in sight with the axis below them.
    const int fitting = std::clamp((room.height() - x_words_height) / count, least_in_column, usual_in_column);
    const int least = column ? fitting : least_chart_height;
    const int columns = columns_of(count, room, least), rows = (count + columns - 1) / columns;
    // Where not all are in sight the lowest one's axis may not be either: each has its own then.
    const bool scrolls = column && rows * least + x_words_height > room.height();
    const int low = scrolls ? usual_in_column : least;
    for (int i = 0; i < count; ++i) {
        auto* chart = charts_[static_cast<std::size_t>(i)];
        const bool has_axis = scrolls || i + columns >= count;
        chart->set_in_column(column, has_axis);
        chart->setMinimumHeight(count == 1 ? 0 : column && has_axis ? low + x_words_height : low);
        grid_->addWidget(chart, i / columns, i % columns);
    }
    for (int c = 0; c < 3; ++c) grid_->setColumnStretch(c, c < columns ? 1 : 0);
}

void CurvePanel::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    arrange();
}

/// The charts have their room when the panel's own layout is done.
bool CurvePanel::eventFilter(QObject* watched, QEvent* event) {
    if (watched == scroll_ && (event->type() == QEvent::Resize || event->type() == QEvent::Show)) arrange();
    return QWidget::eventFilter(watched, event);
}

void CurvePanel::show_runs(const std::vector<std::shared_ptr<const RunData>>& runs, RunId baseline) {
    const auto before = ids_of(shown_);
    held_ = runs;
    std::erase(held_, nullptr);
    points_.keep(held_);
    shown_.clear();
    for (const auto& run : held_) shown_.push_back(run.get());
    if (ids_of(shown_) != before) {
        groupings_ = groupings(shown_);
        fill_groups();
        const QSignalBlocker drawn_below(x_);
        if (!axis_chosen_) show_axis(usual_axis(shown_));
    }
    const auto of_time = std::find(std::begin(x_choices), std::end(x_choices), WorkAxis::network_time);
    x_->setItemText(static_cast<int>(of_time - std::begin(x_choices)), time_name(clock_of(shown_)));
    offer_money(std::any_of(shown_.begin(), shown_.end(),
                            [](const RunData* run) { return run->iteration && run->iteration->money; }));
    baseline_ = baseline;
    keeps_range_ = keeps_range_ && ids_of(shown_) == before;
    if (is_column() != was_column_) arrange();
    draw();
}

/// Where no run has prices, there is no such axis.
void CurvePanel::offer_money(bool on) {
    const auto place = static_cast<int>(std::find(std::begin(x_choices), std::end(x_choices), WorkAxis::money) -
                                        std::begin(x_choices));
    qobject_cast<QListView*>(x_->view())->setRowHidden(place, !on);
    if (auto* item = qobject_cast<QStandardItemModel*>(x_->model())->item(place)) item->setEnabled(on);
}

void CurvePanel::show_all() {
    keeps_range_ = false;
    draw();
}

void CurvePanel::share_sight(const CurveChart& moved) {
    keeps_range_ = true;
    const auto [begin, end] = moved.x_range();
    for (auto* chart : charts_)
        if (chart != &moved) chart->set_x_range(begin, end);
}

void CurvePanel::share_crosshair(std::optional<double> x) {
    for (auto* chart : charts_) chart->set_crosshair(x);
    show_key();
}

std::pair<double, double> CurvePanel::x_range() const { return charts_.front()->x_range(); }

WorkAxis CurvePanel::axis() const { return x_choices[x_->currentIndex()]; }

void CurvePanel::set_axis(WorkAxis axis) {
    axis_chosen_ = true;
    show_axis(axis);
}

void CurvePanel::show_axis(WorkAxis axis) {
    for (int i = 0; i < x_->count(); ++i)
        if (x_choices[i] == axis) x_->setCurrentIndex(i);
}

QStringList CurvePanel::choices() const {
    const auto name = axis_chosen_ ? to_string(axis()) : std::string_view{};
    QStringList all{QString::fromUtf8(name.data(), static_cast<qsizetype>(name.size()))};
    for (const auto* chart : charts_) all << chart->property("metric").toString();
    return all;
}

void CurvePanel::restore(const QStringList& choices) {
    if (choices.isEmpty()) return;
    if (const auto axis = work_axis(choices.front().toStdString())) set_axis(*axis);
    std::vector<std::string> metrics;
    for (const auto& name : choices.mid(1)) metrics.push_back(name.toStdString());
    set_metrics(metrics);
}

void CurvePanel::set_smoothing(double weight) {
    smoothing_ = weight;
    for (auto* action : smoothing_actions_) action->setChecked(action->data().toDouble() == weight);
    draw();
}

/// What the runs can be put together by: all that differs, and all of them.
void CurvePanel::fill_groups() {
    group_menu_->clear();
    group_menu_->setEnabled(!groupings_.empty());
    const auto add = [this](const QString& words, const QString& name) {
        auto* action = group_menu_->addAction(words, this, [this, name] { group_by(name); });
        action->setCheckable(true);
        action->setChecked(name == group_);
    };
    add(tr("Nothing"), {});
    for (const auto& grouping : groupings_) add(grouping.name, grouping.name);
}

void CurvePanel::group_by(const QString& name) {
    group_ = name;
    fill_groups();
    show_all();
}

/// Of one run several charts stand in a column: each says what it draws and what that is at the crosshair.
bool CurvePanel::is_column() const { return charts_.size() > 1 && shown_.size() == 1; }

/// "Loss  0.537, validation 0.541".
void CurvePanel::show_titles() {
    for (auto* chart : charts_) {
        QStringList values;
        for (const auto& curve : chart->set().curves)
            if (const QString value = chart->value_words(curve); !value.isEmpty())
                values << (values.isEmpty() && !curve.marks ? value : curve.name.toLower() + ' ' + value);
        QString what = chart->set().y_label;
        if (!values.isEmpty() && values.front().endsWith('%')) what.remove(QStringLiteral(" (%)"));  // once is enough
        chart->set_title(what + (values.isEmpty() ? QString{} : QStringLiteral("  ")) +
                         values.join(QStringLiteral(", ")));
    }
}

/// What a chart of several curves has, and where the crosshair is: each chart says the rest.
void CurvePanel::show_column_key(const QString& where) {
    show_titles();
    keyed_.clear();
    std::vector<FlowKey::Entry> entries;
    for (const auto* chart : charts_)
        for (const auto& curve : chart->set().curves) {
            if (!curve.in_legend || chart->set().curves.size() < 2 || keyed_.contains(curve.name)) continue;
            keyed_ << curve.name;
            entries.push_back({curve.marks ? run_ring(curve.run) : run_line(curve.run), curve.name});
        }
    const QString x_room = axis() == WorkAxis::iteration ? QStringLiteral(" 000") : QStringLiteral(" 00.0 s");
    entries.push_back({{}, where, key_->fontMetrics().horizontalAdvance(charts_.front()->set().x_label + x_room)});
    key_->set_entries(std::move(entries));
}

/// Which line is which run's, in columns of one width; what they are at the crosshair stands beside that.
void CurvePanel::show_runs_key() {
    constexpr qsizetype most = 12;
    keyed_.clear();
    std::vector<FlowKey::Entry> entries;
    int widest = 0;
    for (const auto* chart : charts_)
        for (const auto& curve : chart->set().curves) {
            if (!curve.in_legend || keyed_.contains(curve.name)) continue;
            keyed_ << curve.name;
            if (keyed_.size() > most) continue;
            entries.push_back({curve.marks ? run_ring(curve.run) : run_line(curve.run), curve.name, 0, curve.is_aside});
            widest = std::max(widest, key_->fontMetrics().horizontalAdvance(curve.name));
        }
    for (auto& entry : entries) entry.least = widest;
    if (keyed_.size() > most) entries.push_back({{}, tr("and %1 more").arg(keyed_.size() - most)});
    key_->set_entries(std::move(entries));
}

/// One key for all charts of a run, with the values at the crosshair: in them it would cover curves. A run that is
/// alone has no name there. What is not told yet has its room: charts stay where they are under the mouse.
void CurvePanel::show_key() {
    if (is_column()) return show_column_key(charts_.front()->crosshair_words());
    if (shown_.size() > 1) return show_runs_key();
    const auto widest = [](const CurveSet& set) {
        const bool has_unit = set.y_is_time || set.choice.metric == "bytes_sent";
        return has_unit ? QStringLiteral("  000 MB") : QStringLiteral("  00.00");
    };
    const auto wide = [this](const QString& words) { return key_->fontMetrics().horizontalAdvance(words); };
    int values_room = 0;
    for (const auto* chart : charts_) values_room += wide(widest(chart->set()));
    keyed_.clear();
    std::vector<FlowKey::Entry> entries;
    QStringList values;  // beside the names, of all charts that have one
    for (const auto* chart : charts_)
        for (const auto& curve : chart->set().curves) {
            if (!curve.in_legend) continue;
            const auto place = keyed_.indexOf(curve.name);
            if (place < 0) {
                keyed_ << curve.name;
                values << chart->value_words(curve);
                entries.push_back({curve.marks ? run_ring(curve.run) : run_line(curve.run), curve.name,
                                   wide(curve.name) + values_room});
            } else if (const QString value = chart->value_words(curve); !value.isEmpty()) {
                values[place] += (values[place].isEmpty() ? QString{} : QStringLiteral(", ")) + value;
            }
        }
    for (std::size_t i = 0; i < entries.size(); ++i)
        if (const QString& value = values[static_cast<qsizetype>(i)]; !value.isEmpty())
            entries[i].words += QStringLiteral("  ") + value;
    QString where = charts_.front()->crosshair_words();
    if (keyed_.size() < 2) {
        if (!where.isEmpty() && !values.isEmpty() && !values.front().isEmpty())
            where += QStringLiteral(": ") + values.front();
        keyed_.clear(), entries.clear();
    }
    const QString x_room = axis() == WorkAxis::iteration ? QStringLiteral(" 000") : QStringLiteral(" 00.0 s");
    if (!shown_.empty()) entries.push_back({{}, where, wide(charts_.front()->set().x_label + x_room)});
    key_->set_entries(std::move(entries));
}

QString CurvePanel::key_text() const { return keyed_.join('\n'); }

void CurvePanel::set_follows(bool follows) { follow_->setChecked(follows); }

QString CurvePanel::equal_text() const { return (finding_->text() + '\n' + equal_->text()).trimmed(); }

int CurvePanel::point_count() const {
    int count = 0;
    for (const auto* chart : charts_) count += chart->point_count();
    return count;
}

QByteArray CurvePanel::exported(CurveFormat format) const { return export_curves(charts_, format)(); }

std::function<QByteArray()> CurvePanel::exporter(CurveFormat format) const { return export_curves(charts_, format); }

void CurvePanel::changeEvent(QEvent* event) {
    QWidget::changeEvent(event);
    if (event->type() == QEvent::StyleChange && log_y_ != nullptr) draw();
}

double CurvePanel::last_x() const {
    double last = 0;
    for (const auto* chart : charts_)
        for (const auto& curve : chart->set().curves) last = std::max(last, curve.points.back().x);
    return last;
}

void CurvePanel::draw() {
    if (charts_.empty()) return;
    bool empty = true;
    const auto [begin, end] = x_range();
    QStringList groups;
    for (const auto& grouping : groupings_)
        if (grouping.name == group_) groups = grouping.keys;
    for (auto* chart : charts_) {
        const bool less = less_baseline_->isChecked() && shown_.size() > 1;
        chart->set_reads(shown_.size() > 1);
        chart->set_logarithmic(log_x_->isChecked(), log_y_->isChecked() && !less);  // differences may be below 0
        const CurveChoice choice{chart->property("metric").toString().toStdString(), axis(), smoothing_, groups, less};
        chart->show_set(curve_set(shown_, baseline_, choice, points_), keeps_range_);
        empty = empty && chart->set().curves.empty();
    }
    const double last = last_x(), grown = last - last_x_;
    last_x_ = last;
    if (keeps_range_ && follow_->isChecked() && grown > 0)
        for (auto* chart : charts_) chart->set_x_range(begin + grown, end + grown);
    if (!keeps_range_ && charts_.size() > 1) {  // one zoom: where the longest ends all do
        double first = begin, furthest = end;
        for (std::size_t i = 0; i < charts_.size(); ++i) {
            if (charts_[i]->set().curves.empty()) continue;
            const auto [b, e] = charts_[i]->x_range();
            first = i == 0 ? b : std::min(first, b);
            furthest = i == 0 ? e : std::max(furthest, e);
        }
        for (auto* chart : charts_) chart->set_x_range(first, furthest);
    }
    show_key();
    const auto& first_choice = charts_.front()->set().choice;
    const auto words = equal_words(shown_, baseline_, first_choice.metric, first_choice.x, points_);
    finding_->setText(words.finding);
    QStringList told{words.details, shown_.size() > 1 ? did_nothing_words(shown_) : QString{}};  // they have no line
    told.removeAll(QString{});
    equal_->setText(told.join(' '));
    for (auto* label : {finding_, equal_}) label->setVisible(!label->text().isEmpty());
    scroll_->setVisible(!empty);
    empty_->setVisible(empty);
    align();
}

/// Axes that count the same begin and end below each other: the widest figures of one chart are room in all.
void CurvePanel::align() {
    CurveChart::Gutters most;
    for (const auto* chart : charts_) {
        const auto wanted = chart->wanted_gutters();
        most = {std::max(most.left, wanted.left), std::max(most.right, wanted.right)};
    }
    for (auto* chart : charts_) chart->set_gutters(most);
}

}  // namespace skippipe
