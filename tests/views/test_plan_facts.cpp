// SPDX-License-Identifier: GPL-3.0-or-later
// What is said of the plan beside its panels: how good it is, what it waits for, its stages and microbatches, its time.
#include <QLabel>
#include <QLineEdit>
#include <QRegularExpression>
#include <QTemporaryDir>
#include <QtTest>

#include "plugins/planners/all.h"
#include "tests/views/shown_window.h"
#include "tests/views/window_experiments.h"
#include "views/plan/gain_rows.h"
#include "views/theme/numbers.h"
#include "views/theme/theme.h"
#include "views/topology/canvas_key.h"
#include "views/topology/item_marks.h"
#include "views/topology/path_item.h"

using namespace skippipe;

class TestPlanFacts : public QObject {
    Q_OBJECT
    PlannerRegistry planners_;
    QTemporaryDir folder_;

    std::unique_ptr<MainWindow> window() { return shown_window(planners_, folder_); }

private Q_SLOTS:
    void initTestCase() { register_planners(planners_); }

    /// First, by the bound of its stages; a share is rounded up, since it is the most that may be missing. What any
    /// placement could reach is for the tip.
    void the_plan_says_how_good_it_is() {
        Score score;
        QCOMPARE(plan_verdict(score, 0.1, true), QString());
        QCOMPARE(any_placement_words(score, 0.1, true), QString());
        score.lower_bound_seconds = 1;
        score.gap = 0.2101;
        const QString any = "With any placement at most 22 % above the best (bound 1.00 s)";
        QCOMPARE(plain(plan_verdict(score, 0.0723, true)), QString("at most 7.3 % above the best with these stages"));
        QCOMPARE(plain(any_placement_words(score, 0.0723, true)), any);
        QCOMPARE(plan_verdict(score, {}, true), QString());
        QCOMPARE(plain(any_placement_words(score, {}, true)), any);
        QCOMPARE(plan_verdict(score, 0.0, true), QString("the best with these stages"));
        QCOMPARE(plain(any_placement_words(score, 0.0, true)), any);
        QCOMPARE(plain(plan_verdict(score, 0.2101, true)), QString("at most 22 % above the best with any placement"));
        QCOMPARE(plain(any_placement_words(score, 0.2101, true)), QString("Bound with any placement: 1.00 s"));
        score.gap = 0;
        QCOMPARE(plan_verdict(score, 0.0, true), QString("no plan is shorter"));
        QCOMPARE(any_placement_words(score, 0.0, true), QString());
        // The bound of a plan whose backward is whole says nothing of one that splits it.
        QCOMPARE(plan_verdict(score, 0.0, false), QString("no unsplit plan is shorter"));
        score.gap = 0.2101;
        QCOMPARE(plain(plan_verdict(score, 0.0723, false)),
                 QString("at most 7.3 % above the best unsplit plan with these stages"));
        QCOMPARE(plain(any_placement_words(score, 0.0723, false)),
                 QString("With any placement at most 22 % above the best unsplit plan (bound 1.00 s)"));
        auto w = window();
        w->document().start_new(six_in_two_regions());
        QTRY_VERIFY_WITH_TIMEOUT(!w->plans().is_busy() && w->plans().explanation() != nullptr, patient_ms);
        const QString said = plan_verdict(w->plans().outcome()->score, w->plans().explanation()->placed_gap(), false);
        QVERIFY(!said.isEmpty());
        QVERIFY2(w->design_page().figures().text().indexOf(said) < w->design_page().figures().text().indexOf("<br>"),
                 "it stands in the first line");
        QVERIFY2(w->design_page().figures().text().contains(said), qPrintable(w->design_page().figures().text()));
        auto* area = w->findChild<PlanArea*>();
        area->show_shortest("zero-bubble", 0.85 * w->plans().outcome()->score.iteration_seconds);
        QVERIFY2(plain(w->design_page().figures().text()).contains("zero-bubble is 15 % shorter"),
                 qPrintable(w->design_page().figures().text()));
        area->show_shortest({}, 0);
        QVERIFY(!w->design_page().figures().text().contains("shorter"));
        w->document().edit("More", [](Experiment& e) { e.pipeline.microbatches = 8; });
        QVERIFY2(!w->design_page().figures().text().contains(said), "of the plan before the edit it says nothing");
    }

