// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <map>

#include <QLabel>
#include <QScrollArea>
#include <QVBoxLayout>

#include "core/planner/planner.h"
#include "views/document/document.h"
#include "views/document/selection_model.h"
#include "views/failures/failure_editor.h"

namespace skippipe {

/// Properties of what is selected; of the experiment where nothing is.
class Inspector : public QScrollArea {
    Q_OBJECT
public:
    Inspector(Document& document, SelectionModel& selection, FailureEditor& failures, const PlannerRegistry& planners,
              QWidget* parent = nullptr);
    /// Puts the cursor into the first property that is shown.
    void enter();

private:
    void rebuild();
    void follow();
    void show_experiment();
    void show_node(const std::string& id);
    void show_link(const LinkKey& key);
    void show_region(const std::string& id);
    void show_many();
    void show_failures();
    void show_failure(std::size_t index);
    void show_recovery();
    QWidget* skip_slider();
    void show_costs();
    void show_model();
    QWidget* section(const QString& title, QWidget* content, bool open = true);
    QString key_of_selection() const;

    Document& document_;
    SelectionModel& selection_;
    FailureEditor& failures_;
    const PlannerRegistry& planners_;
    QVBoxLayout* column_ = nullptr;
    QString shown_;
    std::map<QString, bool> open_;  ///< sections that were opened or closed
};

/// What a skip ratio really drops: "4 of 6 stages a microbatch: drops 33.3 % of them", or why it cannot be.
QString skip_words(int stages, double skip_ratio);
/// What the experiment's rule for summing gradients means, in a sentence.
QString all_reduce_words(const Experiment& experiment);
/// The same, or that the chosen planner ignores the skip ratio.
QString skip_words(const Pipeline& pipeline, const PlannerRegistry& planners);

}  // namespace skippipe
