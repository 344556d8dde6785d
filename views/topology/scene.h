// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <map>
#include <set>
#include <string>
#include <vector>

#include <QGraphicsScene>

#include "core/experiment/document.h"
#include "views/document/selection_model.h"
#include "core/planner/plan/plan.h"
#include "views/topology/items.h"
#include "views/topology/link_words.h"
#include "views/topology/path_item.h"
#include "views/topology/reduction_item.h"
#include "views/topology/traffic_item.h"

namespace skippipe {

class Document;

/// What the end of the plan's iteration waits for the longest, each with its share of the critical path.
struct CriticalThings {
    std::string node;  ///< empty: none is marked
    double node_share = 0;
    LinkKey link;  ///< of empty names: none is marked
    double link_share = 0;
    bool operator==(const CriticalThings&) const = default;
};

/// The document's topology as a scene; its mouse events become edits of the document.
class TopologyScene : public QGraphicsScene {
    Q_OBJECT
public:
    TopologyScene(Document& document, SelectionModel& selection, bool editable, QObject* parent = nullptr);
    ~TopologyScene() override;

    /// Stage colours and the way of the selected microbatch come from this plan; `ids` names its nodes. `pale`: it is
    /// one of another state of the document.
    void show_plan(const Plan* plan, const std::vector<std::string>& ids, bool pale = false);
    /// How each stage of that plan sums its gradient; that of the selected stage is drawn.
    void show_reductions(std::vector<StageReduction> reductions);
    /// What goes on in the network; a stage's reduction or a microbatch's way is drawn instead where one is selected.
    void show_traffic(Traffic traffic);
    const Traffic& traffic() const { return traffic_now_; }
    /// The stage's reduction in a sentence; no stage selected: empty.
    QString reduction_words() const;
    /// The slowest edge alone, for where there is little room.
    QString reduction_in_short() const;
    /// Selects the stage of the selected node, to see how its gradient is summed; a second time: none. Without such a
    /// node the next stage that sums.
    void toggle_reduction();
    /// The stage of a node in the plan; -1: none.
    int stage_of(const std::string& id) const;
    /// Nodes that are lost at the time that is shown, each with the words for it; all others are there.
    void show_down(std::map<std::string, QString> down);
    /// Links that are cut at the time that is shown, in one direction or both.
    void show_cut(std::set<LinkKey> links);
    NodeItem* node(const std::string& id) const;
    RegionItem* region(const std::string& id) const;
    /// Marks the node and the link that the end of the plan's iteration waits for the longest.
    void show_critical(CriticalThings critical);
    /// Links whose words are shown: selected ones and the one under the mouse.
    const LinkWordsItem& link_words() const { return *link_words_; }
    /// The region whose area or name is there; null: none.
    RegionItem* region_at(QPointF place) const;
    /// The mouse is elsewhere: nothing is under it.
    void end_hover() { set_hovered(nullptr, nullptr, nullptr); }
    /// Round all nodes and regions.
    QRectF things_box() const;
    /// The way of the selected microbatch.
    PathItem& way() { return *way_; }
    /// Round it; empty where none is selected.
    QRectF way_box() const { return way_->nodes_box(); }
    /// Names of regions that are not folded, with their rings, where the canvas is magnified by `zoom`.
    QRectF names_box(double zoom) const;
    /// Where each node stands, with its stage; -1: none.
    std::vector<std::pair<QPointF, int>> node_dots() const;
    /// What is under the mouse: the node, link or region there; none of them: nothing.
    Selection subject_at(QPointF place) const;
    /// What the card of an item says.
    QString tip_for(QGraphicsItem* item) const;
    /// What the card there says: while a run is shown first what goes on there.
    QString words_at(QPointF place) const;
    /// Middle of what is selected; nothing selected: null.
    std::optional<QPointF> middle_of_selection() const;
    void select_everything();
    bool is_editable() const { return editable_; }
    /// The line of a link with that bandwidth, as one of those that are drawn.
    LinkLook link_line(double bandwidth_bytes_per_s) const;
    /// Folds these regions to one disc each, or unfolds them where all are folded; none named: all regions.
    void toggle_folded(const std::set<std::string>& regions);
    /// Whether a region is folded by hand.
    bool is_folded(const std::string& region) const { return folded_.contains(region); }
    /// The canvas is magnified by so much; far out all regions of several nodes are folded.
    void follow_zoom(double zoom);
    bool is_dragging() const { return dragging_; }
    /// What changes place or shape while the nodes of this drag move, from the lowest to the highest; empty: nothing is
    /// dragged.
    std::vector<QGraphicsItem*> moving_items() const;
    /// Of these, what only goes with the mouse, by the same way: dragged nodes, and the links between two of them.
    std::vector<QGraphicsItem*> moving_as_one() const;

Q_SIGNALS:
    void drag_changed();            ///< nodes begin to move or come to rest
    void links_stepped(int links);  ///< so many step back, or come forth again
    void empty_place_double_clicked(QPointF place);
    void region_opened(RegionItem* region);  ///< double-clicked while folded because it is far away
    void told(const QString& what);          ///< why a gesture did nothing

protected:
    void mousePressEvent(QGraphicsSceneMouseEvent*) override;
    void mouseMoveEvent(QGraphicsSceneMouseEvent*) override;
    void mouseReleaseEvent(QGraphicsSceneMouseEvent*) override;
    void mouseDoubleClickEvent(QGraphicsSceneMouseEvent*) override;
    void helpEvent(QGraphicsSceneHelpEvent*) override;

private:
    void follow_document();
    void rebuild();
    LinkItem* make_link(const Link& link);
    void move_to_document();
    void place_labels();
    void show_selection();
    void read_selection();
    void set_links_apart();
    void show_faults();
    void show_failures();
    QStringList failure_lines(const std::vector<std::size_t>& failures) const;
    void show_stages();
    void show_way();
    void show_reduction();
    void place_traffic();
    const StageReduction* selected_reduction() const;
    NodeItem* node_at(QPointF place) const;
    double zoom() const;
    /// What a link can be drawn from here: a node's rim or a region's ring.
    RegionItem* link_region_at(QPointF place) const;
    QGraphicsItem* link_source_at(QPointF place) const;
    QPointF start_of_link(const QGraphicsItem& from) const;
    void aim_link(QPointF place);
    void end_link(QPointF place);
    void link_things(std::string from, std::string to);
    void link_new_node(QGraphicsItem* from, RegionItem* into, QPointF place);
    void show_link_words();
    void mark_critical();
    void hover(QPointF place);
    void set_hovered(LinkItem* under, RegionItem* folded, NodeItem* node);
    void begin_drag(QGraphicsItem* grabbed, QPointF place);
    void drag_nodes(QPointF to, bool snap);
    void end_drag();
    void mark_down();
    void show_folded();
    void place_far_names();
    void place_far_regions(std::vector<QRectF>& taken);
    bool is_asked_for(const NodeItem& node) const;

