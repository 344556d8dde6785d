// SPDX-License-Identifier: GPL-3.0-or-later
// Large networks on the canvas: folded regions, the overview, the world map, Graphviz.
#include <QMenu>
#include <QScrollBar>
#include <QtTest>

#include <cmath>
#include <numeric>
#include <set>

#include "core/experiment/io.h"
#include "tests/views/mouse.h"
#include "views/document/document.h"
#include "views/topology/edits.h"
#include "views/topology/graphviz_layout.h"
#include "views/topology/layouts.h"
#include "views/topology/link_words.h"
#include "views/topology/mini_map.h"
#include "views/topology/shapes.h"
#include "views/theme/theme.h"
#include "views/topology/view.h"
#include "views/topology/world_map.h"

using namespace skippipe;

namespace {

/// Regions of three nodes each, linked in a row; one node of the first is linked to one of the second besides.
Experiment row_of_regions(const std::vector<std::string>& names) {
    Experiment e;
    for (std::size_t r = 0; r < names.size(); ++r) {
        const double x = 600.0 * static_cast<double>(r);
        e.topology.regions.push_back({names[r], x, 0});
        for (int n = 0; n < 3; ++n) add_node(e, {x + 90 * n, 90.0 * (n % 2)}, names[r]);
        if (r > 0) add_link(e, names[r - 1], names[r]);
    }
    if (names.size() > 1) add_link(e, "node-1", "node-4");
    return e;
}

Experiment bundled(const std::string& name) {
    return load_experiment(SKIPPIPE_SOURCE_DIR "/resources/experiments/" + name + ".json").experiment;
}

struct Canvas {
    explicit Canvas(const Experiment& e) {
        document.start_new(e);
        view.resize(900, 500);
        view.show();
        static_cast<void>(QTest::qWaitForWindowExposed(&view));
        view.setFocus();
        view.fit();
    }
    NodeItem* node(const char* id) { return view.scene_model().node(id); }
    RegionItem* region(const char* id) { return view.scene_model().region(id); }

    Document document;
    SelectionModel selection;
    TopologyView view{document, selection, true};
};

double nearest(const std::vector<Point>& places) {
    double least = 1e9;
    for (std::size_t a = 0; a < places.size(); ++a)
        for (std::size_t b = 0; b < a; ++b)
            least = std::min(least, std::hypot(places[a].x - places[b].x, places[a].y - places[b].y));
    return least;
}

}  // namespace

class TestFarCanvas : public QObject {
    Q_OBJECT
private Q_SLOTS:
    /// A small picture of a run shows what each node does for longer.
    void regions_fold_later_where_nodes_are_watched() {
        Canvas c(row_of_regions({"a", "b"}));
        TopologyScene watched(c.document, c.selection, false);
        for (auto* scene : {&c.view.scene_model(), &watched}) scene->follow_zoom(0.3);
        QVERIFY(c.region("a")->is_folded() && !watched.region("a")->is_folded());
        watched.follow_zoom(0.2);
        QVERIFY(watched.region("a")->is_folded());
    }

    void a_region_is_folded_and_unfolded() {
        Canvas c(row_of_regions({"a", "b", "c"}));
        c.selection.select({.nodes = {"node-2"}});
        const QPainterPath unfolded = c.region("a")->shape();
        QTest::keyClick(&c.view, Qt::Key_X);
        QVERIFY(c.region("a")->shape() != unfolded);
        QVERIFY(c.region("a")->is_folded() && !c.region("b")->is_folded());
        QVERIFY(!c.node("node-1")->isVisible() && c.node("node-4")->isVisible());
        QVERIFY2(c.selection.now().nodes.contains("node-2"), "what is hidden stays selected");
        // The link to one of its nodes ends at the region; one within it is not seen.
        for (auto* item : c.view.scene_model().items())
            if (item->type() == link_item) {
                const auto* link = static_cast<LinkItem*>(item);
                if (link->key() == LinkKey{"node-1", "node-4"})
                    QCOMPARE(link->middle(), (c.region("a")->pos() + c.node("node-4")->pos()) / 2);
            }
        const Experiment before = c.document.experiment();
        c.document.edit("Speed", [](Experiment& e) { e.topology.nodes[0].id = "renamed"; });
        QVERIFY2(c.region("a")->is_folded(), "edits leave it folded");
        c.document.undo_stack().undo();
        drag_mouse(c.view, c.region("a")->pos(), c.region("a")->pos() + QPointF(100, 50));
        for (int i = 0; i < 3; ++i) {
            const auto& from = before.topology.nodes[std::size_t(i)];
            const auto& to = c.document.experiment().topology.nodes[std::size_t(i)];
            QCOMPARE(QPointF(to.x - from.x, to.y - from.y), QPointF(100, 50));
        }
        const QPoint at = c.view.mapFromScene(c.region("a")->pos());
        QTest::mouseDClick(c.view.viewport(), Qt::LeftButton, {}, at);
        QVERIFY(!c.region("a")->is_folded() && c.node("node-1")->isVisible());
        QCOMPARE(c.region("a")->shape(), unfolded);
        QCOMPARE(c.document.experiment().topology.nodes.size(), before.topology.nodes.size());
        c.selection.select({});
        QTest::keyClick(&c.view, Qt::Key_X);
        QVERIFY(c.region("a")->is_folded() && c.region("b")->is_folded() && c.region("c")->is_folded());
        QTest::keyClick(&c.view, Qt::Key_X);
        QVERIFY(!c.region("a")->is_folded() && !c.region("b")->is_folded() && !c.region("c")->is_folded());
    }

