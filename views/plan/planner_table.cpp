// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/plan/planner_table.h"

#include <algorithm>
#include <utility>

#include <QHBoxLayout>
#include <QHeaderView>
#include <QScrollBar>
#include <QVBoxLayout>

#include "core/analysis/pareto.h"
#include "core/analysis/price.h"
#include "core/experiment/io.h"
#include "views/document/document.h"
#include "views/plan/plan_service.h"
#include "views/theme/elided_label.h"
#include "views/theme/numbers.h"
#include "views/theme/theme.h"
#include "views/theme/widgets.h"

namespace skippipe {
namespace {

constexpr int wide_enough_for_bytes = 520, wide_enough_for_plot = 900, least_column = 48, most_column = 140;

constexpr int in_work = Qt::UserRole;  ///< a state's role: its planner waits or is at it

enum TableColumn { planner_column, iteration_column, gap_column, idle_column, bytes_column, price_column, note_column };

/// At rest the head cuts no row: the last ones may leave some room below them.
class WholeRows : public QTableWidget {
public:
    using QTableWidget::QTableWidget;
    void show_row(int row) {
        scrollTo(model()->index(row, 0));
        verticalScrollBar()->setValue(top_of_row_from(verticalScrollBar()->value()));
    }

protected:
    void updateGeometries() override {
        QTableWidget::updateGeometries();
        auto& bar = *verticalScrollBar();
        if (rowCount() == 0 || bar.maximum() == 0) return;
        bar.setMaximum(top_of_row_from(bar.maximum()));
        bar.setSingleStep(rowHeight(0));
        bar.setValue(top_of_row_from(bar.value()));
    }

private:
    /// The first one that begins there or below.
    int top_of_row_from(int place) const {
        for (int row = 0; row < rowCount(); ++row)
            if (const int top = verticalHeader()->sectionPosition(row); top >= place) return top;
        return place;
    }
};

/// Which bound it is: with the stages as they are another one holds.
QString gap_words() { return QObject::tr("Above bound of\nany placement"); }

/// What these plans depend on: the planner that is chosen is none of it.
Experiment planned_key(const Experiment& e) {
    Experiment key = planning_part(e);
    key.pipeline.plan_steps = e.pipeline.plan_steps;
    key.seed = e.seed;
    key.prices.node_hour = e.prices.node_hour;
    key.prices.gigabyte = e.prices.gigabyte;
    for (std::size_t i = 0; i < key.topology.nodes.size(); ++i)
        key.topology.nodes[i].price_per_hour = e.topology.nodes[i].price_per_hour;
    return key;
}

PlannerRow row_of(const Experiment& experiment, const std::string& planner, const PlanOutcome& outcome) {
    PlannerRow row{planner, outcome.has_plan, 0, 0, 0, 0, {}, {}};
    if (outcome.has_plan) {
        const Score& s = outcome.score;
        row.valid = s.violations.empty();
        row.iteration_s = s.iteration_seconds;
        row.gap = s.gap;
        row.idle = s.idle_fraction;
        row.bytes = s.bytes;
        if (has_prices(experiment))
            row.price = price_of(experiment, outcome.problem, outcome.plan, outcome.timeline).total();
        if (!row.valid) row.fault = QString::fromStdString(s.violations.front());
    } else if (!outcome.faults.empty()) {
        row.fault = QString::fromStdString(outcome.faults.front().what);
    }
    return row;
}

}  // namespace

PlannerTable::PlannerTable(Document& document, const PlannerRegistry& planners, QWidget* parent)
    : QWidget(parent),
      document_(document),
      planners_(planners),
      table_(new WholeRows(0, 7)),
      plot_(new PricePlot),
      button_(new QPushButton),
      plot_button_(new QPushButton(tr("Plot"))),
      words_(new ElidedLabel) {
    pool_.setMaxThreadCount(1);
    setProperty("role", "surface");
    setAttribute(Qt::WA_StyledBackground);
    make_plain(*table_, tr("Planners side by side"));
    table_->setProperty("role", "narrow");
    table_->setHorizontalHeaderLabels(
        {tr("Planner"), tr("Iteration"), gap_words(), tr("Idle"), tr("Sent"), tr("Price"), tr("State")});
    for (int column = iteration_column; column < note_column; ++column)
        table_->horizontalHeaderItem(column)->setTextAlignment(Qt::AlignRight | Qt::AlignVCenter);
    table_->horizontalHeaderItem(gap_column)
        ->setToolTip(
            tr("How much longer the iteration is than the bound, rounded up: below it no plan of that kind can be, "
               "whichever nodes serve which stage. That of plans that do every backward in one piece is another than "
               "that of plans that split it. With the stages as they are a nearer bound may hold: see Plan and Why"));
    table_->horizontalHeaderItem(price_column)->setToolTip(tr("Of an iteration, by the experiment's prices"));
    table_->horizontalHeader()->setDefaultAlignment(Qt::AlignLeft | Qt::AlignVCenter);
    table_->horizontalHeader()->setSectionResizeMode(QHeaderView::ResizeToContents);
    table_->horizontalHeader()->setSectionResizeMode(note_column, QHeaderView::Stretch);
    table_->setSelectionBehavior(QAbstractItemView::SelectRows);
    wrap_rows(*table_);                                                // why a planner has no plan is read whole
    table_->setVerticalScrollMode(QAbstractItemView::ScrollPerPixel);  // by items the last row would cut another
    button_->setObjectName("plan_all");
    plot_button_->setObjectName("price_plot_button");
    plot_button_->setCheckable(true);
    plot_button_->setToolTip(tr("Iteration time against price, in the place of the table"));
    words_->setProperty("role", "secondary");
    auto* row = head_row();
    row->addWidget(button_);
    row->addWidget(words_, 1);
    row->addWidget(plot_button_);
    table_->setColumnHidden(price_column, !has_prices(document.experiment()));
    auto* column = seamless_column(this);
    column->addLayout(row);
    auto* both = new QHBoxLayout;
    both->setSpacing(0);
    both->addWidget(table_, 3);
    both->addWidget(plot_, 2);
    column->addLayout(both, 1);
    connect(button_, &QPushButton::clicked, this, [this] {
        constexpr int unread_ms = 500;  // it was pressed for what it said before it began by itself
        if (busy_ && began_by_itself_.isValid() && began_by_itself_.elapsed() < unread_ms) return;
        busy_ ? stop() : start();
    });
    connect(&document, &Document::changed, this, &PlannerTable::follow);
    const auto choose = [this](int chosen) {
        const auto* item = table_->item(chosen, planner_column);
        if (item == nullptr) return;
        document_.edit(tr("Planner"),
                       [&](Experiment& e) { e.pipeline.planner = item->data(Qt::UserRole).toString().toStdString(); });
    };
    connect(table_, &QTableWidget::cellClicked, this, choose);
    connect(table_, &QTableWidget::cellActivated, this, choose);
    connect(plot_, &PricePlot::row_clicked, this, choose);
    connect(plot_button_, &QPushButton::toggled, this, &PlannerTable::share_room);
    show_names();
    show_words();
    share_room();
}

PlannerTable::~PlannerTable() {
    stop_.request_stop();
    pool_.waitForDone();
}

void PlannerTable::show_names() {
    const auto put = [this](int row, int column, const QString& text) {
        auto* item = new QTableWidgetItem(text);
        if (column > planner_column && column < note_column) item->setTextAlignment(Qt::AlignRight | Qt::AlignVCenter);
        table_->setItem(row, column, item);
        return item;
    };
    table_->setRowCount(static_cast<int>(planners_.all().size()));
    int row = 0;
    for (const auto& planner : planners_.all()) {
        const QString name = QString::fromStdString(planner->name());
        auto* item = put(row, planner_column, name);
        item->setData(Qt::UserRole, name);
        for (int column = iteration_column; column <= note_column; ++column) put(row, column, {});
        ++row;
    }
}

/// What a planner does that has no plan yet, or what became of it.
void PlannerTable::say_state(int place, const QString& words, bool works) {
    auto* note = table_->item(place, note_column);
    note->setText(words);
    note->setData(in_work, works);
    note->setForeground(theme().text_2);
}

/// The planner in use stands out; the button says what it would do.
void PlannerTable::show_words() {
    button_->setText(busy_ ? tr("Stop") : key_ && !is_old() ? tr("Plan again") : tr("Plan with all"));
    const QString used = QString::fromStdString(document_.experiment().pipeline.planner);
    for (int row = 0; row < table_->rowCount(); ++row) {
        auto* item = table_->item(row, planner_column);
        const bool is_used = item->data(Qt::UserRole).toString() == used;
        item->setFont(is_used ? bold_font() : body_font());
        item->setText((is_used ? QStringLiteral("✓ ") : QString{}) + item->data(Qt::UserRole).toString());
        const QString about =
            QString::fromStdString(planners_.find(item->data(Qt::UserRole).toString().toStdString())->description());
        item->setToolTip(is_used ? tr("%1\nThe experiment uses it").arg(about) : about);
    }
    const QString clicked = table_->isHidden() ? tr("point") : tr("row");
    words_->setText(busy_   ? tr("%1 of %2 have planned").arg(done_).arg(table_->rowCount())
                    : !key_ ? tr("Every planner's plan, one after the other")
                    : is_old()
                        ? tr("Of the experiment before the last edit; a click on a %1 uses its planner").arg(clicked)
                        : tr("A click on a %1 uses its planner; each is above its own bound").arg(clicked));
}

bool PlannerTable::is_old() const { return key_ && *key_ != planned_key(document_.experiment()); }

void PlannerTable::follow() {
    const bool old = is_old();
    if (busy_ && old) stop();
    for (int row = 0; row < table_->rowCount(); ++row)
        for (int column = iteration_column; column < note_column; ++column)
            table_->item(row, column)->setForeground(old ? theme().text_2 : theme().text);
    table_->setColumnHidden(price_column, !has_prices(document_.experiment()));
    show_words();
    Q_EMIT compared();
    ask_if_seen();  // prices alone: the plan stays
}

void PlannerTable::stop() {
    stop_.request_stop();
    ++serial_;
    if (!std::exchange(busy_, false)) return;
    for (int row = 0; row < table_->rowCount(); ++row)
        if (table_->item(row, note_column)->data(in_work).toBool()) say_state(row, tr("stopped"), false);
    show_words();
}

void PlannerTable::start() {
    stop();
    began_by_itself_.invalidate();
    const Experiment experiment = document_.experiment();
    key_ = planned_key(experiment);
    const int serial = ++serial_;
    show_names();
    for (int row = 0; row < table_->rowCount(); ++row) say_state(row, tr("waits"), true);
    done_ = fill_shown() ? 1 : 0;
    busy_ = done_ < table_->rowCount();
    say_next();
    mark_best();
    show_words();
    show_used();
    stop_ = std::stop_source{};
    pool_.start(
        [this, experiment, serial, known = done_ > 0 ? shown_->plan.planner : std::string{}, stop = stop_.get_token()] {
            int place = -1;
            for (const auto& planner : planners_.all()) {
                ++place;
                if (planner->name() == known) continue;
                PlanRequest request = request_for(experiment);
                request.stop = stop;
                request.progress = [this, place, serial, told = 0](const PlanProgress& now) mutable {
                    const int percent = std::min(99, static_cast<int>(100 * now.fraction));
                    if (percent <= told) return;
                    told = percent;
                    QMetaObject::invokeMethod(
                        this, [this, place, percent, serial] { say_progress(place, percent, serial); },
                        Qt::QueuedConnection);
                };
                const auto outcome = make_plan(experiment, *planner, request);
                if (stop.stop_requested()) return;
                const PlannerRow row = row_of(experiment, planner->name(), *outcome);
                QMetaObject::invokeMethod(
                    this, [this, row, place, serial] { take(row, place, serial); }, Qt::QueuedConnection);
            }
        });
}

/// In sight.
void PlannerTable::show_used() {
    const auto& used = document_.experiment().pipeline.planner;
    for (int row = 0; row < table_->rowCount(); ++row)
        if (const auto* item = table_->item(row, planner_column); item->data(Qt::UserRole).toString() == used.c_str())
            static_cast<WholeRows*>(table_)->show_row(row);
}

/// The row of the plan that is there already; false: there is none.
bool PlannerTable::fill_shown() {
    for (int place = 0; shown_ && place < table_->rowCount(); ++place) {
        if (table_->item(place, planner_column)->data(Qt::UserRole).toString().toStdString() != shown_->plan.planner)
            continue;
        fill(row_of(document_.experiment(), shown_->plan.planner, *shown_), place);
        return true;
    }
    return false;
}

/// Which planner is at it: the first of those that have no plan yet.
void PlannerTable::say_next() {
    for (int row = 0; row < table_->rowCount(); ++row)
        if (table_->item(row, note_column)->data(in_work).toBool()) return say_state(row, tr("plans…"), true);
}

void PlannerTable::say_progress(int place, int percent, int serial) {
    if (serial == serial_ && table_->item(place, note_column)->data(in_work).toBool())
        say_state(place, (width() < wide_enough_for_bytes ? tr("%1\u00A0%") : tr("plans, %1\u00A0%")).arg(percent),
                  true);
}

void PlannerTable::take(const PlannerRow& row, int place, int serial) {
    if (serial != serial_) return;
    ++done_;
    fill(row, place);
    busy_ = done_ < table_->rowCount();
    say_next();
    mark_best();
    show_words();
    Q_EMIT compared();
}

std::optional<std::pair<QString, double>> PlannerTable::shortest() const {
    std::optional<std::pair<QString, double>> found;
    for (int row = 0; key_ && !is_old() && row < table_->rowCount(); ++row)
        if (const double s = table_->item(row, iteration_column)->data(Qt::UserRole).toDouble();
            s > 0 && (!found || s < found->second))
            found = {table_->item(row, planner_column)->data(Qt::UserRole).toString(), s};
    return found;
}

void PlannerTable::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    const bool is_narrow = width() < wide_enough_for_bytes;
    table_->setColumnHidden(bytes_column, is_narrow);
    // What became of a planner is read whole: in a narrow table it has the room of a longer head.
    table_->horizontalHeaderItem(gap_column)->setText(is_narrow ? tr("Gap") : gap_words());
    table_->horizontalHeader()->setMinimumSectionSize(std::clamp(width() / 8, least_column, most_column));
    share_room();
}

