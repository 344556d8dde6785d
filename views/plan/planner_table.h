// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <memory>
#include <optional>
#include <stop_token>
#include <utility>

#include <QElapsedTimer>
#include <QLabel>
#include <QPushButton>
#include <QTableWidget>
#include <QThreadPool>
#include <QWidget>

#include "core/planner/planner.h"
#include "views/plan/price_plot.h"

namespace skippipe {

struct PlanOutcome;

class Document;

/// What one planner makes of the experiment.
struct PlannerRow {
    std::string planner;
    bool valid = false;
    double iteration_s = 0, gap = 0, idle = 0, bytes = 0;
    std::optional<double> price;  ///< of an iteration, where the experiment has prices
    QString fault;                ///< why it has no plan
};

/// Every planner's plan of the experiment, side by side: asked for when it is shown and the experiment's own plan is
/// there, or by a button; filled as they end, one after the other with the experiment's own steps and seed, as the
/// command line's `plan --all`. An edit ends it. A row chosen makes its planner the experiment's.
class PlannerTable : public QWidget {
    Q_OBJECT
public:
    PlannerTable(Document& document, const PlannerRegistry& planners, QWidget* parent = nullptr);
    ~PlannerTable() override;
    void start();
    void stop();
    /// The plan that is shown: its planner's row has its figures at once; the others are asked where that is seen.
    void show_plan(std::shared_ptr<const PlanOutcome> shown);
    /// That plan is of the experiment as it was, or is none: its row is empty again, nothing is asked by itself.
    void show_no_plan();
    bool is_busy() const { return busy_; }
    /// The shortest plan so far of the experiment as it is, and its planner; nothing: none is known.
    std::optional<std::pair<QString, double>> shortest() const;
    QTableWidget& table() { return *table_; }
    QPushButton& button() { return *button_; }
    /// Shows the plot where there is no room for both.
    QPushButton& plot_button() { return *plot_button_; }
    /// Time against price, where the experiment has prices: beside the table, in a narrow panel in its place.
    PricePlot& plot() { return *plot_; }

Q_SIGNALS:
    /// `shortest` may be another.
    void compared();

protected:
    void showEvent(QShowEvent*) override;
    void resizeEvent(QResizeEvent*) override;

private:
    void follow();
    void ask_if_seen();
    bool is_old() const;
    void take(const PlannerRow& row, int place, int serial);
    void fill(const PlannerRow& row, int place);
    void show_names();
    bool fill_shown();
    void say_state(int place, const QString& words, bool works);
    void say_next();
    void say_progress(int place, int percent, int serial);
    void show_used();
    void show_words();
    void mark_best();
    void share_room();

    Document& document_;
    const PlannerRegistry& planners_;
    QTableWidget* table_;
    PricePlot* plot_;
    QPushButton *button_, *plot_button_;
    QLabel* words_;
    QThreadPool pool_;
    std::stop_source stop_;
    QElapsedTimer began_by_itself_;             ///< since nobody pressed the button; invalid: somebody did
    std::optional<Experiment> key_;             ///< of what was planned
    std::shared_ptr<const PlanOutcome> shown_;  ///< of the experiment as it is; null: there is none yet
    int serial_ = 0, done_ = 0;
    bool busy_ = false, has_plot_ = false;
};

}  // namespace skippipe