    void far_out_regions_fold_by_themselves() {
        std::vector<std::string> names;
        for (int i = 0; i < 12; ++i) names.push_back("r" + std::to_string(i));
        Canvas c(row_of_regions(names));
        QVERIFY2(c.view.transform().m11() < 0.35, "all of it in sight");
        QVERIFY(c.region("r0")->is_folded() && !c.node("node-1")->isVisible());
        const double radius = c.region("r0")->boundingRect().width() / 2 * c.view.transform().m11();
        QVERIFY2(radius > 15 && radius < 20, "so many pixels whatever the zoom");
        QTest::mouseDClick(c.view.viewport(), Qt::LeftButton, {}, c.view.mapFromScene(c.region("r5")->pos()));
        QVERIFY2(!c.region("r5")->is_folded() && c.view.transform().m11() > 0.5, "opened by going there");
        QVERIFY(c.view.viewport()->rect().contains(c.view.mapFromScene(c.region("r5")->pos())));
        QCOMPARE(c.document.experiment().topology.nodes.size(), std::size_t{36});
    }

    void the_overview_shows_what_is_out_of_sight() {
        Canvas c(row_of_regions({"a", "b", "c", "d"}));
        auto* map = c.view.findChild<MiniMap*>();
        QVERIFY(map != nullptr && !map->isVisible());
        for (int i = 0; i < 6; ++i) {
            QWheelEvent event({450, 250}, c.view.viewport()->mapToGlobal(QPointF(450, 250)), {}, {0, 120}, Qt::NoButton,
                              {}, Qt::NoScrollPhase, false);
            QApplication::sendEvent(c.view.viewport(), &event);
        }
        QVERIFY(map->isVisible());
        const auto place = map->pos();
        QVERIFY(c.view.viewport()->rect().contains(map->geometry()));
        const auto middle = [&] { return c.view.mapToScene(c.view.viewport()->rect().center()).x(); };
        QTest::mouseClick(map, Qt::LeftButton, {}, {12, map->height() / 2});
        const double left = middle();
        QTest::mouseClick(map, Qt::LeftButton, {}, {map->width() - 12, map->height() / 2});
        QVERIFY2(middle() > left + 1000, "the other end of the network");
        QCOMPARE(map->pos(), place);
        c.view.fit();
        QVERIFY(!map->isVisible());
    }

    /// Wherever one looks it lies on no node, and it stays in its corner while that is free.
    void the_overview_covers_no_node() {
        Experiment e = row_of_regions({"a", "b", "c", "d", "e", "f"});
        for (int i = 0; i < 60; ++i) add_node(e, {150.0 * (i % 20), 200.0 + 170 * (i / 20)});
        Canvas c(e);
        auto* map = c.view.findChild<MiniMap*>();
        for (int i = 0; i < 5; ++i) {
            QWheelEvent event({450, 250}, c.view.viewport()->mapToGlobal(QPointF(450, 250)), {}, {0, 120}, Qt::NoButton,
                              {}, Qt::NoScrollPhase, false);
            QApplication::sendEvent(c.view.viewport(), &event);
        }
        std::set<std::pair<int, int>> corners;
        int seen = 0;
        for (int x = 0; x <= 3000; x += 60)
            for (const int y : {-200, 0, 250, 500, 800}) {
                c.view.centerOn(x, y);
                if (!map->isVisible()) continue;
                ++seen;
                corners.insert({map->x(), map->y()});
                QVERIFY(c.view.viewport()->rect().contains(map->geometry()));
                for (const auto& [at, stage] : c.view.scene_model().node_dots()) {
                    const double radius = node_radius * c.view.transform().m11();
                    const QPointF middle = c.view.viewportTransform().map(at);
                    const QRectF disc(middle - QPointF(radius, radius), QSizeF(2 * radius, 2 * radius));
                    QVERIFY2(!disc.intersects(map->geometry()), qPrintable(QString("at %1, %2").arg(x).arg(y)));
                }
                const QRect before = map->geometry();
                map->follow();
                QCOMPARE(map->geometry(), before);
            }
        QVERIFY2(seen > 20 && corners.size() > 1, qPrintable(QString("%1, %2").arg(seen).arg(corners.size())));
    }