    /// The same figure is rounded in one way wherever it stands.
    void gaps_and_shares_are_rounded_alike() {
        const std::pair<double, const char*> gaps[] = {{0, "0 %"},        {0.000447, "0.1 %"}, {0.03, "3.0 %"},
                                                       {0.0301, "3.1 %"}, {0.0999, "10 %"},    {0.722, "73 %"}};
        for (const auto& [gap, words] : gaps) QCOMPARE(plain(at_most_percent(gap)), QString(words));
        QCOMPARE(plain(whole_percent(0.00201)), QString("< 1 %"));
        QCOMPARE(plain(whole_percent(0)), QString("0 %"));
        QCOMPARE(plain(whole_percent(0.178)), QString("18 %"));
    }

    /// What two searches differ by for no reason is no change.
    void changes_below_the_noise_are_none() {
        QCOMPARE(plain(told_change(0.000276)), QString("no change (below 0.1 %)"));
        QCOMPARE(plain(told_change(-0.000999)), QString("no change (below 0.1 %)"));
        QCOMPARE(told_change(0), QString("no change"));
        QCOMPARE(plain(told_change(0.0011)), QString("+0.110 %"));
    }

    /// What an edit changed is said once its plan was searched for as far as the one before.
    void a_first_guess_is_compared_with_nothing() {
        auto w = window();
        Experiment e = six_in_two_regions();
        e.pipeline.plan_steps = 200'000;
        w->document().start_new(e);
        QTRY_VERIFY_WITH_TIMEOUT(w->plans().ready() != nullptr, patient_ms);
        const auto& figures = w->design_page().figures();
        int guesses = 0;
        QObject::connect(&w->plans(), &PlanService::planned, w.get(), [&] {
            if (w->plans().outcome()->refined) return;
            ++guesses;
            QVERIFY2(!figures.toolTip().contains("Since last edit"), qPrintable(figures.toolTip()));
        });
        w->document().edit("More", [](Experiment& x) { x.pipeline.microbatches = 8; });
        QTRY_VERIFY_WITH_TIMEOUT(guesses > 0 && w->plans().ready() != nullptr, patient_ms);
        QVERIFY2(figures.toolTip().contains("Since last edit"), qPrintable(figures.toolTip()));
    }

    /// Of a gain that is hardly any no digits are told.
    void small_gains_are_told_in_words() {
        Explanation why;
        why.iteration_s = 1;
        std::vector<WhatIf> of_selected(3);
        of_selected[0].change = -0.0007;
        of_selected[1].change = 0.0001;
        of_selected[2].change = -0.0813;
        const auto rows = gain_rows(why, {}, of_selected);
        QStringList changes;
        for (const auto& row : rows)
            if (!row.is_title) changes << plain(row.change);
        QCOMPARE(changes.join('/'), QString("less than 1 %/no change/−8.13 %"));
    }

    /// A share stands beside the rings of its node where there is room; what is selected as well has two.
    void a_share_leaves_its_node_to_be_seen() {
        auto w = window();
        Experiment e;
        add_node(e, {0, 0});
        w->document().start_new(e);
        auto* node = w->design_page().canvas().scene_model().node("node-1");
        node->critical_share = 0.13;
        const double below = node->name_box(1).top();
        for (const double zoom : {0.5, 1.0, 2.0}) {
            const QSizeF words = share_size("13 %") * text_scale(zoom);
            const QPointF at = node->share_place(zoom);
            QVERIFY2(std::abs(at.y()) - words.height() / 2 > node_radius + 3, qPrintable(QString::number(at.y())));
            const QRectF box(at - QPointF(words.width() / 2, words.height() / 2), words);
            QVERIFY2(node->boundingRect().contains(box), "all of it is drawn");
        }
        w->selection().select({.nodes = {"node-1"}});
        QVERIFY2(node->name_box(1).top() > below + 3, "below both rings");
    }

