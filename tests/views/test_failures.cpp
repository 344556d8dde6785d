// SPDX-License-Identifier: GPL-3.0-or-later
// Failures in the window: marks and menus on the canvas, the axis under the plan, the inspector, traces.
#include <cmath>

#include <QComboBox>
#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QMenu>
#include <QPushButton>
#include <QTemporaryDir>
#include <QtTest>

#include "core/experiment/describe.h"
#include "core/experiment/failure_text.h"
#include "core/experiment/io.h"
#include "core/experiment/validate.h"
#include "core/planner/plan/problem.h"
#include "plugins/planners/all.h"
#include "tests/views/shown_inspector.h"
#include "tests/views/silent_file.h"
#include "views/failures/failure_axis.h"
#include "views/failures/failure_editor.h"
#include "views/inspector/inspector.h"
#include "views/theme/theme.h"
#include "views/topology/edits.h"
#include "views/topology/failure_edits.h"
#include "views/topology/items.h"
#include "views/topology/view.h"

using namespace skippipe;

namespace {

/// Three nodes in a row, the first two linked; an iteration is told to take 2 s, 20 of them.
Experiment three_nodes() {
    Experiment e;
    for (int i = 0; i < 3; ++i) add_node(e, {150.0 * i, 0});
    add_link(e, "node-1", "node-2");
    add_link(e, "node-2", "node-3");
    e.pipeline.stages = 3;
    e.training.iterations = 20;
    e.training.checkpoint_every = 5;
    return e;
}

std::string texts(const Document& document) {
    std::string all;
    for (const auto& failure : document.experiment().failures) all += failure_text(failure) + ' ';
    return all;
}

/// Thin spaces as plain ones.
QString plain(QString words) { return words.replace(QChar(0x2009), ' '); }

void trigger(QMenu& menu, const QString& words) {
    for (auto* action : menu.actions())
        if (action->text() == words) return action->trigger();
    QFAIL(qPrintable("no entry " + words));
}

void choose(QComboBox* box, const QString& words) {
    box->setCurrentText(words);
    Q_EMIT box->textActivated(words);
}

}  // namespace

class TestFailures : public QObject {
    Q_OBJECT
    PlannerRegistry planners_;

    struct Axis {
        Document document;
        SelectionModel selection;
        FailureEditor editor{document, selection};
        FailureAxis axis{document, selection, editor};
        explicit Axis(const std::vector<Failure>& failures = {}, double iteration_s = 2) {
            Experiment e = three_nodes();
            e.failures = failures;
            document.start_new(e);
            editor.set_iteration_s(iteration_s);
            axis.follow_plan();
            axis.resize(800, 150);
            axis.show();
        }
        const Failure& failure(std::size_t i) const { return document.experiment().failures.at(i); }
        void drag(QPointF from, QPointF to, Qt::KeyboardModifiers keys = {}) {
            QTest::mousePress(&axis, Qt::LeftButton, keys, from.toPoint());
            QTest::mouseMove(&axis, ((from + to) / 2).toPoint());
            QMouseEvent move(QEvent::MouseMove, to, axis.mapToGlobal(to), Qt::NoButton, Qt::LeftButton, keys);
            QApplication::sendEvent(&axis, &move);
            QTest::mouseRelease(&axis, Qt::LeftButton, keys, to.toPoint());
        }
    };

private Q_SLOTS:
    void initTestCase() { register_planners(planners_); }

    void targets_fit_their_kind() {
        const Experiment e = three_nodes();
        using Names = std::vector<std::string>;
        QCOMPARE(failure_targets(e, FailureKind::crash), (Names{"any", "any-data-node", "node-1", "node-2", "node-3"}));
        QCOMPARE(failure_targets(e, FailureKind::link_cut),
                 (Names{"node-1->node-2", "node-2->node-1", "node-2->node-3", "node-3->node-2"}));
        QCOMPARE(failure_targets(e, FailureKind::stage_loss), (Names{"any", "0", "1", "2"}));
        QCOMPARE(failure_targets(e, FailureKind::coordinator_loss), Names{});
        for (const auto& [kind, name] : names_of(static_cast<FailureKind*>(nullptr)))
            for (const auto& [other, other_name] : names_of(static_cast<FailureKind*>(nullptr))) {
                Experiment changed = e;
                changed.failures.push_back(new_failure(changed, kind, "node-2", 2));
                set_kind(changed, changed.failures.back(), other);
                for (const auto& fault : validate(changed))
                    QVERIFY2(!fault.pointer.starts_with("/failures"), (fault.pointer + fault.what).c_str());
                QVERIFY2(parse_failure(failure_text(changed.failures.back()), "") == changed.failures.back(),
                         "it can be typed as well");
            }
    }

