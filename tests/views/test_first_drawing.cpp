// SPDX-License-Identifier: GPL-3.0-or-later
// A newcomer's ways: from an empty canvas to a plan, and from a template to one that is ready to be launched.
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QTemporaryDir>
#include <QToolButton>
#include <QtTest>

#include "plugins/planners/all.h"
#include "tests/views/shown_window.h"
#include "tests/views/window_experiments.h"
#include "views/theme/empty_note.h"
#include "views/topology/edits.h"
#include "views/topology/first_steps.h"

using namespace skippipe;

class TestFirstDrawing : public QObject {
    Q_OBJECT
    PlannerRegistry planners_;
    QTemporaryDir folder_;

    std::unique_ptr<MainWindow> window() { return shown_window(planners_, folder_); }

private Q_SLOTS:
    void initTestCase() { register_planners(planners_); }

    /// Of a drawing that begins empty, until somebody sets their number; undone with the node.
    void stages_follow_the_nodes_of_a_first_drawing() {
        auto w = window();
        w->open_template({});
        auto& document = w->document();
        const auto stages = [&] { return document.experiment().pipeline.stages; };
        const int most = stages();
        w->design_page().canvas().add_node_here();
        QCOMPARE(stages(), 1);
        w->design_page().canvas().add_node_here();
        QCOMPARE(stages(), 2);
        w->design_page().canvas().scene_model().select_everything();
        w->design_page().canvas().link_selected();
        QVERIFY2(first_error(document.faults()) == nullptr, "two nodes are a pipeline");
        for (int i = 0; i < 2; ++i) w->design_page().canvas().add_node_here();
        QVERIFY2(stages() == 3, "six blocks are not dealt out to four stages");
        for (int i = 0; i < 6; ++i) w->design_page().canvas().add_node_here();
        QCOMPARE(stages(), most);
        document.undo_stack().undo();
        QCOMPARE(stages(), most);
        for (int i = 0; i < 5; ++i) document.undo_stack().undo();
        QCOMPARE(stages(), 3);
        document.edit("Stages", [](Experiment& e) { e.pipeline.stages = 2; });
        w->design_page().canvas().add_node_here();
        QVERIFY2(stages() == 2, "somebody set it");
        document.start_new(six_in_two_regions());
        w->design_page().canvas().add_node_here();
        QVERIFY2(stages() == 3, "it was no first drawing");
    }