/// Table and plot stand beside each other where both have room, else one of them is shown.
void PlannerTable::share_room() {
    const bool is_narrow = width() < wide_enough_for_plot;
    plot_button_->setVisible(has_plot_ && is_narrow);
    plot_->setVisible(has_plot_ && (!is_narrow || plot_button_->isChecked()));
    table_->setVisible(!is_narrow || plot_->isHidden());
    show_words();
}

void PlannerTable::showEvent(QShowEvent* event) {
    QWidget::showEvent(event);
    ask_if_seen();
}

/// Who looks elsewhere asks nothing, and what was asked, or stopped by hand, is not asked again.
void PlannerTable::ask_if_seen() {
    if (!isVisible() || !shown_ || busy_ || (key_ && !is_old())) return;
    start();
    began_by_itself_.start();
}

void PlannerTable::show_plan(std::shared_ptr<const PlanOutcome> shown) {
    shown_ = std::move(shown);
    if (isVisible() || key_) return ask_if_seen();
    show_names();
    fill_shown();
    show_words();
}

void PlannerTable::show_no_plan() {
    if (!std::exchange(shown_, nullptr) || key_) return;  // what was asked grows pale by itself
    show_names();
    show_words();
}

void PlannerTable::fill(const PlannerRow& row, int place) {
    if (row.iteration_s > 0) {
        table_->item(place, iteration_column)->setText(duration(row.iteration_s));
        table_->item(place, gap_column)->setText(at_most_percent(row.gap));
        table_->item(place, idle_column)->setText(percent(row.idle));
        table_->item(place, bytes_column)->setText(quantity(row.bytes, "B"));
        table_->item(place, price_column)->setText(row.price ? three_digits(*row.price) : QString{});
    } else {
        for (int column = iteration_column; column < price_column; ++column)
            table_->item(place, column)->setText(QStringLiteral("–"));
    }
    table_->item(place, iteration_column)->setData(Qt::UserRole, row.valid ? row.iteration_s : 0.0);
    auto* note = table_->item(place, note_column);
    say_state(place, row.fault.isEmpty() ? tr("planned") : row.fault, false);
    note->setToolTip(row.fault);
    if (!row.fault.isEmpty()) note->setForeground(theme().bad);
    table_->item(place, price_column)->setData(Qt::UserRole, row.price && row.valid ? *row.price : QVariant{});
}