    void a_failure_is_followed_where_others_come_and_go() {
        const Failure a{.target = "a", .at_s = 1}, b{.target = "b", .at_s = 2}, c{.target = "c", .at_s = 3};
        using Places = std::optional<std::size_t>;
        QCOMPARE(followed_failure({a, b, c}, {b, c}, 2), Places(1));
        QCOMPARE(followed_failure({a, b, c}, {a, c}, 0), Places(0));
        QCOMPARE(followed_failure({a, b, c}, {a, c}, 1), Places());
        QCOMPARE(followed_failure({b, c}, {a, b, c}, 0), Places(1));
        QCOMPARE(followed_failure({a, b}, {a, c}, 1), Places(1));  // edited in its place
        QCOMPARE(followed_failure({a, a}, {a}, 0), Places(0));
        QCOMPARE(followed_failure({}, {a}, 3), Places());
    }

    void lanes_and_steps_of_the_axis() {
        const std::vector<Failure> failures = {parse_failure("crash:b@9s", ""), parse_failure("crash:any@3%", ""),
                                               parse_failure("crash:b@3s+1s", ""),
                                               parse_failure("crash:c@iteration=2", "")};
        const auto lanes = failure_lanes(failures, 2);
        QCOMPARE(lanes.size(), std::size_t{3});
        QCOMPARE(lanes[0].name, std::string("b"));
        QCOMPARE(lanes[0].failures, (std::vector<std::size_t>{2, 0}));
        QVERIFY(lanes[1].timed && !lanes[2].timed);
        QVERIFY2(!failure_lanes(failures, 0)[1].timed, "how long an iteration takes is not known");
        const auto third = stretch_of(failures[3], 2);
        QVERIFY(third && third->begin_s == 4 && third->end_s == 6 && third->vague);
        QVERIFY(std::isinf(stretch_of(failures[0], 2)->end_s));
        QCOMPARE(rounded_time(12.3456, 0.25), 12.4);
        QCOMPARE(rounded_time(0.30000000000000004, 0.1), 0.3);
        QCOMPARE(rounded_time(1234, 99), 1250.0);
        QCOMPARE(rounded_time(-3, 1), 0.0);
    }

    void what_fails_is_marked_and_said_on_the_canvas() {
        Document document;
        Experiment e = three_nodes();
        document.start_new(e);
        SelectionModel selection;
        TopologyView view(document, selection, true);
        view.resize(800, 400);
        view.show();
        QVERIFY(QTest::qWaitForWindowExposed(&view));
        auto& scene = view.scene_model();
        const auto link = [&]() -> LinkItem* {
            for (auto* item : scene.items())
                if (item->type() == link_item) return static_cast<LinkItem*>(item);
            return nullptr;
        };
        const QImage before = view.viewport()->grab().toImage();
        const QPoint mark = view.mapFromScene(scene.node("node-2")->pos() - QPointF(15, 15));
        document.edit("Fail", [](Experiment& changed) {
            changed.failures.push_back(parse_failure("crash:node-2@2min+60s", ""));
            changed.failures.push_back(parse_failure("slow-down:node-2@3%", ""));
            changed.failures.push_back(parse_failure("link-cut:node-3->node-2@5s", ""));
            changed.failures.push_back(parse_failure("crash:any@5s", ""));
        });
        QVERIFY(scene.node("node-2")->fails && !scene.node("node-1")->fails);
        const QString tip = plain(scene.tip_for(scene.node("node-2")));
        QVERIFY2(tip.contains("Crashes at 2 min 00 s, back 1 min 00 s later"), qPrintable(tip));
        QVERIFY2(tip.contains("Twice as slow, chance of 3 % an iteration"), qPrintable(tip));
        int marked = 0;
        for (auto* item : scene.items())
            if (item->type() == link_item && static_cast<LinkItem*>(item)->fails) {
                ++marked;
                QVERIFY(scene.tip_for(item).contains(QString::fromUtf8("node-3 → node-2: cut at 5.00")));
            }
        QCOMPARE(marked, 1);
        QVERIFY(link() != nullptr);
        QVERIFY2(view.viewport()->grab().toImage().pixelColor(mark) != before.pixelColor(mark), "the mark is drawn");
        Plan plan;
        plan.stages = {{0}, {1}, {2}};
        document.edit("Fail",
                      [](Experiment& changed) { changed.failures = {parse_failure("stage-loss:2@iteration=3", "")}; });
        QVERIFY(!scene.node("node-3")->fails && !scene.node("node-2")->fails);
        scene.show_plan(&plan, {"node-1", "node-2", "node-3"});
        QVERIFY2(scene.node("node-3")->fails, "it holds the stage that is lost");
        QVERIFY(scene.tip_for(scene.node("node-3")).contains("Stage 2: all its nodes are lost in iteration 3"));
    }

