// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/window/design_page.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include <QEvent>
#include <QHeaderView>
#include <QMenu>
#include <QPushButton>
#include <QSignalBlocker>
#include <QSplitter>
#include <QTabBar>
#include <QVBoxLayout>

#include "core/analysis/reductions.h"
#include "views/theme/numbers.h"
#include "views/theme/theme.h"
#include "views/theme/widgets.h"
#include "views/topology/edits.h"
#include "views/topology/item_marks.h"
#include "views/topology/link_menu.h"

namespace skippipe {
namespace {

constexpr int narrow_inspector = 304;                   ///< pixels
constexpr int usual_rows = 720;                         ///< pixels of both rows
constexpr int most_bottom = 348;                        ///< pixels that lanes get for their names all the same
constexpr int tools_width = 158, usual_columns = 1216;  ///< pixels of the palette, and of all three columns
constexpr double bottom_share = 0.4;                    ///< of the rows: what is below the canvas
constexpr double more_bottom_share = 0.33;              ///< of what a larger window has more
constexpr double least_canvas_share = 0.45;             ///< of the page, whatever lanes would like

/// Of the page: a narrow one needs its room for the canvas, and on a wide one names and values need not be cut.
int inspector_width(int page) {
    constexpr int narrow_page = 1100, narrow = narrow_inspector, usual = 348, usual_page = 1860, most = 480;
    constexpr double share = 0.1;  // of what a wider page has more
    if (page < narrow_page) return narrow;
    return std::min(most, usual + static_cast<int>(share * std::max(0, page - usual_page)));
}

/// In which all lanes have their names, with a line more of figures; 0: there are no lanes.
int height_for_names(PlanArea& plan) {
    const auto& timeline = plan.timeline();
    if (timeline.data() == nullptr || timeline.data()->lanes().empty()) return 0;
    const int others = plan.height() - timeline.height() - plan.axis().height();
    return others + size::row + plan.height_for_names() + plan.axis().minimumSizeHint().height();
}

}  // namespace

DesignPage::DesignPage(Document& document, SelectionModel& selection, PlanService& plans, QWidget* parent)
    : QWidget(parent),
      document_(document),
      selection_(selection),
      plans_(plans),
      failures_(document, selection),
      canvas_(new TopologyView(document, selection, true)),
      inspector_(new Inspector(document, selection, failures_, plans.planners())),
      stages_(new StageLanes(document, selection)),
      devices_(new DeviceLanes(document, selection)),
      matrix_(new MatrixPanel(document, selection)),
      plan_(new PlanArea(document, selection, failures_, plans)),
      problems_(new ProblemList(document, plans)),
      remedies_(new RemedyBar(document, false)),
      why_(new WhyPanel(document, selection, plans)),
      planners_(new PlannerTable(document, plans.planners())),
      what_if_(new WhatIfPanel(document, selection, plans.planners())),
      bottom_(new QTabWidget),
      palette_(new Palette(document, *canvas_)) {
    auto* tabs = new QTabWidget;
    tabs->setDocumentMode(true);
    tabs->addTab(canvas_, tr("Canvas"));
    tabs->addTab(matrix_, tr("Matrix"));
    tabs->addTab(stages_, tr("Stages"));
    tabs->addTab(devices_, tr("Devices"));
    canvas_key_ = new CanvasKey(document, *canvas_, *tabs);  // theirs
    connect(matrix_, &MatrixPanel::told, this, &DesignPage::told);
    connect(tabs, &QTabWidget::currentChanged, this, &DesignPage::show_problems);

    auto* middle = rows_ = new QSplitter(Qt::Vertical);
    middle->addWidget(tabs);
    fill_bottom();
    middle->addWidget(bottom_);
    middle->setSizes({static_cast<int>((1 - bottom_share) * usual_rows), static_cast<int>(bottom_share * usual_rows)});
    middle->setStretchFactor(0, 1);
    middle->setProperty(fits_by_itself, true);
    connect(middle, &QSplitter::splitterMoved, this, [this] { rows_->setProperty(fits_by_itself, false); });
    auto* across = columns_ = new QSplitter(Qt::Horizontal, this);
    across->addWidget(palette_);
    across->addWidget(middle);
    across->addWidget(inspector_);
    across->setSizes({tools_width, 716, inspector_width(usual_columns)});
    across->setProperty(fits_by_itself, true);
    connect(across, &QSplitter::splitterMoved, this, [this] { columns_->setProperty(fits_by_itself, false); });
    middle->setObjectName("design_rows");
    across->setObjectName("design_columns");
    across->setStretchFactor(1, 1);
    across->setChildrenCollapsible(false);
    inspector_->setMinimumWidth(narrow_inspector);  // whose fields and lists are whole
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->addWidget(across);

    connect(&plans, &PlanService::planned, this, &DesignPage::show_plan);
    connect(&plans, &PlanService::busy_changed, this, &DesignPage::show_plan);
    connect(&plans, &PlanService::explained, this, &DesignPage::show_critical);
    connect(&plans, &PlanService::busy_changed, this, &DesignPage::show_critical);
    connect(&document, &Document::faults_changed, this, &DesignPage::show_problems);
    connect(&document, &Document::replaced, this, [this, &plans] {  // the first plan's lanes have their names
        connect(&plans, &PlanService::planned, this, &DesignPage::fit_rows,
                static_cast<Qt::ConnectionType>(Qt::QueuedConnection | Qt::SingleShotConnection));
    });
    connect(planners_, &PlannerTable::compared, this, [this] {
        const auto shortest = planners_->shortest();
        shortest ? plan_->show_shortest(shortest->first, shortest->second) : plan_->show_shortest({}, 0);
    });
    connect(plan_, &PlanArea::problem_wanted, this, &DesignPage::show_problem);
    connect(problems_, &QListWidget::currentRowChanged, this, &DesignPage::show_remedies);
    connect(problems_, &ProblemList::chosen, this, [this](const Selection& subject, const QString& pointer) {
        selection_.select(subject);
        if (!subject.empty()) canvas_->reveal_selection();
        inspector_->show_field(pointer);
    });
    connect(palette_, &Palette::template_requested, this, &DesignPage::template_requested);
    connect(palette_, &Palette::shape_requested, this, &DesignPage::shape_requested);
    connect(palette_, &Palette::measure_requested, this, &DesignPage::measure_requested);
    connect(&plan_->axis(), &FailureAxis::edit_requested, inspector_, &Inspector::enter);
    connect(canvas_, &TopologyView::menu_wanted, this, &DesignPage::fill_menu);
    connect(why_, &WhyPanel::chosen, this, [this] { canvas_->reveal_selection(); });
    connect(canvas_, &TopologyView::told, this, &DesignPage::told);
    connect(canvas_, &TopologyView::next_step_changed, this, &DesignPage::show_problems);
    connect(canvas_, &TopologyView::launch_wanted, this, &DesignPage::launch_requested);
    connect(canvas_, &TopologyView::settings_wanted, this, [this] { show_setting("/pipeline/stages"); });
    connect(canvas_, &TopologyView::open_again_wanted, this, &DesignPage::open_again_wanted);
    connect(canvas_, &TopologyView::matrix_wanted, this, [this, tabs] { tabs->setCurrentWidget(matrix_); });
    connect(stages_, &StageLanes::told, this, &DesignPage::told);
    connect(devices_, &DeviceLanes::told, this, &DesignPage::told);
    for (auto* note : notes()) connect(note, &EmptyNote::pressed, this, &DesignPage::go_on);
    show_problems();
    show_plan();
}

std::array<EmptyNote*, 4> DesignPage::notes() {
    return {&plan_->note(), &stages_->note(), &why_->note(), &what_if_->note()};
}

/// What panes without a plan offer: to begin, else to see what is in the way.
void DesignPage::show_ways_on() {
    const bool is_empty = is_beginning();
    const QString words = is_empty                                         ? tr("Add a region of three")
                          : plans_.is_busy() || !has_errors(shown_faults_) ? QString{}
                          : shown_faults_.size() == 1                      ? tr("Show the problem")
                                                      : tr("Show %1 problems").arg(shown_faults_.size());
    for (auto* note : notes()) note->show_button(words);
}

/// Nothing is drawn, and no file says why.
bool DesignPage::is_beginning() const {
    return document_.experiment().topology.nodes.empty() && !document_.file_has_faults();
}

void DesignPage::go_on() {
    if (is_beginning()) return canvas_->add_regions(1);
    show_problem();
}

void DesignPage::show_problem() {
    bottom_->setCurrentWidget(problems_->parentWidget());
    problems_->setFocus();
}

void DesignPage::set_measuring(bool measuring) {
    palette_->measure_button().setEnabled(!measuring);
    palette_->measure_button().setText(measuring ? tr("Measuring…") : tr("Measure"));
}

void DesignPage::show_setting(const QString& pointer) {
    selection_.clear();
    inspector_->show_field(pointer);
}

void DesignPage::fill_bottom() {
    bottom_->setDocumentMode(true);
    bottom_->addTab(plan_, tr("Plan"));
    auto* problems = new QWidget;
    seamless_column(problems)->addWidget(problems_, 1);
    problems_->set_foot(remedies_);  // what mends it stands with what is wrong
    bottom_->addTab(problems, tr("Problems"));
    bottom_->addTab(why_, tr("Why"));
    bottom_->addTab(planners_, tr("Planners"));
    bottom_->addTab(what_if_, tr("What if"));
    lane_key_ = new LaneKey(*bottom_, *plan_);  // theirs
}

/// The node and the link that the plan's end waits for the longest, as they are drawn; not where that is hardly at all.
void DesignPage::show_critical() {
    constexpr double worth_marking = 0.05;  // of the critical path
    const auto outcome = plans_.outcome();
    const auto why = plans_.explanation();
    CriticalThings critical;
    const bool is_known = outcome && why && !plans_.is_outdated() && why->iteration_s > 0;
    const auto share_of = [&](double seconds) { return is_known ? seconds / why->iteration_s : 0; };
    if (is_known && !why->nodes.empty() && share_of(why->nodes.front().seconds) >= worth_marking) {
        critical.node = outcome->problem.node_ids[static_cast<std::size_t>(why->nodes.front().node)];
        critical.node_share = share_of(why->nodes.front().seconds);
    }
    if (is_known && !why->links.empty() && share_of(why->links.front().seconds()) >= worth_marking) {
        critical.link_share = share_of(why->links.front().seconds());
        for (const int line : why->links.front().lines)
            for (const auto& link : document_.experiment().topology.links)
                if (const auto& name = outcome->problem.line_names[static_cast<std::size_t>(line)];
                    link.from + "->" + link.to == name || link.to + "->" + link.from == name)
                    critical.link = {link.from, link.to};
    }
    show_links();
    canvas_key_->show_critical(critical != CriticalThings{});
    canvas_->scene_model().show_critical(std::move(critical));
}

void DesignPage::show_idle(const PlanOutcome* outcome) {
    PlanIdle idle;
    if (outcome != nullptr && outcome->timeline.complete) {
        idle.iteration_s = outcome->timeline.iteration_s;
        idle.is_outdated = plans_.is_outdated();
        for (NodeIndex node = 0; node < outcome->problem.nodes(); ++node)
            idle.idle_s[outcome->problem.node_ids[node]] =
                idle.iteration_s - outcome->idle.node_busy_s[static_cast<std::size_t>(node)];
    }
    inspector_->show_idle(std::move(idle));
}

/// On a large screen the plan's lanes get their share too, unless somebody drew its edge.
void DesignPage::fit_rows() {
    if (!rows_->isVisible()) return;  // nothing has its size yet
    constexpr int rounding = 3;
    const auto sizes = rows_->sizes();
    const int all = sizes.front() + sizes.back();
    if (all == fitted_all_ && std::abs(sizes.back() - fitted_bottom_) > rounding)
        rows_->setProperty(fits_by_itself, false);
    if (!rows_->property(fits_by_itself).toBool()) return;
    fitted_all_ = all;
    // What is drawn comes first, unless lanes need the height for their names; those do not get all of it.
    const int more = static_cast<int>(more_bottom_share * std::max(0, all - usual_rows));
    const int share = static_cast<int>(bottom_share * std::min(all, usual_rows)) + more;
    const int tabs = bottom_->tabBar()->sizeHint().height();
    const int beside_canvas = all - tabs - static_cast<int>(std::ceil(least_canvas_share * height()));
    const int lanes = std::min({tabs + height_for_names(*plan_), most_bottom + more, beside_canvas});
    fitted_bottom_ = std::max({share, lanes, bottom_->minimumSizeHint().height()});
    rows_->setSizes({all - fitted_bottom_, fitted_bottom_});
}

/// The inspector's width follows the window's, unless somebody drew its edge.
void DesignPage::fit_columns() {
    if (!columns_->isVisible()) return;
    const auto sizes = columns_->sizes();
    const int all = sizes[0] + sizes[1] + sizes[2];
    if (all == fitted_columns_ && sizes[2] != fitted_inspector_) columns_->setProperty(fits_by_itself, false);
    if (!columns_->property(fits_by_itself).toBool()) return;
    fitted_columns_ = all;
    fitted_inspector_ = inspector_width(width());
    columns_->setSizes({sizes[0], all - sizes[0] - fitted_inspector_, fitted_inspector_});
}

void DesignPage::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    QMetaObject::invokeMethod(this, &DesignPage::fit_columns, Qt::QueuedConnection);
    QMetaObject::invokeMethod(this, &DesignPage::fit_rows, Qt::QueuedConnection);  // when its rows have their sizes
}