/// The shortest so far; with prices also those than which no other is both as short and as cheap.
void PlannerTable::mark_best() {
    std::vector<std::vector<std::optional<double>>> rows;
    bool has_prices = false;
    for (int r = 0; r < table_->rowCount(); ++r) {
        const double iteration_s = table_->item(r, iteration_column)->data(Qt::UserRole).toDouble();
        const QVariant price = table_->item(r, price_column)->data(Qt::UserRole);
        has_prices = has_prices || price.isValid();
        rows.push_back({iteration_s > 0 ? std::optional(iteration_s) : std::nullopt,
                        price.isValid() ? std::optional(price.toDouble()) : std::nullopt});
    }
    const auto front = has_prices ? pareto_front(rows) : std::vector<bool>(rows.size(), false);
    double least = 0;
    for (int r = 0; r < table_->rowCount(); ++r)
        if (const double s = table_->item(r, iteration_column)->data(Qt::UserRole).toDouble(); s > 0)
            least = least == 0 ? s : std::min(least, s);
    std::vector<PricedPlan> priced;
    for (int r = 0; r < table_->rowCount(); ++r)
        if (const auto& row = rows[static_cast<std::size_t>(r)]; row[0] && row[1])
            priced.push_back({r, table_->item(r, planner_column)->data(Qt::UserRole).toString(), *row[0], *row[1],
                              front[static_cast<std::size_t>(r)]});
    has_plot_ = priced.size() > 1;
    plot_->show_plans(std::move(priced));
    share_room();
    for (int r = 0; r < table_->rowCount(); ++r) {
        auto* cell = table_->item(r, iteration_column);
        const bool best = least > 0 && cell->data(Qt::UserRole).toDouble() == least;
        cell->setFont(best ? bold_font() : body_font());
        if (best && !busy_) table_->item(r, note_column)->setText(tr("shortest"));
        const bool trades = front[static_cast<std::size_t>(r)] && !best;
        if (trades && !busy_) table_->item(r, note_column)->setText(tr("cheaper, none as cheap is shorter"));
        if ((best || trades) && !busy_) table_->item(r, note_column)->setForeground(theme().good);
    }
}

}  // namespace skippipe