    void failures_go_with_what_they_happen_to() {
        Experiment e = three_nodes();
        e.failures = {parse_failure("link-cut:node-2->node-1@5s", ""), parse_failure("crash:node-3@5s", ""),
                      parse_failure("crash:any@5s", "")};
        remove_selected(e, {.links = {{"node-1", "node-2"}}});
        QCOMPARE(e.failures.size(), std::size_t{2});
        remove_selected(e, {.nodes = {"node-3"}});
        QCOMPARE(e.failures.size(), std::size_t{1});
    }

    void the_menu_of_a_node_and_of_a_link() {
        Document document;
        document.start_new(three_nodes());
        SelectionModel selection;
        FailureEditor editor(document, selection);
        editor.set_iteration_s(2);
        TopologyView view(document, selection, true);
        connect(&view, &TopologyView::menu_wanted, &editor, &FailureEditor::fill_menu);
        view.resize(800, 400);
        view.show();
        QVERIFY(QTest::qWaitForWindowExposed(&view));
        const auto ask = [&](QPointF place) {
            const QPoint at = view.mapFromScene(place);
            QContextMenuEvent event(QContextMenuEvent::Mouse, at, view.viewport()->mapToGlobal(at));
            QApplication::sendEvent(view.viewport(), &event);
            auto* menu = view.findChild<QMenu*>(QString(), Qt::FindDirectChildrenOnly);
            return menu == nullptr ? nullptr : menu->findChild<QMenu*>("fail_menu");
        };
        const auto close = [&] { delete view.findChild<QMenu*>(QString(), Qt::FindDirectChildrenOnly); };
        auto* menu = ask(view.scene_model().node("node-2")->pos());
        QVERIFY(menu != nullptr);
        QCOMPARE(selection.now().nodes.size(), std::size_t{1});
        trigger(*menu, QString::fromUtf8("Slow down…"));
        QCOMPARE(texts(document), std::string("slow-down:node-2@iteration=1x2+5s "));
        QCOMPARE(selection.now().failure, std::optional<std::size_t>(0));
        close();
        menu = ask({75, 0});
        QVERIFY(menu != nullptr);
        trigger(*menu, QString::fromUtf8("Cut…"));
        QCOMPARE(texts(document),
                 std::string("slow-down:node-2@iteration=1x2+5s link-cut:node-1->node-2@iteration=1+5s "));
        close();
        menu = ask(view.scene_model().node("node-2")->pos());
        trigger(*menu, "Remove its failure");
        QCOMPARE(texts(document), std::string("link-cut:node-1->node-2@iteration=1+5s "));
        close();
        QVERIFY2(ask({75, 150}) == nullptr, "nothing there can fail");
        document.undo_stack().undo();
        document.undo_stack().undo();
        document.undo_stack().undo();
        QVERIFY(document.experiment().failures.empty());
    }