void DesignPage::showEvent(QShowEvent* event) {
    QWidget::showEvent(event);
    QMetaObject::invokeMethod(this, &DesignPage::fit_columns, Qt::QueuedConnection);
    QMetaObject::invokeMethod(this, &DesignPage::fit_rows, Qt::QueuedConnection);
}

void DesignPage::show_iteration(const PlanOutcome& shown, bool is_pale) {
    PlannedIteration iteration;
    if (shown.timeline.complete) iteration.lanes = shown.lanes;
    iteration.iteration_s = shown.timeline.iteration_s;
    iteration.reductions = reductions_of(shown.problem, shown.plan);
    iteration.node_ids = shown.problem.node_ids;
    iteration.is_outdated = is_pale || plans_.is_outdated();
    inspector_->show_iteration(std::move(iteration));
}

/// What links are told of: the plan that is shown, and why it takes as long as it does where that is known.
void DesignPage::show_links() {
    const auto now = plans_.outcome();
    const bool is_pale = !now || !now->has_plan;
    auto shown = is_pale ? plan_->last_plan() : now;
    if (shown && !shown->timeline.complete) shown.reset();
    const bool is_outdated = is_pale || plans_.is_outdated();
    inspector_->show_links({std::move(shown), is_outdated ? nullptr : plans_.explanation(), is_outdated});
}

