// SPDX-License-Identifier: GPL-3.0-or-later
// The canvas by mouse and keyboard: regions linked and moved, nodes made by links, nudged, aligned, laid out; and what
// is selected stays true whatever is undone.
#include <QContextMenuEvent>
#include <QMenu>
#include <QtTest>

#include "core/experiment/io.h"
#include "tests/views/mouse.h"
#include "views/document/document.h"
#include "views/topology/edits.h"
#include "views/topology/graphviz_layout.h"
#include "views/theme/theme.h"
#include "views/topology/layouts.h"
#include "views/topology/link_words.h"
#include "views/topology/view.h"
#include "views/topology/world_map.h"

using namespace skippipe;

namespace {

/// Two regions of two nodes each, unlinked.
Experiment two_regions() {
    Experiment e;
    for (const Point at : {Point{0, 0}, Point{400, 0}}) {
        const std::string region = add_region(e, at);
        add_node(e, {at.x, at.y}, region);
        add_node(e, {at.x, at.y + 80}, region);
    }
    return e;
}

double nearest(const std::vector<Point>& places) {
    double least = 1e9;
    for (std::size_t a = 0; a < places.size(); ++a)
        for (std::size_t b = a + 1; b < places.size(); ++b)
            least = std::min(least, std::hypot(places[a].x - places[b].x, places[a].y - places[b].y));
    return least;
}

struct Canvas {
    explicit Canvas(const Experiment& e) : view(document, selection, true) {
        document.start_new(e);
        view.resize(900, 500);
        view.show();
        shown = QTest::qWaitForWindowActive(&view);
        view.setFocus();
    }
    QPointF node(const std::string& id) { return view.scene_model().node(id)->pos(); }
    QPointF ring(const std::string& region) {
        return view.scene_model().region(region)->label->handle(view.transform().m11());
    }
    const Topology& topology() const { return document.experiment().topology; }

    Document document;
    SelectionModel selection;
    TopologyView view;
    bool shown = false;
};

}  // namespace

