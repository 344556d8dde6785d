// SPDX-License-Identifier: GPL-3.0-or-later
// The Design workspace: files found again, the camera that stays, devices, shapes, things found by words,
// problems that are mended by a button. The plan's panels: test_plan_panels.cpp; the matrix:
// test_matrix_ways.cpp.
#include <QDropEvent>
#include <QFileDialog>
#include <QMenu>
#include <QMimeData>
#include <QPushButton>
#include <QRegularExpression>
#include <QTemporaryDir>
#include <QtTest>

#include "core/experiment/validate.h"
#include "plugins/planners/all.h"
#include "tests/views/shown_window.h"
#include "tests/views/window_experiments.h"
#include "views/matrix/matrix_values.h"
#include "views/theme/theme.h"
#include "views/inspector/field_text.h"
#include "views/topology/devices.h"
#include "views/topology/edits.h"
#include "views/topology/shapes.h"
#include "views/window/command_palette.h"
#include "views/window/figure_line.h"
#include "views/window/problem_list.h"
#include "views/window/remedies.h"

using namespace skippipe;

class TestDesignWays : public QObject {
    Q_OBJECT
    PlannerRegistry planners_;
    QTemporaryDir folder_;

    std::unique_ptr<MainWindow> window() { return shown_window(planners_, folder_); }

private Q_SLOTS:
    void initTestCase() { register_planners(planners_); }

    /// W14: "mine" is written as mine.json, which the filter shows again.
    void a_name_without_an_ending_gets_one() {
        auto w = window();
        w->document().start_new(six_in_two_regions());
        QTimer::singleShot(0, w.get(), [&] {
            auto* dialog = qobject_cast<QFileDialog*>(QApplication::activeModalWidget());
            if (dialog == nullptr) return;
            dialog->setDirectory(folder_.path());
            auto* name = dialog->findChild<QLineEdit*>("fileNameEdit");
            name->setText("mine");
            QMetaObject::invokeMethod(dialog, "accept", Qt::QueuedConnection);
        });
        QVERIFY(w->save_as());
        QVERIFY(QFile::exists(folder_.filePath("mine.json")) && !QFile::exists(folder_.filePath("mine")));
    }

    /// W14: what was worked on last opens again; what was never saved does not.
    void the_last_document_opens_again() {
        const QString settings = folder_.filePath("window.ini");
        {
            auto w = window();
            w->remember_in(settings);
            QVERIFY2(!w->open_last(), "there was none");
            w->document().start_new(six_in_two_regions());
            w->document().save(folder_.filePath("last.json").toStdString());
        }
        {
            auto w = window();
            w->remember_in(settings);
            QVERIFY(w->open_last());
            QTRY_COMPARE(w->document().file().filename().string(), std::string("last.json"));
            w->open_template("quick-start");
        }
        {
            auto w = window();
            w->remember_in(settings);
            QVERIFY2(!w->open_last(), "a template was shown last");
            w->document().save(folder_.filePath("gone.json").toStdString());
        }
        QVERIFY(QFile::remove(folder_.filePath("gone.json")));
        auto w = window();
        w->remember_in(settings);
        QVERIFY(w->open_last());
        QTRY_VERIFY2(!w->document().experiment().topology.nodes.empty(), "Quick start instead");
        QVERIFY2(w->banner().text().contains("gone.json"), qPrintable(w->banner().text()));
    }

    /// W14: neither a banner nor a click on what is in sight moves the camera.
    void the_camera_stays() {
        auto w = window();
        w->document().start_new(six_in_two_regions());
        QVERIFY(QTest::qWaitForWindowExposed(w.get()));
        auto& canvas = w->design_page().canvas();
        const auto zoom = canvas.transform().m11();
        w->banner().show_message("Something happened");
        QCoreApplication::processEvents();
        QTRY_VERIFY(w->banner().isVisible());
        QCOMPARE(canvas.transform().m11(), zoom);
        const QPointF middle = canvas.mapToScene(canvas.viewport()->rect().center());
        w->selection().select({.nodes = {"node-1"}});
        canvas.reveal_selection();
        QCOMPARE(canvas.mapToScene(canvas.viewport()->rect().center()), middle);
        w->resize(1240, 800);
        const double smaller = canvas.transform().m11();
        canvas.fit();
        QVERIFY2(canvas.transform().m11() == smaller, "who moved nothing sees all of it in any window");
        canvas.scale(8, 8);
        canvas.centerOn(400, 160);
        canvas.reveal_selection();
        QVERIFY(canvas.viewport()->rect().contains(canvas.mapFromScene(QPointF(0, 0))));
        w->resize(800, 600);
        QVERIFY2(canvas.transform().m11() < 4, "another size of the window shows everything again");
    }