    void links_between_regions_fail_as_others_do() {
        Experiment e;
        for (int i = 0; i < 4; ++i) add_node(e, {i < 2 ? 100.0 * i : 300 + 100.0 * i, 0});
        for (const char* region : {"east", "west"}) e.topology.regions.push_back({region, 0, 0});
        for (int i = 0; i < 4; ++i) e.topology.nodes[static_cast<std::size_t>(i)].region = i < 2 ? "east" : "west";
        e.topology.links = {{.from = "east", .to = "west"}, {.from = "west", .to = "west"}};
        e.pipeline.stages = 2;
        e.training.checkpoint_every = 5;
        Document document;
        document.start_new(e);
        SelectionModel selection;
        FailureEditor editor(document, selection);
        TopologyView view(document, selection, true);
        connect(&view, &TopologyView::menu_wanted, &editor, &FailureEditor::fill_menu);
        view.resize(900, 400);
        view.show();
        QVERIFY(QTest::qWaitForWindowExposed(&view));
        LinkItem* link = nullptr;
        for (auto* item : view.scene()->items())
            if (item->type() == link_item && static_cast<LinkItem*>(item)->key() == LinkKey{"east", "west"})
                link = static_cast<LinkItem*>(item);
        QVERIFY(link != nullptr && !link->fails);
        const QPoint at = view.mapFromScene(link->sceneBoundingRect().center());
        QContextMenuEvent event(QContextMenuEvent::Mouse, at, view.viewport()->mapToGlobal(at));
        QApplication::sendEvent(view.viewport(), &event);
        auto* menu = view.findChild<QMenu*>("fail_menu");
        QVERIFY(menu != nullptr);
        trigger(*menu, "Cut…");
        QCOMPARE(document.experiment().failures.back().target, std::string("east->west"));
        QVERIFY(link->fails);
        QVERIFY(!has_errors(validate(document.experiment())));
        QCOMPARE(failures_of_link(document.experiment(), document.experiment().topology.links[0]).size(),
                 std::size_t{1});
        QMenu none;
        editor.fill_menu({.links = {{"west", "west"}}}, none);
        QVERIFY2(none.isEmpty(), "within a region no one line is drawn");
    }

    void every_link_that_is_offered_is_a_line_of_the_network() {
        for (const char* name : {"quick-start", "single-cluster", "authors-18", "authors-20", "authors-42"}) {
            auto e =
                load_experiment(std::string(SKIPPIPE_SOURCE_DIR "/resources/experiments/") + name + ".json").experiment;
            const auto lines = make_problem(e).line_names;
            const auto offered = failure_targets(e, FailureKind::link_cut);
            QVERIFY(!offered.empty());
            for (const auto& target : offered) {
                QVERIFY2(std::find(lines.begin(), lines.end(), target) != lines.end(), target.c_str());
                e.failures = {new_failure(e, FailureKind::link_cut, target, 1)};
                QVERIFY2(!has_errors(validate(e)), target.c_str());
            }
        }
    }

    void a_line_that_is_not_drawn_stays_a_target() {
        Experiment e = three_nodes();
        e.topology.regions.push_back({"here", 0, 0});
        e.topology.nodes[0].region = e.topology.nodes[2].region = "here";
        Failure failure = parse_failure("link-cut:node-1->node-3@5s", "");
        e.failures = {failure};
        QVERIFY2(!has_errors(validate(e)), "two nodes of a region have a line");
        e.topology.nodes[2].region = "there";
        e.topology.regions.push_back({"there", 0, 0});
        e.topology.links.push_back({.from = "here", .to = "there"});
        QVERIFY2(!has_errors(validate(e)), "so have two nodes whose regions are linked");
        for (const auto kind : {FailureKind::link_degraded, FailureKind::jitter, FailureKind::link_cut}) {
            set_kind(e, failure, kind);
            QCOMPARE(failure.target, std::string("node-1->node-3"));
        }
        set_kind(e, failure, FailureKind::crash);
        QCOMPARE(failure.target, any_target);
    }

    void a_click_on_the_axis_adds_a_crash() {
        Axis a;
        const QPoint at = a.axis.place_of(12.3, 0).toPoint();
        QVERIFY2(a.axis.words_at(at).contains("one or another node crashes at"), qPrintable(a.axis.words_at(at)));
        QTest::mouseClick(&a.axis, Qt::LeftButton, {}, at);
        const auto& crash = a.failure(0);
        QVERIFY2(crash.kind == FailureKind::crash && crash.target == any_target && crash.rejoin_after_s == 5.0,
                 texts(a.document).c_str());
        QVERIFY2(std::abs(*crash.at_s - 12.3) <= 0.1, texts(a.document).c_str());
        QCOMPARE(a.selection.now().failure, std::optional<std::size_t>(0));
        a.selection.select({.nodes = {"node-2"}});
        QTest::mouseClick(&a.axis, Qt::LeftButton, {}, a.axis.place_of(30, 1).toPoint());
        QCOMPARE(a.failure(1).target, std::string("node-2"));
        QCOMPARE(a.axis.lanes().size(), std::size_t{2});
        QVERIFY2(a.selection.now().nodes.contains("node-2"), "the next click is about the same node");
        QTest::mouseClick(&a.axis, Qt::LeftButton, {}, QPoint(5, 60));
        QCOMPARE(a.document.experiment().failures.size(), std::size_t{2});  // names are no time
        QTest::keyClick(&a.axis, Qt::Key_Delete);
        QCOMPARE(a.document.experiment().failures.size(), std::size_t{1});
        QVERIFY(!a.selection.now().failure);
        a.document.undo_stack().undo();
        QCOMPARE(a.document.experiment().failures.size(), std::size_t{2});
    }