    /// Nodes that would cover each other are spread where they are drawn; the document is as it was until one is moved.
    void crowded_nodes_are_spread_where_they_are_drawn() {
        Experiment e;
        for (int i = 0; i < 12; ++i) add_node(e, {0.5 * i, 0.7 * (i % 3)});  // degrees, as it were
        add_node(e, {5.5, 1.4});
        Canvas c(e);
        const auto drawn = [&] {
            std::vector<Point> places;
            for (const auto& node : c.document.experiment().topology.nodes) {
                const QPointF at = c.view.scene_model().node(node.id)->pos();
                places.push_back({at.x(), at.y()});
            }
            return places;
        };
        QVERIFY2(nearest(drawn()) > 1.5 * node_radius, qPrintable(QString::number(nearest(drawn()))));
        QVERIFY(c.document.experiment() == e && c.document.undo_stack().count() == 0);
        const auto places = drawn();
        for (std::size_t i = 3; i < 12; ++i) QVERIFY2(places[i].x > places[i - 3].x, "as they stand to each other");
        drag_mouse(c.view, c.node("node-1")->pos(), c.node("node-1")->pos() + QPointF(-100, 0));
        const auto& nodes = c.document.experiment().topology.nodes;
        QCOMPARE(nodes[5].x, places[5].x);
        QVERIFY2(std::abs(nodes[0].x - places[0].x + 100) <= grid, "to the grid");
        QVERIFY2(nearest(drawn()) > 1.5 * node_radius, "drawn as it was");
        c.document.undo_stack().undo();
        QVERIFY(c.document.experiment() == e);
        // On a map all stay where they are but those that cover others.
        e.topology.on_map = true;
        const auto on_map = node_places(e);
        QVERIFY(nearest(on_map) > 1.5 * node_radius && on_map[0].x == 0 && on_map[0].y == 0);
        // What stands apart stands as the document says.
        QFile file(SKIPPIPE_SOURCE_DIR "/resources/experiments/authors-42.json");
        QVERIFY(file.open(QIODevice::ReadOnly));
        const Experiment published = parse_experiment(file.readAll().toStdString()).experiment;
        const auto as_published = node_places(published);
        for (std::size_t i = 0; i < as_published.size(); ++i)
            QVERIFY(as_published[i].x == published.topology.nodes[i].x &&
                    as_published[i].y == published.topology.nodes[i].y);
        // Two that somebody put on each other stay there.
        Experiment put;
        for (int i = 0; i < 8; ++i) add_node(put, {i == 7 ? 620.0 : 100.0 * i, 0});
        QVERIFY(node_places(put)[7].x == 620 && node_places(put)[6].x == 600);
        // One that is far from all others does not leave these a point.
        Experiment far;
        for (int i = 0; i < 6; ++i) add_node(far, {0.1 * i, 0});
        add_node(far, {1000, 0});
        QVERIFY(nearest(node_places(far)) > 1.5 * node_radius);
    }

    void names_are_found_on_the_map() {
        for (const char* name : {"London", "us-east-1", "us-east-1b", "europe-west4-a", "São nowhere, Tokyo", "LA",
                                 "lab Zurich 2", "Hong Kong", "zurich-3"})
            QVERIFY2(place_on_map(name).has_value(), name);
        for (const char* name : {"", "cluster", "region-1", "7", "a", "node-12", "-"})
            QVERIFY2(!place_on_map(name).has_value(), name);
        const auto london = *place_on_map("London"), sydney = *place_on_map("sydney");
        QVERIFY2(sydney.x > london.x && sydney.y > 0 && london.y < 0, "east and south");
        QVERIFY(land_outlines().contains(QPointF(place_on_map("Iowa")->x, place_on_map("Iowa")->y)));
        QVERIFY2(!land_outlines().contains(QPointF(-150 * map_scale, 0)), "the Pacific");
    }