    /// The empty canvas teaches by buttons that do what they say.
    void an_empty_canvas_has_its_first_steps() {
        auto w = window();
        w->open_template({});
        QVERIFY(QTest::qWaitForWindowExposed(w.get()));
        auto& canvas = w->design_page().canvas();
        const auto button = [&](const char* name) { return canvas.findChild<QPushButton*>(name); };
        const auto press = [&](const char* name) { QTest::mouseClick(button(name), Qt::LeftButton); };
        const auto& topology = w->document().experiment().topology;
        auto* steps = canvas.findChild<QWidget*>("first_steps");
        QVERIFY(steps != nullptr && steps->isVisible());
        const auto is_whole = [&] {
            const auto labels = steps->findChildren<QLabel*>();
            return canvas.viewport()->rect().contains(steps->geometry()) &&
                   std::all_of(labels.begin(), labels.end(), [](const QLabel* label) {
                       return !label->isVisible() || (label->width() >= label->minimumSizeHint().width() &&
                                                      label->height() >= label->heightForWidth(label->width()));
                   });
        };
        QVERIFY2(is_whole(), "none of it is cut off");
        w->resize(1024, 700);
        QTRY_VERIFY2(is_whole(), "nor in a small window");
        QCOMPARE(button("first_step_1")->property("role").toString(), QString("accent"));
        press("first_step_3");
        QCOMPARE(w->focusWidget()->objectName(), QString("stages"));
        press("first_step_1");
        QCOMPARE(topology.regions.size(), std::size_t{1});
        QCOMPARE(topology.nodes.size(), std::size_t{3});
        QCOMPARE(button("next_step")->text(), QString("Launch"));  // a region of three is linked by its switch
        // A second region pushes the first not out of sight, is filled by the next step, and what is linked is set.
        const auto is_in_sight = [&] {
            return canvas.mapToScene(canvas.viewport()->rect())
                .boundingRect()
                .contains(canvas.scene_model().things_box());
        };
        canvas.add_region_here();
        QVERIFY(is_in_sight());
        QCOMPARE(button("next_step")->text(), QString("Add three nodes"));
        press("next_step");
        QCOMPARE(topology.nodes.size(), std::size_t{6});
        QVERIFY(topology.nodes.back().region == "region-2" && is_in_sight());
        press("next_step");
        QCOMPARE(w->selection().now(), (Selection{.links = {{"region-1", "region-2"}}}));
        QVERIFY(first_error(w->document().faults()) == nullptr);
        QVERIFY(steps->isVisible() && button("next_step")->text() == "Launch");
        // The box of the way covers none of what is drawn.
        QTRY_VERIFY(
            !canvas.mapFromScene(canvas.scene_model().things_box()).boundingRect().intersects(steps->geometry()));
        for (int i = 0; i < 3; ++i) w->document().undo_stack().undo();
        w->document().undo_stack().undo();
        QVERIFY(topology.nodes.empty() && steps->isVisible());
        press("first_step_2");
        QCOMPARE(topology.nodes.size(), std::size_t{6});
        QVERIFY(are_linked(w->document().experiment(), "region-1", "region-2"));
        QVERIFY(first_error(w->document().faults()) == nullptr);
        QTRY_VERIFY_WITH_TIMEOUT(w->plans().ready() != nullptr, patient_ms);
        // Whoever leaves out what the canvas offers is told when it offers nothing any longer.
        QSignalSpy changed(&canvas, &TopologyView::next_step_changed);
        QVERIFY(canvas.has_next_step());
        QTest::mouseClick(canvas.findChild<QToolButton*>("no_steps"), Qt::LeftButton);
        QVERIFY(changed.size() == 1 && !canvas.has_next_step());
        // They stay in the middle where the canvas moves on to another document.
        w->open_template("quick-start");
        w->open_template({});
        QTRY_VERIFY(is_whole());
        QVERIFY((steps->geometry().center() - canvas.viewport()->rect().center()).manhattanLength() <= 2);
        // Node by node: the next step is a button too.
        w->open_template({});
        canvas.add_node_here();
        QVERIFY(steps->isVisible() && button("next_step")->text() == "Add a node");
        QTRY_VERIFY(is_whole() && steps->height() >= button("next_step")->sizeHint().height());
        press("next_step");
        QCOMPARE(topology.nodes.size(), std::size_t{2});
        QCOMPARE(button("next_step")->text(), QString("Link all"));
        press("next_step");
        QCOMPARE(topology.links.size(), std::size_t{1});
        QTest::mouseClick(canvas.findChild<QToolButton*>("no_steps"), Qt::LeftButton);
        QVERIFY(!steps->isVisible());
        w->document().edit("More", [](Experiment& e) { add_node(e, {300, 300}); });
        QVERIFY2(!steps->isVisible(), "nobody wanted them any longer");
        // What is opened was begun elsewhere.
        auto e = six_in_two_regions();
        e.topology.links.clear();
        w->document().start_new(e);
        QVERIFY(!steps->isVisible());
    }

