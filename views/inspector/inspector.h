// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <map>
#include <memory>
#include <set>
#include <vector>

#include <QLabel>
#include <QScrollArea>
#include <QToolButton>
#include <QVBoxLayout>

#include "core/analysis/reductions.h"
#include "core/planner/planner.h"
#include "views/document/document.h"
#include "views/document/selection_model.h"
#include "views/failures/failure_editor.h"
#include "views/inspector/applying.h"
#include "views/inspector/link_facts.h"
#include "views/inspector/memory_bar.h"
#include "views/timeline/details.h"

namespace skippipe {

class FormRows;

/// How long nodes do nothing in an iteration of a plan, in seconds, by their ids.
struct PlanIdle {
    std::map<std::string, double> idle_s;
    double iteration_s = 0;    ///< 0: there is no plan that comes to its end
    bool is_outdated = false;  ///< of the experiment before the last edit
    bool operator==(const PlanIdle&) const = default;
    /// "34 %, 0.41 s"; empty where nothing is known of the node.
    QString words(const std::string& node) const;
};

/// One iteration of the plan that is shown, for what the inspector tells of stages and microbatches.
struct PlannedIteration {
    std::shared_ptr<const TimelineData> lanes;  ///< null: there is no plan that comes to its end
    double iteration_s = 0;
    std::vector<StageReduction> reductions;  ///< by stage
    std::vector<std::string> node_ids;       ///< that the reductions' nodes are
    bool is_outdated = false;                ///< of the experiment before the last edit
};

/// What a stage is and does in that iteration: its nodes, parameters and memory, how much they work, what they wait for
/// and how its gradient is summed. `served`: the stages by node; empty where the experiment has errors.
Details planned_stage_details(int stage, const Experiment& experiment, const PlannedIteration& plan,
                              const std::map<std::string, ServedStage>& served);
/// Which way a microbatch takes in it, what it skips, and its time split in computing, sending and waiting.
Details planned_microbatch_details(int microbatch, const PlannedIteration& plan);
/// "n7, n9, bright below": for whom a node waits in it for a good part of its idle time; empty: for nobody.
QString awaited_words(const PlannedIteration& plan, const std::string& node);

/// Properties of what is selected; of the experiment where nothing is.
class Inspector : public QScrollArea {
    Q_OBJECT
public:
    Inspector(Document& document, SelectionModel& selection, FailureEditor& failures, const PlannerRegistry& planners,
              QWidget* parent = nullptr);
    ~Inspector() override;
    /// Puts the cursor into the first property that is shown.
    void enter();
    /// The field at a JSON pointer gets the keys, its section opened; nothing where it is not of what is shown.
    void show_field(const QString& pointer);
    /// The stage that each node serves in the plan that is shown.
    void show_stages(std::map<std::string, ServedStage> stages);
    /// How idle nodes are in the plan that is shown.
    void show_idle(PlanIdle idle);
    /// What stages and microbatches are told of.
    void show_iteration(PlannedIteration iteration);
    /// What links are told of.
    void show_links(PlannedLinks links);
    /// What the field that has the keys means and may be, at the lower edge.
    const QLabel& help() const { return *help_; }

Q_SIGNALS:
    void stages_shown();
    void idle_shown();
    void iteration_shown();
    void links_shown();

protected:
    void resizeEvent(QResizeEvent*) override;

private:
    void rebuild();
    void follow();
    void show_experiment();
    void show_node(const std::string& id);
    void show_link(const LinkKey& key);
    void show_link_facts(const LinkKey& key);
    QLabel* facts_label(const QString& name, const QString& title);
    void show_region(const std::string& id);
    void show_region_facts(const std::string& id);
    void show_many();
    void show_failures();
    void show_failure(std::size_t index);
    void show_recovery();
    QWidget* skip_slider();
    QWidget* description();
    int lines_of_description() const;
    void show_memory(FormRows& form, const std::string& id);
    void show_hardware(FormRows& form, const std::set<std::string>& ids);
    void show_values_in_force(FormRows& form, const std::set<std::string>& ids);
    void show_facts(const Selection& selected);
    void follow_fact(const QString& link);
    void add_way_to_settings();
    void mark_faults();
    void open_sections_of(const QWidget* field);
    void show_idle_row(FormRows& form, const std::string& id);
    void show_awaited_row(FormRows& form, const std::string& id);
    void show_help(const QWidget* focused);
    void place_help();
    void reveal(const QWidget& field);
    std::set<std::string> hidden(FormPart part, std::set<std::string> besides = {}) const;
    void show_costs();
    void show_constraints();
    void show_pipeline();
    void show_model();
    /// Its button, by which it is opened.
    QToolButton* section(const QString& title, QWidget* content, bool open = true);
    QString key_of_selection() const;

    Document& document_;
    SelectionModel& selection_;
    FailureEditor& failures_;
    const PlannerRegistry& planners_;
    QVBoxLayout* column_ = nullptr;
    QString shown_;
    std::map<const QWidget*, QToolButton*> sections_;  ///< by what they hold
    std::map<QString, bool> open_;                     ///< sections that were opened or closed
    std::map<std::string, ServedStage> stages_;
    PlanIdle idle_;
    PlannedIteration iteration_;
    PlannedLinks links_;
    QLabel* help_;
    std::set<std::string> marked_;  ///< pointers of faults that fields show
};

/// What a skip ratio really drops: "4 of 6 stages a microbatch: drops 33.3 % of them", or why it cannot be.
QString skip_words(int stages, double skip_ratio);
/// What the experiment's rule for summing gradients means, in a sentence.
QString all_reduce_words(const Experiment& experiment);
/// The same, or that the chosen planner ignores the skip ratio.
QString skip_words(const Pipeline& pipeline, const PlannerRegistry& planners);

}  // namespace skippipe