    /// W7: what has costs only is simulated, and called so.
    void costs_alone_are_simulated() {
        auto w = window();
        w->open_template("authors-18");
        QCOMPARE(w->bar().launch_button().text(), QString("Simulate"));
        w->open_template("quick-start");
        QCOMPARE(w->bar().launch_button().text(), QString("Launch"));
    }

    void a_device_is_dropped_with_its_figures() {
        auto w = window();
        w->document().start_new({});
        auto& canvas = w->design_page().canvas();
        QMimeData data;
        data.setData(TopologyView::device_mime, "T4");
        const QPoint at = canvas.viewport()->rect().center();
        QDragEnterEvent enter(at, Qt::CopyAction, &data, Qt::LeftButton, {});
        QApplication::sendEvent(canvas.viewport(), &enter);
        QVERIFY(enter.isAccepted());
        QDropEvent drop(at, Qt::CopyAction, &data, Qt::LeftButton, {});
        QApplication::sendEvent(canvas.viewport(), &drop);
        const auto& nodes = w->document().experiment().topology.nodes;
        QCOMPARE(nodes.size(), std::size_t{1});
        QCOMPARE(nodes[0].id, std::string("t4-1"));
        QCOMPARE(nodes[0].memory_bytes, std::optional<double>(16e9));
        // 6 D F + 8 D^2 + 4 T D a token, of T tokens, at 40 % of 65 TFLOP/s.
        const ModelSpec& m = w->document().experiment().model;
        const double d = m.width, f = 344, t = m.sequence;
        const double exact_s = (6 * d * f + 8 * d * d + 4 * t * d) * t / (65e12 * 0.4);
        QVERIFY(std::abs(nodes[0].seconds_per_sample_per_block / exact_s - 1) < 0.005);
        QVERIFY2(to_field(nodes[0].seconds_per_sample_per_block).size() <= 8, "three digits and the exponent are read");
        QMimeData file;
        file.setText("not a device");
        QDragEnterEvent other(at, Qt::CopyAction, &file, Qt::LeftButton, {});
        QApplication::sendEvent(canvas.viewport(), &other);
        QVERIFY(!other.isAccepted());
        w->design_page().tools().devices().setCurrentRow(0);
        Q_EMIT w->design_page().tools().devices().itemActivated(w->design_page().tools().devices().item(0));
        QCOMPARE(nodes.back().id, std::string("h100-1"));
    }

    /// Dropped on others it comes to lie beside them, as near as there is room.
    void a_device_lands_on_no_node() {
        auto w = window();
        Experiment e;
        for (int i = 0; i < 3; ++i) add_node(e, {70.0 * i, 0});
        w->document().start_new(e);
        auto& canvas = w->design_page().canvas();
        QMimeData data;
        data.setData(TopologyView::device_mime, "T4");
        for (int i = 0; i < 3; ++i) {
            const QPoint at = canvas.mapFromScene(QPointF(70, 0));
            QDragEnterEvent enter(at, Qt::CopyAction, &data, Qt::LeftButton, {});
            QApplication::sendEvent(canvas.viewport(), &enter);
            QDropEvent drop(at, Qt::CopyAction, &data, Qt::LeftButton, {});
            QApplication::sendEvent(canvas.viewport(), &drop);
            const auto& nodes = w->document().experiment().topology.nodes;
            QCOMPARE(nodes.size(), e.topology.nodes.size() + static_cast<std::size_t>(i) + 1);
            const Node& dropped = nodes.back();
            QVERIFY(std::hypot(dropped.x - 70, dropped.y) < 160);
            for (std::size_t other = 0; other + 1 < nodes.size(); ++other)
                QVERIFY2(std::hypot(nodes[other].x - dropped.x, nodes[other].y - dropped.y) > 2 * node_radius + 10,
                         nodes[other].id.c_str());
        }
    }