    void laid_out_on_the_map_nothing_is_covered() {
        QFile file(SKIPPIPE_SOURCE_DIR "/resources/experiments/authors-42.json");
        QVERIFY(file.open(QIODevice::ReadOnly));
        Experiment e = parse_experiment(file.readAll().toStdString()).experiment;
        e.topology.nodes[0].region.clear();
        Canvas c(e);
        QSignalSpy told(&c.view, &TopologyView::told);
        c.view.lay_out_on_map();
        QCOMPARE(told.count(), 1);
        QVERIFY2(told[0][0].toString().contains("n0"), "a node of no known place is named");
        const auto places = node_places(c.document.experiment());
        QVERIFY2(nearest(places) >= least_distance, "no node covers another");
        const auto middle_of = [&](const char* region) {
            QPointF sum;
            int count = 0;
            for (const auto& n : c.document.experiment().topology.nodes)
                if (n.region == region) sum += QPointF(n.x, n.y), ++count;
            return sum / count;
        };
        for (const char* region : {"Japan", "Iowa", "Australia", "Singapore"}) {
            const auto drawn = middle_of(region);
            const auto true_place = *place_on_map(region);
            QVERIFY2(std::hypot(drawn.x() - true_place.x, drawn.y() - true_place.y) < 200, region);
        }
        QVERIFY(c.document.experiment().topology.on_map);
        QCOMPARE(experiment_hash(c.document.experiment()), experiment_hash(e));
        c.view.tidy_up();
        QVERIFY2(!c.document.experiment().topology.on_map, "elsewhere than on the map");
        c.document.undo_stack().undo();
        c.document.undo_stack().undo();
        QVERIFY(c.document.experiment() == e);
    }

    /// All nodes lie in it with their names, however they stand, and it is convex: no bays, no cusps.
    void a_region_is_the_hull_of_its_nodes() {
        for (const int count : {0, 1, 2, 3, 14}) {
            Experiment e;
            e.topology.regions.push_back({"r", 0, 0});
            for (int i = 0; i < count; ++i) add_node(e, {90.0 * (i % 5), 80.0 * (i / 5) + 9 * i}, "r");
            Canvas c(e);
            const auto* region = c.region("r");
            const QPainterPath area = region->shape().translated(region->pos());
            for (const auto& node : e.topology.nodes) {
                QVERIFY(area.contains(
                    QRectF(node.x - node_radius, node.y - node_radius, 2 * node_radius, 2 * node_radius + 15)));
            }
            const QPolygonF rim = area.toFillPolygon();
            double turned = 0;
            for (int i = 1; i + 1 < rim.size(); ++i) {
                const QPointF a = rim[i] - rim[i - 1], b = rim[i + 1] - rim[i];
                const double bend = a.x() * b.y() - a.y() * b.x();
                QVERIFY2(std::abs(bend) < 1e-6 || turned == 0 || (bend > 0) == (turned > 0), "no bay");
                if (std::abs(bend) >= 1e-6) turned = bend;
            }
            QVERIFY(rim.size() > 8);
        }
    }

    /// A link between regions is drawn from outline to outline, over no node of them.
    void links_of_regions_end_at_their_outlines() {
        Canvas c(row_of_regions({"a", "b"}));
        for (auto* item : c.view.scene_model().items()) {
            if (item->type() != link_item) continue;
            const auto* link = static_cast<LinkItem*>(item);
            if (link->key() != LinkKey{"a", "b"}) continue;
            const QLineF line = link->line();
            QVERIFY(line.length() > 0);
            for (const auto& [region, end] : {std::pair{"a", line.p1()}, std::pair{"b", line.p2()}}) {
                const auto* area = c.region(region);
                QVERIFY(!area->shape().contains(end + (line.center() - end) * 0.02 - area->pos()));
                QVERIFY(area->shape().contains(end - (line.center() - end) * 0.02 - area->pos()));
                for (const auto* node : area->nodes) QVERIFY(QLineF(node->pos(), end).length() >= region_margin - 1);
            }
            // Over each other they have no room between: the middles are linked.
            const QPointF b = c.region("b")->pos();
            for (auto* node : c.region("b")->nodes)
                node->setPos(node->pos() - b + c.region("a")->pos() + QPointF(5, 0));
            QCOMPARE(link->line(), QLineF(c.region("a")->pos(), c.region("b")->pos()));
            return;
        }
        QFAIL("the regions are linked");
    }

    /// A link that crosses a third region lies beneath it and is not hit there, unless it is marked.
    void links_of_regions_pass_beneath_others() {
        Experiment e = row_of_regions({"a", "b", "c"});
        e.topology.links.clear();
        add_link(e, "a", "c");
        Canvas c(e);
        const auto type_above_b = [&] {
            const auto* top = c.view.scene_model().itemAt(c.region("b")->pos() + QPointF(-40, 0), {});
            return top == nullptr ? 0 : top->type();
        };
        QCOMPARE(type_above_b(), int{region_item});
        c.selection.select({.links = {{"a", "c"}}});
        QCOMPARE(type_above_b(), int{link_item});
        c.selection.select({});
        QCOMPARE(type_above_b(), int{region_item});
    }