    /// A ring and a share on the node that the plan's end waits for the longest.
    void the_critical_node_is_marked() {
        auto w = window();
        w->document().start_new(six_in_two_regions());
        QTRY_VERIFY_WITH_TIMEOUT(!w->plans().is_busy() && w->plans().explanation() != nullptr, patient_ms);
        const auto why = w->plans().explanation();
        const auto& critical = why->nodes.front();
        const auto& ids = w->plans().outcome()->problem.node_ids;
        auto& scene = w->design_page().canvas().scene_model();
        int marked = 0;
        for (const auto& id : ids) marked += scene.node(id)->critical_share > 0;
        QCOMPARE(marked, 1);
        auto* node = scene.node(ids[static_cast<std::size_t>(critical.node)]);
        QCOMPARE(node->critical_share, critical.seconds / why->iteration_s);
        QVERIFY2(scene.tip_for(node).contains("critical node"), qPrintable(scene.tip_for(node)));
        const double below = node->name_box(1).top() - node->pos().y();
        QVERIFY2(below >= node_radius + 5, "its name stands below the ring");
        auto& view = w->design_page().canvas();
        const auto canvas = view.grab().toImage();
        const QPoint share = view.mapFromScene(node->pos() + node->share_place(view.transform().m11()));
        int dark = 0;
        for (int x = share.x() - 16; x <= share.x() + 16; ++x) dark += canvas.pixelColor(x, share.y()) == theme().text;
        QVERIFY2(dark > 8, qPrintable(QString::number(dark)));
        auto* key = w->findChild<CanvasKey*>();
        QVERIFY2(key->isVisible() && key->has_critical() && key->words().contains("critical path"), "it has a key");
        w->document().edit("More", [](Experiment& e) { e.pipeline.microbatches = 8; });
        QVERIFY2(scene.node(node->id())->critical_share == 0, "an outdated plan marks nothing");
        QVERIFY(!key->has_critical());
    }

    /// A share covers no name, neither of regions nor of nodes, whichever node it is of, near and far.
    void shares_leave_names_readable() {
        auto w = window();
        w->open_template("quick-start");
        auto& scene = w->design_page().canvas().scene_model();
        const auto& topology = w->document().experiment().topology;
        for (const double zoom : {0.8, 1.0, 2.0})
            for (const auto& marked : topology.nodes) {
                auto* node = scene.node(marked.id);
                node->critical_share = 0.13;
                const QSizeF words = share_size("13 %") * text_scale(zoom);
                QRectF box({0, 0}, words);
                box.moveCenter(node->pos() + node->share_place(zoom));
                for (const auto& region : topology.regions)
                    QVERIFY2(!box.intersects(scene.region(region.id)->label->words_and_handle_box(zoom)),
                             (marked.id + " " + region.id).c_str());
                for (const auto& other : topology.nodes)
                    QVERIFY2(!box.intersects(scene.node(other.id)->name_box(zoom)),
                             (marked.id + " " + other.id).c_str());
            }
    }

    /// The critical link's share stands on no node, though its line runs behind some, and above all of them.
    void a_links_share_stands_on_no_node() {
        auto w = window();
        Experiment e;
        for (int i = 0; i < 6; ++i) add_node(e, {60.0 * i, 0});
        add_link(e, "node-1", "node-6");
        add_link(e, "node-1", "node-2");
        w->document().start_new(e);
        auto& scene = w->design_page().canvas().scene_model();
        int links = 0;
        for (auto* item : scene.items()) {
            if (item->type() != link_item) continue;
            const auto* link = static_cast<const LinkItem*>(item);
            ++links;
            for (const double zoom : {0.5, 1.0, 2.0}) {
                QRectF box({0, 0}, share_size("0 %") * share_scale(zoom));
                box.moveCenter(link->share_place(zoom));
                for (const auto& node : e.topology.nodes) {
                    const QPointF at = scene.node(node.id)->pos();
                    QVERIFY2(std::hypot(std::max(std::abs(box.center().x() - at.x()) - box.width() / 2, 0.0),
                                        std::max(std::abs(box.center().y() - at.y()) - box.height() / 2, 0.0)) >
                                 node_radius - 1,
                             node.id.c_str());
                }
            }
        }
        QCOMPARE(links, 2);
        double highest = 0, shares = 0;
        for (auto* item : scene.items()) {
            if (item->type() == node_item) highest = std::max(highest, item->zValue());
            if (dynamic_cast<SharesItem*>(item) != nullptr) shares = item->zValue();
        }
        QVERIFY(shares > highest);
    }