    void a_drag_moves_a_failure_as_one_command() {
        Axis a({parse_failure("crash:node-1@10s+6s", ""), parse_failure("crash:node-2@iteration=3", ""),
                parse_failure("crash:any@3%", "")});
        a.drag(a.axis.place_of(12, 0), a.axis.place_of(22, 0));
        QVERIFY2(std::abs(*a.failure(0).at_s - 20) < 0.3, failure_text(a.failure(0)).c_str());
        QVERIFY2(std::abs(*a.failure(0).at_s * 5 - std::round(*a.failure(0).at_s * 5)) < 1e-9, "on a step");
        QCOMPARE(a.failure(0).rejoin_after_s, std::optional<double>(6));
        QCOMPARE(a.document.undo_stack().count(), 1);
        const double end_s = *a.failure(0).at_s + 6;
        a.drag(a.axis.place_of(end_s, 0), a.axis.place_of(end_s + 5, 0));
        QVERIFY2(std::abs(*a.failure(0).rejoin_after_s - 11) < 0.3, failure_text(a.failure(0)).c_str());
        QCOMPARE(a.document.undo_stack().count(), 2);
        a.drag(a.axis.place_of(7, 1), a.axis.place_of(13.2, 1));
        QCOMPARE(a.failure(1).at_iteration, std::optional<int>(6));
        a.drag(a.axis.place_of(7, 2), a.axis.place_of(13, 2));
        QCOMPARE(a.failure(2).probability_per_iteration, std::optional<double>(0.03));
        QCOMPARE(a.document.undo_stack().count(), 3);
        a.drag(a.axis.place_of(*a.failure(0).at_s + 1, 0), a.axis.place_of(-50, 0));
        QCOMPARE(a.failure(0).at_s, std::optional<double>(0));
        while (a.document.undo_stack().canUndo()) a.document.undo_stack().undo();
        QCOMPARE(texts(a.document), std::string("crash:node-1@10s+6s crash:node-2@iteration=3 crash:any@3% "));
    }

    void the_axis_by_keys() {
        Axis a({parse_failure("crash:node-1@10s+6s", ""), parse_failure("crash:any@3%", "")});
        QSignalSpy wanted(&a.axis, &FailureAxis::edit_requested);
        QTest::keyClick(&a.axis, Qt::Key_Return);
        QCOMPARE(wanted.count(), 0);
        QTest::keyClick(&a.axis, Qt::Key_Down);
        QCOMPARE(a.selection.now().failure, std::optional<std::size_t>(0));
        QTest::keyClick(&a.axis, Qt::Key_Right);
        const double one = *a.failure(0).at_s;
        QVERIFY(one > 10 && one < 11);
        QTest::keyClick(&a.axis, Qt::Key_Right, Qt::ShiftModifier);
        QVERIFY(*a.failure(0).at_s > one + 5 * (one - 10));
        QCOMPARE(a.document.undo_stack().count(), 1);  // steps that follow each other are one
        QTest::keyClick(&a.axis, Qt::Key_Return);
        QCOMPARE(wanted.count(), 1);
        QTest::keyClick(&a.axis, Qt::Key_Down);
        QCOMPARE(a.selection.now().failure, std::optional<std::size_t>(1));
        QTest::keyClick(&a.axis, Qt::Key_Right);
        QCOMPARE(a.document.undo_stack().count(), 1);  // chance has no time
        QTest::keyClick(&a.axis, Qt::Key_Escape);
        QVERIFY(!a.selection.now().failure);
        QTest::keyClick(&a.axis, Qt::Key_Insert);
        QCOMPARE(a.document.experiment().failures.size(), std::size_t{3});
        QTest::keyClick(&a.axis, Qt::Key_Backspace);
        QCOMPARE(a.document.experiment().failures.size(), std::size_t{2});
        QVERIFY(plain(a.axis.words_at(a.axis.place_of(5, 1))).startsWith("Any node\nCrashes, chance of 3 %"));
    }