    void every_shape_can_be_planned() {
        for (const Shape shape : {Shape::ring, Shape::star, Shape::two_data_centres, Shape::random})
            for (const int nodes : {least_shape_nodes, 13}) {
                Experiment e = make_shape(shape, nodes, 3);
                QCOMPARE(static_cast<int>(e.topology.nodes.size()), nodes);
                const Fault* error = first_error(validate(e));
                QVERIFY2(error == nullptr, error == nullptr ? "" : error->what.c_str());
                QVERIFY(e.costs.all_reduce == AllReduceRule::planned);
                e.pipeline.plan_steps = 50;
                const auto outcome = make_plan(e, *planners_.find("skippipe-joint"), request_for(e));
                QVERIFY2(outcome->has_plan && outcome->score.violations.empty(), e.name.c_str());
                QVERIFY(make_shape(shape, nodes, 3) == make_shape(shape, nodes, 3));
            }
        QVERIFY(!(make_shape(Shape::random, 9, 1) == make_shape(Shape::random, 9, 2)));
    }

    void a_shape_is_chosen_from_the_palette() {
        auto w = window();
        auto& tools = w->design_page().tools();
        tools.findChild<QSpinBox*>("shape_nodes")->setValue(9);
        for (auto* entry : tools.findChild<QMenu*>()->actions())
            if (entry->text() == "Two data centres") entry->trigger();
        QCOMPARE(w->document().experiment().topology.nodes.size(), std::size_t{9});
        QCOMPARE(w->document().experiment().topology.regions.size(), std::size_t{2});
    }

    /// What is listed beside the canvas says how fast it is.
    void devices_have_their_figures() {
        auto w = window();
        const auto* list = w->design_page().tools().findChild<QListWidget*>("devices");
        QCOMPARE(plain(list->item(0)->data(Qt::AccessibleDescriptionRole).toString()), QString("989 TFLOP/s, 80 GB"));
        QVERIFY(list->sizeHintForRow(0) >= size::row);
        // A device is what a node's work is on; what a node is drawn after is hardware.
        QCOMPARE(list->accessibleName(), QString("Hardware"));
        QVERIFY(!list->toolTip().contains("device", Qt::CaseInsensitive));
    }

    /// A node's menu says where it stands and serves.
    void a_node_is_moved_by_its_menu() {
        auto w = window();
        w->document().start_new(six_in_two_regions());
        QTRY_VERIFY_WITH_TIMEOUT(w->plans().ready() != nullptr, patient_ms);
        const auto pick = [&](const QString& words, const QString& in = {}) {
            QMenu menu;
            Q_EMIT w->design_page().canvas().menu_wanted({.nodes = {"node-1"}}, menu);
            for (auto* action : (in.isEmpty() ? &menu : [&] {
                     for (auto* sub : menu.findChildren<QMenu*>())
                         if (sub->title() == in) return sub;
                     return &menu;
                 }())->actions())
                if (action->text() == words) return action->trigger(), true;
            return false;
        };
        QVERIFY(pick("Select region"));
        QCOMPARE(w->selection().now().regions, std::set<std::string>{"region-1"});
        QVERIFY(!pick("region-1", "Move to region"));
        QVERIFY(pick("region-2", "Move to region"));
        const auto& e = w->document().experiment();
        QCOMPARE(e.topology.nodes.front().region, std::string("region-2"));
        QVERIFY2(e.topology.nodes.front().x > 400, "beside those that are there");
        w->document().undo_stack().undo();
        QTRY_VERIFY_WITH_TIMEOUT(w->plans().ready() != nullptr, patient_ms);
        QVERIFY(pick("Stage 2", "Pin to stage"));
        const auto& placed = e.pipeline.placement;
        QVERIFY(placed.size() == 3 && std::find(placed[2].begin(), placed[2].end(), "node-1") != placed[2].end());
    }

    /// A link is drawn to a node by its name; one that is linked already is not offered.
    void a_node_is_linked_by_its_menu() {
        auto w = window();
        w->document().start_new(six_in_two_regions());
        const auto entries = [&](const Selection& subject, const QString& pick = {}) {
            QMenu menu;
            Q_EMIT w->design_page().canvas().menu_wanted(subject, menu);
            QStringList names;
            if (const auto* to = menu.findChild<QMenu*>("link_to"))
                for (auto* action : to->actions()) {
                    names << action->text();
                    if (action->text() == pick) action->trigger();
                }
            return names.join(' ');
        };
        QCOMPARE(entries({.nodes = {"node-1"}}, "node-5"), QString("node-2 node-3 node-4 node-5 node-6"));
        const Experiment& e = w->document().experiment();
        QVERIFY(are_linked(e, "node-1", "node-5"));
        QCOMPARE(w->selection().now().links, (std::set<LinkKey>{{"node-1", "node-5"}}));
        QCOMPARE(entries({.nodes = {"node-1"}}), QString("node-2 node-3 node-4 node-6"));
        w->document().undo_stack().undo();
        QVERIFY(!are_linked(w->document().experiment(), "node-1", "node-5"));
        QVERIFY2(entries({.regions = {"region-1"}}).isEmpty(), "the only other region is linked");
        QVERIFY2(entries({.nodes = {"node-1", "node-2"}}).isEmpty(), "of two nodes each is linked with the other");
        w->open_template("authors-42");
        const QString regions = entries({.nodes = {"n0"}});
        QVERIFY2(regions.contains("Japan") && !regions.contains("n5"), "many nodes stand below their regions");
        w->open_template("authors-20");
        QVERIFY2(entries({.nodes = {"n0"}}).isEmpty(), "hop times replace links");
    }

