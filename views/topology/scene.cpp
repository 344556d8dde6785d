// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/topology/scene.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <QGraphicsSceneHelpEvent>
#include <QGraphicsSceneMouseEvent>
#include <QToolTip>

#include "views/document/document.h"
#include "views/theme/numbers.h"
#include "views/theme/theme.h"
#include "core/experiment/failure_text.h"
#include "views/theme/words.h"
#include "views/topology/edits.h"
#include "views/topology/failure_edits.h"
#include "views/topology/layouts.h"

namespace skippipe {
namespace {

/// A link's: all links together are to weigh about the same, however many they are.
double presence_among(std::size_t links) { return std::clamp(std::sqrt(24.0 / static_cast<double>(links)), 0.16, 1.0); }

void show_figures(LinkItem& item, const Link& link, const BandwidthRange& among) {
    item.width = link_width(link.bandwidth_bytes_per_s, among);
    item.words = link_words(link);
    item.name = link_name(link);
    item.update();
}

}  // namespace

TopologyScene::TopologyScene(Document& document, SelectionModel& selection, bool editable, QObject* parent)
    : QGraphicsScene(parent), document_(document), selection_(selection), editable_(editable) {
    setItemIndexMethod(QGraphicsScene::BspTreeIndex);
    connect(&document, &Document::replacing, this, [this] { folded_.clear(); });  // its regions are others
    connect(&document, &Document::changed, this, &TopologyScene::follow_document);
    connect(&document, &Document::faults_changed, this, &TopologyScene::show_faults);
    connect(&selection, &SelectionModel::changed, this, &TopologyScene::show_selection);
    connect(this, &QGraphicsScene::selectionChanged, this, &TopologyScene::read_selection);
    rebuild();
}

TopologyScene::~TopologyScene() {
    syncing_ = true;  // items that go are no change of the selection
    nodes_.clear();   // views look at the scene once more while it goes
    regions_.clear();
    clear();
}

NodeItem* TopologyScene::node(const std::string& id) const {
    const auto it = nodes_.find(id);
    return it == nodes_.end() ? nullptr : it->second;
}

void TopologyScene::follow_document() {
    const Topology& now = document_.experiment().topology;
    if (document_.experiment().failures != shown_failures_) show_failures();
    if (now == shown_) return;
    const auto same_things = [](const Topology& a, const Topology& b) {
        if (a.links.size() != b.links.size() || a.nodes.size() != b.nodes.size() ||
            a.regions.size() != b.regions.size())
            return false;
        for (std::size_t i = 0; i < a.links.size(); ++i)
            if (a.links[i].from != b.links[i].from || a.links[i].to != b.links[i].to ||
                a.links[i].both_ways != b.links[i].both_ways)
                return false;
        for (std::size_t i = 0; i < a.nodes.size(); ++i)
            if (a.nodes[i].id != b.nodes[i].id || a.nodes[i].region != b.nodes[i].region) return false;
        for (std::size_t i = 0; i < a.regions.size(); ++i)
            if (a.regions[i].id != b.regions[i].id) return false;
        return true;
    };
    const Topology before = shown_;
    if (same_things(now, shown_))
        move_to_document();
    else
        rebuild();
    if (editable_) selection_.select(still_there(selection_.now(), before, now));
}

void TopologyScene::rebuild() {
    syncing_ = true;
    clear();
    nodes_.clear();
    regions_.clear();
    links_.clear();
    drawn_.clear();
    drag_places_.clear();
    if (dragging_) {
        dragging_ = false;
        Q_EMIT drag_changed();
    }
    new_link_ = nullptr;
    link_from_ = link_to_ = nullptr;
    hovered_ = nullptr;
    hovered_region_ = nullptr;
    hovered_node_ = nullptr;
    shown_ = document_.experiment().topology;
    const Topology& t = shown_;
    bandwidths_ = bandwidths_of(t.links);
    for (const auto& region : t.regions)
        if (auto& item = regions_[region.id]; item == nullptr) {
            addItem(item = new RegionItem(region.id));
            addItem(item->label = new RegionLabel(*item, editable_));
        }
    for (const auto& node : t.nodes) {
        auto& item = nodes_[node.id];
        if (item != nullptr) continue;
        addItem(item = new NodeItem(node.id));
        if (const auto region = regions_.find(node.region); region != regions_.end()) {
            item->region = region->second;
            region->second->nodes.push_back(item);
        }
    }
    for (const auto& link : t.links) {
        drawn_.push_back(make_link(link));
        if (drawn_.back() != nullptr) links_.push_back(drawn_.back());
    }
    for (auto* link : links_) {
        link->presence = presence_among(links_.size());
        addItem(link);
    }
    addItem(link_words_ = new LinkWordsItem);
    addItem(shares_ = new SharesItem);
    addItem(way_ = new PathItem);
    addItem(reduction_ = new ReductionItem);
    addItem(traffic_ = new TrafficItem);
    traffic_->set_zoom(zoom_);
    shares_->set_zoom(zoom_);
    link_words_->set_zoom(zoom_);
    link_words_->keep_off(shares_);
    place_traffic();
    syncing_ = false;
    show_folded();
    move_to_document();
    show_faults();
    show_stages();
    mark_down();
    mark_critical();
    show_selection();
}

/// Joins two nodes or two regions; neither: null.
LinkItem* TopologyScene::make_link(const Link& link) {
    const auto join = [&](auto* a, auto* b) {
        auto* item = new LinkItem({link.from, link.to}, a, b, link.both_ways);
        show_figures(*item, link, bandwidths_);
        a->links.push_back(item);
        b->links.push_back(item);
        return item;
    };
    NodeItem *a = node(link.from), *b = node(link.to);
    if (a != nullptr && b != nullptr) return join(a, b);
    const auto ra = regions_.find(link.from), rb = regions_.find(link.to);
    return ra != regions_.end() && rb != regions_.end() && ra != rb ? join(ra->second, rb->second) : nullptr;
}

/// What is drawn is what the document's links join.
void TopologyScene::move_to_document() {
    const Experiment& e = document_.experiment();
    const BandwidthRange now = bandwidths_of(e.topology.links);
    const bool is_another = now != bandwidths_;
    bandwidths_ = now;
    for (std::size_t i = 0; i < drawn_.size(); ++i)
        if (drawn_[i] != nullptr && (is_another || e.topology.links[i] != shown_.links[i]))
            show_figures(*drawn_[i], e.topology.links[i], bandwidths_);
    shown_ = e.topology;
    const auto places = node_places(e);
    for (const auto& region : e.topology.regions)
        if (auto* item = regions_[region.id]; item != nullptr) item->setPos(region.x, region.y), item->waits = true;
    for (std::size_t i = 0; i < places.size(); ++i)
        if (auto* item = node(e.topology.nodes[i].id)) item->setPos(places[i].x, places[i].y);
    for (auto& [id, item] : regions_) item->waits = false, item->follow_nodes();
    place_labels();
    place_far_names();
    way_->follow_nodes();
    reduction_->follow_nodes();
    link_words_->follow_links();
    shares_->follow();
    setSceneRect(sceneRect() |
                 itemsBoundingRect().adjusted(-400, -400, 400, 400));  // only grows: what is seen stays in its place
}

void TopologyScene::show_faults() {
    for (auto& [id, item] : nodes_) item->fault_level = 0;
    for (auto& [id, item] : regions_) item->fault_level = 0;
    for (auto* link : links_) link->fault_level = 0;
    for (const auto& fault : document_.faults()) {
        const int level = fault.severity == Fault::Severity::error ? 2 : 1;
        const Selection subject = subject_of(fault.pointer, document_.experiment());
        for (const auto& id : subject.nodes)
            if (auto* item = node(id)) item->fault_level = std::max(item->fault_level, level);
        for (const auto& id : subject.regions)
            if (const auto it = regions_.find(id); it != regions_.end())
                it->second->fault_level = std::max(it->second->fault_level, level);
        if (subject.links.empty()) continue;
        for (auto* link : links_)
            if (subject.links.count(link->key())) link->fault_level = std::max(link->fault_level, level);
    }
    for (auto* link : links_) link->settle_depth();
    update();
}

void TopologyScene::show_failures() {
    const Experiment& e = document_.experiment();
    shown_failures_ = e.failures;
    for (auto& [id, item] : nodes_) item->fails = false;
    for (auto* link : links_) link->fails = false;
    std::set<std::string> targets;
    for (const auto& failure : e.failures)
        targets.insert((failure.kind == FailureKind::stage_loss ? "stage " : "") + failure.target);
    for (auto& [id, item] : nodes_)
        item->fails = targets.contains(id) || targets.contains("stage " + std::to_string(item->stage));
    for (auto* link : links_) {
        const auto& [from, to] = link->key();
        link->fails = !targets.empty() &&
                      (targets.contains(from + "->" + to) || (link->both_ways() && targets.contains(to + "->" + from)));
        link->settle_depth();
    }
    update();
}

/// What the document's failures do, one a line, the first few of many.
QStringList TopologyScene::failure_lines(const std::vector<std::size_t>& failures) const {
    constexpr std::size_t most = 4;
    QStringList lines;
    for (std::size_t i = 0; i < std::min(failures.size(), most); ++i) {
        const auto& failure = document_.experiment().failures[failures[i]];
        // A node's own failures and those of a link's one direction are told apart from what happens to a whole stage.
        const bool named = failure.kind == FailureKind::stage_loss || failure.target.find("->") != std::string::npos;
        lines << QString::fromStdString(named ? failure_line(failure) : failure_words(failure));
    }
    if (failures.size() > most) lines << tr("and %1 more failures").arg(failures.size() - most);
    return lines;
}

Selection TopologyScene::subject_at(QPointF place) const {
    if (const auto* node = node_at(place)) return {.nodes = {node->id()}};  // a region's name may lie above it
    for (auto* item : items(place)) {
        if (item->type() == link_item) return {.links = {static_cast<LinkItem*>(item)->key()}};
        if (item->type() == region_label_item) return {.regions = {static_cast<RegionLabel*>(item)->region().id()}};
        if (item->type() == region_item) return {.regions = {static_cast<RegionItem*>(item)->id()}};
    }
    return {};
}

void TopologyScene::show_plan(const Plan* plan, const std::vector<std::string>& ids, bool pale) {
    is_pale_ = pale;
    stages_.clear();
    paths_ = plan != nullptr ? plan->paths : std::vector<Path>{};
    plan_ids_ = ids;
    has_plan_ = plan != nullptr;
    if (plan != nullptr)
        for (std::size_t stage = 0; stage < plan->stages.size(); ++stage)
            for (const int index : plan->stages[stage])
                if (index >= 0 && static_cast<std::size_t>(index) < ids.size())
                    stages_[ids[static_cast<std::size_t>(index)]] = static_cast<int>(stage);
    show_stages();
}

void TopologyScene::show_stages() {
    for (auto& [id, item] : nodes_) {
        const auto it = stages_.find(id);
        item->stage = it == stages_.end() ? -1 : it->second;
        item->left_out = has_plan_ && item->stage < 0;
        item->pale = is_pale_;
    }
    show_way();
    show_reduction();
    show_failures();
}

void TopologyScene::show_down(std::map<std::string, QString> down) {
    if (down == down_) return;
    down_ = std::move(down);
    mark_down();
}

void TopologyScene::show_cut(std::set<LinkKey> links) {
    if (links == cut_) return;
    cut_ = std::move(links);
    mark_down();
}

void TopologyScene::mark_down() {
    for (auto& [id, item] : nodes_) item->down = down_.contains(id);
    const auto is_down = [&](const std::string& end) {
        if (const auto* item = node(end)) return item->down;
        const auto region = regions_.find(end);
        return region != regions_.end() && !region->second->nodes.empty() &&
               std::all_of(region->second->nodes.begin(), region->second->nodes.end(),
                           [](const NodeItem* item) { return item->down; });
    };
    for (auto* link : links_) {
        const LinkKey &key = link->key(), back{key.to, key.from};
        link->down = is_down(key.from) || is_down(key.to) || cut_.contains(key) || cut_.contains(back);
    }
    place_far_names();
    update();
}

void TopologyScene::show_way() {
    std::vector<NodeItem*> way;
    if (const auto microbatch = selection_.now().microbatch)
        for (const auto& path : paths_) {
            if (path.microbatch != *microbatch) continue;
            for (const int index : path.nodes)
                if (index >= 0 && static_cast<std::size_t>(index) < plan_ids_.size())
                    if (auto* item = node(plan_ids_[static_cast<std::size_t>(index)])) way.push_back(item);
            if (way.size() > 1) way.push_back(way.front());
        }
    way_->set_way(way);
}

void TopologyScene::show_selection() {
    if (syncing_) return;
    traffic_->update();
    syncing_ = true;
    const Selection& s = selection_.now();
    for (auto& [id, item] : nodes_) {
        item->holds_selection = s.nodes.count(id) > 0;
        item->setSelected(item->holds_selection);
        if (item->region != nullptr && item->region->is_folded()) item->region->update();
    }
    for (auto& [id, item] : regions_) item->setSelected(s.regions.count(id) > 0);
    for (auto* link : links_) link->setSelected(s.links.count(link->key()) > 0);
    syncing_ = false;
    place_far_names();
    set_links_apart();
    show_link_words();
    show_way();
    show_reduction();
}

LinkLook TopologyScene::link_line(double bandwidth_bytes_per_s) const {
    return link_look(link_width(bandwidth_bytes_per_s, bandwidths_), presence_among(links_.size()));
}

/// Links that lead to nothing of what is selected step back.
void TopologyScene::set_links_apart() {
    const Selection& s = selection_.now();
    std::set<std::string> ends = s.regions;
    for (const auto& [id, item] : nodes_) {
        const std::string region = item->region != nullptr ? item->region->id() : std::string{};
        if (s.nodes.contains(id)) ends.insert({id, region});
        if (s.regions.contains(region)) ends.insert(id);
    }
    // Of a microbatch its way is drawn above them, of a stage its reduction.
    const bool any = !ends.empty() || !s.links.empty() || s.microbatch || s.stage;
    int stepped = 0;
    for (auto* link : links_) {
        const auto& key = link->key();
        const bool leads = s.links.contains(key) || ends.contains(key.from) || ends.contains(key.to);
        if (link->apart == (any && !leads)) continue;
        link->apart = !link->apart;
        link->settle_depth();
        link->update();
        ++stepped;
    }
    if (stepped > 0) Q_EMIT links_stepped(stepped);
}

void TopologyScene::read_selection() {
    if (syncing_) return;
    Selection s = selection_.now();
    s.nodes.clear();
    s.regions.clear();
    s.links.clear();
    s.failure.reset();
    s.stage.reset();
    for (auto& [id, item] : nodes_)
        if (item->isSelected()) s.nodes.insert(id);
    for (auto& [id, item] : regions_)
        if (item->isSelected()) s.regions.insert(id);
    for (auto* link : links_)
        if (link->isSelected()) s.links.insert(link->key());
    selection_.select(s);
}

void TopologyScene::select_everything() {
    Selection s;
    for (auto& [id, item] : nodes_) s.nodes.insert(id);
    for (auto& [id, item] : regions_) s.regions.insert(id);
    for (auto* link : links_) s.links.insert(link->key());
    selection_.select(s);
}

std::optional<QPointF> TopologyScene::middle_of_selection() const {
    const auto items = selectedItems();
    if (items.isEmpty()) return {};
    QRectF box;
    for (const auto* item : items) box |= item->sceneBoundingRect();
    return box.center();
}

QRectF TopologyScene::things_box() const {
    QRectF box;
    for (const auto& [id, item] : nodes_) box |= item->room().translated(item->pos());
    for (const auto& [id, item] : regions_) box |= item->sceneBoundingRect();
    return box;
}

QRectF TopologyScene::names_box(double zoom) const {
    QRectF box;
    for (const auto& [id, item] : regions_)
        if (item->label != nullptr && item->label->is_shown()) box |= item->label->words_and_handle_box(zoom);
    return box;
}

std::vector<std::pair<QPointF, int>> TopologyScene::node_dots() const {
    std::vector<std::pair<QPointF, int>> dots;
    dots.reserve(nodes_.size());
    for (const auto& [id, item] : nodes_) dots.emplace_back(item->pos(), item->stage);
    return dots;
}

NodeItem* TopologyScene::node_at(QPointF place) const {
    for (auto* item : items(place))
        if (item->type() == node_item) return static_cast<NodeItem*>(item);
    return nullptr;
}

QString TopologyScene::tip_for(QGraphicsItem* item) const {
    QStringList lines;
    const Experiment& e = document_.experiment();
    Selection subject;
    if (item->type() == node_item) {
        const auto& id = static_cast<NodeItem*>(item)->id();
        subject.nodes.insert(id);
        lines << QString::fromStdString(id);
        for (const auto& n : e.topology.nodes)
            if (n.id == id) {
                if (!n.region.empty()) lines << tr("in %1").arg(QString::fromStdString(n.region));
                lines << tr("%1 a sample and block").arg(duration(n.seconds_per_sample_per_block));
            }
        if (const auto stage = stages_.find(id); stage != stages_.end())
            lines << (is_pale_ ? tr("stage %1 in the plan before") : tr("stage %1")).arg(stage->second);
        else if (has_plan_ && !is_pale_)
            lines << tr("left out of the plan");
        if (const auto* critical = node(id); critical != nullptr && critical->critical_share > 0)
            lines << critical_node_words(critical->critical_share) +
                         tr("; the end of the iteration waits for it the longest");
        if (const auto down = down_.find(id); down != down_.end()) lines << down->second;
        lines << failure_lines(failures_of_node(e, id, static_cast<NodeItem*>(item)->stage));
    } else if (item->type() == link_item) {
        const auto& link = dynamic_cast<const LinkItem&>(*item);
        const auto& key = link.key();
        subject.links.insert(key);
        const auto& told = link_words_->links();  // beside it
        const bool is_told = std::find(told.begin(), told.end(), &link) != told.end();
        for (const auto& l : e.topology.links)
            if (l.from == key.from && l.to == key.to)
                lines << (is_told && link.hovered ? QString{} : link_name(l))
                      << (is_told ? QString{} : ::skippipe::link_words(l))
                      << (link.critical && !is_told ? critical_words(link.critical_share) +
                                                          tr("; the end of the iteration waits for it the longest")
                                                    : QString{})
                      << failure_lines(failures_of_link(e, l));
        lines.removeAll(QString{});
    } else if (item->type() == region_item) {
        const auto* region = static_cast<RegionItem*>(item);
        subject.regions.insert(region->id());
        lines << QString::fromStdString(region->id())
              << (region->nodes.size() == 1 ? tr("1 node") : tr("%1 nodes").arg(region->nodes.size()));
        Link within{region->id(), region->id(), e.topology.within_region.latency_s,
                    e.topology.within_region.bandwidth_bytes_per_s};
        for (const auto& l : e.topology.links)
            if (l.from == region->id() && l.to == region->id()) within = l;
        if (region->nodes.size() > 1) lines << tr("Between its nodes: %1").arg(::skippipe::link_words(within));
        if (editable_) lines << tr("Drag: moves its nodes") << tr("Ring beside its name: links it");
    }
    for (const auto& fault : document_.faults())
        if (const Selection s = subject_of(fault.pointer, e); !s.empty() && s == subject)
            lines << QString{} << without_keys(QString::fromStdString(fault.what))
                  << without_keys(QString::fromStdString(fault.remedy));
    return lines.join('\n');
}

QString TopologyScene::words_at(QPointF place) const {
    const QString live = traffic_->words_at(place);
    for (auto* item : items(place)) {
        // Of a node what it does now stands where its name alone would; what does not change follows.
        if (item->type() == node_item && !live.isEmpty())
            return (live + '\n' + tip_for(item).section('\n', 1)).trimmed();
        const QString words = item == reduction_ ? reduction_->words_at(place) : !live.isEmpty() ? live : tip_for(item);
        if (!words.isEmpty()) return words;
    }
    return live;
}

/// A run's map is small: its card stands below it.
void TopologyScene::helpEvent(QGraphicsSceneHelpEvent* event) {
    const QString words = words_at(event->scenePos());
    if (words.isEmpty()) return QToolTip::hideText();
    QPoint at = event->screenPos();
    constexpr int from_cursor = 12;  // as far as Qt moves it down, and a little less
    if (const auto* view = event->widget(); view != nullptr && !editable_)
        at.setY(view->mapToGlobal(QPoint(0, view->height())).y() - from_cursor);
    QToolTip::showText(at, words, event->widget());
}

}  // namespace skippipe