    void the_axis_shows_what_is_there() {
        Axis a({parse_failure("crash:node-1@10s+6s", ""), parse_failure("crash:any@3%", "")});
        const QImage picture = a.axis.grab().toImage();
        const auto is_red = [&](QPointF at) {
            const QColor c = picture.pixelColor(at.toPoint());
            return c.red() > c.green() + 15 && c.red() > c.blue() + 15;
        };
        QVERIFY(is_red(a.axis.place_of(15, 0)));
        QVERIFY(!is_red(a.axis.place_of(17, 0)) && !is_red(a.axis.place_of(9, 0)));
        QVERIFY2(a.axis.sizeHint().height() > Axis().axis.sizeHint().height(), "higher with more lanes");
    }

    void the_inspector_edits_one_failure() {
        Experiment e = three_nodes();
        e.failures = {parse_failure("crash:node-3@10s", ""), parse_failure("crash:any@3%", "")};
        ShownInspector shown(planners_, e);
        auto& [document, selection, editor, inspector] = shown;
        QVERIFY(QTest::qWaitForWindowExposed(&inspector));
        const auto field = [&](const char* name) { return inspector.widget()->findChild<QWidget*>(name); };
        auto* list = inspector.widget()->findChild<QListWidget*>("failure_list");
        QVERIFY(list != nullptr);
        QCOMPARE(list->count(), 2);
        QCOMPARE(plain(list->item(0)->toolTip()), QString("node-3: crashes at 10.0 s, for good"));
        QVERIFY2(field("heartbeat_s") != nullptr && field("policy") != nullptr, "recovery stands beside them");
        Q_EMIT list->itemClicked(list->item(0));
        QCOMPARE(selection.now().failure, std::optional<std::size_t>(0));
        QVERIFY(field("at_s") != nullptr && field("rate_per_hour") == nullptr && field("factor") == nullptr);
        QVERIFY(field("heartbeat_s") != nullptr);
        auto* targets = inspector.widget()->findChild<QComboBox*>("target");
        QVERIFY(targets->findText("any-data-node") >= 0 && targets->findText("node-2") >= 0);
        QVERIFY2(targets->findText("node-1->node-2") < 0, "a link cannot crash");

        choose(inspector.widget()->findChild<QComboBox*>("kind"), "link-degraded");
        QTRY_VERIFY(field("factor") != nullptr);
        QCOMPARE(texts(document), std::string("link-degraded:node-1->node-2@10sx2 crash:any@3% "));
        targets = inspector.widget()->findChild<QComboBox*>("target");
        QVERIFY(targets->findText("node-3->node-2") >= 0 && targets->findText("node-2") < 0);
        choose(inspector.widget()->findChild<QComboBox*>("when"), "At a rate");
        QTRY_VERIFY(field("rate_per_hour") != nullptr && field("at_s") == nullptr);
        QCOMPARE(texts(document), std::string("link-degraded:node-1->node-2@1/hx2 crash:any@3% "));
        auto* rate = inspector.widget()->findChild<QLineEdit*>("rate_per_hour");
        rate->setFocus();
        rate->selectAll();
        QTest::keyClicks(rate, "0.25");
        QTest::keyClick(rate, Qt::Key_Return);
        QCOMPARE(document.experiment().failures[0].rate_per_hour, std::optional<double>(0.25));
        QVERIFY(inspector.widget()->findChild<QLabel*>("failure_words")->text().contains("0.25 times an hour"));
        choose(inspector.widget()->findChild<QComboBox*>("kind"), "coordinator-loss");
        QTRY_VERIFY(field("target") == nullptr && field("rejoin_after_s") == nullptr);
        QVERIFY(validate(document.experiment()).empty() ||
                !QString::fromStdString(validate(document.experiment()).front().pointer).startsWith("/failures"));

        document.edit("Elsewhere", [](Experiment& changed) { changed.failures.erase(changed.failures.begin()); });
        QVERIFY2(!selection.now().failure, "it is gone");
        QTRY_VERIFY(inspector.widget()->findChild<QListWidget*>("failure_list") != nullptr);
        selection.select({.failure = 0});
        QTest::mouseClick(inspector.widget()->findChild<QPushButton*>("remove_failure"), Qt::LeftButton);
        QVERIFY(document.experiment().failures.empty());
        document.undo_stack().undo();
        QCOMPARE(texts(document), std::string("crash:any@3% "));
    }