    /// The guide offers what the toolbar does, and no form hides the settings that it speaks of.
    void the_last_step_launches_what_can_be_launched() {
        auto w = window();
        w->open_template({});
        QVERIFY(QTest::qWaitForWindowExposed(w.get()));
        auto& page = w->design_page();
        auto& canvas = page.canvas();
        auto* next = canvas.findChild<QPushButton*>("next_step");
        auto* settings = canvas.findChild<QPushButton*>("show_settings");
        const auto& words = *canvas.findChild<QWidget*>("first_steps");
        const auto says = [&](const QString& what) {
            const auto labels = words.findChildren<QLabel*>();
            return std::any_of(labels.begin(), labels.end(),
                               [&](const QLabel* label) { return label->isVisible() && label->text().contains(what); });
        };
        canvas.add_regions(1);
        QVERIFY2(next->isVisible() && settings->isVisible() && says("link another"), "one region is not the end");
        QTest::mouseClick(settings, Qt::LeftButton);
        QVERIFY(w->selection().now() == Selection{});
        QCOMPARE(w->focusWidget()->objectName(), QString("stages"));
        canvas.add_region_here();
        QVERIFY2(!settings->isVisible(), "there is a step before");
        w->document().undo_stack().undo();
        w->document().undo_stack().undo();
        canvas.add_regions(2);
        w->document().edit("Rounds", [](Experiment& e) { e.pipeline.stages = 6, e.pipeline.microbatches = 30; });
        QVERIFY(next->isVisible() && says("Step 3 of 3"));
        QTRY_VERIFY_WITH_TIMEOUT(w->plans().ready() != nullptr, patient_ms);
        w->document().edit("Skip", [](Experiment& e) { e.pipeline.skip_ratio = 0.67; });
        QTRY_VERIFY_WITH_TIMEOUT(!w->plans().is_busy(), patient_ms);
        QVERIFY(!w->plans().outcome()->has_plan && !w->bar().launch_button().isEnabled());
        QVERIFY2(!next->isVisible() && !canvas.has_next_step(), "what the toolbar does not launch, it does not offer");
        // Why, whole, with a way to what mends it.
        w->resize(1024, 700);
        QTRY_VERIFY(page.figures().text().contains("Show the problem"));
        const auto said = [&] { return plain(page.figures().text()).replace("<br>", " "); };
        QTRY_VERIFY2(said().contains("use every stage at most 6 times  <a"), qPrintable(said()));
        Q_EMIT const_cast<FigureLine&>(page.figures()).linkActivated("problems");
        QVERIFY(page.problems().isVisible());
        w->document().undo_stack().undo();
        QTRY_VERIFY_WITH_TIMEOUT(w->plans().ready() != nullptr, patient_ms);
        QVERIFY(next->isVisible() && w->bar().launch_button().isEnabled());
        QVERIFY(!page.figures().text().contains("Show the problem"));
    }

    /// Nothing is red before anything is drawn, and every pane without a plan has one sentence and one button.
    void empty_panes_lead_on() {
        auto w = window();
        w->open_template({});
        auto& page = w->design_page();
        const auto notes = page.findChildren<EmptyNote*>();
        QCOMPARE(notes.size(), 4);
        QTRY_VERIFY_WITH_TIMEOUT(!w->plans().is_busy(), patient_ms);
        QCOMPARE(page.bottom().tabText(1), QString("Problems"));
        QVERIFY(page.bottom().tabIcon(1).isNull());
        QVERIFY(!page.failure_axis().isVisible() && !page.figures().isVisible());
        see_tab(page.stages());
        QVERIFY(!page.stages().button().isVisible());
        for (auto* note : notes) {
            QVERIFY2(note->words().contains("appears here once there is a plan"), qPrintable(note->words()));
            QCOMPARE(note->button().text(), QString("Add a region of three"));
            page.bottom().setCurrentWidget(note->parentWidget());
            QVERIFY(note->isVisible());
        }
        notes.front()->button().click();
        QCOMPARE(w->document().experiment().topology.nodes.size(), std::size_t{3});
        QTRY_VERIFY_WITH_TIMEOUT(w->plans().ready() != nullptr, patient_ms);
        for (auto* note : notes) {
            page.bottom().setCurrentWidget(note->parentWidget());
            QTRY_VERIFY_WITH_TIMEOUT(note->isHidden(), patient_ms);
        }
        page.bottom().setCurrentIndex(0);
        QVERIFY(page.failure_axis().isVisible() && page.figures().isVisible());
        // Of what cannot be planned it shows why.
        w->document().start_new(six_in_two_regions());
        w->document().edit("Too many", [](Experiment& e) { e.pipeline.stages = 60; });
        w->document().start_new(w->document().experiment());
        QVERIFY(page.problems().count() > 1);
        QTRY_COMPARE_WITH_TIMEOUT(page.stages().note().button().text(),
                                  QString("Show %1 problems").arg(page.problems().count()), patient_ms);
        page.stages().note().button().click();
        QVERIFY(page.problems().isVisible());
        QVERIFY(page.bottom().tabText(1).startsWith("Problems (") && !page.bottom().tabIcon(1).isNull());
    }