    Document& document_;
    SelectionModel& selection_;
    bool editable_, syncing_ = false;
    Topology shown_;
    std::vector<Failure> shown_failures_;
    std::map<std::string, NodeItem*> nodes_;
    std::map<std::string, RegionItem*> regions_;
    BandwidthRange bandwidths_;
    std::vector<LinkItem*> links_;
    std::vector<LinkItem*> drawn_;  ///< of each of the document's links; null: it joins nothing that is drawn
    PathItem* way_ = nullptr;
    ReductionItem* reduction_ = nullptr;
    TrafficItem* traffic_ = nullptr;
    Traffic traffic_now_;
    std::vector<StageReduction> reductions_;  ///< by stage
    std::map<std::string, int> stages_;
    std::map<std::string, QString> down_;
    std::set<LinkKey> cut_;
    std::vector<Path> paths_;
    std::vector<std::string> plan_ids_;
    bool has_plan_ = false, is_pale_ = false;
    std::set<std::string> folded_;  ///< regions, by hand
    double zoom_ = 1;

    LinkWordsItem* link_words_ = nullptr;
    SharesItem* shares_ = nullptr;
    CriticalThings critical_;
    LinkItem* hovered_ = nullptr;
    RegionItem* hovered_region_ = nullptr;  ///< folded, its name in sight
    NodeItem* hovered_node_ = nullptr;      ///< of a small picture, its name in sight
    QGraphicsLineItem* new_link_ = nullptr;
    QGraphicsItem* link_from_ = nullptr;  ///< a node or a region
    QGraphicsItem* link_to_ = nullptr;
    QPointF drag_start_, drag_grip_;  ///< where the mouse began, and what it holds stood
    bool dragging_ = false, drag_moved_ = false;
    std::map<QGraphicsItem*, QPointF> drag_places_;  ///< of nodes, and of regions without any
};

}  // namespace skippipe
