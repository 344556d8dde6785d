// SPDX-License-Identifier: GPL-3.0-or-later
// What the canvas's actions do to the document.
#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <vector>

#include <QAction>
#include <QClipboard>
#include <QDropEvent>
#include <QGuiApplication>
#include <QMimeData>
#include <QPushButton>

#include "views/document/document.h"
#include "views/topology/devices.h"
#include "views/topology/edits.h"
#include "views/topology/first_steps.h"
#include "views/topology/failure_edits.h"
#include "views/topology/graphviz_layout.h"
#include "views/topology/layouts.h"
#include "views/topology/view.h"
#include "views/topology/world_map.h"

namespace skippipe {
namespace {
constexpr double copy_offset = 40;
/// Between a new node and others: two and the next ring's first make an even triangle.
constexpr double node_room = 64;
/// From a new region's middle to what is there: both may grow by a ring of nodes and do not touch.
constexpr double region_room = 270;
constexpr int nodes_of_first_region = 3;

Point on_grid(QPointF at) { return {std::round(at.x() / grid) * grid, std::round(at.y() / grid) * grid}; }
}  // namespace

void TopologyView::make_actions() {
    auto kind = CanvasActions::see;
    const auto add = [this, &kind](const QString& text, const QKeySequence& keys, auto member) {
        auto* action = new QAction(text, this);
        action->setShortcut(keys);
        action->setShortcutContext(Qt::WidgetWithChildrenShortcut);
        action->setProperty("group", tr("Canvas"));
        connect(action, &QAction::triggered, this, member);
        addAction(action);
        actions_of_[kind].push_back(action);
    };
    add(tr("Fit everything"), QKeySequence(Qt::Key_Home), &TopologyView::fit);
    add(tr("Centre the selection"), QKeySequence(Qt::Key_F), &TopologyView::center_selection);
    add(tr("Reduction of the stage"), QKeySequence(Qt::Key_G), [this] { scene_.toggle_reduction(); });
    add(tr("Fold or unfold regions"), QKeySequence(Qt::Key_X), &TopologyView::fold_selected);
    if (!scene_.is_editable()) return;
    kind = CanvasActions::add;
    add(tr("Add node"), QKeySequence(Qt::Key_N), &TopologyView::add_node_here);
    add(tr("Add region"), QKeySequence(Qt::Key_R), &TopologyView::add_region_here);
    kind = CanvasActions::join;
    add(tr("Link selected"), QKeySequence(Qt::Key_L), &TopologyView::link_selected);
    add(tr("Group in a region"), QKeySequence(Qt::CTRL | Qt::Key_G), &TopologyView::group_selected);
    kind = CanvasActions::copy;
    add(tr("Copy"), QKeySequence::Copy, &TopologyView::copy);
    add(tr("Paste"), QKeySequence::Paste, &TopologyView::paste);
    add(tr("Duplicate"), QKeySequence(Qt::CTRL | Qt::Key_D), &TopologyView::duplicate);
    add(tr("Delete"), QKeySequence(Qt::Key_Delete), &TopologyView::remove);
    add(tr("Select everything"), QKeySequence::SelectAll, [this] { scene_.select_everything(); });
    kind = CanvasActions::lay_out;
    add(tr("Tidy up"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_T), &TopologyView::tidy_up);
    add(tr("Lay out on the world map"), {}, &TopologyView::lay_out_on_map);
    add(tr("Lay out by stage"), {}, &TopologyView::lay_out_by_stage);
    add(tr("Lay out by Graphviz"), {}, &TopologyView::lay_out_by_graphviz);
    kind = CanvasActions::align;
    add(tr("Align left"), {}, [this] { align_selected(Align::left); });
    add(tr("Align right"), {}, [this] { align_selected(Align::right); });
    add(tr("Align top"), {}, [this] { align_selected(Align::top); });
    add(tr("Align bottom"), {}, [this] { align_selected(Align::bottom); });
    add(tr("Align in a column"), {}, [this] { align_selected(Align::centre); });
    add(tr("Align in a row"), {}, [this] { align_selected(Align::middle); });
    add(tr("Distribute across"), {}, [this] { distribute_selected(true); });
    add(tr("Distribute down"), {}, [this] { distribute_selected(false); });
}

QStringList TopologyView::names_of(CanvasActions kind) const {
    QStringList names;
    for (const auto* action : actions_of(kind)) names << action->text();
    return names;
}

QList<QAction*> TopologyView::actions_of(CanvasActions kind) const {
    const auto found = actions_of_.find(kind);
    return found == actions_of_.end() ? QList<QAction*>{} : found->second;
}

void TopologyView::make_first_steps() {
    auto* steps = steps_ = new FirstSteps(*viewport());
    connect(steps, &FirstSteps::region_wanted, this, [this] { add_regions(1); });
    connect(steps, &FirstSteps::linked_regions_wanted, this, [this] { add_regions(2); });
    connect(steps, &FirstSteps::settings_wanted, this, &TopologyView::settings_wanted);
    connect(steps, &FirstSteps::node_wanted, this, &TopologyView::add_node_here);
    connect(steps, &FirstSteps::nodes_wanted, this, &TopologyView::fill_region);
    connect(steps, &FirstSteps::links_wanted, this, [this] {
        scene_.select_everything();
        selection_.select(link_selected());  // how fast they are is what is set next
        setFocus();                          // the button goes
    });
    connect(steps, &FirstSteps::open_again_wanted, this, &TopologyView::open_again_wanted);
    connect(steps, &FirstSteps::launch_wanted, this, &TopologyView::launch_wanted);
    connect(steps, &FirstSteps::ended, this, [this] {
        end_first_steps();
        setFocus();  // the button goes
    });
    const auto follow = [this, steps] { change_steps([&] { steps->follow(document_); }); };
    connect(&document_, &Document::changed, steps, follow);
    connect(&document_, &Document::faults_changed, steps, follow);
    connect(&document_, &Document::replacing, steps, &FirstSteps::end);  // those were of another
    connect(&document_, &Document::replaced, steps, [this, steps] { change_steps([&] { steps->begin(document_); }); });
    steps->begin(document_);
}

/// Where the way's box takes other room than before, what lies below it is in sight again.
void TopologyView::change_steps(const std::function<void()>& change) {
    const int before = steps_->taken_below();
    change();
    if (steps_->taken_below() != before && !user_moved_ && !fitted_size_.isEmpty() && !sees_all()) fit();
    if ((steps_->taken_below() > 0) != (before > 0)) Q_EMIT next_step_changed();
}

void TopologyView::set_can_launch(bool can) {
    if (steps_ != nullptr) change_steps([&] { steps_->set_can_launch(can, document_); });
}

bool TopologyView::has_next_step() const { return steps_ != nullptr && steps_->taken_below() > 0; }

void TopologyView::end_first_steps() {
    if (steps_ == nullptr) return;
    const bool took = has_next_step();
    steps_->end();
    if (took && !user_moved_) fit();
    if (took) Q_EMIT next_step_changed();
}

void TopologyView::make_hops_note() {
    hops_ = new QPushButton(tr("Hop times come from the matrix; there are no links"), viewport());
    hops_->setObjectName("hops_note");
    hops_->setProperty("role", "link");
    hops_->setToolTip(tr("Shows the matrix"));
    connect(hops_, &QPushButton::clicked, this, &TopologyView::matrix_wanted);
    connect(&document_, &Document::changed, this, &TopologyView::place_hops_note);
    place_hops_note();
}

/// Where it covers the fewest nodes.
void TopologyView::place_hops_note() {
    if (hops_ == nullptr) return;
    const auto& t = document_.experiment().topology;
    hops_->setVisible(!t.hop_matrix_s.empty() && t.links.empty() && t.nodes.size() > 1);
    hops_->setGeometry(quietest_corner(hops_->sizeHint(), hops_));
}

void TopologyView::add_regions(int regions) {
    const QPointF middle = mapToScene(viewport()->rect().center());
    Selection added;
    document_.edit(regions == 1 ? tr("Add a region of three") : tr("Make linked regions"), [&](Experiment& e) {
        for (int i = 0; i < regions; ++i)
            added.regions.insert(add_region_of_nodes(
                e, {std::round(middle.x() + (i - (regions - 1) / 2.0) * region_room), std::round(middle.y())},
                nodes_of_first_region));
        if (regions > 1) link_all(e, added);
    });
    selection_.select(regions == 1 ? added : Selection{});
    fit();
    setFocus();  // the button goes
}

void TopologyView::fill_region(const std::string& id) {
    document_.edit(tr("Add three nodes"), [&](Experiment& e) {
        keep_places(e);
        for (const auto& region : std::vector<Region>(e.topology.regions))
            if (region.id == id) add_nodes_round(e, id, {region.x, region.y}, nodes_of_first_region);
    });
    selection_.select({.regions = {id}});
    reveal_added();
    setFocus();  // the button goes
}

/// All of it is in sight again, in the middle, unless somebody chose what is to be seen.
void TopologyView::reveal_added() {
    if (user_moved_) return reveal_selection();
    fit();
}

void TopologyView::add_node_at(QPointF place) { add_node_in(on_grid(place), region_under(place), nullptr); }

std::string TopologyView::region_under(QPointF place) const {
    const RegionItem* under = scene_.region_at(place);
    return under == nullptr ? std::string{} : under->id();
}

void TopologyView::add_node_in(Point at, const std::string& region, const Device* device) {
    Selection added;
    document_.edit(tr("Add node"), [&](Experiment& e) {
        keep_places(e);
        const std::string id = add_node(e, at, region);
        added.nodes.insert(id);
        if (device == nullptr) return;
        make_device(e.topology.nodes.back(), *device, e.model);
        e.topology.nodes.back().id = free_id(e, device->stem);
        added.nodes = {e.topology.nodes.back().id};
    });
    selection_.select(added);
}

/// The region that is selected, or that all selected nodes stand in; empty: none, or several.
std::string TopologyView::region_of_selection() const {
    const Selection& s = selection_.now();
    std::set<std::string> regions(s.regions);
    for (const auto& node : document_.experiment().topology.nodes)
        if (s.nodes.count(node.id)) regions.insert(node.region);
    return regions.size() == 1 ? *regions.begin() : std::string{};
}

/// The middle itself, or the first spot on rings round it, so far apart, that has room for a node beside all others.
Point TopologyView::free_place_round(QPointF middle, double apart) const {
    constexpr double furthest = 3200;
    const auto places = node_places(document_.experiment());
    for (int ring = 0; ring * apart < furthest; ++ring)
        for (int step = 0; step < std::max(1, 6 * ring); ++step) {
            const double angle = 6.283185307179586 * step / std::max(1, 6 * ring);
            const QPointF at = middle + ring * apart * QPointF(std::cos(angle), std::sin(angle));
            if (std::none_of(places.begin(), places.end(),
                             [&](Point p) { return std::hypot(p.x - at.x(), p.y - at.y()) < node_room; }))
                return on_grid(at);
        }
    return {middle.x(), middle.y()};
}

/// The first free one of those round the region's middle that three nodes have which are made with it; nothing where
/// its nodes stand otherwise.
std::optional<Point> TopologyView::place_in_round(const std::string& id) const {
    const Topology& t = document_.experiment().topology;
    const auto region = std::find_if(t.regions.begin(), t.regions.end(), [&](const Region& r) { return r.id == id; });
    const RegionItem* item = scene_.region(id);
    if (region == t.regions.end() || item == nullptr) return {};
    if (item->nodes.empty() && QPointF(region->x, region->y) != item->pos()) return {};  // it is laid out
    std::vector<Point> round;
    for (int i = 0; i < nodes_of_first_region; ++i)
        round.push_back(place_round({region->x, region->y}, i, nodes_of_first_region));
    const auto is_at = [](Point a, double x, double y) { return std::hypot(a.x - x, a.y - y) < 1; };
    for (const auto& node : t.nodes)
        if (node.region == id &&
            std::none_of(round.begin(), round.end(), [&](Point place) { return is_at(place, node.x, node.y); }))
            return {};
    const auto free = std::find_if(round.begin(), round.end(), [&](Point place) {
        return std::none_of(t.nodes.begin(), t.nodes.end(), [&](const Node& n) { return is_at(place, n.x, n.y); });
    });
    return free == round.end() ? std::nullopt : std::optional(*free);
}

/// In the selected region, or round the first node that stands in none, or the middle of what somebody chose to see:
/// several in a row do not lie on each other.
Point TopologyView::free_place() const {
    const std::string id = region_of_selection();
    if (const auto place = place_in_round(id)) return *place;
    const RegionItem* region = scene_.region(id);
    QPointF middle = mapToScene(viewport()->rect().center());
    const auto& nodes = document_.experiment().topology.nodes;
    const auto lone = std::find_if(nodes.begin(), nodes.end(), [](const Node& n) { return n.region.empty(); });
    if (lone != nodes.end() && !user_moved_)
        if (const NodeItem* item = scene_.node(lone->id)) middle = item->pos();
    return free_place_round(region != nullptr ? region->pos() : middle, 80);
}

void TopologyView::add_node_here() {
    add_node_in(free_place(), region_of_selection(), nullptr);
    reveal_added();
}

void TopologyView::add_device_here(const Device& device) {
    add_node_in(free_place(), region_of_selection(), &device);
    reveal_added();
}

void TopologyView::dragEnterEvent(QDragEnterEvent* event) {
    if (event->mimeData()->hasFormat(device_mime))
        event->acceptProposedAction();
    else
        event->ignore();
}

void TopologyView::dragMoveEvent(QDragMoveEvent* event) {
    if (event->mimeData()->hasFormat(device_mime)) event->acceptProposedAction();
}

void TopologyView::dropEvent(QDropEvent* event) {
    const auto* device = find_device(event->mimeData()->data(device_mime).toStdString());
    if (device == nullptr) return event->ignore();
    event->acceptProposedAction();
    // Dropped on a node or its name it comes to lie beside it.
    const QPointF at = mapToScene(event->position().toPoint());
    add_node_in(free_place_round(at, grid), region_under(at), device);
    setFocus();
}

/// The first spot beside the middle of what is seen, or on a widening ring round it, that has room for a region beside
/// all others; one in sight, if there is any.
Point TopologyView::free_region_place() const {
    const Experiment& e = document_.experiment();
    const QPointF middle = mapToScene(viewport()->rect().center());
    const QRectF seen = mapToScene(viewport()->rect()).boundingRect().adjusted(60, 60, -60, -60);
    const auto nodes = node_places(e);
    const auto is_free = [&](QPointF at) {
        const auto is_far = [&](double from, const auto& place) {
            return std::hypot(place.x - at.x(), place.y - at.y()) >= from - 1;  // places are rounded
        };
        return std::all_of(nodes.begin(), nodes.end(), [&](Point p) { return is_far(region_room, p); }) &&
               std::all_of(e.topology.regions.begin(), e.topology.regions.end(),
                           [&](const Region& r) { return is_far(region_room, r); });
    };
    // Few regions stand in a row, the next one at the right: all of it is in sight then.
    constexpr std::size_t most_in_row = 3;
    if (const auto& regions = e.topology.regions; !user_moved_ && !regions.empty() && regions.size() < most_in_row) {
        double right = regions.front().x;
        for (const auto& region : regions) right = std::max(right, region.x);
        for (const Point node : nodes) right = std::max(right, node.x);
        if (const QPointF at(right + region_room, regions.back().y); is_free(at))
            return {std::round(at.x()), std::round(at.y())};
    }
    // Beside what is there, where there is room: in the middle of the view's height, as one reads.
    for (const int way : {1, -1})
        for (int step = 0; step * region_room / 4 < seen.width() / 2; ++step)
            if (const QPointF at = middle + QPointF(way * step * region_room / 4, 0); seen.contains(at) && is_free(at))
                return {std::round(at.x()), std::round(at.y())};
    std::optional<QPointF> best;
    for (int ring = 0; ring < 40; ++ring)
        for (int step = 0; step < std::max(1, 8 * ring); ++step) {
            const double angle = 6.283185307179586 * step / std::max(1, 8 * ring);
            const QPointF at = middle + ring * region_room / 2 * QPointF(std::cos(angle), std::sin(angle));
            if (!is_free(at)) continue;
            if (seen.contains(at)) return {std::round(at.x()), std::round(at.y())};
            if (!best) best = at;
        }
    const QPointF at = best.value_or(middle);
    return {std::round(at.x()), std::round(at.y())};
}

/// Selected nodes that stand in a region stay there: who makes a second region after the nodes of the first has these
/// selected.
void TopologyView::add_region_here() {
    std::set<std::string> into;
    for (const auto& node : document_.experiment().topology.nodes)
        if (node.region.empty() && selection_.now().nodes.count(node.id)) into.insert(node.id);
    add_region_of(into);
}

void TopologyView::add_region_of(const std::set<std::string>& nodes) {
    const Point at = free_region_place();
    Selection added;
    document_.edit(tr("Add region"), [&](Experiment& e) {
        keep_places(e);
        const std::string id = add_region(e, at);
        for (auto& node : e.topology.nodes)
            if (nodes.count(node.id)) node.region = id;
        added.regions.insert(id);
    });
    selection_.select(added);
    reveal_added();
}

Selection TopologyView::link_selected() {
    const Selection& s = selection_.now();
    Selection links;
    if (s.nodes.size() < 2 && s.regions.size() < 2) {
        Q_EMIT told(tr("Select two or more nodes, or two or more regions, to link them"));
        return links;
    }
    document_.edit(tr("Link selected"), [&](Experiment& e) {
        const auto before = static_cast<std::ptrdiff_t>(e.topology.links.size());
        link_all(e, s);
        for (auto link = e.topology.links.begin() + before; link != e.topology.links.end(); ++link)
            links.links.insert({link->from, link->to});
    });
    const auto added = links.links.size();
    Q_EMIT told(added == 0   ? tr("What is selected is linked already")
                : added == 1 ? tr("1 link added")
                             : tr("%1 links added").arg(added));
    return links;
}

void TopologyView::fold_selected() {
    const Selection& s = selection_.now();
    std::set<std::string> regions = s.regions;
    for (const auto& node : document_.experiment().topology.nodes)
        if (s.nodes.count(node.id) && !node.region.empty()) regions.insert(node.region);
    if (regions.empty() && !s.nodes.empty()) return Q_EMIT told(tr("What is selected stands in no region"));
    scene_.toggle_folded(regions);
}

void TopologyView::group_selected() {
    if (!selection_.now().nodes.empty()) add_region_of(std::set<std::string>(selection_.now().nodes));
}

void TopologyView::copy() {
    const std::string text = copy_text(document_.experiment(), selection_.now());
    if (!text.empty()) QGuiApplication::clipboard()->setText(QString::fromStdString(text));
}

void TopologyView::add_copy(const std::string& text, const QString& what) {
    Selection added;
    document_.edit(what, [&](Experiment& e) { added = paste_text(e, text, {copy_offset, copy_offset}); });
    if (!added.empty()) selection_.select(added);
}

void TopologyView::paste() { add_copy(QGuiApplication::clipboard()->text().toStdString(), tr("Paste")); }

void TopologyView::duplicate() { add_copy(copy_text(document_.experiment(), selection_.now()), tr("Duplicate")); }

void TopologyView::remove() {
    const Selection gone = selection_.now();
    // A failure shown beside selected things is not what a key on the canvas is about.
    const bool things = !gone.nodes.empty() || !gone.links.empty() || !gone.regions.empty();
    document_.edit(tr("Delete"), [&](Experiment& e) {
        if (!things && gone.failure) return remove_failure(e, *gone.failure);
        remove_selected(e, gone);
    });
    selection_.select({});
}

void TopologyView::tidy_up() { lay_out(tr("Tidy up"), tidy_layout(document_.experiment()), false); }

void TopologyView::lay_out(const QString& what, const std::vector<Point>& places, bool on_map) {
    document_.edit(what, [&](Experiment& e) {
        e.topology.on_map = on_map;
        for (std::size_t i = 0; i < places.size(); ++i)
            e.topology.nodes[i].x = places[i].x, e.topology.nodes[i].y = places[i].y;
    });
    fit();
}

void TopologyView::lay_out_on_map() {
    const auto layout = map_layout(document_.experiment(), place_on_map);
    lay_out(tr("Lay out on the world map"), layout.places, true);
    if (layout.unknown.empty()) return;
    QStringList names;
    for (const auto& name : layout.unknown) names << QString::fromStdString(name);
    Q_EMIT told(tr("Not on the map, set below it: %1. Names of cities, countries and clouds' regions are known")
                    .arg(names.size() > 5 ? tr("%1 and %2 more").arg(names.mid(0, 5).join(", ")).arg(names.size() - 5)
                                          : names.join(", ")));
}

void TopologyView::lay_out_by_graphviz() {
    const auto& topology = document_.experiment().topology;
    if (topology.nodes.empty() || layouts_.activeThreadCount() > 0) return;
    Q_EMIT told(tr("Graphviz lays it out…"));
    layouts_.start([this, topology] {
        QMetaObject::invokeMethod(
            this, [this, topology, places = graphviz_layout(topology)] { take_layout(topology, places); },
            Qt::QueuedConnection);
    });
}

void TopologyView::take_layout(const Topology& of, const std::vector<Point>& places) {
    if (places.empty()) return Q_EMIT told(tr("Graphviz cannot lay it out: install the package graphviz"));
    const auto& now = document_.experiment().topology.nodes;
    if (!std::equal(now.begin(), now.end(), of.nodes.begin(), of.nodes.end(),
                    [](const Node& a, const Node& b) { return a.id == b.id; }))
        return Q_EMIT told(tr("Nodes came or went while Graphviz laid them out: do it again"));
    lay_out(tr("Lay out by Graphviz"), places, false);
    Q_EMIT told({});
}

void TopologyView::lay_out_by_stage() {
    const auto& nodes = document_.experiment().topology.nodes;
    std::vector<int> stages;
    for (const auto& node : nodes) stages.push_back(scene_.stage_of(node.id));
    if (std::all_of(stages.begin(), stages.end(), [](int stage) { return stage < 0; }))
        return Q_EMIT told(tr("There is no plan yet that gives nodes a stage"));
    lay_out(tr("Lay out by stage"), stage_layout(stages), false);
}

/// Changes the places of the selected nodes, all together.
bool TopologyView::place_selected(const QString& what, const std::function<void(std::vector<Point>&)>& change,
                                  const QString& merge) {
    std::set<std::string> moved = selection_.now().nodes;
    for (const auto& node : document_.experiment().topology.nodes)
        if (selection_.now().regions.count(node.region)) moved.insert(node.id);
    if (moved.empty()) return false;
    document_.edit(
        what,
        [&](Experiment& e) {
            keep_places(e);
            std::vector<Point> places;
            for (const auto& node : e.topology.nodes)
                if (moved.count(node.id)) places.push_back({node.x, node.y});
            change(places);
            std::size_t next = 0;
            for (auto& node : e.topology.nodes)
                if (moved.count(node.id)) node.x = places[next].x, node.y = places[next].y, ++next;
        },
        merge);
    return true;
}

bool TopologyView::nudge(QPointF by) {
    return place_selected(
        tr("Nudge"),
        [by](std::vector<Point>& places) {
            for (auto& place : places) place.x += by.x(), place.y += by.y();
        },
        "nudge");
}

void TopologyView::align_selected(Align to) {
    place_selected(tr("Align"), [to](std::vector<Point>& places) { align(places, to); });
}

void TopologyView::distribute_selected(bool across) {
    place_selected(tr("Distribute"), [across](std::vector<Point>& places) { distribute(places, across); });
}

}  // namespace skippipe