    /// The regions of a network that has none but these are linked by the next step.
    void the_next_step_links_regions() {
        auto e = six_in_two_regions();
        e.topology.links.clear();
        QCOMPARE(next_step(e).button, QString("Link region-1 and region-2"));
        add_node(e, {900, 0}, add_region(e, {900, 0}));
        QCOMPARE(next_step(e).button, QString("Link the regions"));
        add_node(e, {1200, 0});
        QCOMPARE(next_step(e).button, QString("Link all"));
        add_region(e, {1500, 0});
        QCOMPARE(next_step(e).button, QString("Add three nodes"));
    }

    /// Keys alone, as README has it: ten to a first plan of two linked regions.
    void ten_keys_make_a_network() {
        auto w = window();
        w->open_template({});
        w->activateWindow();
        QVERIFY(QTest::qWaitForWindowActive(w.get()));
        auto& canvas = w->design_page().canvas();
        canvas.setFocus();
        for (const auto key : {Qt::Key_R, Qt::Key_N, Qt::Key_N, Qt::Key_N, Qt::Key_R, Qt::Key_N, Qt::Key_N, Qt::Key_N})
            QTest::keyClick(&canvas, key);
        QTest::keyClick(&canvas, Qt::Key_A, Qt::ControlModifier);
        QTest::keyClick(&canvas, Qt::Key_L);
        const auto& e = w->document().experiment();
        QCOMPARE(e.topology.nodes.size(), std::size_t{6});
        QVERIFY2(e.topology.regions[0].x < e.topology.regions[1].x, "as one reads");
        QVERIFY(are_linked(e, "region-1", "region-2") && first_error(w->document().faults()) == nullptr);
        QTRY_VERIFY_WITH_TIMEOUT(w->plans().ready() != nullptr, patient_ms);
        // A click beside everything shows the experiment again.
        w->selection().select({.microbatch = 1});
        QTest::mouseClick(canvas.viewport(), Qt::LeftButton, {}, QPoint(5, 5));
        QVERIFY(w->selection().now() == Selection{});
    }

    /// A template, one link half as wide by a factor in its field, ready to be launched.
    void a_link_of_a_template_is_halved() {
        auto w = window();
        w->open_template("quick-start");
        w->document().edit("Fast", [](Experiment& e) { e.pipeline.plan_steps = 300; });
        QTRY_VERIFY_WITH_TIMEOUT(w->plans().ready() != nullptr, patient_ms);
        const Link before = w->document().experiment().topology.links.front();
        w->selection().select({.links = {{before.from, before.to}}});
        auto* field = w->design_page().inspector().widget()->findChild<QLineEdit*>("bandwidth_bytes_per_s");
        QVERIFY(field != nullptr);
        field->setFocus();
        field->selectAll();
        QTest::keyClicks(field, "/2");
        QTest::keyClick(field, Qt::Key_Return);
        QCOMPARE(w->document().experiment().topology.links.front().bandwidth_bytes_per_s,
                 before.bandwidth_bytes_per_s / 2);
        QTRY_VERIFY_WITH_TIMEOUT(w->plans().ready() != nullptr && w->plans().previous_iteration_s() > 0, patient_ms);
        const auto buttons = w->findChildren<QPushButton*>();
        const auto launch = std::find_if(buttons.begin(), buttons.end(),
                                         [](const QPushButton* button) { return button->text() == "Launch"; });
        QVERIFY(launch != buttons.end() && (*launch)->isEnabled());
    }
};

QTEST_MAIN(TestFirstDrawing)
#include "test_first_drawing.moc"