    /// A link's share beside the node that has one too stands elsewhere, near and far, folded or not.
    void shares_stand_apart() {
        auto w = window();
        w->open_template("quick-start");
        auto& scene = w->design_page().canvas().scene_model();
        const auto items = scene.items();
        const auto shares = std::find_if(items.begin(), items.end(),
                                         [](auto* item) { return dynamic_cast<SharesItem*>(item) != nullptr; });
        const auto& both = dynamic_cast<const SharesItem&>(**shares);
        for (const double zoom : {0.2, 0.3, 0.5, 0.8, 1.0, 2.0}) {
            scene.follow_zoom(zoom);
            for (const auto& link : w->document().experiment().topology.links)
                for (const char* node : {"n18", "n4", "n2"}) {
                    scene.show_critical({node, 0.13, {link.from, link.to}, 0.14});
                    const auto boxes = both.boxes(zoom);
                    const QByteArray which =
                        QByteArray::number(zoom) + ' ' + node + ' ' + link.from.c_str() + ' ' + link.to.c_str();
                    QVERIFY2(!boxes.empty(), which);
                    QVERIFY2(boxes.size() < 2 || !boxes[0].intersects(boxes[1]), which);
                    for (const QRectF& box : boxes) QVERIFY2(both.boundingRect().contains(box), which);
                }
        }
    }

    /// The arrows of a way go round nodes and names, and their numbers stand on none of them.
    void a_way_leaves_names_readable() {
        auto w = window();
        Experiment e;
        for (int i = 0; i < 5; ++i) add_node(e, {80.0 * i, 0});
        w->document().start_new(e);
        auto& scene = w->design_page().canvas().scene_model();
        const auto node = [&](int number) { return scene.node("node-" + std::to_string(number)); };
        scene.way().set_way({node(1), node(4), node(5), node(2), node(1)});
        for (const double zoom : {1.0, 0.55}) {
            const auto& hops = scene.way().hops(zoom);
            QCOMPARE(hops.size(), std::size_t{4});
            const std::pair<int, int> ends[] = {{1, 4}, {4, 5}, {5, 2}, {2, 1}};
            const double radius = PathItem::chip_radius(zoom);
            const auto chip = [&](std::size_t hop) {
                return QRectF(hops[hop].chip - QPointF(radius, radius), QSizeF(2 * radius, 2 * radius));
            };
            for (std::size_t hop = 0; hop < hops.size(); ++hop)
                for (int other = 1; other <= 5; ++other) {
                    const QByteArray which = QByteArray::number(int(hop)) + " past " + QByteArray::number(other);
                    const bool is_end = other == ends[hop].first || other == ends[hop].second;
                    for (double share = 0.05; share < 1; share += 0.05) {
                        const QPointF at = hops[hop].at(share);
                        QVERIFY2(!node(other)->name_box(zoom).contains(at), which);
                        QVERIFY2(is_end || QLineF(at, node(other)->pos()).length() > node_radius, which);
                    }
                    QVERIFY2(!chip(hop).intersects(node(other)->name_box(zoom)), which);
                    QVERIFY2(QLineF(hops[hop].chip, node(other)->pos()).length() > node_radius + radius / 2, which);
                }
            for (std::size_t a = 0; a < hops.size(); ++a)
                for (std::size_t b = 0; b < a; ++b) QVERIFY(!chip(a).intersects(chip(b)));
        }
        // Nothing in the way: nearly straight.
        scene.way().set_way({node(2), node(3)});
        node(3)->setPos(node(2)->pos() + QPointF(0, -400));
        scene.way().follow_nodes();
        const DrawnHop& hop = scene.way().hops(1).front();
        QVERIFY(std::abs(hop.at(0.5).x() - node(2)->pos().x()) < 20);
    }

    /// What lies over the canvas does not lie on each other.
    void words_over_the_canvas_have_corners_of_their_own() {
        auto w = window();
        w->open_template("authors-20");
        QTRY_VERIFY_WITH_TIMEOUT(w->plans().outcome() && w->plans().outcome()->has_plan, patient_ms);
        auto& canvas = w->design_page().canvas();
        const auto* note = canvas.findChild<QPushButton*>("hops_note");
        QVERIFY(note != nullptr && note->isVisible());
        w->selection().select({.stage = 1});
        QVERIFY(!canvas.scene_model().reduction_words().isEmpty());
        canvas.grab();
        QVERIFY(!canvas.reduction_words_box().isEmpty());
        QVERIFY(!canvas.reduction_words_box().intersects(note->geometry()));
    }