    void an_action_and_a_node_are_found_by_words() {
        auto w = window();
        w->document().start_new(six_in_two_regions());
        QVERIFY(QTest::qWaitForWindowExposed(w.get()));
        const auto palette = [&] { return w->findChild<CommandPalette*>(); };
        const auto ask = [&] {
            for (auto* action : w->actions())
                if (action->shortcut() == QKeySequence(Qt::CTRL | Qt::Key_K)) action->trigger();
        };
        ask();
        QVERIFY(palette() != nullptr);
        QTest::keyClicks(&palette()->line(), "node node-5");
        QCOMPARE(palette()->list().count(), 1);
        QTest::keyClick(&palette()->line(), Qt::Key_Return);
        QTRY_VERIFY(w->selection().now().nodes.contains("node-5"));
        QTRY_VERIFY(palette() == nullptr);
        ask();
        QVERIFY(palette() != nullptr);
        QTest::keyClicks(&palette()->line(), "select every");
        QTest::keyClick(&palette()->line(), Qt::Key_Return);
        QTRY_COMPARE(w->selection().now().nodes.size(), std::size_t{6});
        QTRY_VERIFY(palette() == nullptr);
        w->activateWindow();
        w->design_page().canvas().setFocus();
        QTRY_VERIFY(w->design_page().canvas().hasFocus());
        QTest::keyClick(&w->design_page().canvas(), Qt::Key_F, Qt::ControlModifier);
        QVERIFY(palette() != nullptr);
        QCOMPARE(palette()->list().count(), 8);  // six nodes, two regions, no action
        QTest::keyClicks(&palette()->line(), "node-2");
        QTest::keyClick(&palette()->line(), Qt::Key_Return);
        QTRY_COMPARE(w->selection().now().nodes, std::set<std::string>{"node-2"});
        const std::vector<PaletteEntry> entries{{"View", "Watch", "", {}}, {"Canvas", "Tidy up", "", {}}};
        QCOMPARE(find_entries(entries, "UP tidy"), std::vector<std::size_t>{1});
        QVERIFY(find_entries(entries, "nothing").empty());
        const std::vector<PaletteEntry> places{
            {"Region", "Iowa", "", {}}, {"Region", "London", "", {}}, {"Region", "on Sea", "", {}}};
        QCOMPARE(find_entries(places, "on"), (std::vector<std::size_t>{2, 1, 0}));
        // Written as one word it is found, too; before anything is typed what is likely stands first.
        const std::vector<PaletteEntry> layouts{
            {"File", "New", "", {}, 2}, {"Canvas", "Lay out by stage", "", {}, 1}, {"Canvas", "Play", "", {}, -1}};
        QCOMPARE(find_entries(layouts, "layout"), std::vector<std::size_t>{1});
        QCOMPARE(find_entries(layouts, "layout stage"), std::vector<std::size_t>{1});
        QCOMPARE(find_entries(layouts, ""), (std::vector<std::size_t>{2, 1, 0}));
        QTRY_VERIFY(palette() == nullptr);
        ask();
        QVERIFY(palette() != nullptr);
        QCOMPARE(palette()->list().item(0)->text(), QString("node-2"));  // it was used last
        QCOMPARE(palette()->list().item(1)->text(), QString("Select everything"));
        QStringList said;
        for (int row = 0; row < palette()->list().count(); ++row) said << palette()->list().item(row)->text();
        QVERIFY2(said.contains("Export spans as CSV…") && !said.contains("Spans as CSV…"), "by a verb");
        QVERIFY(said.indexOf("Fit everything") < said.indexOf("New"));
        palette()->close();
    }

