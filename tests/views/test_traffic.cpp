// SPDX-License-Identifier: GPL-3.0-or-later
// The network at a moment: loads, what is under way, and the slider that goes there.
#include <QtTest>

#include <QGraphicsSceneMouseEvent>
#include <QSlider>
#include <QToolButton>

#include "views/document/document.h"
#include "views/theme/numbers.h"
#include "views/theme/theme.h"
#include "views/topology/edits.h"
#include "views/topology/scene.h"
#include "views/topology/traffic_item.h"
#include "views/topology/traffic_key.h"
#include "views/window/network_moment.h"
#include "views/window/replay_bar.h"

using namespace skippipe;

namespace {

/// a works 0 to 4, sends 100 bytes to b from 4 to 6, and 300 from 6 to 8; b works 6 to 8.
TimelineData small_run() {
    TimelineData data;
    data.set_lanes({"a", "b", "c"});
    const auto add = [&](SpanKind kind, NodeIndex node, NodeIndex to, double begin, double end, double bytes,
                         MicrobatchIndex microbatch) {
        Span span;
        span.kind = kind;
        span.node = node;
        span.to_node = to;
        span.microbatch = microbatch;
        span.start_s = begin;
        span.end_s = end;
        span.ready_s = begin - 0.5;
        span.bytes = bytes;
        static std::int64_t row = 0;
        data.add(span, 0, 0, ++row);
    };
    add(SpanKind::forward, 0, -1, 0, 4, 0, 7);
    add(SpanKind::transfer_forward, 0, 1, 4, 6, 100, 7);
    add(SpanKind::transfer_backward, 0, 1, 6, 8, 300, 3);
    add(SpanKind::forward, 1, -1, 6, 8, 0, 7);
    data.finish();
    return data;
}

}  // namespace

