// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <chrono>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <QComboBox>
#include <QLabel>
#include <QProgressBar>
#include <QPushButton>
#include <QSplitter>
#include <QTableWidget>
#include <QThreadPool>
#include <QPointer>
#include <QTimer>
#include <QVBoxLayout>
#include <QWidget>

#include "views/compare/sweep_form.h"
#include "views/compare/sweep_plots.h"
#include "views/document/document.h"
#include "views/runs/run_feed.h"
#include "views/runs/sweeper.h"

namespace skippipe {

/// The open document again and again with other values: what that makes, its progress, and what came of it. A row that
/// is clicked selects its runs.
class SweepPanel : public QWidget {
    Q_OBJECT
public:
    /// `planners` say which of them skip nothing, whatever the skip ratio.
    SweepPanel(const Document& document, RunFeed& feed, Sweeper& sweeper, const PlannerRegistry& planners,
               QWidget* parent = nullptr);
    ~SweepPanel() override;

    SweepForm& form() { return *form_; }
    QPushButton& start_button() { return *start_; }
    QPushButton& cancel_button() { return *cancel_; }
    const QLabel& words() const { return *words_; }
    QTableWidget& table() { return *table_; }
    ParallelPlot& lines() { return *lines_; }
    TradeOffPlot& trade_offs() { return *trade_offs_; }
    /// Runs of all rows that are done.
    std::vector<RunId> runs() const;
    /// The points are being worked out, or the record asked for them.
    bool is_looking() const { return looking_ || counting_ || delay_.isActive(); }
    /// Why nothing can start now; empty: it can.
    void set_hindrance(const QString& hindrance);
    /// "planning 1 of 6…": what a sweep does while none of its runs trains; empty: one does, or nothing goes on.
    QString planning_words() const;

Q_SIGNALS:
    void runs_chosen(const std::vector<RunId>& runs);
    void progressed();  ///< of a sweep that goes on
    void started();     ///< by what the form says

protected:
    void showEvent(QShowEvent*) override;
    void changeEvent(QEvent*) override;

private:
    struct Found {
        std::vector<SweepState> states;
        SweepLook look;
    };
    using Points = std::shared_ptr<const std::vector<SweepPoint>>;
    void make_table();
    void make_results();
    void make_room(QVBoxLayout& column);
    void show_subject();
    void plan_again();
    /// What is wrong with the form, and the field that it is said of.
    struct FormFault {
        QString words, field;
    };
    static FormFault form_fault(const Fault& fault, const SweepSetup& setup);
    void take_points(const Points& points, const FormFault& fault, int serial);
    void look_again();
    void take_found(const Found& found);
    void follow_runs();
    void follow_state();
    void follow_clock();
    void choose();
    std::size_t count_begun() const;
    double seconds_left(double iteration_s) const;
    double share_done() const;
    QString counted() const;
    QString folded_words() const;
    QString expected() const;
    std::optional<std::pair<RunId, double>> pace() const;
    double iterations_left() const;
    QString time_left() const;

    const Document& document_;
    RunFeed& feed_;
    Sweeper& sweeper_;
    const std::set<std::string> full_pipelines_;  ///< planners
    SweepForm* form_;
    QPushButton *start_, *cancel_;
    QLabel *words_, *left_;
    QProgressBar* progress_;
    QWidget *results_, *to_come_;
    QLabel* to_come_title_;
    QSplitter* pictures_;
    QTableWidget* table_;
    QComboBox* across_;
    ParallelPlot* lines_;
    TradeOffPlot* trade_offs_;
    QTimer delay_;
    QThreadPool pool_;
    int serial_ = 0;
    Points points_;  ///< null: not known yet, or wrong
    QString fault_, said_, hindrance_;
    std::vector<SweepState> states_;  ///< [point]; empty: not known yet
    SweepLook look_;
    std::vector<std::pair<RunId, RunState>> looked_at_;  ///< the record's runs when it was asked last
    bool looking_ = false, counting_ = false;
    QString told_;  ///< of what it plans
    QTimer tick_;
    std::chrono::steady_clock::time_point looked_;
    double planning_s_ = 0;            ///< of this sweep, while none of its runs trained
    std::size_t begun_at_start_ = 0;   ///< points that had a run when it was started
    std::size_t planned_ = 0;          ///< points that have got one since
    std::optional<double> plan_pace_;  ///< seconds that a point's planning took, of the last sweep that was seen
};

}  // namespace skippipe
