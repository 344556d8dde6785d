// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <vector>

#include <QComboBox>
#include <QLabel>
#include <QTableWidget>
#include <QWidget>

#include "core/analysis/plan_comparison.h"
#include "views/runs/run_data.h"

namespace skippipe {

/// Networks and plans of two runs held against each other: what is drawn otherwise, who serves another stage, how many
/// microbatches go another way. The baseline against one that is chosen.
class RunPlansPanel : public QWidget {
    Q_OBJECT
public:
    explicit RunPlansPanel(QWidget* parent = nullptr);
    /// The baseline first. Pointers are not kept.
    void show_runs(const std::vector<const RunData*>& runs);
    const QTableWidget& table() const { return *table_; }
    const QLabel& words() const { return *words_; }
    QComboBox& other() { return *other_; }

private:
    /// What is needed of a run.
    struct Shown {
        RunId id;
        Topology topology;
        std::optional<Problem> problem;
        Plan plan;
    };
    void draw();
    void add_heading(const QString& words);
    void add_row(const QString& what, const QString& a, const QString& b);

    QComboBox* other_;
    QLabel* words_;
    QTableWidget* table_;
    std::vector<Shown> shown_;
};

}  // namespace skippipe
