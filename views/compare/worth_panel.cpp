// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/compare/worth_panel.h"

#include <algorithm>
#include <set>
#include <utility>

#include <QDoubleValidator>
#include <QEvent>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLocale>
#include <QVBoxLayout>

#include "core/analysis/price.h"
#include "core/experiment/io.h"
#include "views/compare/loss_box.h"
#include "views/compare/worth_words.h"
#include "views/curves/plot.h"
#include "views/plan/plan_service.h"
#include "views/runs/parameters.h"
#include "views/theme/numbers.h"
#include "views/theme/theme.h"
#include "views/theme/widgets.h"

namespace skippipe {
namespace {

constexpr int worth_delay_ms = 300, worth_tick_ms = 200, worth_target_width = 72,
              worth_band_alpha = 46;  // of 255: 18 %
constexpr double headroom = 1.15;     ///< of the axis, with a figure above the highest point
enum WorthFigure { in_time, in_money };

/// "18.4" of "18.4 s" beside "18.5 s": a unit stands once.
QString without_unit_of(const QString& beside, const QString& words) {
    constexpr QChar thin(0x2009);
    const qsizetype unit = beside.indexOf(thin);
    const bool is_one = unit > 0 && beside.count(thin) == 1 && words.count(thin) == 1;
    return is_one && words.endsWith(beside.mid(unit)) ? words.section(thin, 0, 0) : words;
}

/// "1 h 05 min (58 min to 1 h 12 min)"
template <class Words>
QString money_or_time(const SkipWorth& row, const Spread& spread, const Words& words) {
    if (row.there == 0) return QObject::tr("not reached");
    if (!row.is_told()) return QObject::tr("read too seldom");
    const QString text = words(*spread.mean);
    const QString least = words(*spread.least), most = words(*spread.most);
    return least == most ? text : QObject::tr("%1 (%2 to %3)").arg(text, without_unit_of(most, least), most);
}

/// On average: they are as far apart as the times that follow from them.
QString iterations_needed(const SkipWorth& row) {
    const auto words = [](double count) { return count < 100 ? three_digits(count) : whole_number(count); };
    return row.there > 0 && row.is_told() ? words(*row.iterations.mean) : money_or_time(row, row.iterations, words);
}

/// "2 of 3: runs 1, 4 and 6"; where all got there, who.
QString reached_words(const SkipWorth& row, const std::vector<RunId>& runs) {
    return row.there == row.runs ? run_numbers(runs)
                                 : QObject::tr("%1 of %2: %3").arg(row.there).arg(row.runs).arg(run_numbers(runs));
}

void label_point(QCustomPlot& plot, double x, double y, const QString& words) {
    constexpr int above = 8;
    auto* text = new QCPItemText(&plot);  // the plot's
    auto* point = new QCPItemTracer(&plot);
    point->setStyle(QCPItemTracer::tsNone);
    point->position->setCoords(x, y);
    text->position->setParentAnchor(point->position);
    text->position->setType(QCPItemPosition::ptAbsolute);
    text->position->setCoords(0, -above);
    text->setPositionAlignment(Qt::AlignHCenter | Qt::AlignBottom);
    text->setText(words);
    text->setFont(small_font());
    text->setColor(theme().text);
    text->setBrush(theme().surface);  // above lines of the grid
}

/// What a plan and its price depend on, but for the skip ratio.
Experiment all_but_the_ratio(const Experiment& experiment) {
    Experiment part = planning_part(experiment);
    part.pipeline.skip_ratio = 0;
    part.pipeline.planner = experiment.pipeline.planner;
    part.pipeline.plan_steps = experiment.pipeline.plan_steps;
    part.seed = experiment.seed;
    part.prices = experiment.prices;
    for (std::size_t i = 0; i < part.topology.nodes.size(); ++i)
        part.topology.nodes[i].price_per_hour = experiment.topology.nodes[i].price_per_hour;
    return part;
}

SkipMeasured measured_iteration(double skip_ratio, const Accounting& account) {
    return {skip_ratio, account.network_s, static_cast<double>(account.tokens), account.used_nodes, {}, {}};
}

/// What a run's first plan costs an iteration; absent: it is not what the planner finds for the run's own experiment.
std::optional<SkipMeasured> own_plan(const RunData& run) {
    if (!run.iteration || run.plan.planner != run.experiment.pipeline.planner || run.plan.seed != run.experiment.seed)
        return std::nullopt;
    auto measured = measured_iteration(skip_ratio_of(run), *run.iteration);
    measured.iteration_money = run.iteration->money;
    return measured;
}

}  // namespace

WorthPanel::WorthPanel(const Document& document, const PlannerRegistry& planners, QWidget* parent)
    : QWidget(parent),
      document_(document),
      planners_(planners),
      metric_(new QComboBox),
      figure_(new QComboBox),
      target_(new QLineEdit),
      finding_(words_label({}, "heading")),
      words_(words_label({}, "secondary")),
      empty_(words_label({}, "secondary")),
      progress_(words_label({}, "secondary")),
      why_off_(words_label(tr("Money needs prices"), "secondary")),
      prices_(new QPushButton(tr("Set prices…"))),
      stop_button_(new QPushButton(tr("Stop"))),
      sweep_(new QPushButton(tr("Sweep the skip ratio…"))),
      plot_(new QCustomPlot),
      table_(new QTableWidget) {
    pool_.setMaxThreadCount(1);
    fill_losses(*metric_, {"validation_loss", "loss"});
    metric_->setAccessibleName(tr("Loss"));
    metric_->setObjectName("worth_metric");
    figure_->addItems({tr("Network time"), tr("Money")});
    figure_->setAccessibleName(tr("What it takes"));
    figure_->setObjectName("worth_figure");
    target_->setAccessibleName(tr("Loss to reach"));
    target_->setToolTip(tr("The loss to reach; empty: the worst last one, which all reach"));
    target_->setObjectName("worth_target");
    target_->setFixedWidth(worth_target_width);
    auto* number = new QDoubleValidator(0, 1e9, 9, target_);
    number->setLocale(QLocale::c());
    target_->setValidator(number);
    auto* row = head_row();
    row->setContentsMargins(size::gap, size::unit, size::gap, size::unit);
    row->addWidget(figure_);
    row->addWidget(words_label(tr("to"), "secondary"));
    row->addWidget(metric_);
    row->addWidget(target_);
    why_off_->setObjectName("worth_why_off");
    why_off_->setWordWrap(false);
    row->addWidget(why_off_);
    prices_->setObjectName("worth_prices");
    prices_->setToolTip(tr("Leads to the prices of the open experiment, in Design"));
    connect(prices_, &QPushButton::clicked, this, &WorthPanel::prices_requested);
    row->addWidget(prices_);
    row->addStretch();
    progress_->setObjectName("worth_progress");
    stop_button_->setObjectName("worth_stop");
    row->addWidget(progress_);
    row->addWidget(stop_button_);
    for (auto* widget : {static_cast<QWidget*>(progress_), static_cast<QWidget*>(stop_button_)}) widget->hide();
    connect(stop_button_, &QPushButton::clicked, this, &WorthPanel::stop_or_go_on);
    tick_.setInterval(worth_tick_ms);
    connect(&tick_, &QTimer::timeout, this, &WorthPanel::show_progress);
    auto* column = seamless_column(this);
    column->addLayout(row);
    words_->setContentsMargins(size::gap, 0, size::gap, size::unit);
    finding_->setContentsMargins(size::gap, 0, size::gap, 0);
    column->addWidget(finding_);
    column->addWidget(words_);
    auto* lead = new QHBoxLayout;
    lead->setContentsMargins(size::gap, 0, size::gap, size::gap);
    sweep_->setObjectName("worth_sweep");
    sweep_->setToolTip(tr("Trains the open experiment at several skip ratios, so that they can be weighed"));
    connect(sweep_, &QPushButton::clicked, this, &WorthPanel::sweep_requested);
    lead->addWidget(sweep_);
    lead->addStretch();
    column->addLayout(lead);
    column->addWidget(plot_, 3);
    plot_->setAccessibleName(tr("Time to the loss at each skip ratio"));
    make_plain(*table_, tr("Is the skip worth it"));
    table_->setObjectName("worth");
    table_->setWordWrap(false);
    table_->viewport()->installEventFilter(this);
    table_->horizontalHeader()->setDefaultAlignment(Qt::AlignRight | Qt::AlignVCenter);
    column->addWidget(table_, 2);
    empty_->setAlignment(Qt::AlignCenter);
    column->addWidget(empty_, 1);
    column->addStretch();
    delay_.setSingleShot(true);
    delay_.setInterval(worth_delay_ms);
    connect(&delay_, &QTimer::timeout, this, &WorthPanel::plan_again);
    connect(&document, &Document::changed, this, [this] { delay_.start(); });
    for (auto* box : {metric_, figure_}) connect(box, &QComboBox::currentIndexChanged, this, &WorthPanel::draw);
    connect(target_, &QLineEdit::textChanged, this, &WorthPanel::draw);
    draw();
}

WorthPanel::~WorthPanel() {
    stop_.request_stop();
    pool_.clear();
    pool_.waitForDone();
}

void WorthPanel::showEvent(QShowEvent*) {
    plan_again();
    draw();
}

void WorthPanel::changeEvent(QEvent* event) {
    QWidget::changeEvent(event);
    if (event->type() == QEvent::StyleChange) draw();
}

void WorthPanel::show_runs(const std::vector<const RunData*>& runs) {
    shown_.clear();
    for (const auto* run : runs)
        shown_.push_back({run->info.id, skip_ratio_of(*run), run->experiment.model == document_.experiment().model,
                          run->experiment.seed, run->metrics, all_but_the_ratio(run->experiment), own_plan(*run)});
    choose_readable_loss(*metric_, runs);
    if (!isVisible()) return;  // drawn when it is shown
    plan_again();
    draw();
}

/// A run of the open experiment was trained by the plan that would be searched for here.
void WorthPanel::take_plans_of_runs() {
    for (const auto& run : shown_)
        if (run.planned && !planned_.contains(run.skip_ratio) && run.planned_of == planned_of_)
            planned_[run.skip_ratio] = {run.planned, {}};
}

/// Plans are kept while the document stays what they are of.
void WorthPanel::plan_again() {
    if (!isVisible()) return;
    const auto of = all_but_the_ratio(document_.experiment());
    if (of != planned_of_) {
        planned_of_ = of;
        planned_.clear();
        stop_.request_stop();
        stop_ = std::stop_source{};
        pool_.clear();
        ++serial_;
        planning_ = stopped_ = false;
    }
    const Planner* planner = planners_.find(of.pipeline.planner);
    if (planning_ || stopped_ || planner == nullptr || has_errors(document_.faults())) return show_progress();
    take_plans_of_runs();
    std::optional<double> next;
    for (const auto& run : shown_)
        if (run.same_model && !planned_.contains(run.skip_ratio))
            next = std::min(next.value_or(run.skip_ratio), run.skip_ratio);
    if (!next) return show_progress();
    if (!tick_.isActive()) {
        since_.start();
        planned_then_ = ratios_and_planned().second;
        tick_.start();
    }
    planning_ = true;
    fraction_ = std::make_shared<std::atomic<double>>(0);
    show_progress();
    auto experiment = document_.experiment();
    experiment.pipeline.skip_ratio = *next;
    draw();
    pool_.start([this, experiment, planner, serial = serial_, stop = stop_.get_token(), fraction = fraction_] {
        auto request = request_for(experiment);
        request.stop = stop;
        request.progress = [&](const PlanProgress& progress) { fraction->store(progress.fraction); };
        const auto outcome = make_plan(experiment, *planner, request);
        Planned planned;
        const auto account =
            outcome->has_plan ? account_plan(experiment.model, outcome->problem, outcome->plan) : std::nullopt;
        if (account) {
            planned.measured = measured_iteration(experiment.pipeline.skip_ratio, *account);
            if (has_prices(experiment))
                planned.measured->iteration_money =
                    price_of(experiment, outcome->problem, outcome->plan, outcome->timeline).total();
        } else if (!outcome->faults.empty()) {
            planned.why = QString::fromStdString(outcome->faults.front().what);
        }
        QMetaObject::invokeMethod(
            this, [this, planned, serial, ratio = experiment.pipeline.skip_ratio] { take(ratio, planned, serial); },
            Qt::QueuedConnection);
    });
}

void WorthPanel::stop_or_go_on() {
    stopped_ = !stopped_;
    stop_.request_stop();
    stop_ = std::stop_source{};
    pool_.clear();
    ++serial_;  // what the stopped plan was by then is no answer
    planning_ = false;
    draw();
    plan_again();
}

std::pair<std::size_t, std::size_t> WorthPanel::ratios_and_planned() const {
    std::set<double> ratios;
    for (const auto& run : shown_)
        if (run.same_model) ratios.insert(run.skip_ratio);
    const auto planned = std::count_if(ratios.begin(), ratios.end(), [&](double r) { return planned_.contains(r); });
    return {ratios.size(), static_cast<std::size_t>(planned)};
}

void WorthPanel::show_progress() {
    const auto [all, done] = ratios_and_planned();
    const bool waits = stopped_ && done < all;
    if (!planning_ && tick_.isActive()) tick_.stop();
    progress_->setVisible(planning_ || waits);
    for (auto* widget : {static_cast<QWidget*>(why_off_), static_cast<QWidget*>(prices_)})
        widget->setVisible(!figure_->isEnabled() && !planning_ && !waits);  // in their place
    stop_button_->setVisible(planning_ || waits);
    stop_button_->setText(waits ? tr("Plan the rest") : tr("Stop"));
    if (waits) return progress_->setText(tr("%1 of %2 skip ratios are planned").arg(done).arg(all));
    const double share = static_cast<double>(done) - static_cast<double>(planned_then_) + fraction_->load(),
                 rest = static_cast<double>(all - done) - fraction_->load();
    const double passed_s = static_cast<double>(since_.elapsed()) / 1000;
    progress_->setText(
        tr("Plans skip ratio %1 of %2%3")
            .arg(done + 1)
            .arg(all)
            .arg(share > 0 && passed_s > 1 ? tr(", about %1 left").arg(duration(passed_s * rest / share)) : QString{}));
}

void WorthPanel::take(double skip_ratio, const Planned& planned, int serial) {
    if (serial != serial_) return;
    planning_ = false;
    planned_[skip_ratio] = planned;
    draw();
    plan_again();
}

void WorthPanel::draw() {
    const std::string metric = metric_->currentData().toString().toStdString();
    std::map<double, SkipMeasured> measured;
    trained_.clear();
    for (const auto& run : shown_) {
        auto curve = curve_points(run.metrics, metric, WorkAxis::tokens);
        if (curve.empty() || !run.same_model) continue;  // another model's losses say nothing of this one
        trained_[run.skip_ratio].push_back(run.id);
        const auto planned = planned_.find(run.skip_ratio);
        if (planned == planned_.end() || !planned->second.measured) continue;
        auto& one = measured.try_emplace(run.skip_ratio, *planned->second.measured).first->second;
        one.losses.push_back(std::move(curve));
        one.seeds.push_back(run.seed);
    }
    std::optional<double> target;
    bool is_number = false;
    if (const double typed = QLocale::c().toDouble(target_->text(), &is_number); is_number) target = typed;
    std::vector<SkipMeasured> all;
    all.reserve(measured.size());
    for (auto& [ratio, one] : measured) all.push_back(std::move(one));
    worths_ = skip_worth(std::move(all), target, 0);
    const bool any = !worths_.rows.empty();
    const bool is_drawn =
        std::any_of(worths_.rows.begin(), worths_.rows.end(), [](const SkipWorth& row) { return row.is_whole(); });
    const auto [ratios, planned] = ratios_and_planned();
    const bool is_open = planned < ratios;  // so what is told is told of some
    plot_->setVisible(is_drawn);
    table_->setVisible(any);
    words_->setVisible(any && !is_open);
    empty_->setVisible(!any);
    sweep_->setVisible(any && !is_open && (!is_drawn || ratios < 2));
    const auto& experiment = document_.experiment();
    empty_->setText(
        shown_.empty() ? tr("Select runs at different skip ratios to see what each takes on the drawn network")
        : std::none_of(shown_.begin(), shown_.end(), [](const Shown& run) { return run.same_model; })
            ? tr("The selected runs trained another model than that of the open experiment, %1: open theirs")
                  .arg(QString::fromStdString(experiment.name))
        : trained_.empty() ? tr("The selected runs have no values of this kind")
        : stopped_         ? tr("Stopped before a skip ratio was planned")
        : planning_ || any ? tr("Planning the drawn network at each skip ratio…")
        : planned_.empty()
            ? tr("The open experiment cannot be planned as it stands")
            : tr("The open experiment has no plan at these skip ratios: %1").arg(planned_.begin()->second.why));
    target_->setPlaceholderText(worths_.target ? three_digits(*worths_.target) : tr("loss"));
    figure_->setEnabled(has_prices(experiment));
    figure_->setToolTip(figure_->isEnabled() ? QString{} : tr("The open experiment has no prices"));
    if (!figure_->isEnabled()) figure_->setCurrentIndex(in_time);
    for (auto* widget : {static_cast<QWidget*>(why_off_), static_cast<QWidget*>(prices_)})
        widget->setVisible(!figure_->isEnabled() && !planning_ && !stopped_);
    const QString so_far = planning_ ? tr("Planning %1 of %2…").arg(planned + 1).arg(ratios)
                                     : tr("%1 of %2 skip ratios are planned").arg(planned).arg(ratios);
    const QString verdict =
        any ? tr("Is the skip worth it? ") + (is_open ? so_far : verdict_words(worths_.rows, ratios)) : QString{};
    finding_->setVisible(any);
    finding_->setText(verdict.section('\n', 0, 0));
    if (any)
        words_->setText(
            verdict.section('\n', 1) +
            tr("Projected onto %1, planned by %2: what the runs needed, times its iteration at each skip ratio; mean, "
               "least and most over the runs of a row%3")
                .arg(QString::fromStdString(experiment.name), QString::fromStdString(experiment.pipeline.planner),
                     what_is_left_out()));
    fill_table();
    draw_curve();
    Q_EMIT drawn();
}

QString WorthPanel::what_is_left_out() const {
    std::vector<RunId> others;
    for (const auto& run : shown_)
        if (!run.same_model) others.push_back(run.id);
    QString words;
    if (!others.empty())
        words += tr(". Left out, as another model than the open experiment's was trained: %1").arg(run_numbers(others));
    for (const auto& [ratio, planned] : planned_)
        if (!planned.measured) words += tr(". No plan at skip ratio %1").arg(three_digits(ratio));
    return words;
}

void WorthPanel::fill_table() {
    const bool has_money = figure_->isEnabled();
    const auto compared_of = [of_money = has_money &&
                                         figure_->currentIndex() == in_money](const SkipWorth& row) -> const Spread& {
        return of_money ? row.money : row.network_s;
    };
    QStringList heads{tr("Skip ratio"), tr("× the first"), tr("p"), tr("Projected time")};
    if (has_money) heads << tr("Money");
    heads << tr("Iteration") << tr("Iterations") << tr("Reached by");
    table_->clear();
    table_->setColumnCount(static_cast<int>(heads.size()));
    table_->setRowCount(static_cast<int>(worths_.rows.size()));
    table_->setHorizontalHeaderLabels(heads);
    for (int r = 0; r < table_->rowCount(); ++r) {
        const auto& row = worths_.rows[static_cast<std::size_t>(r)];
        const auto& compared = compared_of(row);
        QStringList cells{ratio_words(row.skip_ratio), compared.share ? three_digits(*compared.share) : QString{},
                          chance_words(compared.p), money_or_time(row, row.network_s, duration)};
        if (has_money) cells << money_or_time(row, row.money, three_digits);
        cells << duration(row.iteration_s) << iterations_needed(row) << reached_words(row, trained_.at(row.skip_ratio));
        for (int c = 0; c < cells.size(); ++c) {
            auto* item = new QTableWidgetItem(cells[c]);
            item->setToolTip(cells[c]);
            item->setTextAlignment(Qt::AlignRight | Qt::AlignVCenter);
            if (c == 1 && compared.share && compared.p.value_or(0) < significant_p)
                item->setForeground(*compared.share < 1 ? theme().good : theme().bad);
            table_->setItem(r, c, item);
        }
    }
    constexpr int chance = 2;
    table_->setColumnHidden(chance, std::none_of(worths_.rows.begin(), worths_.rows.end(),
                                                 [&](const auto& row) { return compared_of(row).p.has_value(); }));
    space_columns();
    // The curve has what few rows do not need.
    table_->setMaximumHeight(table_->horizontalHeader()->sizeHint().height() + table_->verticalHeader()->length() +
                             2 * table_->frameWidth());
}

/// Further apart than their words ask for, where there is room.
void WorthPanel::space_columns() {
    table_->resizeColumnsToContents();
    const int seen = table_->columnCount() - table_->horizontalHeader()->hiddenSectionCount();
    if (table_->horizontalHeader()->length() + seen * size::gap > table_->viewport()->width()) return;
    for (int c = 0; c < table_->columnCount(); ++c)
        if (!table_->isColumnHidden(c)) table_->setColumnWidth(c, table_->columnWidth(c) + size::gap);
}

bool WorthPanel::eventFilter(QObject* watched, QEvent* event) {
    if (event->type() == QEvent::Resize && watched == table_->viewport()) space_columns();
    return QWidget::eventFilter(watched, event);
}

void WorthPanel::draw_curve() {
    plot_->clearPlottables();
    plot_->clearItems();
    apply_theme(*plot_);
    const bool of_money = figure_->isEnabled() && figure_->currentIndex() == in_money;
    QVector<double> x, mean, least, most;
    for (const auto& row : worths_.rows) {
        const auto& spread = of_money ? row.money : row.network_s;
        if (!row.is_whole()) continue;
        x << row.skip_ratio;
        mean << *spread.mean, least << *spread.least, most << *spread.most;
    }
    const auto add = [&](const QVector<double>& y) {
        auto* graph = plot_->addGraph();
        graph->setData(x, y);
        graph->setPen(Qt::NoPen);
        return graph;
    };
    const QColor colour = theme().accent;
    QColor band = colour;
    band.setAlpha(worth_band_alpha);
    const bool joined = x.size() > 2;  // else a line is broken: it tells of skip ratios that nobody tried
    if (joined) {
        auto* lower = add(least);
        auto* upper = add(most);
        upper->setBrush(band);
        upper->setChannelFillGraph(lower);
    }
    auto* line = add(mean);
    line->setPen(QPen(colour, 1.75));
    if (!joined) {
        line->setPen(QPen(mix(theme().surface, colour, 0.6), 1.5, Qt::DashLine));
        auto* spread = new QCPErrorBars(plot_->xAxis, plot_->yAxis);  // the plot's
        spread->setDataPlottable(line);
        spread->setPen(QPen(colour, 1.75));
        for (int i = 0; i < x.size(); ++i) spread->addData(mean[i] - least[i], most[i] - mean[i]);
    }
    line->setScatterStyle(QCPScatterStyle(QCPScatterStyle::ssDisc, QPen(colour), QBrush(colour), 9));
    plot_->legend->setVisible(false);
    plot_->xAxis->setLabel(tr("Skip ratio"));
    plot_->yAxis->setLabel(of_money ? tr("Money to the loss") : tr("Network time to the loss"));
    plot_->rescaleAxes();
    const double high = most.isEmpty() ? 1 : *std::max_element(most.begin(), most.end());
    plot_->yAxis->setRange(0, headroom * high);
    if (!joined)
        for (int i = 0; i < x.size(); ++i)
            label_point(*plot_, x[i], most[i], of_money ? three_digits(mean[i]) : duration(mean[i]));
    const auto [least_x, most_x] = std::minmax_element(x.begin(), x.end());
    if (!x.isEmpty()) plot_->xAxis->setRange(std::max(-0.03, *least_x - 0.1), std::min(1.03, *most_x + 0.1));
    const double step = of_money ? nice_step(high / 5) : clock_step(high / 5);
    auto ticks = QSharedPointer<QCPAxisTickerText>::create();
    for (int i = 0; step > 0 && i * step <= headroom * high; ++i) {
        const double at = i * step;
        ticks->addTick(at, of_money ? number_tick(at, step, high) : tick(at, step));
    }
    plot_->yAxis->setTicker(ticks);
    plot_->replot();
}

}  // namespace skippipe