void DesignPage::show_plan() {
    const auto outcome = plans_.outcome();
    plan_->show_plan();
    const bool is_pale = !outcome || !outcome->has_plan;
    show_idle(is_pale ? nullptr : outcome.get());
    const auto shown = is_pale ? plan_->last_plan() : outcome;
    if (shown)
        lane_key_->show_shares(shown->idle.share);
    else
        lane_key_->show_shares({});
    show_links();
    auto& scene = canvas_->scene_model();
    if (shown) {
        scene.show_plan(&shown->plan, shown->problem.node_ids, is_pale);
        scene.show_reductions(reductions_of(shown->problem, shown->plan));
        stages_->show_plan(shown.get(), is_pale);
        show_iteration(*shown, is_pale);
        std::map<std::string, ServedStage> served;
        for (std::size_t s = 0; !is_pale && s < shown->plan.stages.size(); ++s)
            for (const NodeIndex node : shown->plan.stages[s])
                served[shown->problem.node_ids[node]] = {static_cast<int>(s), shown->plan.blocks[s]};
        inspector_->show_stages(std::move(served));
        HeldMicrobatches held;
        if (!is_pale && shown->refined) {
            const PlannedProblem planned(shown->problem, shown->plan.blocks);
            for (std::size_t n = 0; n < planned.get().memory.size(); ++n)
                held[shown->problem.node_ids[n]] = planned.get().memory[n];
        }
        if (shown->refined || !plans_.is_busy())
            what_if_->show_plan(is_pale ? nullptr : outcome, std::move(held), !plans_.is_busy());
    } else {
        scene.show_plan(nullptr, {});
        stages_->show_plan(nullptr);
        inspector_->show_stages({});
        inspector_->show_iteration({});
        what_if_->show_plan(nullptr, {}, !plans_.is_busy());
    }
    if (auto ready = plans_.ready())
        planners_->show_plan(std::move(ready));
    else
        planners_->show_no_plan();
    show_problems();
}

