// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <vector>

#include <QLabel>
#include <QTableWidget>
#include <QWidget>

#include "core/analysis/plan_comparison.h"
#include "views/runs/run_data.h"

namespace skippipe {

/// Networks and plans of runs held against the baseline's, a column a run: what is drawn otherwise, how many
/// microbatches go another way, what stages do, who serves another stage.
class RunPlansPanel : public QWidget {
    Q_OBJECT
public:
    explicit RunPlansPanel(QWidget* parent = nullptr);
    /// The baseline first. Pointers are not kept.
    void show_runs(const std::vector<const RunData*>& runs);
    const QTableWidget& table() const { return *table_; }
    const QLabel& words() const { return *words_; }
    /// What stands here where there is nothing to compare.
    const QWidget& empty() const { return *empty_; }

protected:
    void changeEvent(QEvent* event) override;
    void showEvent(QShowEvent* event) override;
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    /// What is needed of a run.
    struct Shown {
        RunId id;
        Topology topology;
        std::optional<Problem> problem;
        Plan plan;
    };
    /// A run against the baseline.
    struct Against {
        std::vector<NetworkChange> network;
        std::optional<PlanComparison> plan;  ///< absent: an experiment cannot be understood
    };
    void draw();
    void draw_network(const std::vector<Against>& others);
    void draw_paths(const std::vector<Against>& others);
    void draw_stages(const std::vector<Against>& others);
    void draw_nodes(const std::vector<Against>& others);
    void fit_names();
    void add_heading(const QString& words);
    /// One text a run; those that are as the baseline's are pale.
    void add_row(const QString& what, const QStringList& values);

    QLabel *finding_, *words_;
    QTableWidget* table_;
    QWidget* empty_;
    std::vector<Shown> shown_;
    bool is_stale_ = false;  ///< the table is of other runs than `shown_`
};

}  // namespace skippipe
