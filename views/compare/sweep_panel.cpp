// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/compare/sweep_panel.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include <QEvent>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QRegularExpression>
#include <QSignalBlocker>
#include <QStyle>
#include <QVBoxLayout>

#include "core/base/fault.h"
#include "views/runs/parameters.h"
#include "views/theme/numbers.h"
#include "views/theme/theme.h"
#include "views/theme/widgets.h"
#include "views/theme/words.h"

namespace skippipe {
namespace {

constexpr int plan_delay_ms = 250, most_setting = 220, sweep_tick_ms = 1000;

/// "about 1 min 40 s": nobody knows seconds.
QString about(double seconds) {
    constexpr double step = 10;
    return seconds < step ? QObject::tr("less than %1").arg(tick(step, step))
                          : QObject::tr("about %1").arg(tick(step * std::round(seconds / step), step));
}

}  // namespace

SweepPanel::SweepPanel(const Document& document, RunFeed& feed, Sweeper& sweeper, const PlannerRegistry& planners,
                       QWidget* parent)
    : QWidget(parent),
      document_(document),
      feed_(feed),
      sweeper_(sweeper),
      full_pipelines_(full_pipelines(planners)),
      form_(new SweepForm),
      start_(new QPushButton(tr("Start sweep"))),
      cancel_(new QPushButton(tr("Cancel"))),
      words_(words_label({}, "secondary")),
      left_(new QLabel),
      progress_(new QProgressBar),
      results_(new QWidget),
      to_come_(new QWidget),
      to_come_title_(words_label({}, "heading")),
      pictures_(new QSplitter(Qt::Horizontal)),
      table_(new QTableWidget),
      across_(new QComboBox),
      lines_(new ParallelPlot),
      trade_offs_(new TradeOffPlot) {
    pool_.setMaxThreadCount(1);
    auto* column = seamless_column(this);
    column->addWidget(form_);
    auto* row = head_row();
    row->setContentsMargins(size::gap, 0, size::gap, size::gap);
    start_->setObjectName("sweep_start");
    start_->setProperty("role", "accent");
    cancel_->setObjectName("sweep_cancel");
    left_->setObjectName("sweep_left");
    left_->setProperty("role", "secondary");
    row->addWidget(start_);
    row->addWidget(cancel_);
    row->addWidget(words_, 1);
    row->addWidget(left_);
    column->addLayout(row);
    progress_->setTextVisible(false);
    progress_->setRange(0, 1000);
    column->addWidget(progress_);
    make_results();
    make_room(*column);
    form_->add_axis("pipeline.skip_ratio", "0, 0.33");
    delay_.setSingleShot(true);
    delay_.setInterval(plan_delay_ms);
    connect(&delay_, &QTimer::timeout, this, &SweepPanel::plan_again);
    connect(form_, &SweepForm::changed, this, [this] {
        said_.clear();
        delay_.start();
    });
    connect(&document, &Document::changed, this, [this] { delay_.start(); });
    connect(&document, &Document::file_changed, this, [this] { delay_.start(); });
    connect(&feed, &RunFeed::runs_changed, this, &SweepPanel::follow_runs);
    connect(start_, &QPushButton::clicked, this, [this] {
        said_.clear();
        looked_ = std::chrono::steady_clock::now();
        planning_s_ = 0;
        begun_at_start_ = count_begun();
        Q_EMIT started();
        sweeper_.start(document_.experiment(), document_.file(), form_->setup());
    });
    connect(cancel_, &QPushButton::clicked, this, [this] {
        cancel_->setEnabled(false);
        sweeper_.cancel();
    });
    tick_.setInterval(sweep_tick_ms);
    connect(&tick_, &QTimer::timeout, this, &SweepPanel::follow_clock);
    connect(&sweeper, &Sweeper::running_changed, this, &SweepPanel::follow_state);
    connect(&sweeper, &Sweeper::ended, this, [this](const QString& said) {
        said_ = said;
        feed_.poll();
        look_again();
        follow_state();
    });
    follow_state();
}

SweepPanel::~SweepPanel() { pool_.waitForDone(); }

void SweepPanel::make_results() {
    make_plain(*table_, tr("Results of the sweep"));
    table_->setObjectName("sweep_results");
    table_->setSelectionBehavior(QAbstractItemView::SelectRows);
    table_->setSelectionMode(QAbstractItemView::ExtendedSelection);
    table_->setWordWrap(false);
    table_->horizontalHeader()->setHighlightSections(false);
    table_->horizontalHeader()->setDefaultAlignment(Qt::AlignLeft | Qt::AlignVCenter);
    table_->horizontalHeader()->setStretchLastSection(true);
    connect(table_, &QTableWidget::itemSelectionChanged, this, &SweepPanel::choose);
    across_->addItems({tr("Over iteration time"), tr("Over money")});
    across_->setAccessibleName(tr("What the loss is drawn over"));
    auto* right = new QWidget;
    auto* right_column = seamless_column(right);
    right_column->addWidget(across_, 0, Qt::AlignRight);
    right_column->addWidget(trade_offs_, 1);
    pictures_->addWidget(lines_);
    pictures_->addWidget(right);
    pictures_->setSizes({420, 320});
    pictures_->setChildrenCollapsible(false);
    auto* parts = new QSplitter(Qt::Vertical);
    parts->addWidget(pictures_);
    parts->addWidget(table_);
    parts->setSizes({260, 200});
    parts->setChildrenCollapsible(false);
    seamless_column(results_)->addWidget(parts);
    connect(across_, &QComboBox::currentIndexChanged, this,
            [this](int index) { trade_offs_->set_over_money(index == 1); });
    for (SweepPlot* plot : std::initializer_list<SweepPlot*>{lines_, trade_offs_})
        connect(plot, &SweepPlot::row_clicked, this, [this](int clicked) {
            if (table_->currentRow() == clicked && lines_->chosen() == clicked) return;
            table_->selectRow(clicked);
        });
}

/// What will run, and what will stand here then.
void SweepPanel::make_room(QVBoxLayout& column) {
    auto* inside = new QVBoxLayout(to_come_);
    inside->setContentsMargins(size::gap, size::gap, size::gap, size::gap);
    inside->setSpacing(size::unit);
    inside->addWidget(to_come_title_);
    inside->addWidget(
        words_label(tr("As runs end, their results stand in this table. Two charts come above it: each row as a line "
                       "through its values, and each row's loss against the time or money that it takes"),
                    "secondary"));
    to_come_->setObjectName("sweep_to_come");
    column.addWidget(to_come_);
    column.addWidget(results_, 1);
    column.addStretch();
}

void SweepPanel::show_subject() {
    form_->set_subject(QString::fromStdString(document_.experiment().name));
    form_->set_fields(sweepable_fields(document_.experiment()));
}

void SweepPanel::showEvent(QShowEvent*) {
    show_subject();
    delay_.start();
}

void SweepPanel::changeEvent(QEvent* event) {
    QWidget::changeEvent(event);
    if (event->type() == QEvent::StyleChange) make_table();
}

void SweepPanel::set_hindrance(const QString& hindrance) {
    hindrance_ = hindrance;
    follow_state();
}

/// What the form and the document make: worked out beside the window, since each point is read and checked.
void SweepPanel::plan_again() {
    if (!isVisible() || sweeper_.is_running()) return;
    show_subject();
    const auto setup = form_->setup();
    const int serial = ++serial_;
    if (setup.axes.empty() && setup.seeds == 1) return take_points(nullptr, {}, serial);
    counting_ = true;
    pool_.clear();
    pool_.start([this, serial, setup, experiment = document_.experiment(), base = sweeper_.base_of(document_.file())] {
        Points points;
        FormFault fault;
        try {
            points =
                std::make_shared<const std::vector<SweepPoint>>(points_of(experiment, base, setup, full_pipelines_));
        } catch (const InputError& error) {
            fault = form_fault(error.faults().front(), setup);
        }
        QMetaObject::invokeMethod(
            this, [this, points, fault, serial] { take_points(points, fault, serial); }, Qt::QueuedConnection);
    });
}

/// "Skip ratio: “nonsense” is not a number from 0 to 1": of a value that is wrong by itself, no more than that.
SweepPanel::FormFault SweepPanel::form_fault(const Fault& fault, const SweepSetup& setup) {
    static const QRegularExpression quotes("\"([^\"]*)\"");
    const QString number = QStringLiteral("Give a number"), no_number = QStringLiteral(" is not a number");
    QString what = QString::fromStdString(fault.what), remedy = QString::fromStdString(fault.remedy), field;
    const QString place = QString::fromStdString(fault.pointer).mid(1).replace('/', '.');
    const bool is_axis = fault.pointer == "--vary";  // an axis that cannot be read names its field
    for (const auto& axis : setup.axes) {
        const QString varied = QString::fromStdString(axis.substr(0, axis.find('=')));
        QString name = varied.mid(varied.startsWith('/') ? 1 : 0);
        name.replace('/', '.');
        if (is_axis ? what.contains(varied) || what.contains(name) : name == place) field = name;
    }
    if (is_axis) {
        if (!fault.why.empty()) what += "; " + QString::fromStdString(fault.why);
    } else {
        if (!field.isEmpty() && setup.axes.size() == 1) what = what.left(what.lastIndexOf(QStringLiteral(", with ")));
        what.prepend(place_words(fault.pointer) + ": ");
    }
    if (what.endsWith(no_number) && remedy.startsWith(number))
        what += remedy.mid(number.size());
    else if (!remedy.isEmpty())
        what += ". " + remedy;
    return {what.replace(quotes, QString::fromUtf8("“\\1”")), field};
}

void SweepPanel::take_points(const Points& points, const FormFault& fault, int serial) {
    if (serial != serial_) return;
    counting_ = false;
    points_ = points;
    fault_ = fault.words;
    form_->show_fault(fault.field, fault.words);
    states_.clear();
    look_ = {};
    look_again();
    make_table();
    follow_state();
}

void SweepPanel::look_again() {
    if (!points_ || looking_) return;
    looking_ = true;
    looked_at_.clear();
    for (const auto& run : feed_.runs()) looked_at_.emplace_back(run.id, run.state);
    const auto found = std::make_shared<Found>();
    feed_.ask(
        [found, points = points_](Reader& reader) {
            found->states = find_points(reader, *points);
            found->look = look_of(sweep_fields(*points), sweep_rows(reader, *points, found->states));
            std::vector<Clock> clocks;
            for (const auto& point : *points) clocks.push_back(point.experiment.execution.clock);
            found->look.clock = run_clock(clocks);
        },
        [self = QPointer<SweepPanel>(this), found, serial = serial_](const QString& why) {
            if (!self) return;
            self->looking_ = false;
            if (serial != self->serial_) return self->look_again();
            if (!why.isEmpty() && self->feed_.error().isEmpty()) {  // no run was ever recorded here
                found->states.assign(self->points_->size(), {});
                found->look = look_of(sweep_fields(*self->points_), rows_to_come(*self->points_));
            }
            if (why.isEmpty() || self->feed_.error().isEmpty()) return self->take_found(*found);
            self->fault_ = tr("The record cannot be read: %1").arg(why);
            self->follow_state();
        });
}

void SweepPanel::take_found(const Found& found) {
    states_ = found.states;
    look_ = found.look;
    make_table();
    follow_state();
}

/// The record is asked which run is which point's only where runs came, went or ended; how far they are is in the list.
void SweepPanel::follow_runs() {
    if (!points_ || (!isVisible() && !sweeper_.is_running())) return;
    std::vector<std::pair<RunId, RunState>> now;
    for (const auto& run : feed_.runs()) now.emplace_back(run.id, run.state);
    if (now != looked_at_) look_again();
    for (auto& state : states_)
        if (const RunInfo* run = state.taken ? feed_.run(state.run) : nullptr; run != nullptr && run->iterations > 0)
            state.share = static_cast<double>(run->iterations_done) / run->iterations;
    follow_state();
}

double SweepPanel::share_done() const {
    return std::accumulate(states_.begin(), states_.end(), 0.0,
                           [](double sum, const SweepState& state) { return sum + state.share; });
}

/// "; gpipe visits all stages: one row, whatever the skip ratio"; empty: no ratio varies, or each trains otherwise.
QString SweepPanel::folded_words() const {
    const auto fields = sweep_fields(*points_);
    if (std::find(fields.begin(), fields.end(), skip_ratio_field) == fields.end()) return {};
    QStringList names;
    for (const auto& point : *points_)
        if (const auto name = QString::fromStdString(point.experiment.pipeline.planner);
            point.is_full_pipeline && !names.contains(name))
            names << name;
    if (names.isEmpty()) return {};
    return (names.size() == 1 ? tr("; %1 visits all stages, whatever the skip ratio")
                              : tr("; %1 visit all stages, whatever the skip ratio"))
        .arg(names.join(", "));
}

/// "12 runs: 6 combinations, 2 seeds each; 4 are done"
QString SweepPanel::counted() const {
    const auto count = points_->size();
    const auto seeds = static_cast<std::size_t>(form_->setup().seeds);
    QString words = count == 1 ? tr("1 run") : tr("%1 runs").arg(count);
    if (seeds > 1) words += tr(": %1 combinations, %2 seeds each").arg(count / seeds).arg(seeds);
    words += folded_words();
    const auto done = std::count_if(states_.begin(), states_.end(), [](const SweepState& state) { return state.done; });
    const auto taken =
        std::count_if(states_.begin(), states_.end(), [](const SweepState& state) { return state.taken; });
    if (static_cast<std::size_t>(done) == count) return words + tr("; all are done");
    if (done > 0) words += done == 1 ? tr("; 1 is done") : tr("; %1 are done").arg(done);
    if (taken > 0) words += taken == 1 ? tr(", 1 is under way") : tr(", %1 are under way").arg(taken);
    if (const QString planning = planning_words(); !planning.isEmpty()) words += tr("; ") + planning;
    return words + expected();
}

QString SweepPanel::planning_words() const {
    if (!sweeper_.is_running()) return {};
    if (!points_) return tr("planning…");
    std::size_t begun = 0;
    for (const auto& state : states_) {
        if (state.taken) return {};
        if (state.done) ++begun;
    }
    return begun < points_->size() ? tr("planning %1 of %2…").arg(begun + 1).arg(points_->size()) : QString{};
}

/// Seconds an iteration of the last run of this name, and which that is.
std::optional<std::pair<RunId, double>> SweepPanel::pace() const {
    const RunInfo* like = nullptr;
    for (const auto& run : feed_.runs())
        if (run.name == document_.experiment().name && run.machine_s > 0 && run.iterations_done > 0 &&
            (like == nullptr || run.id > like->id))
            like = &run;
    if (like == nullptr) return {};
    return std::pair{like->id, like->machine_s / like->iterations_done};
}

double SweepPanel::iterations_left() const {
    double iterations = 0;
    for (std::size_t i = 0; i < points_->size(); ++i)
        iterations += (*points_)[i].experiment.training.iterations * (1 - (i < states_.size() ? states_[i].share : 0));
    return iterations;
}

std::size_t SweepPanel::count_begun() const {
    return static_cast<std::size_t>(
        std::count_if(states_.begin(), states_.end(), [](const SweepState& state) { return state.run != 0; }));
}

/// While no run of the sweep trains, its process plans. Runs beside each other hide that.
void SweepPanel::follow_clock() {
    const auto now = std::chrono::steady_clock::now();
    const double passed_s = std::chrono::duration<double>(now - std::exchange(looked_, now)).count();
    if (!planning_words().isEmpty() && points_) planning_s_ += passed_s;
    if (const auto planned = count_begun() - std::min(count_begun(), begun_at_start_); planned > planned_) {
        planned_ = planned;
        plan_pace_ = planning_s_ / static_cast<double>(planned);
    }
    follow_state();
}

/// Seconds that the points which are left take: those of a point's plan, where known, and of its iterations.
double SweepPanel::seconds_left(double iteration_s) const {
    const auto to_plan = static_cast<double>(states_.size() - count_begun());
    const double plan_s = plan_pace_.value_or(0),
                 gone_s = planning_words().isEmpty() ? 0 : planning_s_ - plan_s * static_cast<double>(planned_);
    const double planning_s = std::max(to_plan * plan_s - std::max(gone_s, 0.0), 0.0);
    const auto open =
        std::count_if(states_.begin(), states_.end(), [](const SweepState& state) { return !state.done; });
    const double at_once = std::clamp<double>(static_cast<double>(open), 1, form_->setup().parallel);
    return (iterations_left() * iteration_s + planning_s) / at_once;
}

/// "; about 12 min, one at a time, at the pace of run 5, and planning before each".
QString SweepPanel::expected() const {
    const auto like = sweeper_.is_running() || states_.empty() ? std::nullopt : pace();
    if (!like) return {};
    return tr("; %1, one at a time, at the pace of run %2%3")
        .arg(about(iterations_left() * like->second +
                   plan_pace_.value_or(0) * static_cast<double>(states_.size() - count_begun())))
        .arg(like->first)
        .arg(plan_pace_ ? QString{} : tr(", and planning before each"));
}

/// By what an iteration took, and the planning before a run.
QString SweepPanel::time_left() const {
    const auto like = points_ && !states_.empty() ? pace() : std::nullopt;
    if (!points_) return {};
    if (!like) return tr("time left: told as soon as a run trains");
    const QString words = about(seconds_left(like->second));
    return plan_pace_ ? tr("%1 left").arg(words) : tr("%1 left, and planning before each run").arg(words);
}

void SweepPanel::follow_state() {
    const bool runs = sweeper_.is_running();
    const bool all_done = points_ && states_.size() == points_->size() &&
                          std::all_of(states_.begin(), states_.end(), [](const SweepState& s) { return s.done; });
    const bool begun = std::any_of(states_.begin(), states_.end(), [](const SweepState& s) { return s.run != 0; });
    if (runs != tick_.isActive()) {
        planned_ = 0;
        runs ? tick_.start() : tick_.stop();
    }
    form_->setEnabled(!runs);
    start_->setText(begun && !all_done ? tr("Continue sweep") : tr("Start sweep"));
    start_->setVisible(!runs);
    start_->setEnabled(points_ && !states_.empty() && !all_done && hindrance_.isEmpty());
    start_->setToolTip(hindrance_);
    cancel_->setVisible(runs);
    if (!runs) cancel_->setEnabled(true);
    progress_->setVisible(runs);
    const double total = points_ && !points_->empty() ? static_cast<double>(points_->size()) : 1;
    progress_->setValue(static_cast<int>(1000 * share_done() / total));
    left_->setText(!runs ? QString{} : cancel_->isEnabled() ? time_left() : tr("ends after the iterations at hand"));
    const QString wrong = !fault_.isEmpty() ? fault_ : runs ? QString{} : said_;
    if (const QString role = wrong.isEmpty() ? "secondary" : "bad"; words_->property("role") != role) {
        words_->setProperty("role", role);
        words_->style()->polish(words_);
    }
    words_->setText(!wrong.isEmpty() ? wrong
                    : points_        ? counted()
                    : is_looking()   ? tr("Counting the runs…")
                                     : tr("Name a field and its values: the open experiment is trained with each"));
    results_->setVisible(look_.rows() > 0);
    pictures_->setVisible(begun);
    to_come_->setVisible(!begun);
    to_come_title_->setText(look_.rows() > 0 ? tr("What will run, a row each") : tr("Results stand here as runs end"));
    if (const QString planning = planning_words(); planning != std::exchange(told_, planning)) Q_EMIT progressed();
}

void SweepPanel::make_table() {
    const QSignalBlocker quiet(table_);
    const int chosen = lines_->chosen();
    std::vector<int> rows;
    for (const auto& index : table_->selectionModel()->selectedRows()) rows.push_back(index.row());
    const int row_at_hand = table_->currentRow() >= 0 ? table_->currentRow() : chosen,
              column_at_hand = std::max(0, table_->currentColumn());
    table_->clear();
    table_->setColumnCount(static_cast<int>(look_.columns.size()) + 2);
    table_->setRowCount(look_.rows());
    QStringList heads;
    for (const auto& column : look_.columns) heads << column.name;
    table_->setHorizontalHeaderLabels(heads << tr("Done") << tr("Runs"));
    for (int r = 0; r < look_.rows(); ++r) {
        const bool best = look_.is_front[static_cast<std::size_t>(r)];
        QStringList cells, runs;
        for (const auto& column : look_.columns) cells << column.words[r];
        for (const RunId run : look_.runs[static_cast<std::size_t>(r)]) runs << QString::number(run);
        if (best) runs << tr("best trade-off");
        if (const auto& taken = look_.taken[static_cast<std::size_t>(r)]; !taken.empty())
            runs << tr("%1 under way").arg(run_numbers(taken));
        cells << look_.done[r] << runs.join(", ");
        for (int c = 0; c < cells.size(); ++c) {
            auto* item = new QTableWidgetItem(cells[c]);
            item->setToolTip(cells[c]);
            const bool figure =
                c < static_cast<int>(look_.columns.size()) && look_.columns[static_cast<std::size_t>(c)].is_figure;
            if (figure) item->setTextAlignment(Qt::AlignRight | Qt::AlignVCenter);
            if (best && c + 1 == cells.size()) item->setForeground(theme().accent);
            table_->setItem(r, c, item);
        }
    }
    for (int c = 0; c + 1 < table_->columnCount(); ++c) {
        if (c < static_cast<int>(look_.columns.size()) && look_.columns[static_cast<std::size_t>(c)].is_figure)
            table_->horizontalHeaderItem(c)->setTextAlignment(Qt::AlignRight | Qt::AlignVCenter);
        table_->resizeColumnToContents(c);
        table_->setColumnWidth(c, std::min(table_->columnWidth(c) + size::gap, most_setting));
    }
    lines_->set_look(look_);
    trade_offs_->set_look(look_);
    across_->setVisible(look_.money() != nullptr);
    if (rows.empty() && chosen >= 0) rows.push_back(chosen);
    for (const int row : rows)
        if (row < look_.rows())
            table_->selectionModel()->select(table_->model()->index(row, 0),
                                             QItemSelectionModel::Select | QItemSelectionModel::Rows);
    // Where keys go on from; what is in sight stays.
    table_->setAutoScroll(false);
    table_->selectionModel()->setCurrentIndex(table_->model()->index(row_at_hand, column_at_hand),
                                              QItemSelectionModel::NoUpdate);
    table_->setAutoScroll(true);
}

/// The runs of all rows that are selected; pictures mark the one at hand.
void SweepPanel::choose() {
    const auto rows = table_->selectionModel()->selectedRows();
    if (rows.isEmpty()) return;
    std::vector<RunId> runs;
    int at_hand = rows.front().row();
    for (const auto& index : rows) {
        const auto& of_row = look_.runs[static_cast<std::size_t>(index.row())];
        runs.insert(runs.end(), of_row.begin(), of_row.end());
        if (index.row() == table_->currentRow()) at_hand = index.row();
    }
    lines_->set_chosen(at_hand);
    trade_offs_->set_chosen(at_hand);
    if (!runs.empty()) Q_EMIT runs_chosen(runs);
}

std::vector<RunId> SweepPanel::runs() const {
    std::vector<RunId> all;
    for (const auto& of_row : look_.runs) all.insert(all.end(), of_row.begin(), of_row.end());
    return all;
}

}  // namespace skippipe
