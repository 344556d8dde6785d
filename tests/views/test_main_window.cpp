// SPDX-License-Identifier: GPL-3.0-or-later
// The window's Design workspace whole: names, figures, faults, planners, why a plan takes as long as it does.
#include <QComboBox>
#include <QMenu>
#include <QPushButton>
#include <QSplitter>
#include <QStatusBar>
#include <QTemporaryDir>
#include <QTextDocument>
#include <QToolButton>
#include <QtTest>

#include "core/experiment/io.h"
#include "plugins/planners/all.h"
#include "tests/views/window_experiments.h"
#include "views/compare/differences.h"
#include "views/theme/numbers.h"
#include "views/theme/theme.h"
#include "views/timeline/colours.h"
#include "views/window/main_window.h"

using namespace skippipe;

class TestMainWindow : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() { register_planners(planners_); }

    void lanes_keep_their_names_beside_the_axis() {
        QTemporaryDir folder;
        MainWindow window(planners_, folder.filePath("record.sqlite").toStdString());
        window.open_template("quick-start");
        window.document().edit("fast", [](Experiment& e) { e.pipeline.planner = "gpipe"; });
        window.show();
        QVERIFY(QTest::qWaitForWindowExposed(&window));
        auto& page = window.design_page();
        QTRY_VERIFY_WITH_TIMEOUT(page.plan_timeline().data() != nullptr && !window.plans().is_busy(), patient_ms);
        const auto is_named = [&] {
            return page.plan_timeline().height() >= page.plan_timeline().height_for_least_lanes();
        };
        const auto& axis = page.failure_axis();
        const auto& plan = *window.findChild<PlanArea*>();
        const auto heights = [&] {
            return QStringLiteral("lanes %1 of %2, axis %3 of %4 to %5, busy %6")
                .arg(page.plan_timeline().height())
                .arg(page.plan_timeline().height_for_least_lanes())
                .arg(axis.height())
                .arg(axis.minimumSizeHint().height())
                .arg(axis.sizeHint().height())
                .arg(window.plans().is_busy());
        };
        QCOMPARE(axis.height(), axis.sizeHint().height());
        QCOMPARE(page.plan_timeline().place_of(0, 0).x(), axis.names_width());  // one left edge for both times
        for (const QSize size : {QSize(1280, 800), QSize(1024, 700)}) {
            window.resize(size);
            window.document().edit("calm", [](Experiment& e) { e.failures.clear(); });
            // Where nothing fails a row of the axis gives way to names that stand one below the other.
            QTRY_VERIFY2(page.plan_timeline().height() >= plan.height_for_names(), qPrintable(heights()));
            QTRY_COMPARE(axis.height() < axis.sizeHint().height(), size.height() < 800);
            QTRY_VERIFY2(page.canvas().height() >= 0.45 * page.height() - 1,
                         qPrintable(QString("%1 of %2").arg(page.canvas().height()).arg(page.height())));
            for (const char* node : {"n0", "n1", "n2", "n3", "n4"}) page.failures().add_crash(node, 20);
            QTRY_VERIFY(axis.height() < axis.sizeHint().height() && axis.height() >= axis.minimumSizeHint().height());
            QTRY_VERIFY_WITH_TIMEOUT(!window.plans().is_busy(), patient_ms);  // that it plans takes a line
            QTRY_VERIFY2(is_named(), qPrintable(heights()));
        }
        // A large screen has room for lanes too; a drawn edge stays.
        auto* rows = window.findChild<QSplitter*>("design_rows");
        window.resize(2560, 1440);
        QTRY_VERIFY(rows->sizes().back() > 0.35 * rows->height() && rows->sizes().back() < 0.5 * rows->height());
        QTRY_VERIFY2(page.inspector().width() > 400, qPrintable(QString::number(page.inspector().width())));
        rows->setSizes({200, 600});  // with room for both the axis has what it would like
        QTRY_COMPARE(axis.height(), axis.sizeHint().height());
        QTRY_VERIFY(is_named());
    }

    /// What is drawn has three fifths of the height, where lanes do not need it for their names, and an edge that
    /// somebody drew stays.
    void the_canvas_has_most_of_the_height() {
        QTemporaryDir folder;
        MainWindow window(planners_, folder.filePath("record.sqlite").toStdString());
        window.open_template("");
        window.show();
        QVERIFY(QTest::qWaitForWindowExposed(&window));
        auto& page = window.design_page();
        auto* rows = window.findChild<QSplitter*>("design_rows");
        const auto share = [&] {
            return static_cast<double>(rows->sizes().front()) / (rows->sizes().front() + rows->sizes().back());
        };
        const auto has_most = [&] {
            for (const QSize size : {QSize(1280, 800), QSize(1024, 700), QSize(1280, 899), QSize(1920, 1080)}) {
                window.resize(size);
                QTRY_VERIFY2(share() >= (size.height() > 1000 ? 0.61 : 0.59), qPrintable(QString::number(share())));
                QTRY_VERIFY2(2 * page.canvas().height() >= page.height(),
                             qPrintable(QString("%1 of %2").arg(page.canvas().height()).arg(page.height())));
            }
        };
        has_most();
        page.canvas().add_regions(2);
        QTRY_VERIFY_WITH_TIMEOUT(page.plan_timeline().data() != nullptr && !window.plans().is_busy(), patient_ms);
        has_most();
        rows->setSizes({400, 500});
        Q_EMIT rows->splitterMoved(400, 1);
        const int drawn = rows->sizes().back();
        window.resize(1920, 1000);
        QTRY_VERIFY(window.height() == 1000 && std::abs(rows->sizes().back() - drawn) <= 2);
        QTest::qWait(50);  // the rows are fitted after the window has its size
        QVERIFY2(std::abs(rows->sizes().back() - drawn) <= 2, qPrintable(QString::number(rows->sizes().back())));
    }

    void a_new_document_plans_its_reductions() {
        QTemporaryDir folder;
        MainWindow window(planners_, folder.filePath("record.sqlite").toStdString());
        window.open_template("quick-start");
        window.document().edit("Charge", [](Experiment& e) { e.costs.all_reduce = AllReduceRule::charged; });
        window.open_template("");
        QVERIFY(window.document().experiment().topology.nodes.empty());
        QVERIFY(window.document().experiment().costs.all_reduce == AllReduceRule::planned);
    }

    /// With a plan, and with what makes panels wide: problems with long remedies.
    void every_panel_fits_a_small_screen() {
        apply_theme(*qApp, false);  // its font and paddings
        QTemporaryDir folder;
        MainWindow window(planners_, folder.filePath("record.sqlite").toStdString());
        window.open_template("quick-start");
        window.document().edit("fast", [](Experiment& e) { e.pipeline.planner = "gpipe"; });
        window.show();
        const auto too_large = [&] {
            for (const auto workspace : {MainWindow::design, MainWindow::watch, MainWindow::compare}) {
                window.show_workspace(workspace);
                for (auto* tabs : window.findChildren<QTabWidget*>())
                    for (int tab = tabs->count(); tab-- > 0;) {
                        tabs->setCurrentIndex(tab);
                        QCoreApplication::sendPostedEvents(nullptr, QEvent::LayoutRequest);
                        const QSize least = window.minimumSizeHint();
                        if (least.width() > 1024 || least.height() > 700)
                            return QString("%1: %2 x %3")
                                .arg(tabs->tabText(tab))
                                .arg(least.width())
                                .arg(least.height());
                    }
            }
            return QString();
        };
        QTRY_VERIFY_WITH_TIMEOUT(window.plans().ready() != nullptr, patient_ms);
        QCOMPARE(too_large(), QString());
        window.document().edit("too much", [](Experiment& e) {
            e.pipeline.stages = 64;
            e.topology.nodes[0].memory_bytes = 1;
            e.failures.push_back({.kind = FailureKind::crash, .target = "nobody"});
        });
        auto* mends = window.design_page().problems().parentWidget()->findChild<RemedyBar*>();
        QTRY_VERIFY(!mends->findChildren<QPushButton*>().isEmpty());
        // In the form's words: files' names of fields are for who writes files.
        QString problems;
        for (int row = 0; row < window.design_page().problems().count(); ++row)
            problems += window.design_page().problems().item(row)->data(Qt::AccessibleTextRole).toString() + '\n';
        QVERIFY2(problems.contains("fill in its Microbatches in memory") && !problems.contains("memory_microbatches"),
                 qPrintable(problems));
        const auto buttons = mends->findChildren<QPushButton*>();
        for (const auto* button : buttons)
            QVERIFY2(button->toolTip().startsWith(button->text()), qPrintable(button->toolTip()));
        QCOMPARE(too_large(), QString());
        window.resize(1024, 700);
        window.show_workspace(MainWindow::design);
        auto* form = window.findChild<Inspector*>();
        QTRY_COMPARE(form->width(), 304);  // the canvas needs the room
        window.findChild<QSplitter*>("design_columns")->setSizes({200, 1000, 10});
        QTRY_COMPARE(form->width(), form->minimumWidth());
        for (auto* section : form->findChildren<QToolButton*>())
            if (section->isCheckable()) section->setChecked(true);
        QTRY_VERIFY(form->widget()->width() <= form->viewport()->width());
    }

    /// Beside runs the bar does not pass for theirs.
    void the_bar_says_that_it_is_the_draft() {
        QTemporaryDir folder;
        MainWindow window(planners_, folder.filePath("record.sqlite").toStdString());
        window.document().start_new({});
        window.resize(1024, 700);
        window.show();
        const QString state = window.bar().state_words();
        for (const auto workspace : {MainWindow::watch, MainWindow::compare}) {
            window.show_workspace(workspace);
            QVERIFY2(window.bar().state_words().startsWith("Draft: "), qPrintable(window.bar().state_words()));
            QVERIFY(!window.bar().skip_link().isVisible() && !window.bar().planner_link().isVisible());
            QCOMPARE(window.bar().findChild<QLabel*>("subject")->text(), QString("No run yet"));
            QCoreApplication::processEvents();
            QCOMPARE(window.width(), 1024);
        }
        window.show_workspace(MainWindow::design);
        QCOMPARE(window.bar().state_words(), state);
        QVERIFY(window.bar().skip_link().isVisible() && !window.bar().findChild<QLabel*>("subject")->isVisible());
    }

    /// Skip ratio and planner have one field each, in the form; the bar tells them, and leads there from anywhere.
    void the_bar_leads_to_the_fields_of_what_it_tells() {
        QTemporaryDir folder;
        MainWindow window(planners_, folder.filePath("record.sqlite").toStdString());
        window.document().start_new(three_linked_nodes());
        window.resize(1024, 700);
        window.show();
        QVERIFY(QTest::qWaitForWindowActive(&window));
        auto &skip = window.bar().skip_link(), &planner = window.bar().planner_link();
        window.document().edit("Skip", [](Experiment& e) { e.pipeline.skip_ratio = 0.33; });
        QCOMPARE(skip.text(), QString("0.33, 2 of 3 stages"));
        QCOMPARE(planner.text(), QString("skippipe-joint"));
        for (const auto& [link, field] : {std::pair{&skip, "skip_ratio"}, std::pair{&planner, "planner"}}) {
            window.selection().select({.nodes = {"node-1"}});
            link->click();
            QVERIFY(window.selection().now().nodes.empty());
            auto* editor = window.design_page().inspector().widget()->findChild<QWidget*>(field);
            QVERIFY(editor != nullptr);
            QTRY_VERIFY2(editor->hasFocus(), field);
        }
        window.document().edit("Full", [](Experiment& e) { e.pipeline.planner = "gpipe"; });
        QCOMPARE(skip.text(), QString("ignored, all 3 stages"));
        QVERIFY(window.bar().findChildren<QComboBox*>().isEmpty());
    }

    void every_bundled_experiment_is_a_template() {
        QTemporaryDir folder;
        MainWindow window(planners_, folder.filePath("record.sqlite").toStdString());
        QSet<QString> opened;
        connect(&window.design_page(), &DesignPage::template_requested, this, [&](const QString& name) {
            if (!name.isEmpty()) opened << name + ".json";
            QVERIFY2(!has_errors(window.document().faults()), qPrintable(name));
        });
        for (auto* button : window.design_page().findChildren<QPushButton*>())
            if (button->toolTip().startsWith("Opens a copy of")) button->click();
        for (auto* entry : window.design_page().tools().findChild<QMenu*>()->actions())
            if (entry->toolTip().startsWith("Opens a copy of")) entry->trigger();
        const auto bundled = QDir(":/experiments").entryList();
        QVERIFY(bundled.size() >= 6);
        QCOMPARE(opened, QSet<QString>(bundled.begin(), bundled.end()));
    }

    /// Where the room is short they are said more briefly, on two lines.
    void figures_of_the_plan_are_never_cut() {
        QTemporaryDir folder;
        MainWindow window(planners_, folder.filePath("record.sqlite").toStdString());
        window.open_template("quick-start");
        window.document().edit("fast", [](Experiment& e) { e.pipeline.planner = "gpipe"; });
        window.show();
        QTRY_VERIFY_WITH_TIMEOUT(window.plans().ready() != nullptr, patient_ms);
        window.document().edit("slower", [](Experiment& e) { e.pipeline.microbatch_samples *= 2; });
        QTRY_VERIFY_WITH_TIMEOUT(window.plans().ready() != nullptr && window.plans().previous_iteration_s() > 0,
                                 patient_ms);
        const auto& figures = window.design_page().figures();
        const auto width = [&] {
            QTextDocument text;
            text.setDocumentMargin(0);
            text.setDefaultFont(figures.font());
            text.setHtml(figures.text());
            return text.idealWidth();
        };
        const auto has_all = [&](const QStringList& all) {
            return std::all_of(all.begin(), all.end(),
                               [&](const QString& one) { return figures.text().contains(one); });
        };
        const QChar left_out(0x2026);
        window.resize(1024, 700);
        QCOMPARE(window.size(), QSize(1024, 700));
        QTRY_VERIFY2(has_all({"an iteration", "Idle", "Sent", "Since last edit", "<br>"}), qPrintable(figures.text()));
        QVERIFY2(width() <= figures.width() && !figures.text().contains(left_out), qPrintable(figures.text()));
        QVERIFY(figures.toolTip().contains("Planned by gpipe"));
        const int high = figures.height();
        window.resize(1900, 800);
        QTRY_VERIFY2(has_all({"an iteration", "Sent"}) && figures.text().count("<br>") == 1 &&
                         figures.text().contains("above the best"),
                     qPrintable(figures.text()));
        QVERIFY(width() <= figures.width() && figures.height() <= high);
        // Tabs beside the canvas's key are whole: it is as brief as leaves them their room.
        window.resize(1024, 700);
        window.selection().select({.nodes = {"n0"}});
        auto& tabs = see_tab(window.design_page().canvas());
        QTRY_VERIFY(window.findChild<CanvasKey*>()->has_bandwidths());
        QTRY_VERIFY(tabs.tabBar()->width() >= tabs.tabBar()->sizeHint().width());
    }

    void selected_nodes_are_linked_and_grouped() {
        QTemporaryDir folder;
        MainWindow window(planners_, folder.filePath("record.sqlite").toStdString());
        Experiment e;
        for (int i = 0; i < 4; ++i) add_node(e, {100.0 * i, 0});
        add_link(e, "node-2", "node-1");
        window.document().start_new(e);
        window.selection().select({.nodes = {"node-1", "node-2", "node-3"}});
        auto& canvas = window.design_page().canvas();
        canvas.link_selected();
        QCOMPARE(window.document().experiment().topology.links.size(), std::size_t{3});
        canvas.group_selected();
        QCOMPARE(window.document().experiment().topology.regions.size(), std::size_t{1});
        const auto& nodes = window.document().experiment().topology.nodes;
        QVERIFY(!nodes[0].region.empty() && nodes[2].region == nodes[0].region && nodes[3].region.empty());
        window.document().undo_stack().undo();
        window.document().undo_stack().undo();
        QVERIFY(window.document().experiment() == e);
    }

    void a_refused_text_stays_is_told_and_keeps_launch_off() {
        QTemporaryDir folder;
        MainWindow window(planners_, folder.filePath("record.sqlite").toStdString());
        window.open_template("quick-start");
        window.show();
        QTRY_VERIFY_WITH_TIMEOUT(window.plans().ready() != nullptr, patient_ms);
        QCOMPARE(window.why_not_launch(), QString());
        auto* field = window.findChild<QLineEdit*>("microbatches");
        auto* told = window.findChild<QLabel*>("microbatches_fault");
        QVERIFY(field != nullptr && told != nullptr);
        QVERIFY(!told->isVisibleTo(&window));
        const Experiment before = window.document().experiment();
        const auto type = [field](const QString& text) {
            field->setFocus();
            field->selectAll();
            QTest::keyClicks(field, text);
            QTest::keyClick(field, Qt::Key_Return);
        };
        const int problems = window.design_page().problems().count();
        type("-3");
        QVERIFY(window.document().experiment() == before);
        QVERIFY2(told->isVisibleTo(&window) && told->text().contains("Must be"), qPrintable(told->text()));
        QVERIFY2(window.why_not_launch().contains("Microbatches"), qPrintable(window.why_not_launch()));
        QCOMPARE(window.design_page().problems().count(), problems + 1);
        window.document().edit("Name", [](Experiment& e) { e.name = "Another"; });
        QCOMPARE(field->text(), QString("-3"));
        type(QString::number(before.pipeline.microbatches));
        QVERIFY(!told->isVisibleTo(&window));
        QCOMPARE(window.why_not_launch(), QString());
        QCOMPARE(window.design_page().problems().count(), problems);
    }

    /// One click: the nodes get the speeds that their stages have on this machine; undo takes it back, Stop ends it.
    void this_machine_is_measured() {
        if (!worker_is_built()) QSKIP("skippipe-worker is not built (SKIPPIPE_TORCH is off)");
        QTemporaryDir folder;
        MainWindow window(planners_, folder.filePath("record.sqlite").toStdString());
        window.document().start_new(three_linked_nodes());
        const Experiment drawn = window.document().experiment();
        QTRY_COMPARE_WITH_TIMEOUT(window.why_not_launch(), QString(), patient_ms);
        window.design_page().measure_button().click();
        QVERIFY(!window.design_page().measure_button().isEnabled());
        QVERIFY2(window.why_not_launch().contains("measured"), qPrintable(window.why_not_launch()));
        QTRY_VERIFY2_WITH_TIMEOUT(!window.prober().is_measuring(), qPrintable(window.banner().text()), patient_ms);
        const Experiment measured = window.document().experiment();
        QVERIFY2(!measured.topology.measured_at.empty(), qPrintable(window.banner().text()));
        for (std::size_t n = 0; n < 3; ++n)
            QVERIFY(measured.topology.nodes[n].seconds_per_sample_per_block !=
                    drawn.topology.nodes[n].seconds_per_sample_per_block);
        QVERIFY2(measured.topology.links == drawn.topology.links && measured.execution == drawn.execution,
                 "what is simulated stays as drawn");
        QVERIFY(window.banner().text().contains("links are as drawn"));
        window.document().undo_stack().undo();
        QVERIFY(window.document().experiment() == drawn);

        window.measure();
        QTRY_VERIFY(window.prober().is_measuring());
        QTRY_VERIFY(window.bar().stop_button().isEnabled());
        window.bar().stop_button().click();
        QTRY_VERIFY_WITH_TIMEOUT(!window.prober().is_measuring(), patient_ms);
        QVERIFY(window.document().experiment() == drawn);

        window.measure();
        window.document().edit("Rename", [](Experiment& e) { e.name = "edited meanwhile"; });
        QTRY_VERIFY_WITH_TIMEOUT(!window.prober().is_measuring(), patient_ms);
        QVERIFY2(window.banner().text().contains("was edited while it was measured"),
                 qPrintable(window.banner().text()));
        QCOMPARE(window.document().experiment().topology, drawn.topology);
    }

    void another_planner_is_planned_with_at_once() {
        QTemporaryDir folder;
        MainWindow window(planners_, folder.filePath("record.sqlite").toStdString());
        const Experiment e = three_linked_nodes();
        window.document().start_new(e);
        QTRY_VERIFY_WITH_TIMEOUT(window.plans().ready() != nullptr, patient_ms);
        QCOMPARE(window.plans().previous_iteration_s(), 0.0);
        auto* planner = window.design_page().inspector().widget()->findChild<QComboBox*>("planner");
        QVERIFY(planner != nullptr && planner->findText("gpipe") >= 0);
        const auto choose = [&](const char* name) {
            planner->setCurrentIndex(planner->findText(name));
            Q_EMIT planner->activated(planner->currentIndex());
        };
        choose("gpipe");
        QVERIFY2(window.plans().is_busy() && window.plans().is_outdated(),
                 "the figures shown are of the former planner");
        QTRY_COMPARE_WITH_TIMEOUT(window.plans().ready() ? window.plans().ready()->plan.planner : std::string{},
                                  std::string("gpipe"), patient_ms);
        QVERIFY(window.design_page().figures().toolTip().contains("Planned by gpipe"));
        QVERIFY(window.plans().previous_iteration_s() > 0);
        QVERIFY(
            skip_words(window.document().experiment().pipeline, planners_).startsWith("gpipe ignores the skip ratio"));
        const Plan before = window.plans().ready()->plan;
        choose("dtfm");
        QVERIFY(window.plans().is_busy());
        window.launch();
        QVERIFY(window.why_not_launch().contains("when its plan is found"));
        QVERIFY2(window.bar().stop_button().isEnabled(), "what waits for its plan can be called off");
        window.bar().stop_button().click();
        QVERIFY(window.why_not_launch().isEmpty());
        QTRY_VERIFY_WITH_TIMEOUT(!window.plans().is_busy(), patient_ms);
        QTest::qWait(200);
        QVERIFY2(window.feed().runs().empty() && window.why_not_launch().isEmpty(), "nothing was started");
        window.document().undo_stack().undo();
        window.document().undo_stack().undo();
        window.document().undo_stack().redo();
        QTRY_VERIFY_WITH_TIMEOUT(window.plans().ready() != nullptr, patient_ms);
        QVERIFY2(window.plans().ready()->plan == before, "one experiment has one plan");
        window.document().start_new(e);
        QCOMPARE(window.plans().previous_iteration_s(), 0.0);
    }

    /// Another seed searches elsewhere; what was found before is not lost by it.
    void no_edit_makes_a_plan_longer_that_still_holds() {
        QTemporaryDir folder;
        MainWindow window(planners_, folder.filePath("record.sqlite").toStdString());
        window.open_template("quick-start");
        window.document().edit("short", [](Experiment& e) {
            e.pipeline.plan_steps = 300;
            e.pipeline.stage_sizes.clear();
        });
        QTRY_VERIFY_WITH_TIMEOUT(window.plans().ready() != nullptr, patient_ms);
        double before_s = window.plans().ready()->score.iteration_seconds;
        bool longer_alone = false;
        for (std::uint64_t seed = 2; seed < 8; ++seed) {
            window.document().edit("seed", [&](Experiment& e) { e.seed = seed; });
            QVERIFY(window.plans().is_busy());
            QTRY_VERIFY_WITH_TIMEOUT(window.plans().ready() != nullptr, patient_ms);
            const auto& e = window.document().experiment();
            const auto alone = make_plan(e, *planners_.find("skippipe-joint"), request_for(e));
            const double after_s = window.plans().ready()->score.iteration_seconds;
            QVERIFY(after_s <= before_s && after_s <= alone->score.iteration_seconds);
            longer_alone = longer_alone || alone->score.iteration_seconds > before_s;
            before_s = after_s;
        }
        QVERIFY2(longer_alone, "nothing had to be kept");
        window.document().edit("fewer", [](Experiment& e) { remove_selected(e, {.nodes = {"n3"}}); });
        QTRY_VERIFY_WITH_TIMEOUT(window.plans().ready() != nullptr, patient_ms);
        QCOMPARE(window.plans().ready()->problem.node_ids.size(), std::size_t{19});
        QVERIFY(window.plans().ready()->score.violations.empty());
    }

    void why_a_plan_takes_as_long_as_it_does() {
        QTemporaryDir folder;
        MainWindow window(planners_, folder.filePath("record.sqlite").toStdString());
        const Experiment e = three_linked_nodes();
        window.document().start_new(e);
        QTRY_VERIFY_WITH_TIMEOUT(window.plans().explanation() != nullptr, patient_ms);
        const auto why = window.plans().explanation();
        QCOMPARE(why->iteration_s, window.plans().ready()->score.iteration_seconds);
        auto& panel = window.design_page().why();
        QVERIFY2(
            panel.summary().text().contains(unbroken(QString::fromStdString(why->links.front().name)).toHtmlEscaped()),
            qPrintable(panel.summary().text()));
        const auto row_of = [&](bool link) {
            for (const auto& what : why->what_ifs)
                for (int row = 0; what.upgrade.lines.empty() != link && row < panel.what_ifs().rowCount(); ++row)
                    if (panel.what_ifs().item(row, 0)->text().toStdString() == what.words()) return row;
            return -1;
        };
        QVERIFY(row_of(true) >= 0 && row_of(false) >= 0);
        Q_EMIT panel.what_ifs().cellClicked(row_of(true), 0);
        QCOMPARE(window.selection().now().links.size(), std::size_t{1});
        Q_EMIT panel.what_ifs().cellClicked(row_of(false), 0);
        QCOMPARE(window.selection().now().nodes.size(), std::size_t{1});
        QVERIFY(window.selection().now().links.empty());
        window.selection().select({.microbatch = 1});
        const auto& costs = *std::find_if(why->microbatches.begin(), why->microbatches.end(),
                                          [](const auto& c) { return c.microbatch == 1; });
        QVERIFY(panel.microbatch().rowCount() >= static_cast<int>(costs.waits.size()) + 3);
        Q_EMIT panel.microbatch().cellClicked(panel.microbatch().rowCount() - 1, 0);
        QCOMPARE(window.selection().now().microbatch, std::optional<int>(1));
        QVERIFY(costs.waits.empty() || !window.selection().now().nodes.empty() ||
                !window.selection().now().links.empty());
        window.document().edit(
            "Speed", [](Experiment& changed) { changed.topology.nodes[0].seconds_per_sample_per_block *= 2; });
        QTRY_VERIFY_WITH_TIMEOUT(window.plans().explanation() != nullptr && window.plans().explanation() != why,
                                 patient_ms);
        QVERIFY(window.plans().explanation()->iteration_s > why->iteration_s);
        QVERIFY(panel.isEnabled());
        // Beside each other where there is room, else one below the other.
        const auto* columns = panel.findChild<QSplitter*>("why_columns");
        window.show();
        window.design_page().bottom().setCurrentWidget(&panel);
        window.resize(1600, 900);
        QTRY_COMPARE(columns->orientation(), Qt::Horizontal);
        window.resize(1024, 700);
        QTRY_COMPARE(columns->orientation(), Qt::Vertical);
    }

    void differences_name_what_differs() {
        RunData a, b;
        a.info.id = 1;
        b.info.id = 2;
        a.info.iteration_s = 2;
        b.info.iteration_s = 1;
        b.experiment.pipeline.skip_ratio = 0.25;
        const auto rows = differences({&a, &b});
        QStringList differing;
        for (const auto& row : rows)
            if (row.differs) differing << row.name;
        QCOMPARE(differing, QStringList({"Skip ratio", "Iteration, network time"}));
        QVERIFY(rows[1].deltas[1].startsWith(QString(QChar(0x2212)) + "50"));
        QVERIFY(rows[1].section == DifferenceSection::results && rows[1].verdicts[1] == Verdict::better);
        QVERIFY(rows[0].section == DifferenceSection::parameters && rows[0].verdicts[1] == Verdict::none);
        QVERIFY(differences({&b, &a})[1].verdicts[1] == Verdict::worse);
        QVERIFY(rows.back().section == DifferenceSection::same_parameters);
        a.explained_iterations = b.explained_iterations = 1;
        a.idle_share[0] = 0.79;
        b.idle_share[0] = 0.908;
        for (const auto& row : differences({&a, &b}))
            if (row.name == "Idle share") {
                QCOMPARE(row.deltas[1], QString("+11.8 pp"));
                QVERIFY(row.verdicts[1] == Verdict::worse);
            }
        const auto all = differences({&a, &b});
        const auto cause = std::find_if(all.begin(), all.end(),
                                        [](const auto& row) { return row.section == DifferenceSection::idle; });
        QVERIFY(cause != all.end());
        QCOMPARE(cause->name, cause_words(IdleCause(0)));
        QVERIFY2(std::none_of(all.begin(), all.end(), [](const auto& row) { return row.name == "Bits per byte"; }),
                 "no run has any");
    }

private:
    PlannerRegistry planners_;
};

QTEST_MAIN(TestMainWindow)
#include "test_main_window.moc"