    /// What two overlapping regions have in common is bridged; their nodes are not.
    void overlapping_regions_have_a_bridge() {
        Canvas c(row_of_regions({"a", "b"}));
        const auto shift = [&](QPointF by) {
            for (auto* node : c.region("b")->nodes) node->setPos(node->pos() + by);
        };
        for (auto* item : c.view.scene_model().items())
            if (item->type() == link_item && static_cast<LinkItem*>(item)->key() == LinkKey{"a", "b"}) {
                auto* link = static_cast<LinkItem*>(item);
                shift(c.region("a")->pos() - c.region("b")->pos() + QPointF(230, 0));
                QVERIFY2(link->line().length() > 10 && link->line().length() < 100,
                         qPrintable(QString::number(link->line().length())));
                return;
            }
        QFAIL("the regions are linked");
    }

    /// A region's name stands on no other region's area where it need not: below its own where another is above.
    void names_of_regions_leave_areas_alone() {
        Experiment e;
        e.topology.regions = {{"Canada", 0, 0}, {"Iowa", 0, 0}};
        for (int i = 0; i < 4; ++i) add_node(e, {80.0 * i, 0}, "Canada");
        for (int i = 0; i < 4; ++i) add_node(e, {-50 + 80.0 * i, 84}, "Iowa");
        Canvas c(e);
        for (const double zoom : {1.0, 0.55}) {
            c.view.scene_model().follow_zoom(zoom);
            const QRectF words = c.region("Iowa")->label->words_and_handle_box(zoom);
            for (const QPointF at : {words.topLeft(), words.topRight(), words.center(), words.bottomLeft()})
                QVERIFY2(!c.region("Canada")->covers(at), qPrintable(QString::number(zoom)));
            QVERIFY(c.region("Iowa")->label->is_below() && !c.region("Canada")->label->is_below());
        }
        QVERIFY(c.region("Canada")->covers({120, 0}) && !c.region("Canada")->covers({120, 84}));
    }

    /// Where words are magnified, a region's name below it gives way to those of its own nodes.
    void a_region_name_leaves_its_nodes_names_alone() {
        Experiment e;
        e.topology.regions = {{"Canada", 0, 0}, {"Iowa", 0, 0}};
        for (int i = 0; i < 4; ++i) add_node(e, {80.0 * i, 0}, "Canada");
        for (int i = 0; i < 4; ++i) add_node(e, {-50 + 80.0 * i, 84}, "Iowa");
        Canvas c(e);
        for (const double zoom : {1.0, 0.7, 0.5}) {
            c.view.scene_model().follow_zoom(zoom);
            auto* label = c.region("Iowa")->label;
            const QRectF words = label->words_and_handle_box(zoom);
            QVERIFY(label->is_below() && label->boundingRect().contains(words));
            for (const auto* node : c.region("Iowa")->nodes)
                QVERIFY2(!words.intersects(node->name_box(zoom)), qPrintable(QString::number(zoom)));
        }
    }

    /// What a selected link says of itself covers no node beside its line.
    void words_of_a_link_cover_no_node() {
        Experiment e;
        add_node(e, {0, 0}), add_node(e, {0, 300}), add_node(e, {60, 150}), add_node(e, {-40, 210});
        add_link(e, "node-1", "node-2");
        Canvas c(e);
        c.selection.select({.links = {{"node-1", "node-2"}}});
        const auto& words = c.view.scene_model().link_words();
        QCOMPARE(words.links().size(), std::size_t{1});
        for (const double zoom : {1.0, 0.7})
            for (const char* node : {"node-1", "node-2", "node-3", "node-4"}) {
                const QRectF box = words.box_of(*words.links().front(), zoom);
                QVERIFY(words.boundingRect().contains(box));
                const auto* view = c.view.viewport();
                QVERIFY(c.view.mapToScene(view->rect()).boundingRect().contains(box));
                QRectF disc(0, 0, 2 * node_radius, 2 * node_radius);
                disc.moveCenter(c.node(node)->pos());
                QVERIFY2(!box.intersects(disc), node);
                QVERIFY2(!box.intersects(c.node(node)->name_box(zoom)), node);
            }
    }