class TestCanvasWays : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void regions_are_linked_by_their_rings() {
        Canvas c(two_regions());
        QVERIFY(c.shown);
        drag_mouse(c.view, c.ring("region-1"), c.node("node-3"));  // onto a node of the other region
        QCOMPARE(c.topology().links.size(), std::size_t{1});
        QCOMPARE(c.topology().links[0].from + ' ' + c.topology().links[0].to, std::string("region-1 region-2"));
        QVERIFY(c.selection.now().links.contains({"region-1", "region-2"}));
        QCOMPARE(c.view.scene_model().link_words().links().size(), std::size_t{1});
        QString told;
        connect(&c.view, &TopologyView::told, this, [&](const QString& what) { told = what; });
        drag_mouse(c.view, c.ring("region-2"), c.node("node-1"));
        QVERIFY2(told.contains("linked already") && c.topology().links.size() == 1, qPrintable(told));
    }

    /// What a link would end at is seen before it does.
    void a_region_that_a_link_aims_at_stands_out() {
        Canvas c(two_regions());
        QVERIFY(c.shown);
        const auto colour = [&] {
            const QPoint beside_node = c.view.mapFromScene(c.node("node-3") + QPointF(0, -26));
            return c.view.viewport()->grab().toImage().pixelColor(beside_node);
        };
        const QColor before = colour();
        QTest::mousePress(c.view.viewport(), Qt::LeftButton, {}, c.view.mapFromScene(c.ring("region-1")));
        QTest::mouseMove(c.view.viewport(), c.view.mapFromScene(QPointF(200, -60)));
        QCOMPARE(colour(), before);
        QTest::mouseMove(c.view.viewport(), c.view.mapFromScene(c.node("node-3") + QPointF(26, 0)));
        QTRY_VERIFY(c.view.scene_model().region("region-2")->link_target);
        QVERIFY(contrast(colour(), before) > 1.1);
        QTest::mouseMove(c.view.viewport(), c.view.mapFromScene(QPointF(200, -60)));
        QTRY_COMPARE(colour(), before);
        QTest::mouseRelease(c.view.viewport(), Qt::LeftButton, {}, c.view.mapFromScene(c.ring("region-1")));
    }

    /// Also where a menu took the mouse meanwhile.
    void a_link_is_under_the_mouse_only_while_it_is() {
        Experiment e;
        for (int i = 0; i < 2; ++i) add_node(e, {200.0 * i, 0});
        add_link(e, "node-1", "node-2");
        Canvas c(e);
        QVERIFY(c.shown);
        c.selection.clear();
        const QPoint middle = c.view.mapFromScene(QPointF(100, 0));
        QTest::mouseMove(c.view.viewport(), middle + QPoint(0, 40));
        QTest::mouseMove(c.view.viewport(), middle);
        const auto& words = c.view.scene_model().link_words();
        QTRY_COMPARE(words.links().size(), std::size_t{1});
        QEvent leave(QEvent::Leave);
        QApplication::sendEvent(c.view.viewport(), &leave);
        QCOMPARE(words.links().size(), std::size_t{0});
    }

    /// Another latency or bandwidth is shown by the link that is there; another end makes it anew.
    void a_link_shows_its_figures_of_now() {
        Experiment e;
        for (int i = 0; i < 3; ++i) add_node(e, {100.0 * i, 0});
        add_link(e, "node-1", "node-2");
        add_link(e, "node-2", "node-3");
        Canvas c(e);
        const auto link = [&]() -> LinkItem* {
            const auto& links = c.view.scene_model().node("node-1")->links;
            return links.empty() ? nullptr : links.front();
        };
        auto* before = link();
        QVERIFY(before != nullptr);
        const QString words = before->words;
        const double width = before->width;
        c.document.edit("slower", [](Experiment& x) {
            x.topology.links[0].latency_s = 0.5;
            x.topology.links[0].bandwidth_bytes_per_s *= 100;
        });
        QCOMPARE(link(), before);
        QVERIFY2(before->words != words && before->words.contains("500"), qPrintable(before->words));
        QVERIFY(before->width > width);
        c.document.undo_stack().undo();
        QCOMPARE(link()->words, words);
        c.document.edit("elsewhere", [](Experiment& x) { x.topology.links[0].from = "node-3"; });
        QVERIFY(link() == nullptr);
    }

    /// Lines are as wide on a screen of twice as many pixels.
    void links_are_as_wide_on_every_screen() {
        Experiment e;
        for (int i = 0; i < 2; ++i) add_node(e, {400.0 * i, 0});
        add_link(e, "node-1", "node-2");
        Canvas c(e);
        QVERIFY(c.shown);
        c.selection.clear();
        const auto pixels_across = [&](double ratio) {
            QImage seen(QSize(200, 100) * ratio, QImage::Format_ARGB32_Premultiplied);
            seen.setDevicePixelRatio(ratio);
            seen.fill(theme().surface);
            QPainter painter(&seen);
            c.view.scene_model().render(&painter, QRectF(0, 0, 200, 100), QRectF(100, -50, 200, 100));
            painter.end();
            int across = 0;
            for (int y = 0; y < seen.height(); ++y)
                across += seen.pixelColor(seen.width() / 2, y) != theme().surface ? 1 : 0;
            return across;
        };
        QVERIFY2(pixels_across(1) >= 2, qPrintable(QString::number(pixels_across(1))));
        QVERIFY2(std::abs(pixels_across(2) - 2 * pixels_across(1)) <= 2, qPrintable(QString::number(pixels_across(2))));
    }

    /// Widths use the whole range of bandwidths that there is, and tell little where links differ by little.
    void widths_spread_over_the_bandwidths_present() {
        const BandwidthRange wide{1e7, 1e8}, narrow{1e8, 1.1e8};
        QCOMPARE(link_width(1e7, wide), 1.0);
        QCOMPARE(link_width(1e8, wide), widest_link);
        const double apart = link_width(1.1e8, narrow) - link_width(1e8, narrow);
        QVERIFY2(apart > 0 && apart < 0.5, qPrintable(QString::number(apart)));
        QVERIFY(link_width(2.5e6, {2.5e6, 2.5e6}) < link_width(1e9, {1e9, 1e9}));
    }

    /// What is dragged is the ring beside the name.
    void a_link_is_drawn_from_the_ring() {
        Canvas c(two_regions());
        QVERIFY(c.shown);
        const QPointF ring = c.ring("region-1");
        QTest::mousePress(c.view.viewport(), Qt::LeftButton, {}, c.view.mapFromScene(ring));
        QTest::mouseMove(c.view.viewport(), c.view.mapFromScene(ring + QPointF(60, 60)));
        const auto items = c.view.scene_model().items();
        const auto line = std::find_if(items.begin(), items.end(), [](const QGraphicsItem* item) {
            return qgraphicsitem_cast<const QGraphicsLineItem*>(item) != nullptr;
        });
        QVERIFY(line != items.end());
        const QPointF from = static_cast<const QGraphicsLineItem*>(*line)->line().p1();
        QVERIFY2(QLineF(from, ring).length() < 1, qPrintable(QString("%1 %2").arg(from.x()).arg(from.y())));
        QTest::mouseRelease(c.view.viewport(), Qt::LeftButton, {}, c.view.mapFromScene(ring));
    }

    /// By keys a region of three looks as by the button, the next one at its right, and all of it is in sight.
    void regions_are_built_by_keys_as_by_buttons() {
        Canvas c({});
        QVERIFY(c.shown);
        for (const int key : {Qt::Key_R, Qt::Key_N, Qt::Key_N, Qt::Key_N, Qt::Key_R, Qt::Key_N, Qt::Key_N, Qt::Key_N})
            QTest::keyClick(&c.view, static_cast<Qt::Key>(key));
        const auto& t = c.topology();
        QCOMPARE(t.nodes.size(), std::size_t{6});
        for (std::size_t i = 0; i < 6; ++i) {
            const auto& region = t.regions[i / 3];
            const Point at = place_round({region.x, region.y}, static_cast<int>(i % 3), 3);
            QVERIFY2(t.nodes[i].x == at.x && t.nodes[i].y == at.y, t.nodes[i].id.c_str());
        }
        QVERIFY(t.regions[1].x > t.regions[0].x);
        QCOMPARE(t.regions[1].y, t.regions[0].y);
        QVERIFY(
            c.view.mapToScene(c.view.viewport()->rect()).boundingRect().contains(c.view.scene_model().things_box()));
    }

    /// A second region stands beside the first, at its height, where both are seen.
    void regions_are_added_side_by_side() {
        Canvas c({});
        QVERIFY(c.shown);
        for (int i = 0; i < 3; ++i) c.view.add_region_here();
        const auto& regions = c.topology().regions;
        QCOMPARE(regions.size(), std::size_t{3});
        QCOMPARE(regions[2].y, regions[0].y);
        QCOMPARE(regions[0].y, regions[1].y);
        QVERIFY(regions[1].x > regions[0].x);
    }

    /// Where links of a region begin they may end, too.
    void a_ring_dropped_on_a_ring_links_the_regions() {
        Canvas c(two_regions());
        QVERIFY(c.shown);
        const auto before = c.topology();
        drag_mouse(c.view, c.ring("region-1"), c.ring("region-2"));
        QCOMPARE(c.topology().regions.size(), before.regions.size());
        QCOMPARE(c.topology().nodes.size(), before.nodes.size());
        QCOMPARE(c.topology().links.size(), std::size_t{1});
    }

    void two_selected_regions_are_linked_by_key_and_refusals_are_told() {
        Canvas c(two_regions());
        QVERIFY(c.shown);
        QString told;
        connect(&c.view, &TopologyView::told, this, [&](const QString& what) { told = what; });
        c.selection.select({.regions = {"region-1", "region-2"}});
        QTest::keyClick(&c.view, Qt::Key_L);
        QCOMPARE(c.topology().links.size(), std::size_t{1});
        QCOMPARE(told, QString("1 link added"));
        QTest::keyClick(&c.view, Qt::Key_L);
        QVERIFY2(told.contains("linked already"), qPrintable(told));
        c.selection.select({.regions = {"region-1"}});
        QTest::keyClick(&c.view, Qt::Key_L);
        QVERIFY2(told.contains("two or more"), qPrintable(told));
    }

    /// Nodes of one region reach each other by its switch: a link of its own would take the switch's place.
    void linking_everything_leaves_the_switches_alone() {
        Experiment e = two_regions();
        add_node(e, {200, 200});
        Canvas c(e);
        QVERIFY(c.shown);
        QTest::keyClick(&c.view, Qt::Key_A, Qt::ControlModifier);
        QTest::keyClick(&c.view, Qt::Key_L);
        int regions = 0, alone = 0;
        for (const auto& link : c.topology().links) {
            regions += link.from == "region-1" && link.to == "region-2";
            alone += link.from == "node-5" || link.to == "node-5";
        }
        QCOMPARE(regions, 1);
        QCOMPARE(alone, 4);
        QCOMPARE(c.topology().links.size(), std::size_t{5});
    }

    void a_link_that_ends_nowhere_makes_what_it_leads_to() {
        Canvas c(two_regions());
        QVERIFY(c.shown);
        const QPointF rim(node_radius - 2, 0);
        drag_mouse(c.view, c.node("node-1") + rim, {200, 180});
        QCOMPARE(c.topology().nodes.size(), std::size_t{5});
        QVERIFY(are_linked(c.document.experiment(), "node-1", "node-5"));
        QVERIFY(c.selection.now().nodes.contains("node-5") && c.topology().nodes[4].region.empty());
        QCOMPARE(c.document.undo_stack().count(), 1);
        drag_mouse(c.view, c.ring("region-1"), {200, -90});
        QCOMPARE(c.topology().regions.size(), std::size_t{3});
        QVERIFY(are_linked(c.document.experiment(), "region-1", "region-3"));
        QCOMPARE(c.topology().nodes.back().region, std::string("region-3"));
        // Within its own region a node needs no link.
        const auto links = c.topology().links.size();
        drag_mouse(c.view, c.node("node-1") + rim, c.node("node-1") + QPointF(2, 36));
        QCOMPARE(c.topology().nodes.back().region, std::string("region-1"));
        QCOMPARE(c.topology().links.size(), links);
    }

    void a_double_click_in_a_region_makes_a_node_of_it() {
        Canvas c(two_regions());
        QVERIFY(c.shown);
        QTest::mouseDClick(c.view.viewport(), Qt::LeftButton, {}, c.view.mapFromScene(QPointF(10, 40)));
        QCOMPARE(c.topology().nodes.size(), std::size_t{5});
        QCOMPARE(c.topology().nodes.back().region, std::string("region-1"));
    }

    void a_node_joins_the_region_that_is_selected() {
        Canvas c(two_regions());
        QVERIFY(c.shown);
        c.selection.select({.regions = {"region-2"}});
        for (int i = 0; i < 3; ++i) QTest::keyClick(&c.view, Qt::Key_N);
        QCOMPARE(c.topology().nodes.size(), std::size_t{7});
        for (std::size_t i = 4; i < 7; ++i) QCOMPARE(c.topology().nodes[i].region, std::string("region-2"));
        QVERIFY(nearest(node_places(c.document.experiment())) >= least_distance);
        c.selection.select({});
        QTest::keyClick(&c.view, Qt::Key_N);
        QVERIFY(c.topology().nodes.back().region.empty());
    }

    void a_region_is_dragged_with_its_nodes() {
        const Experiment e = two_regions();
        Canvas c(e);
        QVERIFY(c.shown);
        drag_mouse(c.view, {0, 40}, {60, 100});
        QVERIFY(c.selection.now().regions.contains("region-1"));
        for (int i = 0; i < 2; ++i) {
            QCOMPARE(c.topology().nodes[i].x - e.topology.nodes[i].x, 60.0);
            QCOMPARE(c.topology().nodes[i].y - e.topology.nodes[i].y, 60.0);
        }
        QCOMPARE(c.topology().nodes[2].x, e.topology.nodes[2].x);
        QCOMPARE(c.document.undo_stack().count(), 1);
        c.document.undo_stack().undo();
        QVERIFY(c.document.experiment() == e);
        // By its name, where that stands beside the area.
        c.view.scene_model().clearSelection();
        const QPointF name = c.view.scene_model().region("region-1")->label->words_box().center();
        drag_mouse(c.view, name, name + QPointF(0, -40));
        QCOMPARE(c.topology().nodes[0].y - e.topology.nodes[0].y, -40.0);
    }

    void arrows_nudge_as_one_command() {
        const Experiment e = two_regions();
        Canvas c(e);
        QVERIFY(c.shown);
        c.selection.select({.nodes = {"node-1", "node-2"}});
        for (int i = 0; i < 3; ++i) QTest::keyClick(&c.view, Qt::Key_Right);
        QTest::keyClick(&c.view, Qt::Key_Down, Qt::AltModifier);
        QCOMPARE(c.topology().nodes[0].x, 3 * grid);
        QCOMPARE(c.topology().nodes[1].y, 81.0);
        QCOMPARE(c.document.undo_stack().count(), 1);
        c.document.undo_stack().undo();
        QVERIFY(c.document.experiment() == e);
    }

    void space_moves_the_camera_alone() {
        const Experiment e = two_regions();
        Canvas c(e);
        QVERIFY(c.shown);
        const QPointF middle = c.view.mapToScene(c.view.viewport()->rect().center());
        QTest::keyPress(&c.view, Qt::Key_Space);
        drag_mouse(c.view, c.node("node-1"), c.node("node-1") + QPointF(50, 20));
        QTest::keyRelease(&c.view, Qt::Key_Space);
        QVERIFY(c.document.experiment() == e && c.selection.now().empty());
        QVERIFY(c.view.mapToScene(c.view.viewport()->rect().center()) != middle);
    }

    void nodes_are_aligned_and_distributed() {
        std::vector<Point> places{{0, 5}, {100, 7}, {130, 0}};
        align(places, Align::top);
        QVERIFY(places[0].y == 0 && places[1].y == 0 && places[1].x == 100);
        distribute(places, true);
        QCOMPARE(places[1].x, 65.0);
        align(places, Align::right);
        QCOMPARE(places[0].x, 130.0);
    }

    /// W9: what was pasted and undone is no longer selected; what was renamed is, by its new name.
    void escape_clears_the_selection() {
        Canvas c(two_regions());
        QVERIFY(c.shown);
        c.view.scene_model().select_everything();
        QVERIFY(!c.selection.now().empty());
        QTest::keyClick(&c.view, Qt::Key_Escape);
        QVERIFY(c.selection.now().empty() && c.view.scene_model().selectedItems().isEmpty());
    }

    void the_selection_follows_undo_and_rename() {
        Canvas c(two_regions());
        QVERIFY(c.shown);
        c.selection.select({.nodes = {"node-1", "node-2"}});
        c.view.copy();
        c.view.paste();
        QCOMPARE(c.selection.now().nodes.size(), std::size_t{2});
        c.document.undo_stack().undo();
        QVERIFY2(c.selection.now().empty(), "nothing that is gone stays selected");
        c.selection.select({.nodes = {"node-2", "of another run"}});
        c.document.edit("Rename", [](Experiment& e) { rename(e, "node-2", "berlin"); });
        QCOMPARE(c.selection.now().nodes, (std::set<std::string>{"berlin", "of another run"}));
    }

    void a_menu_is_there_for_regions_and_for_emptiness() {
        Canvas c(two_regions());
        QVERIFY(c.shown);
        std::vector<Selection> asked;
        connect(&c.view, &TopologyView::menu_wanted, this,
                [&](const Selection& subject, QMenu&) { asked.push_back(subject); });
        const auto click = [&](QPointF at) {
            const QPoint place = c.view.mapFromScene(at);
            QContextMenuEvent event(QContextMenuEvent::Mouse, place, c.view.viewport()->mapToGlobal(place));
            QApplication::sendEvent(c.view.viewport(), &event);
        };
        click({0, 40});
        click({200, 200});
        c.selection.select({.nodes = {"node-1", "node-3"}});
        click(c.node("node-1"));
        QCOMPARE(asked.size(), std::size_t{3});
        QVERIFY(asked[0].regions.contains("region-1") && asked[1].empty() && asked[2].nodes.size() == 2);
    }

    /// W13: many nodes without places are laid out by region, and none covers another.
    void nodes_without_places_are_laid_out_by_region() {
        Experiment e;
        for (int r = 0; r < 8; ++r) add_region(e, {});
        for (int i = 0; i < 200; ++i) add_node(e, {}, "region-" + std::to_string(i % 8 + 1));
        const auto places = node_places(e);
        QVERIFY2(nearest(places) >= least_distance, qPrintable(QString::number(nearest(places))));
        const auto box = [&](int region) {
            QRectF all;
            for (std::size_t i = region; i < places.size(); i += 8) {
                const QRectF one(places[i].x - 1, places[i].y - 1, 2, 2);
                all = all.isNull() ? one : all.united(one);
            }
            return all;
        };
        for (int a = 0; a < 8; ++a)
            for (int b = 0; b < a; ++b) QVERIFY2(!box(a).intersects(box(b)), "regions lie beside each other");
        e.topology.regions.clear();
        for (auto& node : e.topology.nodes) node.region.clear();
        QVERIFY(nearest(node_places(e)) >= least_distance);
        // Regions that have places keep them, as far as none covers another.
        Experiment two = two_regions();
        two.topology.nodes[0].x = 3;
        const auto tidy = tidy_layout(two);
        QVERIFY(tidy[0].x < tidy[2].x && nearest(tidy) >= least_distance);
        QVERIFY(nearest(stage_layout({0, 0, 1, 2, 2, 2, -1, -1})) >= least_distance);
    }

    /// A copy keeps its name as far as it is free, else the name's stem.
    void copies_keep_the_stem_of_their_names() {
        Experiment e = two_regions();
        rename(e, "node-1", "london");
        rename(e, "node-3", "t4-7");
        const std::string text = copy_text(e, {.nodes = {"london", "node-2", "t4-7"}});
        QCOMPARE(paste_text(e, text, {40, 40}).nodes, (std::set<std::string>{"london-2", "node-1", "t4-1"}));
        QCOMPARE(paste_text(e, text, {40, 40}).nodes, (std::set<std::string>{"london-3", "node-3", "t4-2"}));
        Experiment other;
        QCOMPARE(paste_text(other, text, {}).nodes, (std::set<std::string>{"london", "node-2", "t4-7"}));
        QVERIFY2(other.topology.nodes[0].region.empty(), "its region stayed behind");
        Experiment regions = two_regions();
        rename(regions, "region-1", "Iowa");
        QCOMPARE(paste_text(regions, copy_text(regions, {.regions = {"Iowa"}}), {}).regions,
                 std::set<std::string>{"Iowa-2"});
    }

    /// Two that Graphviz puts on one spot do not blow up the whole.
    void places_are_moved_apart_and_no_further() {
        std::vector<Point> places{{0, 0}, {0, 0}, {100, 0}, {130, 0}, {500, 500}};
        move_apart(places, 70);
        QVERIFY(nearest(places) >= 70);
        QVERIFY(places[0].x == 0 && places[2].x == 100 && places[4].x == 500);
        QVERIFY2(std::hypot(places[1].x, places[1].y) < 90 && std::hypot(places[3].x - 130, places[3].y) < 90,
                 "as near as there is room");
        // A star of twins: each pair has the same links, and so the same place.
        Experiment e;
        for (int i = 0; i < 40; ++i) add_node(e, {});
        for (int i = 2; i <= 40; ++i) add_link(e, "node-1", "node-" + std::to_string(i));
        const auto drawn = graphviz_layout(e.topology);
        QVERIFY(nearest(drawn) >= least_distance);
        double widest = 0;
        for (const Point a : drawn) widest = std::max({widest, std::abs(a.x), std::abs(a.y)});
        QVERIFY2(widest < 6'000, qPrintable(QString::number(widest)));
    }

    void no_layout_of_a_bundled_experiment_covers_a_node_data() {
        QTest::addColumn<QString>("file");
        const std::filesystem::path folder = SKIPPIPE_SOURCE_DIR "/resources/experiments";
        for (const auto& file : std::filesystem::directory_iterator(folder))
            QTest::newRow(file.path().stem().c_str()) << QString::fromStdString(file.path().string());
    }
    void no_layout_of_a_bundled_experiment_covers_a_node() {
        QFETCH(QString, file);
        const Experiment e = load_experiment(file.toStdString()).experiment;
        std::vector<int> stages;
        for (std::size_t i = 0; i < e.topology.nodes.size(); ++i)
            stages.push_back(static_cast<int>(i) % (e.pipeline.stages + 1) - 1);
        const std::pair<const char*, std::vector<Point>> layouts[] = {{"tidy", tidy_layout(e)},
                                                                      {"circle", circle_layout(e)},
                                                                      {"map", map_layout(e, place_on_map).places},
                                                                      {"stage", stage_layout(stages)},
                                                                      {"graphviz", graphviz_layout(e.topology)}};
        for (const auto& [name, places] : layouts) {
            QCOMPARE(places.size(), e.topology.nodes.size());
            QVERIFY2(nearest(places) >= least_distance, qPrintable(QString("%1: %2").arg(name).arg(nearest(places))));
        }
    }

    void no_bundled_experiment_hides_a_node() {
        const std::filesystem::path folder = SKIPPIPE_SOURCE_DIR "/resources/experiments";
        for (const auto& file : std::filesystem::directory_iterator(folder)) {
            const auto parsed = load_experiment(file.path());
            QVERIFY(!has_errors(parsed.faults));
            const double least = nearest(node_places(parsed.experiment));
            QVERIFY2(least >= 2 * node_radius + 8,
                     qPrintable(QString::fromStdString(file.path().string()) + ' ' + QString::number(least)));
        }
    }
};

QTEST_MAIN(TestCanvasWays)
#include "test_canvas_ways.moc"