    void problems_are_mended_by_a_button() {
        auto w = window();
        Experiment e = six_in_two_regions();
        e.pipeline.stages = 9;
        w->document().start_new(e);
        auto* bar = w->design_page().problems().parentWidget()->findChild<RemedyBar*>();
        QTRY_VERIFY(bar->findChild<QPushButton*>() != nullptr);
        const auto button = [&](const QString& words) -> QPushButton* {
            for (auto* b : bar->findChildren<QPushButton*>())
                if (b->text() == words && !b->isHidden()) return b;
            return nullptr;
        };
        QTRY_VERIFY(button("Use 6 stages") != nullptr && button("Use 6 stages")->isEnabled());
        button("Use 6 stages")->click();
        QCOMPARE(w->document().experiment().pipeline.stages, 6);
        QVERIFY(first_error(w->document().faults()) == nullptr);

        // One node that nothing reaches, as a newcomer makes it.
        w->document().edit("Add", [](Experiment& x) { add_node(x, {900, 0}); });
        const Fault* unlinked = first_error(w->document().faults());
        QVERIFY(unlinked != nullptr);
        // It is told by its node's name, what to do and why below it, whole in any width.
        ProblemList list(w->document(), w->plans());
        list.show_faults({*unlinked});
        list.show();
        const QString id = QString::fromStdString(w->document().experiment().topology.nodes.back().id);
        QCOMPARE(list.item(0)->text(), QString("No link reaches node \"%1\"").arg(id));
        QVERIFY(list.item(0)->data(Qt::AccessibleTextRole).toString().contains("Draw a link to or from it"));
        const auto row_height = [&](int width) {
            list.resize(width, 200);
            return list.sizeHintForRow(0);
        };
        QVERIFY(row_height(200) > row_height(600));
        QVERIFY2(row_height(600) > 2 * list.fontMetrics().height(), "two lines at least");
        QCOMPARE(list.horizontalScrollBarPolicy(), Qt::ScrollBarAlwaysOff);
        QTRY_VERIFY2(w->findChild<FigureLine*>()->toolTip().contains("No plan. No link reaches node"),
                     qPrintable(w->findChild<FigureLine*>()->toolTip()));
        const auto remedies = remedies_for(*unlinked, w->document().experiment());
        QVERIFY(!remedies.empty());
        for (const auto& remedy : remedies) {
            Experiment mended = w->document().experiment();
            remedy.mend(mended);
            QVERIFY2(first_error(validate(mended)) == nullptr, qPrintable(remedy.words));
        }
        QCOMPARE(w->design_page().problems().currentRow(), 0);
        QTRY_COMPARE(bar->findChild<QLabel*>()->text(), QString("Remedy for %1:").arg(id));
        // It stands in the row of what it mends, and the nearest region is offered before many links.
        auto& rows = w->design_page().problems();
        w->design_page().bottom().setCurrentWidget(rows.parentWidget());
        QTRY_VERIFY(bar->isVisible() && bar->height() > 20);
        QTRY_VERIFY(rows.visualItemRect(rows.currentItem()).contains(bar->geometry()));
        QVERIFY(rows.visualItemRect(rows.currentItem()).height() > row_height(rows.viewport()->width()) + 20);
        QCOMPARE(remedies.front().words, QString("Put %1 in region-2").arg(id));
        // Where they would be cut short beside each other they stand one below the other.
        w->resize(1024, 700);
        auto* strip = w->design_page().plan_timeline().parentWidget()->findChild<RemedyBar*>();
        w->design_page().bottom().setCurrentIndex(0);
        const auto are_whole = [&] {
            const auto buttons = strip->findChildren<QPushButton*>();
            return buttons.size() > 1 && std::all_of(buttons.begin(), buttons.end(), [](const QPushButton* one) {
                       return one->isVisible() && one->width() >= one->sizeHint().width();
                   });
        };
        QTRY_VERIFY_WITH_TIMEOUT(are_whole(), patient_ms);
        // What no edit of the window mends has no button.
        QVERIFY(remedies_for(Fault{.pointer = "/nowhere", .what = "?"}, six_in_two_regions()).empty() ||
                first_error(validate(six_in_two_regions())) == nullptr);
    }