    /// Among many nodes too a link's words cover none of them and no name, as large on the screen however far out, and
    /// no folded region; nor do the words of several cover each other's.
    void words_of_links_find_a_free_place() {
        for (const char* name : {"quick-start", "churn"}) {
            const auto read = bundled(name);
            Canvas c(read);
            const auto& words = c.view.scene_model().link_words();
            const double fitted = c.view.transform().m11();
            for (const double zoom : {fitted, 0.5 * fitted, 0.25 * fitted}) {
                c.view.setTransform(QTransform::fromScale(zoom, zoom));
                c.view.scene_model().follow_zoom(zoom);
                for (const auto& link : read.topology.links) {
                    c.selection.select({.links = {{link.from, link.to}}});
                    const QRectF box = words.box_of(*words.links().front(), zoom);
                    const QByteArray which = QByteArray::number(zoom) + ' ' + link.from.c_str() + ' ' + link.to.c_str();
                    QVERIFY2(box.height() * zoom > 12, which);
                    QVERIFY2(words.boundingRect().contains(box), which);
                    for (const auto& region : read.topology.regions) {
                        const auto* item = c.region(region.id.c_str());
                        QVERIFY2(!item->is_folded() || !item->sceneBoundingRect().intersects(box), which);
                        QVERIFY2(!item->label->is_shown() || !item->label->words_and_handle_box(zoom).intersects(box),
                                 which);
                    }
                    for (const auto& node : read.topology.nodes) {
                        const auto* item = c.node(node.id.c_str());
                        QVERIFY2(!item->isVisible() || !item->name_box(zoom).intersects(box), which);
                        QVERIFY2(
                            !item->isVisible() || !item->shape().boundingRect().translated(item->pos()).intersects(box),
                            which);
                    }
                    const QRectF other = words.box_of(*words.links().front(), zoom, {box});
                    QVERIFY2(!other.intersects(box), which);
                }
            }
        }
    }

    /// Far out all regions are drawn alike: also one of one node is a disc with its number and its name.
    void folded_regions_have_one_form() {
        Canvas c(bundled("quick-start"));
        const double zoom = 0.25;
        c.view.scene_model().follow_zoom(zoom);
        for (const auto& region : c.document.experiment().topology.regions) {
            const auto* item = c.region(region.id.c_str());
            QVERIFY2(item->is_folded() && item->label->is_shown(), region.id.c_str());
            QCOMPARE(item->count_words(), QString::fromUtf8("×%1").arg(item->nodes.size()));
            QVERIFY(item->label->boundingRect().contains(item->label->words_and_handle_box(zoom)));
        }
    }

    /// Words as long as a short link stand beside it: what they are about is seen.
    void words_of_a_short_link_leave_it_in_sight() {
        Experiment e;
        add_node(e, {0, 0}), add_node(e, {110, 0});
        add_link(e, "node-1", "node-2");
        Canvas c(e);
        c.selection.select({.links = {{"node-1", "node-2"}}});
        const auto& words = c.view.scene_model().link_words();
        const auto& link = *words.links().front();
        QVERIFY(!words.box_of(link, 1).contains(link.middle()));
        QVERIFY2(!c.view.scene_model().tip_for(const_cast<LinkItem*>(&link)).contains(link.words), "they are there");
        c.selection.select({});
        QVERIFY(c.view.scene_model().tip_for(const_cast<LinkItem*>(&link)).contains(link.words));
        // Under the mouse its words name it, and no tip covers them.
        QTest::mouseMove(c.view.viewport(), c.view.mapFromScene(link.middle()));
        QTRY_VERIFY(link.hovered);
        QVERIFY(LinkWordsItem::words_of(link).startsWith(QString::fromUtf8("node-1 ↔ node-2")));
        QVERIFY(LinkWordsItem::words_of(link).contains("50\u2009ms"));
        QCOMPARE(c.view.scene_model().tip_for(const_cast<LinkItem*>(&link)), QString());
    }

    /// Near the edge of the view a link's words stand on it, if not in their own middle.
    void words_of_a_link_at_the_edge_stand_on_it() {
        Experiment e;
        for (const Point at : {Point{0, 0}, Point{800, -120}, Point{800, 120}}) add_node(e, at);
        add_link(e, "node-2", "node-3");
        Canvas c(e);
        c.selection.select({.links = {{"node-2", "node-3"}}});
        const auto& words = c.view.scene_model().link_words();
        const auto& link = *words.links().front();
        const double zoom = c.view.transform().m11();
        auto& bar = *c.view.horizontalScrollBar();
        bar.setValue(bar.value() - (c.view.viewport()->width() - c.view.mapFromScene(link.middle()).x() - 25));
        const QRectF box = words.box_of(link, zoom);
        QVERIFY2(box.center().x() < link.middle().x() - 1, "the edge leaves it no room in its middle");
        QCOMPARE(LinkWordsItem::leader_of(link.line(), box).length(), 0.0);
        QVERIFY(c.view.mapToScene(c.view.viewport()->rect()).boundingRect().contains(box));
        // Beside it a line leads there.
        const QLineF leader = LinkWordsItem::leader_of(link.line(), box.translated(-200, 0));
        QVERIFY(std::abs(leader.length() - (link.middle().x() - box.right() + 200)) < 2);
    }

