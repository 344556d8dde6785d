// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/plan/stage_lanes.h"

#include <algorithm>
#include <set>

#include <QHBoxLayout>
#include <QScrollArea>
#include <QVBoxLayout>

#include "core/planner/plan/plan.h"
#include "views/document/document.h"
#include "views/plan/plan_service.h"
#include "views/theme/theme.h"
#include "views/theme/widgets.h"

namespace skippipe {
namespace {

using Placement = std::vector<std::vector<std::string>>;

/// Who is placed by hand stays there.
void place(Experiment& e, const Placement& placement) {
    e.pipeline.placement = placement;
    e.pipeline.stage_sizes.clear();  // they may contradict it
    e.recovery.move_nodes_s = 0;
}

NodeLane lane_of_stage(int stage, const QString& figures) {
    return {stage, QObject::tr("Stage %1").arg(stage), figures, {}, true};
}

/// Adds the lane of nodes that serve no stage, in the order of the document.
void add_rest(std::vector<NodeLane>& lanes, const Experiment& e) {
    std::set<std::string> placed;
    for (const auto& lane : lanes) placed.insert(lane.nodes.begin(), lane.nodes.end());
    NodeLane rest{-1, QObject::tr("In no stage"), {}, {}, false};
    for (const auto& node : e.topology.nodes)
        if (!placed.contains(node.id)) rest.nodes.push_back(node.id);
    if (!rest.nodes.empty() && !lanes.empty()) lanes.push_back(std::move(rest));
}

}  // namespace

StageLanes::StageLanes(Document& document, SelectionModel& selection, QWidget* parent)
    : QWidget(parent),
      document_(document),
      view_(new NodeLaneView(selection, tr("Stages with their nodes"), 210,
                             tr("Drag it to another stage, or Alt+Up and Alt+Down"))),
      words_(words_label({}, "secondary")),
      button_(new QPushButton),
      note_(new EmptyNote(tr("A lane for each stage appears here once there is a plan"))),
      head_(new QWidget),
      lanes_(nullptr) {
    setProperty("role", "surface");
    setAttribute(Qt::WA_StyledBackground);
    button_->setObjectName("fix_placement");
    auto* row = head_row();
    row->addWidget(words_, 1);
    row->addWidget(button_);
    head_->setLayout(row);
    auto* scroll = new QScrollArea;
    lanes_ = scroll;
    scroll->setWidget(view_);
    scroll->setWidgetResizable(true);
    scroll->setFocusPolicy(Qt::NoFocus);  // the lanes have the keys
    scroll->setFrameShape(QFrame::NoFrame);
    scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    auto* column = seamless_column(this);
    column->addWidget(head_);
    column->addWidget(scroll, 1);
    column->addWidget(note_, 1);
    connect(view_, &NodeLaneView::moved, this, &StageLanes::move);
    connect(button_, &QPushButton::clicked, this, &StageLanes::fix_or_leave);
    connect(&document, &Document::changed, this, &StageLanes::follow);
    follow();
}

void StageLanes::show_plan(const PlanOutcome* outcome, bool pale) {
    is_pale_ = pale;
    planned_.clear();
    if (outcome != nullptr) {
        const auto& plan = outcome->plan;
        const auto stage_of = stage_of_nodes(plan, outcome->problem.nodes());
        std::vector<int> visits(plan.stages.size());
        for (const auto& path : plan.paths)
            for (const int node : path.nodes)
                if (const int stage = stage_of[static_cast<std::size_t>(node)]; stage >= 0)
                    ++visits[static_cast<std::size_t>(stage)];
        for (std::size_t s = 0; s < plan.stages.size(); ++s) {
            NodeLane lane = lane_of_stage(static_cast<int>(s), {});
            const int blocks = s < plan.blocks.size() ? plan.blocks[s] : 0;
            lane.figures = (blocks == 1 ? tr("1 block") : tr("%1 blocks").arg(blocks)) +
                           (outcome->problem.plan_blocks ? tr(" (planned)") : QString{}) +
                           tr(", %1 visits").arg(visits[s]);
            for (const int node : plan.stages[s])
                lane.nodes.push_back(outcome->problem.node_ids[static_cast<std::size_t>(node)]);
            planned_.push_back(std::move(lane));
        }
    }
    follow();
}

void StageLanes::follow() {
    const Experiment& e = document_.experiment();
    const bool fixed = !e.pipeline.placement.empty();
    const bool is_old = is_pale_ && !fixed;
    std::vector<NodeLane> lanes = planned_;
    if (fixed) {
        lanes.resize(e.pipeline.placement.size());
        for (std::size_t s = 0; s < lanes.size(); ++s) {
            const auto figures = lanes[s].figures;
            lanes[s] = lane_of_stage(static_cast<int>(s), figures);
            lanes[s].nodes = e.pipeline.placement[s];
        }
    }
    if (!is_old) add_rest(lanes, e);
    view_->setEnabled(!is_old);
    view_->show_lanes(std::move(lanes));
    const bool empty = view_->lanes().empty();
    note_->setVisible(empty);
    for (auto* part : {head_, lanes_}) part->setVisible(!empty);
    words_->setText(is_old ? tr("Pale, the plan before: there is none of the experiment as it is now")
                    : fixed
                        ? tr("Placed by hand: the planner chooses paths and orders alone. Drag a node to another stage")
                        : tr("Placed by the planner. Drag a node to another stage to place all by hand"));
    button_->setText(fixed ? tr("Leave to the planner") : tr("Fix this placement"));
    button_->setToolTip(fixed ? tr("The planner chooses which node serves which stage again")
                              : tr("Every plan from now on has these nodes in these stages"));
    button_->setEnabled(!empty && !is_old);
}

void StageLanes::move(const std::string& node, int stage) {
    Placement placement;
    for (const auto& lane : view_->lanes())
        if (lane.key >= 0) placement.push_back(lane.nodes);
    for (auto& nodes : placement) std::erase(nodes, node);
    if (stage >= 0 && static_cast<std::size_t>(stage) < placement.size())
        placement[static_cast<std::size_t>(stage)].push_back(node);
    const auto bare = std::find_if(placement.begin(), placement.end(), [](const auto& nodes) { return nodes.empty(); });
    if (bare != placement.end())
        return Q_EMIT told(tr("%1 is the only node of stage %2: give that stage another one first")
                               .arg(QString::fromStdString(node))
                               .arg(bare - placement.begin()));
    document_.edit(stage < 0 ? tr("Take %1 out of its stage").arg(QString::fromStdString(node))
                             : tr("Place %1 in stage %2").arg(QString::fromStdString(node)).arg(stage),
                   [&](Experiment& e) { place(e, placement); });
}

void StageLanes::fix_or_leave() {
    if (!document_.experiment().pipeline.placement.empty())
        return document_.edit(tr("Leave placement to the planner"),
                              [](Experiment& e) { e.pipeline.placement.clear(); });
    Placement placement;
    for (const auto& lane : view_->lanes())
        if (lane.key >= 0) placement.push_back(lane.nodes);
    document_.edit(tr("Fix the placement"), [&](Experiment& e) { place(e, placement); });
}

}  // namespace skippipe