    /// Offered is what leads to a plan, not to the next problem, and it says what it clears.
    void remedies_lead_to_a_plan() {
        for (const int stages : {8, 5}) {
            auto w = window();
            w->open_template("quick-start");
            const auto sizes = w->document().experiment().pipeline.stage_sizes;
            w->document().edit("Stages", [&](Experiment& e) { e.pipeline.stages = stages; });
            const Faults faults = w->document().faults();
            QCOMPARE(faults.size(), std::size_t{2});
            for (const auto& fault : faults) {
                const auto remedies = remedies_for(fault, w->document().experiment());
                QVERIFY2(!remedies.empty(), fault.what.c_str());
                QCOMPARE(remedies.front().words, QString("Use 6 stages"));
                for (const auto& remedy : remedies) {
                    Experiment mended = w->document().experiment();
                    remedy.mend(mended);
                    QVERIFY2(validate(mended).empty(), qPrintable(remedy.words));
                    QCOMPARE(remedy.cleared.size(), std::size_t{2});
                    QCOMPARE(remedy.left, std::size_t{0});
                }
                Experiment mended = w->document().experiment();
                remedies.front().mend(mended);
                QVERIFY2(mended.pipeline.stage_sizes == sizes, "what fits stays");
            }
            auto* bar = w->design_page().problems().parentWidget()->findChild<RemedyBar*>();
            QTRY_VERIFY_WITH_TIMEOUT(bar->findChild<QPushButton*>() != nullptr, patient_ms);
            const QString tip = bar->findChild<QPushButton*>()->toolTip();
            for (const char* words : {"Clears: Stage sizes: 6 sizes", "Clears: Blocks: 6 blocks over"})
                QVERIFY2(tip.contains(words), qPrintable(tip));
            QVERIFY2(!tip.contains("Empties") && !tip.contains("remain"), qPrintable(tip));
        }
        // Where none leads to a plan, what each empties and what remains is said.
        auto w = window();
        w->open_template("quick-start");
        w->document().edit("Sizes", [](Experiment& e) {
            e.pipeline.stage_sizes.back() = 9;
            e.topology.nodes[0].region = "Nowhere";
        });
        auto* bar = w->design_page().problems().parentWidget()->findChild<RemedyBar*>();
        const auto says = [&](const char* words) {
            const auto buttons = bar->findChildren<QPushButton*>();
            return std::any_of(buttons.begin(), buttons.end(),
                               [&](const QPushButton* one) { return one->toolTip().contains(words); });
        };
        auto& list = w->design_page().problems();
        for (int row = 0; row < list.count(); ++row)
            if (list.item(row)->text().startsWith("Stage sizes")) list.setCurrentRow(row);
        QTRY_VERIFY_WITH_TIMEOUT(says("Empties Stage sizes") && says("1 error remains"), patient_ms);
    }

    /// Whether a plan leaves a node out or sends nothing through it: it is told, with a button.
    void idle_nodes_are_told_by_one_rule() {
        auto w = window();
        Experiment e = six_in_two_regions();
        add_node(e, {900, 0}, "region-2");
        e.pipeline.stages = 6;
        w->document().start_new(e);
        QTRY_VERIFY_WITH_TIMEOUT(w->plans().ready() != nullptr, patient_ms);
        PlanOutcome plan = *w->plans().ready();
        constexpr int last = 6;
        for (auto& path : plan.plan.paths) std::erase(path.nodes, NodeIndex(last));
        const auto why_last = [&] {
            for (const auto& fault : unused_nodes(plan))
                if (fault.what == plan.problem.node_ids[last] + " executes nothing") return fault.why;
            return std::string("not told");
        };
        QVERIFY2(why_last().find("all-reduces over it") != std::string::npos, why_last().c_str());
        for (auto& stage : plan.plan.stages) std::erase(stage, NodeIndex(last));
        QVERIFY2(why_last().find("leaves it out") != std::string::npos, why_last().c_str());
        // Of a stage of a given size its place goes with it.
        Fault idle;
        idle.severity = Fault::Severity::warning;
        idle.pointer = "/topology/nodes/6";
        idle.why = "the plan sends no microbatch through it, and stage 1 all-reduces over it all the same";
        QCOMPARE(idle_stage(idle), std::optional{1});
        e.pipeline.stage_sizes = {1, 2, 1, 1, 1, 1};
        const auto remedies = remedies_for(idle, e);
        QCOMPARE(remedies.size(), std::size_t{1});
        remedies.front().mend(e);
        QCOMPARE(e.topology.nodes.size(), std::size_t{6});
        QCOMPARE(e.pipeline.stage_sizes, std::vector<int>(6, 1));
        idle.why = "the plan that was found leaves it out";
        QVERIFY(!idle_stage(idle));
    }