    /// What the inspector tells of a stage and of a microbatch of the plan.
    void stages_and_microbatches_have_facts() {
        auto w = window();
        Experiment e = six_in_two_regions();
        e.pipeline.skip_ratio = 0.33;
        w->document().start_new(e);
        QTRY_VERIFY_WITH_TIMEOUT(w->plans().ready() != nullptr, patient_ms);
        auto& inspector = w->design_page().inspector();
        const auto words = [&](const char* name) {
            auto* label = inspector.widget()->findChild<QLabel*>(name);
            static const QRegularExpression tags("<[^>]*>");
            return label == nullptr ? QString() : plain(label->text()).replace(tags, " ").simplified();
        };
        QCOMPARE(words("stage_facts"), QString());
        w->selection().select({.stage = 1});
        const QString stage = words("stage_facts");
        const auto& plan = w->plans().outcome()->plan;
        const auto& ids = w->plans().outcome()->problem.node_ids;
        for (const char* row : {"Nodes ", " Parameters ", " Memory ", " Works ", " Idles ", " Reduction "})
            QVERIFY2(stage.contains(row), qPrintable(stage));
        QVERIFY2(stage.contains("in 2 blocks") && !stage.contains("Iteration"), qPrintable(stage));
        for (const auto node : plan.stages[1])
            QVERIFY2(stage.contains(QString::fromStdString(ids[node])), qPrintable(stage));
        w->document().edit("Broken", [](Experiment& x) { x.model.heads = 0; });
        QVERIFY2(!words("stage_facts").contains(" a node "), qPrintable(words("stage_facts")));
        w->document().undo_stack().undo();
        QTRY_VERIFY_WITH_TIMEOUT(w->plans().ready() != nullptr, patient_ms);
        QVERIFY(words("stage_facts").contains(" a node "));
        w->selection().select({.microbatch = 2});
        const QString microbatch = words("microbatch_facts");
        for (const char* row : {"Path ", " Stages 0", " Skips ", " computing, ", " being sent, ", " waiting"})
            QVERIFY2(microbatch.contains(row), qPrintable(microbatch));
        QVERIFY(inspector.widget()->findChild<QLineEdit*>("microbatches") == nullptr);
        // A name leads there, and words back to the settings; a node keeps its form below the facts.
        Q_EMIT inspector.widget()->findChild<QLabel*>("microbatch_facts")->linkActivated("node:node-1");
        QTRY_VERIFY(w->selection().now() == Selection{.nodes = {"node-1"}});
        w->selection().select({.nodes = {"node-1"}, .microbatch = 2});
        QVERIFY(inspector.widget()->findChild<QLabel*>("microbatch_facts") != nullptr &&
                inspector.widget()->findChild<QLineEdit*>("id") != nullptr);
        w->selection().select({.stage = 0});
        Q_EMIT inspector.widget()->findChild<QLabel*>("to_settings")->linkActivated("experiment:");
        QTRY_VERIFY(w->selection().now() == Selection{});
        QVERIFY(inspector.widget()->findChild<QLineEdit*>("microbatches") != nullptr);
        // So do the forms of things.
        QVERIFY(inspector.widget()->findChild<QLabel*>("to_settings") == nullptr);
        for (const Selection& thing :
             {Selection{.nodes = {"node-1"}}, Selection{.nodes = {"node-1", "node-2"}},
              Selection{.regions = {"region-1"}}, Selection{.links = {{"region-1", "region-2"}}}}) {
            w->selection().select(thing);
            auto* way = inspector.widget()->findChild<QLabel*>("to_settings");
            QVERIFY(way != nullptr && way->isVisible());
            Q_EMIT way->linkActivated("experiment:");
            QTRY_VERIFY(w->selection().now() == Selection{});
        }
    }

    /// The plan's axis is of one iteration, that of failures of the whole run.
    void two_axes_of_time_are_told_apart() {
        auto w = window();
        w->document().start_new(six_in_two_regions());
        QTRY_VERIFY_WITH_TIMEOUT(w->plans().ready() != nullptr, patient_ms);
        QCOMPARE(w->design_page().plan_timeline().data()->time_name(), std::string("One iteration"));
        QVERIFY2(w->design_page().failure_axis().axis_words().contains("whole run"),
                 qPrintable(w->design_page().failure_axis().axis_words()));
        w->resize(1024, 700);
        QTRY_VERIFY(w->design_page().failure_axis().axis_words() == "Failures, run");
    }
};

QTEST_MAIN(TestPlanFacts)
#include "test_plan_facts.moc"