void DesignPage::show_problems() {
    const Faults faults = problems_->faults();
    // What the canvas offers as the next step is not offered twice.
    const bool is_offered = !canvas_->isHidden() && canvas_->has_next_step();
    plan_->show_remedies(faults.empty() || is_offered ? nullptr : &faults.front());
    if (faults != shown_faults_) {
        show_faults(faults);
    }
    // An empty canvas is a beginning.
    const auto& topology = document_.experiment().topology;
    const bool begins = topology.nodes.empty() && topology.regions.empty() && !document_.file_has_faults();
    bottom_->setTabText(1, begins ? tr("Problems") : tr("Problems (%1)").arg(faults.size()));
    bottom_->setTabIcon(1, badge_icon(begins || faults.empty() ? 0 : has_errors(faults) ? 2 : 1));
    show_ways_on();
}

/// The problem at hand stays so while it is there: every plan fills the list anew.
void DesignPage::show_faults(const Faults& faults) {
    const int row = problems_->currentRow();
    const Fault at_hand = row >= 0 && row < static_cast<int>(shown_faults_.size())
                              ? shown_faults_[static_cast<std::size_t>(row)]
                              : Fault{};
    const auto again = std::find_if(faults.begin(), faults.end(), [&](const Fault& one) {
        return one.pointer == at_hand.pointer && one.what == at_hand.what;
    });
    shown_faults_ = faults;
    const QSignalBlocker quiet(problems_);
    problems_->show_faults(faults);
    problems_->setCurrentRow(again == faults.end() ? 0 : static_cast<int>(again - faults.begin()));
    show_remedies();
}