    /// Of what only a plan finds nothing is offered that the next plan may make vain.
    void what_a_plan_finds_is_mended_for_sure() {
        Experiment e = six_in_two_regions();
        e.pipeline.stages = 6;
        e.pipeline.blocks_per_stage.assign(6, 1);
        Fault idle;
        idle.severity = Fault::Severity::warning;
        idle.pointer = "/topology/nodes/0";
        idle.what = "node-1 executes nothing";
        QStringList words;
        for (const auto& remedy : remedies_for(idle, e)) words << remedy.words;
        QVERIFY2(!words.join('/').contains("stages") && !words.join('/').contains("Link"), qPrintable(words.join('/')));
        e.pipeline.stages = 3;
        e.pipeline.blocks_per_stage.assign(3, 2);
        words.clear();
        for (const auto& remedy : remedies_for(idle, e)) words << remedy.words;
        QCOMPARE(words, QStringList{"Remove node-1"});
        // As many stages as there are is no remedy.
        e.pipeline.blocks_per_stage.assign(3, 1);
        const Faults faults = validate(e);
        const Fault* wrong = first_error(faults);
        QVERIFY(wrong != nullptr);
        words.clear();
        for (const auto& remedy : remedies_for(*wrong, e)) words << remedy.words;
        QVERIFY2(!words.isEmpty() && !words.contains("Use 3 stages"), qPrintable(words.join('/')));
        auto w = window();
        w->document().start_new(e);
        QCOMPARE(fault_words(idle, w->document()), QString("node-1 executes nothing"));
    }

    /// Every plan fills the list anew.
    void the_problem_at_hand_stays() {
        auto w = window();
        w->open_template("quick-start");
        w->document().edit("Slips", [](Experiment& e) {
            e.topology.links[0].latency_s = 129;
            e.topology.links[1].latency_s = 129;
            e.pipeline.stages = 99;
        });
        auto& list = w->design_page().problems();
        QVERIFY(list.count() >= 3);
        list.setCurrentRow(list.count() - 1);
        const QString words = list.currentItem()->text();
        w->document().edit("Stages", [](Experiment& e) { e.pipeline.stages = 6; });
        QVERIFY(list.count() >= 2);
        QCOMPARE(list.currentItem()->text(), words);
        QVERIFY(list.currentRow() > 0);
    }

    /// Regions without a link between them are told as such, and linked by the first button.
    void regions_that_are_apart_are_linked_by_a_button() {
        auto w = window();
        Experiment e = six_in_two_regions();
        e.topology.links.clear();
        e.pipeline.stages = 6;
        w->document().start_new(e);
        auto* bar = w->design_page().plan_timeline().parentWidget()->findChild<RemedyBar*>();
        QTRY_VERIFY_WITH_TIMEOUT(bar->findChild<QPushButton*>() != nullptr, patient_ms);
        QVERIFY2(w->design_page().figures().toolTip().contains("region-1 and region-2 are not linked"),
                 qPrintable(w->design_page().figures().toolTip()));
        const auto faults = static_cast<const ProblemList&>(w->design_page().problems()).faults();
        QVERIFY2(std::count_if(faults.begin(), faults.end(),
                               [](const Fault& fault) { return fault.pointer == "/topology/links"; }) == 1,
                 "what was a warning before there was no plan is told once");
        const auto buttons = bar->findChildren<QPushButton*>();
        QCOMPARE(buttons.size(), 1);  // to link everything would be the same
        QCOMPARE(buttons.front()->text(), QString("Link region-1 and region-2"));
        buttons.front()->click();
        QVERIFY(are_linked(w->document().experiment(), "region-1", "region-2"));
        QTRY_VERIFY_WITH_TIMEOUT(w->plans().ready() != nullptr, patient_ms);
    }

