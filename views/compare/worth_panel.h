// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include <QComboBox>
#include <QElapsedTimer>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QTableWidget>
#include <QThreadPool>
#include <QTimer>
#include <QWidget>

#include "core/analysis/skip_worth.h"
#include "core/planner/planner.h"
#include "views/document/document.h"
#include "views/runs/run_data.h"

class QCustomPlot;

namespace skippipe {

/// Is the skip worth it? Time, or money, of the drawn network to a loss at each skip ratio: what the selected runs
/// needed, times the iteration that the open document's planner finds there.
class WorthPanel : public QWidget {
    Q_OBJECT
public:
    WorthPanel(const Document& document, const PlannerRegistry& planners, QWidget* parent = nullptr);
    ~WorthPanel() override;

    /// Pointers are not kept.
    void show_runs(const std::vector<const RunData*>& runs);
    const SkipWorths& worths() const { return worths_; }
    const QTableWidget& table() const { return *table_; }
    const QLabel& finding() const { return *finding_; }
    const QLabel& words() const { return *words_; }
    QLineEdit& target() { return *target_; }
    QComboBox& figure() { return *figure_; }
    bool is_planning() const { return planning_; }
    /// Stops what is planned, and lets it go on.
    QPushButton& stop_button() { return *stop_button_; }
    /// How far the plans are, and about how long they will take.
    QString progress() const { return progress_->text(); }

Q_SIGNALS:
    void drawn();
    void sweep_requested();   ///< of the skip ratio
    void prices_requested();  ///< of the open experiment

protected:
    void showEvent(QShowEvent*) override;
    void changeEvent(QEvent*) override;
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    /// An iteration of the drawn network at a skip ratio; none: there is no plan, and `why`.
    struct Planned {
        std::optional<SkipMeasured> measured;
        QString why;
    };
    struct Shown {
        RunId id = 0;
        double skip_ratio = 0;
        bool same_model = true;
        std::uint64_t seed = 0;
        std::vector<Metric> metrics;
        Experiment planned_of = {};           ///< whose plan it was trained by, as `planned_of_`
        std::optional<SkipMeasured> planned;  ///< an iteration of that plan; absent: it is not that experiment's own
    };
    void plan_again();
    void take_plans_of_runs();
    void stop_or_go_on();
    /// Skip ratios of the runs shown, and how many of them have been planned.
    std::pair<std::size_t, std::size_t> ratios_and_planned() const;
    void show_progress();
    void take(double skip_ratio, const Planned& planned, int serial);
    void draw();
    void draw_curve();
    void fill_table();
    void space_columns();
    QString what_is_left_out() const;

    const Document& document_;
    const PlannerRegistry& planners_;
    QComboBox *metric_, *figure_;
    QLineEdit* target_;
    QLabel *finding_, *words_, *empty_, *progress_, *why_off_;  ///< the last: why money cannot be chosen
    QPushButton *prices_, *stop_button_, *sweep_;
    QCustomPlot* plot_;
    QTableWidget* table_;
    QTimer delay_, tick_;
    QElapsedTimer since_;           ///< these plans are made
    std::size_t planned_then_ = 0;  ///< when they began
    std::shared_ptr<std::atomic<double>> fraction_ = std::make_shared<std::atomic<double>>(0);  ///< of the plan at hand
    QThreadPool pool_;
    std::stop_source stop_;
    int serial_ = 0;
    bool planning_ = false, stopped_ = false;
    std::vector<Shown> shown_;
    Experiment planned_of_;              ///< whose plans these are
    std::map<double, Planned> planned_;  ///< by skip ratio
    SkipWorths worths_;
    std::map<double, std::vector<RunId>> trained_;  ///< by skip ratio: the runs that have values of the chosen kind
};

}  // namespace skippipe