    /// A large network fits with its names, which are read whole where they are, and its links are seen.
    void a_large_network_fits_with_its_names() {
        Canvas c(make_shape(Shape::random, 300, 1));
        const auto& scene = c.view.scene_model();
        const double zoom = c.view.transform().m11();
        const QRectF seen = c.view.mapToScene(c.view.viewport()->rect()).boundingRect();
        QVERIFY(seen.contains(scene.things_box()));
        int named = 0;
        const auto& regions = c.document.experiment().topology.regions;
        for (const auto& region : regions) {
            const auto& item = *c.region(region.id.c_str());
            if (!item.label->is_shown()) continue;
            ++named;
            const QRectF box = item.label->words_and_handle_box(zoom);
            QVERIFY2(seen.contains(box), region.id.c_str());
            for (const auto& other : regions)
                if (c.region(other.id.c_str())->sceneBoundingRect().intersects(box) && other.id != region.id &&
                    c.region(other.id.c_str())->covers(box.center()))
                    QVERIFY2(item.label->zValue() > c.region(other.id.c_str())->zValue(), region.id.c_str());
        }
        QVERIFY(named > 10);
        for (const bool dark : {false, true}) {
            apply_theme(*qApp, dark);
            const LinkLook thinnest = link_look(1, 0.16);
            QVERIFY2(contrast(thinnest.colour, theme().surface) > 1.3,
                     qPrintable(QString::number(contrast(thinnest.colour, theme().surface))));
        }
        apply_theme(*qApp, false);
    }

    /// Where there is room the one that holds more is larger.
    void folded_regions_are_as_large_as_their_counts() {
        Canvas c(row_of_regions({"few", "many"}));
        c.document.edit("More", [](Experiment& e) {
            add_nodes_round(e, "many", {e.topology.nodes.back().x, e.topology.nodes.back().y}, 30);
        });
        c.view.scene_model().toggle_folded({"few", "many"});
        const auto wide = [&](const char* id) { return c.region(id)->shape().boundingRect().width(); };
        QVERIFY(c.region("few")->is_folded() && c.region("many")->is_folded());
        QVERIFY2(wide("many") > 1.2 * wide("few") && wide("many") < 1.5 * wide("few"),
                 qPrintable(QString("%1 and %2").arg(wide("few")).arg(wide("many"))));
    }

    /// Folded regions that are near each other are smaller, and names that would cover others wait for the mouse.
    void folded_regions_keep_apart() {
        std::vector<std::string> names;
        for (const char* place : {"one", "two", "three", "four", "five"})
            names.push_back(std::string(place) + " with a long name");
        Canvas c(row_of_regions(names));
        c.document.edit("Near", [](Experiment& e) {
            for (std::size_t i = 3; i < 15; ++i) e.topology.nodes[i].x -= 500 * static_cast<double>(i / 3);
        });
        c.view.scene_model().follow_zoom(0.2);
        std::vector<RegionItem*> regions, hidden;
        for (const auto& name : names) regions.push_back(c.region(name.c_str()));
        for (std::size_t i = 0; i < regions.size(); ++i) {
            QVERIFY(regions[i]->is_folded());
            if (!regions[i]->label->is_shown()) hidden.push_back(regions[i]);
            for (std::size_t k = 0; k < i; ++k)
                QVERIFY2(!regions[k]
                              ->shape()
                              .translated(regions[k]->pos())
                              .intersects(regions[i]->shape().translated(regions[i]->pos())),
                         qPrintable(QString::number(i)));
        }
        QCOMPARE(hidden.size(), std::size_t{2});  // one has room above, one below, one beside them
        c.selection.select({.regions = {hidden.front()->id()}});
        QVERIFY(hidden.front()->label->is_shown());
    }

    /// What was in sight before is no matter: folded regions of a large network are no part of the next one.
    void all_is_as_large_after_another_network() {
        std::vector<std::string> names;
        for (int i = 0; i < 30; ++i) names.push_back("r" + std::to_string(i));
        Canvas c(row_of_regions(names));
        QVERIFY(c.view.transform().m11() < 0.1);
        c.document.start_new(row_of_regions({"a", "b"}));
        const double zoom = c.view.transform().m11();
        c.view.fit();
        QCOMPARE(c.view.transform().m11(), zoom);
    }