/// Of the problem at hand.
void DesignPage::show_remedies() {
    const int row = problems_->currentRow();
    remedies_->show_for(row >= 0 && row < static_cast<int>(shown_faults_.size())
                            ? &shown_faults_[static_cast<std::size_t>(row)]
                            : nullptr);
}

void DesignPage::changeEvent(QEvent* event) {
    QWidget::changeEvent(event);
    if (event->type() == QEvent::StyleChange) show_plan();  // its words carry colours
}

/// Where a node stands and serves.
void DesignPage::add_places(const std::string& id, QMenu& menu) {
    const auto& t = document_.experiment().topology;
    const auto node = std::find_if(t.nodes.begin(), t.nodes.end(), [&](const Node& one) { return one.id == id; });
    if (node == t.nodes.end()) return;
    if (!node->region.empty())
        connect(menu.addAction(tr("Select region")), &QAction::triggered, this,
                [this, region = node->region] { selection_.select({.regions = {region}}); });
    auto* regions = menu.addMenu(tr("Move to region"));
    for (const auto& region : t.regions)
        if (region.id != node->region)
            connect(regions->addAction(QString::fromStdString(region.id)), &QAction::triggered, this,
                    [this, id, to = region.id] {
                        document_.edit(tr("Move to region"), [&](Experiment& e) { move_to_region(e, id, to); });
                    });
    regions->menuAction()->setVisible(!regions->isEmpty());
    auto* stages = menu.addMenu(tr("Pin to stage"));
    stages->setToolTip(tr("Holds it there, and all others where they are"));
    for (const auto& lane : stages_->view().lanes())
        if (lane.key >= 0 && stages_->view().isEnabled())
            connect(stages->addAction(lane.name), &QAction::triggered, this,
                    [this, id, stage = lane.key] { stages_->move(id, stage); });
    stages->menuAction()->setVisible(!stages->isEmpty());
    menu.addSeparator();
}

/// A link from what was clicked to another thing by its name.
void DesignPage::add_links(const Selection& subject, QMenu& menu) {
    const std::string from = subject.nodes.empty() ? *subject.regions.begin() : *subject.nodes.begin();
    add_link_menu(menu, document_.experiment(), from, [this, from](const std::string& to) {
        document_.edit(tr("Draw link"), [&](Experiment& e) { add_link(e, from, to); });
        selection_.select({.links = {LinkKey{from, to}}});
    });
}

/// What the canvas can do with what was clicked; its actions have their keys beside them.
void DesignPage::fill_menu(const Selection& subject, QMenu& menu) {
    if (subject.nodes.size() + subject.links.size() == 1 && subject.regions.empty()) failures_.fill_menu(subject, menu);
    menu.addSeparator();
    if (subject.nodes.size() == 1 && subject.regions.empty() && subject.links.empty())
        add_places(*subject.nodes.begin(), menu);
    if (subject.nodes.size() + subject.regions.size() == 1 && subject.links.empty()) add_links(subject, menu);
    canvas_->add_reduction_entry(subject, menu);
    const auto things = subject.nodes.size() + subject.regions.size() + subject.links.size();
    const QStringList edits{tr("Copy"), tr("Duplicate"), tr("Delete")};
    std::vector<QStringList> groups;
    if (things == 0)
        groups = {{tr("Add node"), tr("Add region"), tr("Paste"), tr("Select everything")},
                  {tr("Fit everything"), tr("Fold or unfold regions")},
                  canvas_->names_of(CanvasActions::lay_out)};
    else if (things > 1)
        groups = {{tr("Link selected"), tr("Group in a region")}, edits, canvas_->names_of(CanvasActions::align)};
    else if (subject.nodes.empty() && subject.regions.empty())
        groups = {{tr("Delete")}};
    else
        groups = {edits};
    if (!subject.regions.empty()) groups.push_back({tr("Fold or unfold regions")});
    for (const auto& group : groups) {
        menu.addSeparator();
        for (const auto& words : group)
            for (auto* action : canvas_->actions())
                if (action->text() == words) menu.addAction(action);
    }
}

}  // namespace skippipe