class TestTraffic : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void a_moment_says_who_works_and_what_is_under_way() {
        const auto data = small_run();
        const Traffic at_5 = traffic_at(data, 5, 0, 8);
        QCOMPARE(at_5.working(), 0);
        QCOMPARE(at_5.parcels.size(), 1U);
        QCOMPARE(at_5.parcels[0].share, 0.5);
        QCOMPARE(at_5.parcels[0].microbatch, 7);
        QCOMPARE(at_5.parcels[0].to, 1);
        QCOMPARE(at_5.busy, (std::vector<double>{0.5, 0.25, 0}));
        QCOMPARE(at_5.lines.size(), 1U);
        QCOMPARE(at_5.lines[0].bytes_per_s, 400.0 / 8);
        QCOMPARE(at_5.lines[0].queue_s, 0.5);
        QCOMPARE(at_5.lines[0].busy, 0.5);  // from 4 to 8 of 8
        QCOMPARE(traffic_words(at_5), QString("0/3 nodes work, 1 transfer"));
        const Traffic at_7 = traffic_at(data, 7, 5, 7);
        QCOMPARE(at_7.working(), 1);
        QCOMPARE(at_7.work[1]->microbatch, 7);
        QCOMPARE(at_7.parcels[0].kind, SpanKind::transfer_backward);
        QCOMPARE(at_7.lines[0].bytes_per_s, (50.0 + 150.0) / 2);  // halves of both
        QVERIFY(traffic_at(data, 100, 90, 100).lines.empty());
        TimelineData lossy = small_run();  // who is lost is none of those that could work
        lossy.add(Span{SpanKind::down, NodeIndex(2), NodeIndex(-1), 0, MicrobatchIndex(-1), 6, 6, 9, 0}, 0, 0, 99);
        lossy.finish();
        QCOMPARE(traffic_words(traffic_at(lossy, 7, 5, 7)), QString("1 down, 1/2 nodes work, 1 transfer"));
        QCOMPARE(traffic_words(traffic_at(lossy, 5, 0, 8)), QString("0/3 nodes work, 1 transfer"));
        QVERIFY(traffic_at({}, 0, 0, 0).names.empty());
    }

    /// A row each of what the map draws, with a sample of it, in the room that the panel gives.
    void the_map_has_a_key() {
        TrafficKey key;
        key.resize(key.sizeHint());
        const QImage image = key.grab().toImage();
        const auto rows = static_cast<int>(TrafficKey::words().size());
        QCOMPARE(rows, 5);
        for (int row = 0; row < rows; ++row) {
            const int middle = (2 * row + 1) * image.height() / (2 * rows);
            bool any = false;
            for (int x = 0; x < 20; ++x) any = any || image.pixel(x, middle) != image.pixel(0, 0);
            QVERIFY2(any, qPrintable(TrafficKey::words()[row]));
        }
        QVERIFY(key.sizeHint().width() <= 300);
    }

    /// Two at a time on one line count once.
    void a_line_is_in_use_while_something_is_under_way() {
        TimelineData data;
        data.set_lanes({"a", "b"});
        std::int64_t row = 0;
        for (const auto& [begin, end] : {std::pair{0.0, 4.0}, {2.0, 3.0}, {3.0, 5.0}, {8.0, 9.0}}) {
            Span span;
            span.kind = SpanKind::transfer_forward;
            span.node = 0;
            span.to_node = 1;
            span.ready_s = span.start_s = begin;
            span.end_s = end;
            span.bytes = 1;
            data.add(span, 0, 0, ++row);
        }
        data.finish();
        QCOMPARE(traffic_at(data, 0, 0, 10).lines[0].busy, 0.6);
        QCOMPARE(traffic_at(data, 0, 4, 10).lines[0].busy, 2.0 / 6);
    }

    /// The busiest lines and those that carry something now are seen; the rest are traces, and all are beneath a
    /// selected node's.
    void lines_that_matter_are_seen_first() {
        Traffic traffic{.names = {"a", "b", "c"}, .busy = {1, 1, 1}, .work = {{}, {}, {}}};
        traffic.lines = {{.from = 0, .to = 1, .bytes_per_s = 10, .busy = 0.9},
                         {.from = 1, .to = 2, .bytes_per_s = 10, .busy = 0.1},
                         {.from = 2, .to = 0, .bytes_per_s = 10, .busy = 0.1}};
        traffic.parcels = {{.from = 2, .to = 0, .microbatch = 3, .kind = SpanKind::transfer_forward, .share = 0.5}};
        QGraphicsScene scene;
        std::vector<NodeItem*> nodes;
        for (const char* name : {"a", "b", "c"}) {
            scene.addItem(nodes.emplace_back(new NodeItem(name)));
            nodes.back()->setPos(200.0 * static_cast<double>(nodes.size()), nodes.size() == 2 ? 200 : 0);
        }
        TrafficItem item;
        item.set_traffic(traffic, nodes);
        const auto at_rest = item.strokes();
        QCOMPARE(at_rest.size(), std::size_t{3});
        QVERIFY2(at_rest[0].tone < 0.2 && at_rest[0].width <= 1, "a trace");
        QVERIFY2(at_rest[1].tone >= 0.5 && at_rest[1].width > 1, "it carries microbatch 3");
        QVERIFY2(at_rest[2].tone > 0.9, "the busiest");
        QCOMPARE(at_rest[0].line.p1().y() > 100, true);  // b to c
        nodes[1]->setSelected(true);
        const auto of_b = item.strokes();
        QVERIFY2(of_b[0].tone < 0.1 && of_b[1].tone >= 0.6 && of_b[2].tone >= 0.6, "c to a steps back");
        nodes[1]->setSelected(false);
        auto* link = new LinkItem({"c", "b"}, nodes[2], nodes[1], true);
        scene.addItem(link);
        scene.addItem(&item);
        link->setSelected(true);
        const auto of_link = item.strokes();
        QVERIFY2(of_link[0].tone < 0.1 && of_link[1].tone < 0.1 && of_link[2].tone >= 0.6, "b to c goes over it");
        QCOMPARE(of_link[2].line.p1().y() > 100, true);
        scene.removeItem(&item);
    }

    void losses_and_cuts_belong_to_a_moment() {
        const std::vector<Failure> failures{
            {.kind = FailureKind::link_cut, .target = "a->b", .at_s = 10, .rejoin_after_s = 5},
            {.kind = FailureKind::link_cut, .target = "b->c", .at_s = 12},
            {.kind = FailureKind::crash, .target = "a", .at_s = 1},
            {.kind = FailureKind::link_cut, .target = "c->a", .at_iteration = 1}};
        QVERIFY(cut_links(failures, 9).empty());
        QCOMPARE(cut_links(failures, 10), (std::set<LinkKey>{{"a", "b"}}));
        QCOMPARE(cut_links(failures, 14), (std::set<LinkKey>{{"a", "b"}, {"b", "c"}}));
        QCOMPARE(cut_links(failures, 15), (std::set<LinkKey>{{"b", "c"}}));
        TimelineData data;
        data.set_iterations({{0, 10, 10}, {1, 20, 10}});
        Loss loss;
        loss.begin_s = 4;
        loss.end_s = 5;
        data.set_losses({loss});
        QVERIFY(losses_at(data, 3).empty());
        QCOMPARE(losses_at(data, 9.5).size(), 1U);
        QVERIFY(losses_at(data, 11).empty());
        Document document;
        Experiment e;
        for (const char* id : {"a", "b", "c"}) e.topology.nodes.push_back({.id = id});
        e.topology.links = {{"a", "b", 0.01, 1e6, true}, {"b", "c", 0.01, 1e6, true}};
        document.start_new(e);
        SelectionModel selection;
        TopologyScene scene(document, selection, false);
        const auto down = [&] {
            std::set<std::string> names;
            for (auto* one : scene.items())
                if (auto* link = dynamic_cast<LinkItem*>(one); link != nullptr && link->down)
                    names.insert(link->key().from + link->key().to);
            return names;
        };
        QVERIFY(down().empty());
        scene.show_cut({{"b", "a"}});  // the other direction of the same link
        QCOMPARE(down(), std::set<std::string>{"ab"});
        scene.show_cut({});
        QVERIFY(down().empty());
    }

    void the_canvas_tells_what_is_under_the_mouse() {
        Document document;
        Experiment e;
        for (const char* id : {"a", "b", "c"}) e.topology.nodes.push_back({.id = id});
        for (std::size_t i = 0; i < 3; ++i) {
            e.topology.nodes[i].x = 300.0 * static_cast<double>(i);
            e.topology.nodes[i].y = 0;
        }
        e.topology.links = {{"a", "b", 0.01, 1e6, true}};
        document.start_new(e);
        SelectionModel selection;
        TopologyScene scene(document, selection, false);
        const auto data = small_run();
        scene.show_traffic(traffic_at(data, 7, 0, 8));
        TrafficItem* item = nullptr;
        for (auto* one : scene.items())
            if (auto* found = dynamic_cast<TrafficItem*>(one)) item = found;
        QVERIFY(item != nullptr && !item->is_empty());
        const QPointF a = scene.node("a")->pos(), b = scene.node("b")->pos();
        QVERIFY2(item->words_at(b).startsWith("b works 25"), qPrintable(item->words_at(b)));
        QVERIFY(item->words_at(b).contains("now: forward of microbatch 7"));
        const QPointF across(-(b - a).y(), (b - a).x());
        const QPointF middle = (a + b) / 2 + 4 * across / std::hypot(across.x(), across.y());
        QVERIFY2(item->words_at(middle).contains("under way: microbatch 3, 50"), qPrintable(item->words_at(middle)));
        QVERIFY(item->shape().contains(middle));
        QVERIFY(item->words_at(b + QPointF(0, 150)).isEmpty());
        // The card says what goes on first, then what does not change; a link's own words wait until nothing goes on.
        QVERIFY2(scene.words_at(b).startsWith("b works 25"), qPrintable(scene.words_at(b)));
        QVERIFY2(scene.words_at(b).contains("a sample and block"), qPrintable(scene.words_at(b)));
        QVERIFY2(scene.words_at(middle).startsWith("a to b: "), qPrintable(scene.words_at(middle)));
        QGraphicsSceneMouseEvent over(QEvent::GraphicsSceneMouseMove);
        over.setScenePos((a + b) / 2);
        QApplication::sendEvent(&scene, &over);
        QVERIFY(scene.link_words().links().empty());
        scene.show_traffic({});
        QCOMPARE(scene.link_words().links().size(), 1U);
        QVERIFY2(scene.words_at(b).startsWith("b\n"), qPrintable(scene.words_at(b)));
        scene.show_traffic(traffic_at(data, 7, 0, 8));
        QVERIFY(scene.link_words().links().empty());
        selection.select({.microbatch = 7});  // its way is drawn instead
        QVERIFY(item->is_empty());
        selection.select({.microbatch = 3});  // that is under way: it stays
        QVERIFY(!item->is_empty());
        QCOMPARE(item->traffic().parcels.size(), 1U);
        QVERIFY(item->traffic().lines.empty() && item->words_at(b).isEmpty());
        selection.clear();
        QVERIFY(!item->is_empty());
    }

    void names_of_regions_stand_above_what_flows() {
        Document document;
        Experiment e;
        e.topology.regions.push_back({"here", 0, 0});
        for (const char* id : {"a", "b", "c"}) e.topology.nodes.push_back({.id = id, .region = "here"});
        document.start_new(e);
        SelectionModel selection;
        TopologyScene scene(document, selection, false);
        scene.show_traffic(traffic_at(small_run(), 7, 0, 8));
        double name = 0, flow = 0, node = 0;
        for (const auto* item : scene.items()) {
            if (dynamic_cast<const RegionLabel*>(item) != nullptr) name = item->zValue();
            if (dynamic_cast<const TrafficItem*>(item) != nullptr) flow = item->zValue();
            if (dynamic_cast<const NodeItem*>(item) != nullptr) node = item->zValue();
        }
        QVERIFY(flow > 0 && name > flow && node > name);
    }

    /// A picture too small for all names has those that cover nothing, of what is selected first; on the canvas that is
    /// edited folded regions have names instead.
    void a_small_picture_names_nodes_where_there_is_room() {
        Document document;
        Experiment e;
        for (const char* id : {"n1", "n2", "n3"}) e.topology.nodes.push_back({.id = id});
        e.topology.nodes[0].x = 0, e.topology.nodes[1].x = 64, e.topology.nodes[2].x = 900;  // two close together
        for (auto& node : e.topology.nodes) node.y = 0;
        document.start_new(e);
        SelectionModel selection;
        TopologyScene scene(document, selection, false);
        const auto side = [&](const char* id) { return scene.node(id)->far_name(); };
        scene.follow_zoom(1);
        QVERIFY2(side("n3") == FarName::none, "names stand where they always do");
        constexpr double small = 0.25;
        scene.follow_zoom(small);
        QVERIFY(side("n1") == FarName::below && side("n3") == FarName::below);
        std::vector<QRectF> boxes;
        for (const char* id : {"n1", "n2", "n3"})
            if (side(id) != FarName::none)
                boxes.push_back(scene.node(id)->far_name_box(side(id), small).translated(scene.node(id)->pos()));
        for (std::size_t i = 0; i < boxes.size(); ++i) {
            for (std::size_t j = 0; j < i; ++j) QVERIFY(!boxes[i].intersects(boxes[j]));
            for (const char* id : {"n1", "n2", "n3"})
                QVERIFY(!boxes[i].intersects(scene.node(id)->shape().boundingRect().translated(scene.node(id)->pos())));
        }
        // Closer still there is room for one of them below: that which is selected.
        document.edit("closer", [](Experiment& now) { now.topology.nodes[1].x = 42; });
        QVERIFY(side("n1") == FarName::below && side("n2") != FarName::below);
        selection.select({.nodes = {"n2"}});
        QVERIFY(side("n2") == FarName::below && side("n1") != FarName::below);
        // Whoever is lost, or under the mouse, is named whatever that covers.
        document.edit("on each other", [](Experiment& now) {
            now.topology.nodes[0].x = now.topology.nodes[1].x;
            now.topology.nodes[0].y = 30;
        });
        selection.clear();
        scene.show_down({{"n1", "lost"}, {"n2", "lost"}});
        QVERIFY(side("n1") != FarName::none && side("n2") != FarName::none);
        scene.show_down({});
        scene.follow_zoom(0.1);
        QVERIFY(side("n2") == FarName::none);
        TopologyScene edited(document, selection, true);
        edited.follow_zoom(small);
        QVERIFY(edited.node("n3")->far_name() == FarName::none);
    }

    /// In a small picture regions say where things are, and numbers of what is under way cover no name.
    void a_small_picture_names_regions() {
        Document document;
        Experiment e;
        for (const char* id : {"Iowa", "LA"}) e.topology.regions.push_back({.id = id});
        for (int i = 0; i < 4; ++i) {
            Node node{.id = QString("n%1").arg(i).toStdString(), .region = i < 2 ? "Iowa" : "LA"};
            node.x = (i < 2 ? 0 : 500) + 60 * (i % 2);
            e.topology.nodes.push_back(node);
        }
        document.start_new(e);
        SelectionModel selection;
        TopologyScene scene(document, selection, false);
        constexpr double small = 0.3;
        scene.follow_zoom(small);
        std::vector<QRectF> names;
        for (const char* id : {"Iowa", "LA"}) {
            const QRectF box = scene.region(id)->label->seen_box(small);
            QVERIFY2(!box.isEmpty(), id);
            names.push_back(box);
        }
        for (const char* id : {"n0", "n1", "n2", "n3"}) {
            const QRectF box = scene.node(id)->seen_name_box(small);
            for (const auto& region : names) QVERIFY2(!box.intersects(region), id);
        }
        scene.follow_zoom(1);
        QCOMPARE(scene.region("LA")->label->seen_box(1), scene.region("LA")->label->words_and_handle_box(1));
    }

    void the_slider_goes_through_what_is_in_sight() {
        ReplayBar bar;
        bar.set_range(10, 30);
        QCOMPARE(bar.moment_s(), 30.0);
        QStringList ends;
        for (const auto* label : bar.findChildren<QLabel*>()) ends << label->text();
        QVERIFY(ends.contains(duration(10)) && ends.contains(duration(30)));
        QSignalSpy moved(&bar, &ReplayBar::moved);
        bar.set_moment(15);
        QCOMPARE(bar.moment_s(), 15.0);
        QCOMPARE(moved.size(), 0);
        bar.set_range(12, 40);
        QCOMPARE(bar.moment_s(), 15.0);  // it stays while it is in sight
        bar.set_range(20, 40);
        QCOMPARE(bar.moment_s(), 20.0);
        bar.set_moment(40);
        bar.set_range(20, 50);
        QCOMPARE(bar.moment_s(), 50.0);  // with what is newest
        bar.set_moment(30);
        bar.findChild<QSlider*>("replay")->setValue(10'000);
        QCOMPARE(moved.size(), 1);
        bar.findChild<QToolButton*>("replay_play")->click();
        QVERIFY(bar.is_playing());
        QCOMPARE(bar.moment_s(), 20.0);  // from the beginning
        QTRY_VERIFY(bar.moment_s() > 20.0);
        bar.findChild<QToolButton*>("replay_play")->click();
        QVERIFY(!bar.is_playing());
    }

    /// Nothing moves when something befalls the network, or nothing can any more; where nothing can, the map has it.
    void events_have_their_room() {
        ReplayBar bar;
        bar.show();
        const int without = bar.sizeHint().height();
        bar.keep_event_room(true);
        const int high = bar.sizeHint().height();
        QVERIFY(high > without);
        bar.set_event("n6 lost");
        QCOMPARE(bar.sizeHint().height(), high);
        bar.set_event({});
        QCOMPARE(bar.sizeHint().height(), high);
    }

    /// In a narrow one words are brief rather than cut; the tip has all of them.
    void words_below_the_map_are_whole() {
        ReplayBar bar;
        bar.set_words("23 min 20.7 s: 15/20 nodes work, 12 transfers", "23 min 20.7 s: 15/20 work, 12 transfers");
        bar.show();
        const auto told = [&] {
            QString words;
            for (const auto* label : bar.findChildren<QLabel*>())
                if (label->text().contains("transfers")) words = label->text();
            return words;
        };
        bar.resize(600, bar.sizeHint().height());
        QTRY_VERIFY(told().contains("nodes work"));
        bar.resize(260, bar.sizeHint().height());
        QTRY_VERIFY(told().contains("15/20 work"));
        const QFontMetrics metrics(body_font());
        QVERIFY2(metrics.horizontalAdvance(told()) <= 260, qPrintable(told()));
    }

    void a_narrow_slider_can_be_moved() {
        ReplayBar bar;
        bar.set_range(0, 603);
        for (const int width : {160, 400}) {
            bar.resize(width, bar.sizeHint().height());
            bar.show();
            QCoreApplication::sendPostedEvents(nullptr, QEvent::LayoutRequest);
            QVERIFY(bar.findChild<QSlider*>("replay")->width() > 60);
        }
    }

    /// What came last is gone through by the clock; whoever takes the slider, or pauses, has it.
    void the_slider_follows_what_came_last() {
        ReplayBar bar;
        bar.set_range(10, 30);
        QSignalSpy moved(&bar, &ReplayBar::moved), followed(&bar, &ReplayBar::followed);
        bar.follow(20, 30, 0.3);
        QVERIFY(bar.is_following() && bar.is_playing() && !bar.is_at_end());
        QCOMPARE(bar.moment_s(), 20.0);
        QTRY_VERIFY(bar.moment_s() > 21 && bar.moment_s() < 30);
        bar.set_range(12, 30);
        QVERIFY2(bar.moment_s() < 30, "it stays where it is, not at the end");
        QTRY_COMPARE(followed.size(), 1);
        QCOMPARE(bar.moment_s(), 30.0);
        QVERIFY(bar.is_at_end() && !bar.is_playing());
        QVERIFY(moved.size() >= 3);
        bar.follow(20, 30, 60);
        bar.findChild<QSlider*>("replay")->setValue(5'000);
        QVERIFY(!bar.is_following() && !bar.is_playing());
        QCOMPARE(bar.moment_s(), 21.0);
        bar.follow(20, 30, 60);
        bar.findChild<QToolButton*>("replay_play")->click();
        QVERIFY2(!bar.is_following() && !bar.is_playing(), "paused");
        QCOMPARE(followed.size(), 1);
    }

    /// Far out they are as large as near by; a number that would cover another, or a node, is left out.
    void what_is_under_way_is_as_large_whatever_the_zoom() {
        Document document;
        Experiment e;
        for (const double x : {0.0, 400.0}) add_node(e, {x, 0});
        document.start_new(e);
        SelectionModel selection;
        TopologyScene scene(document, selection, false);
        Traffic traffic;
        traffic.names = {"node-1", "node-2"};
        traffic.busy = {0.5, 0.5};
        traffic.work.resize(2);
        for (const double share : {0.4, 0.6}) traffic.parcels.push_back({0, 1, 7, SpanKind::transfer_forward, share});
        TrafficItem item;
        item.set_traffic(traffic, {scene.node("node-1"), scene.node("node-2")});
        const auto near_by = item.drawn_parcels(1), far_out = item.drawn_parcels(0.05);
        QCOMPARE(near_by.size(), 2U);
        QVERIFY(!near_by[0].number.isNull() && !near_by[1].number.isNull());
        QCOMPARE(far_out.size(), 2U);
        for (const auto& one : far_out)
            for (const double x : {0.0, 0.05 * 400}) QVERIFY2(!one.number.contains(QPointF(x, 0)), "on a node");
        QVERIFY2(!far_out[0].number.intersects(far_out[1].number), "on each other");
        const auto half = item.drawn_parcels(0.6);
        QCOMPARE(half[0].number.size(), near_by[0].number.size());
        item.set_zoom(0.05);
        const auto pixels_beside = [&](double zoom) {
            item.set_zoom(zoom);
            return (scene.node("node-1")->seen_at().x() - item.boundingRect().left()) * zoom;
        };
        QVERIFY2(pixels_beside(0.05) > near_by[0].number.width() + 12, "what is drawn is within its bounds");
    }

    /// While gradients are summed a hundred parts are under way: those of a line are one, which says how many.
    void a_crowd_on_a_line_is_one_with_a_count() {
        Document document;
        Experiment e;
        for (const double x : {0.0, 400.0}) add_node(e, {x, 0});
        document.start_new(e);
        SelectionModel selection;
        TopologyScene scene(document, selection, false);
        Traffic traffic;
        traffic.names = {"node-1", "node-2"};
        traffic.busy = {0.5, 0.5};
        traffic.work.resize(2);
        TrafficItem item;
        const auto drawn = [&](int parts, double zoom) {
            traffic.parcels.clear();
            for (int i = 0; i < parts; ++i)
                traffic.parcels.push_back({0, 1, -1, SpanKind::transfer_reduction, 0.3 + 0.4 * i / parts});
            traffic.parcels.push_back({1, 0, 5, SpanKind::transfer_forward, 0.5});
            item.set_traffic(traffic, {scene.node("node-1"), scene.node("node-2")});
            return item.drawn_parcels(zoom);
        };
        QCOMPARE(drawn(3, 1).size(), 4U);
        const double usual = item.drawn_radius();
        const auto some = drawn(8, 1);
        QCOMPARE(some.size(), 2U);
        QCOMPARE(some[0].words(), QString::fromUtf8("×8"));
        QVERIFY(!some[0].number.isNull());
        QCOMPARE(some[1].words(), QString("5"));
        QVERIFY(some[0].at.x() > 150 && some[0].at.x() < 250);
        QCOMPARE(item.drawn_radius(), usual);
        QCOMPARE(drawn(97, 1).size(), 2U);
        QVERIFY2(item.drawn_radius() < usual, "where very much is under way all are smaller");
    }

    /// Between two iterations the loads of the last one say more than its end, where nothing works any more.
    void loads_alone_have_words() {
        const auto data = small_run();
        const Traffic mean = mean_until(data, 8, traffic_loads(data, 0, 8));
        QVERIFY(mean.is_mean && mean.parcels.empty());
        QCOMPARE(traffic_words(mean).replace(QChar(0x202F), ' ').replace(QChar(0x2009), ' '),
                 QString("nodes work 25.0 %, 50.0 B/s over lines"));
    }
};

QTEST_MAIN(TestTraffic)
#include "test_traffic.moc"