    /// What keeps an experiment from being launched stands first; a slip of the unit is mended by what others have.
    void errors_come_first() {
        auto w = window();
        w->open_template("quick-start");
        w->document().edit("Slips", [](Experiment& e) {
            e.topology.links[0].latency_s = 129;
            e.topology.links[1].bandwidth_bytes_per_s *= 1024;
            e.pipeline.stages = 99;
        });
        const auto faults = static_cast<const ProblemList&>(w->design_page().problems()).faults();
        QVERIFY(faults.size() >= 3 && faults.front().severity == Fault::Severity::error);
        QVERIFY(faults.back().severity == Fault::Severity::warning);
        const std::pair<const char*, const char*> slips[] = {{"/latency_s", " ms"},
                                                             {"/bandwidth_bytes_per_s", "bit/s"}};
        w->document().edit("Stages", [](Experiment& e) { e.pipeline.stages = 6; });
        for (const auto& [field, unit] : slips)
            for (const auto& fault : w->document().faults()) {
                if (!fault.pointer.ends_with(field)) continue;
                QVERIFY2(QString::fromStdString(fault.what).count(QRegularExpression("\\d{7}|e\\+")) == 0,
                         fault.what.c_str());
                const auto remedies = remedies_for(fault, w->document().experiment());
                QVERIFY(!remedies.empty());
                QVERIFY2(remedies.front().words.startsWith("Give it the median") &&
                             plain(remedies.front().words).endsWith(unit),
                         qPrintable(remedies.front().words));
            }
    }

    /// Of nodes that stand in no region.
    void groups_without_a_link_are_told() {
        auto w = window();
        Experiment e;
        for (int i = 0; i < 4; ++i) add_node(e, {100.0 * i, 0});
        add_link(e, "node-1", "node-2");
        add_link(e, "node-3", "node-4");
        e.pipeline.stages = 3;  // which do not fit into two nodes
        w->document().start_new(e);
        const auto& list = static_cast<const ProblemList&>(w->design_page().problems());
        const auto of_links = [&] {
            Faults found;
            for (const auto& fault : list.faults())
                if (fault.pointer == "/topology/links") found.push_back(fault);
            return found;
        };
        QCOMPARE(of_links().size(), std::size_t{1});
        QVERIFY2(of_links()[0].what.find("2 groups") != std::string::npos, of_links()[0].what.c_str());
        const auto remedies = remedies_for(of_links()[0], w->document().experiment());
        QVERIFY(!remedies.empty());
        QCOMPARE(remedies.front().words, QString("Link the two groups"));
        QTRY_VERIFY_WITH_TIMEOUT(w->plans().outcome() && !w->plans().is_busy(), patient_ms);
        QVERIFY(!w->plans().outcome()->has_plan);
        w->document().edit("Mend", remedies.front().mend);
        QVERIFY(are_linked(w->document().experiment(), "node-1", "node-4") && of_links().empty());
        QTRY_VERIFY_WITH_TIMEOUT(w->plans().ready() != nullptr, patient_ms);
    }

    /// Of many nodes some are named.
    void many_idle_nodes_are_told_in_one_line() {
        auto w = window();
        Experiment e = make_shape(Shape::two_data_centres, 16, 1);
        e.pipeline.stages = 2;
        e.pipeline.microbatches = 2;
        e.pipeline.planner = "gpipe";
        w->document().start_new(e);
        QTRY_VERIFY_WITH_TIMEOUT(w->plans().ready() != nullptr, patient_ms);
        const auto faults = static_cast<const ProblemList&>(w->design_page().problems()).faults();
        QCOMPARE(faults.size(), std::size_t{1});
        const QString words = QString::fromStdString(faults[0].what);
        QVERIFY2(words.contains(QRegularExpression(" and \\d+ more$")), qPrintable(words));
        QCOMPARE(words.count("node-"), 5);
        // It has its stage in the plan's lanes too.
        for (const auto& lane : w->plans().ready()->lanes->lanes()) QVERIFY2(lane.stage >= 0, lane.name.c_str());
    }

    /// What is wrong with the text of a file alone is mended in its field: no button seems to do it.
    void faults_of_a_file_have_no_buttons() {
        auto w = window();
        Experiment e = six_in_two_regions();
        e.pipeline.stages = 9;
        w->document().open({"x.json", e, {{"/seed", "-1 is out of range", "", ""}}});
        auto& problems = w->design_page().problems();
        auto* bar = problems.parentWidget()->findChild<RemedyBar*>();
        QVERIFY(problems.item(0)->text().startsWith("Seed") && problems.count() > 1);
        problems.setCurrentRow(problems.count() - 1);
        QTRY_VERIFY_WITH_TIMEOUT(bar->findChild<QPushButton*>() != nullptr, patient_ms);
        problems.setCurrentRow(0);
        QTRY_VERIFY(bar->findChild<QPushButton*>() == nullptr && !bar->isVisibleTo(bar->parentWidget()));
    }
};

QTEST_MAIN(TestDesignWays)
#include "test_design_ways.moc"