    void every_kind_can_be_added() {
        Document document;
        document.start_new(three_nodes());
        SelectionModel selection;
        FailureEditor editor(document, selection);
        QMenu menu;
        editor.fill_add_menu(menu);
        std::set<FailureKind> kinds;
        for (auto* action : menu.actions()) {
            if (action->isSeparator() || action->text().startsWith("Import")) continue;
            action->trigger();
            kinds.insert(document.experiment().failures.back().kind);
        }
        QCOMPARE(kinds.size(), names_of(static_cast<FailureKind*>(nullptr)).size());
        for (const auto& fault : validate(document.experiment()))
            QVERIFY2(!fault.pointer.starts_with("/failures"), fault.what.c_str());
    }

    void a_trace_is_imported_or_refused_whole() {
        QTemporaryDir folder;
        const auto write = [&](const char* name, const char* rows) {
            QFile file(folder.filePath(name));
            if (file.open(QIODevice::WriteOnly)) file.write(QByteArray("node,down_s,up_s\n") + rows);
            return folder.filePath(name).toStdString();
        };
        Document document;
        document.start_new(three_nodes());
        SelectionModel selection;
        FailureEditor editor(document, selection);
        QSignalSpy told(&editor, &FailureEditor::told);
        editor.import_trace(write("good.csv", "node-1,5,9\nany,7,\n"));
        QTRY_COMPARE(told.count(), 1);
        QCOMPARE(texts(document), std::string("crash:node-1@5s+4s crash:any@7s "));
        QCOMPARE(document.undo_stack().count(), 1);
        QVERIFY(told.takeFirst().first().toString().contains("2 crashes of good.csv"));
        editor.import_trace(write("bad.csv", "node-1,50,90\nnode-9,7,\nnode-8,7,\n"));
        QTRY_COMPARE(told.count(), 1);
        QCOMPARE(document.undo_stack().count(), 1);
        const QString why = told.takeFirst().first().toString();
        QVERIFY2(why.contains("bad.csv:3") && why.contains("node-9") && why.contains("1 more fault"), qPrintable(why));
        editor.import_trace(write("empty.csv", ""));
        QTRY_COMPARE(told.count(), 1);
        QVERIFY(told.takeFirst().first().toString().contains("no rows"));
    }

    void nobody_waits_for_a_trace_that_does_not_answer() {
        QTemporaryDir folder;
        SilentFile trace(folder.filePath("slow.csv").toStdString(), "node,down_s,up_s\nnode-1,5,9\n");
        Document document;
        document.start_new(three_nodes());
        SelectionModel selection;
        FailureEditor editor(document, selection);
        QSignalSpy told(&editor, &FailureEditor::told);
        editor.import_trace(trace.path());
        QVERIFY2(!trace.has_spoken(), "the window's thread waited for it");
        QCOMPARE(told.count(), 0);
        document.edit("Rename", [](Experiment& e) { e.name = "edited meanwhile"; });
        trace.speak();
        QTRY_COMPARE(told.count(), 1);
        QCOMPARE(texts(document), std::string("crash:node-1@5s+4s "));

        SilentFile late(folder.filePath("late.csv").toStdString(), "node,down_s,up_s\nnode-1,5,9\n");
        editor.import_trace(late.path());
        document.edit("Another network", [](Experiment& e) { e.topology.nodes.pop_back(); });
        late.speak();
        QTRY_COMPARE(told.count(), 2);
        QVERIFY2(told[1][0].toString().contains("was edited while late.csv was read"),
                 qPrintable(told[1][0].toString()));
        QCOMPARE(document.experiment().failures.size(), std::size_t{1});
    }

    void a_problem_leads_to_its_failure() {
        Experiment e = three_nodes();
        e.failures = {parse_failure("crash:any@3%", ""), parse_failure("crash:nobody@3%", "")};
        QCOMPARE(subject_of("/failures/1/target", e).failure, std::optional<std::size_t>(1));
        QVERIFY(subject_of("/failures/2/target", e).empty());
    }
};

QTEST_MAIN(TestFailures)
#include "test_failures.moc"