    /// Names of regions stand on no other region's name or node where they need not.
    void names_of_regions_make_room() {
        Experiment e;
        e.topology.regions = {{"Amsterdam", 0, 0}, {"Brussels", 0, 0}, {"Cologne", 0, 0}};
        add_node(e, {0, 0}, "Amsterdam");
        add_node(e, {0, 110}, "Brussels");
        add_node(e, {60, 55}, "Cologne");
        Canvas c(e);
        for (const char* region : {"Amsterdam", "Brussels", "Cologne"}) {
            const QRectF words = c.region(region)->label->words_and_handle_box();
            for (const char* other : {"Amsterdam", "Brussels", "Cologne"}) {
                if (std::strcmp(region, other) == 0) continue;
                QVERIFY2(!words.intersects(c.region(other)->label->words_and_handle_box()), region);
                const QPointF node = c.region(other)->nodes.front()->pos();
                QVERIFY2(!words.intersects(
                             QRectF(node.x() - node_radius, node.y() - node_radius, 2 * node_radius, 2 * node_radius)),
                         region);
            }
        }
    }

    /// A large screen is used, but few nodes do not fill it.
    void a_fit_grows_with_the_window() {
        Canvas c(row_of_regions({"a", "b"}));
        c.view.resize(2600, 1500);
        c.view.fit();
        QVERIFY2(c.view.transform().m11() > 1.6, qPrintable(QString::number(c.view.transform().m11())));
        const double large = c.view.transform().m11();
        c.view.resize(1400, 1500);
        c.view.fit();
        QVERIFY2(large > 1.2 * c.view.transform().m11(), qPrintable(QString::number(large)));
        Canvas one(row_of_regions({"a"}));
        one.view.resize(640, 320);
        one.view.fit();
        QVERIFY2(one.view.transform().m11() <= 1.1, qPrintable(QString::number(one.view.transform().m11())));
    }

    /// One link is plainly seen; thousands together weigh no more than some dozen.
    void many_links_are_pale() {
        const auto darkness = [](int nodes) {
            Experiment e;
            for (int i = 0; i < nodes; ++i) add_node(e, {100.0 * (i % 10), 100.0 * (i / 10)});
            for (int a = 0; a < nodes; ++a)
                for (int b = 0; b < a; ++b) add_link(e, e.topology.nodes[a].id, e.topology.nodes[b].id);
            Canvas c(e);
            for (auto* item : c.view.scene_model().items())
                if (item->type() == link_item) return static_cast<LinkItem*>(item)->presence;
            return -1.0;
        };
        QCOMPARE(darkness(2), 1.0);
        const double some = darkness(12), many = darkness(60);
        QVERIFY(some < 1 && some > 0.5);
        QVERIFY(many < some / 2 && many > 0.1);
    }

    void graphviz_puts_near_what_is_linked() {
        Experiment e;
        // Two rings of six, joined by one slow link.
        for (int i = 0; i < 12; ++i) add_node(e, {});
        const auto name = [](int i) { return "node-" + std::to_string(i + 1); };
        for (int ring = 0; ring < 2; ++ring)
            for (int i = 0; i < 6; ++i) add_link(e, name(6 * ring + i), name(6 * ring + (i + 1) % 6));
        for (auto& link : e.topology.links) link.latency_s = 0.001;
        add_link(e, name(0), name(6));
        e.topology.links.back().latency_s = 1;
        const auto places = graphviz_layout(e.topology);
        QCOMPARE(places.size(), std::size_t{12});
        QVERIFY(nearest(places) >= least_distance);
        const auto distance = [&](int a, int b) {
            return std::hypot(places[std::size_t(a)].x - places[std::size_t(b)].x,
                              places[std::size_t(a)].y - places[std::size_t(b)].y);
        };
        QVERIFY(distance(0, 6) > 1.5 * distance(0, 1));
        QVERIFY(distance(3, 9) > 2 * distance(3, 4));
        Canvas c(e);
        c.view.lay_out_by_graphviz();
        QCOMPARE(c.document.undo_stack().count(), 0);
        QTRY_COMPARE(c.document.undo_stack().count(), 1);
        QVERIFY(graphviz_layout(Topology{}).empty());
    }

    void graphviz_holds_nobody_up() {
        Experiment e;
        for (int i = 0; i < 400; ++i) add_node(e, {});
        for (int i = 0; i < 400; ++i)
            for (const int on : {1, 7, 31})
                add_link(e, e.topology.nodes[std::size_t(i)].id, e.topology.nodes[std::size_t(i + on) % 400].id);
        Canvas c(e);
        QSignalSpy told(&c.view, &TopologyView::told);
        c.view.lay_out_by_graphviz();
        c.document.edit("more", [](Experiment& more) { add_node(more, {}); });
        const Experiment with_more = c.document.experiment();
        QTRY_COMPARE_WITH_TIMEOUT(told.count(), 2, 60'000);
        QVERIFY2(told[1][0].toString().contains("came or went"), qPrintable(told[1][0].toString()));
        QVERIFY(c.document.experiment() == with_more);
        c.view.lay_out_by_graphviz();  // and leaving in the middle of it is waited for
    }
};

QTEST_MAIN(TestFarCanvas)
#include "test_far_canvas.moc"
