// SPDX-License-Identifier: GPL-3.0-or-later
// Runs as a user of the window has them: draw, plan, launch, watch, stop another, compare, undo everything; runs that
// died, lost nodes, a node that is made to fail.
#include <csignal>

#include <QContextMenuEvent>
#include <QDBusConnection>
#include <QDBusError>
#include <QDBusServer>
#include <QDir>
#include <QDoubleSpinBox>
#include <QJsonDocument>
#include <QJsonObject>
#include <QLineEdit>
#include <QMenu>
#include <QPushButton>
#include <QStatusBar>
#include <QTemporaryDir>
#include <QtTest>

#include "core/experiment/io.h"
#include "core/record/checkpoints.h"
#include "plugins/planners/all.h"
#include "tests/views/window_experiments.h"
#include "views/theme/empty_note.h"
#include "views/window/desktop_notes.h"
#include "views/window/main_window.h"

using namespace skippipe;

/// What a desktop is to programs that tell it something.
class Desktop : public QObject {
    Q_OBJECT
    Q_CLASSINFO("D-Bus Interface", "org.freedesktop.Notifications")
public:
    QStringList told;

public Q_SLOTS:
    uint Notify(const QString&, uint, const QString&, const QString& title, const QString& text, const QStringList&,
                const QVariantMap&, int) {
        told << title + '|' + text;
        return 1;
    }
};

class TestWindowRuns : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() { register_planners(planners_); }

    /// A program hears what the desktop is told, over a bus of its own.
    void notes_reach_the_desktop() {
        Desktop desktop;
        QDBusServer server("unix:tmpdir=" + QDir::tempPath());
        QVERIFY2(server.isConnected(), qPrintable(server.lastError().message()));
        server.setAnonymousAuthenticationAllowed(true);
        connect(&server, &QDBusServer::newConnection, this, [&](QDBusConnection connection) {
            connection.registerObject("/org/freedesktop/Notifications", &desktop, QDBusConnection::ExportAllSlots);
        });
        auto bus = QDBusConnection::connectToPeer(server.address(), "notes");
        QTRY_VERIFY(bus.isConnected());
        QTRY_VERIFY_WITH_TIMEOUT(
            (DesktopNotes(bus).show("Run 3 finished", "a <b> & c"), QTest::qWait(50), !desktop.told.isEmpty()), 5000);
        QCOMPARE(desktop.told.front(), QString("Run 3 finished|a &lt;b&gt; &amp; c"));
        QDBusConnection::disconnectFromPeer("notes");
    }

    /// Unsaved work is safe before anything is started of it, not a moment later.
    void work_is_kept_before_a_launch() {
        QTemporaryDir folder;
        MainWindow window(planners_, folder.filePath("record.sqlite").toStdString());
        Experiment e = three_linked_nodes();
        e.execution.compute = Compute::cost;
        window.document().start_new(e);
        QTRY_VERIFY_WITH_TIMEOUT(window.plans().ready() != nullptr, patient_ms);
        window.document().edit("rename", [](Experiment& x) { x.name = "unsaved"; });
        QTRY_VERIFY_WITH_TIMEOUT(window.plans().ready() != nullptr, patient_ms);
        const auto files = [&](const char* in) { return QDir(folder.filePath(in)).entryList({"*.json"}, QDir::Files); };
        for (const auto& old : files("recovery")) QFile::remove(folder.filePath("recovery/" + old));
        window.document().edit("rename", [](Experiment& x) { x.name = "unsaved still"; });
        window.launch();
        QTRY_VERIFY_WITH_TIMEOUT(!files("launched").isEmpty(), patient_ms);
        QCOMPARE(files("recovery").size(), 1);
        QFile kept(folder.filePath("recovery/" + files("recovery").front()));
        QVERIFY(kept.open(QIODevice::ReadOnly) && kept.readAll().contains("unsaved still"));
        QTRY_VERIFY_WITH_TIMEOUT(window.why_not_launch().isEmpty(), patient_ms);  // it is over
    }

    /// A launch waits for the search that goes on, and a run for its process: the button says which.
    void the_button_says_how_far_a_launch_is() {
        if (!worker_is_built()) QSKIP("skippipe and its worker are not built");
        QTemporaryDir folder;
        MainWindow window(planners_, folder.filePath("record.sqlite").toStdString());
        Experiment e = three_linked_nodes();
        e.execution.compute = Compute::cost;
        window.document().start_new(e);
        QTRY_VERIFY_WITH_TIMEOUT(!window.plans().is_busy(), patient_ms);
        const auto& button = window.bar().launch_button();
        QCOMPARE(button.text(), QString("Simulate"));
        window.document().edit("more", [](Experiment& x) { x.pipeline.microbatches += 1; });
        window.launch();
        QCOMPARE(button.text(), QString("Planning…"));
        QVERIFY(!button.isEnabled());
        // Watch says the same, and stops it too.
        EmptyNote* note = nullptr;
        for (auto* one : window.watch_page().findChildren<EmptyNote*>())
            if (one->parentWidget() == &window.watch_page()) note = one;
        QVERIFY(note != nullptr);
        QVERIFY2(note->words().startsWith("Searching for the plan"), qPrintable(note->words()));
        QVERIFY(!note->bar().isHidden() && note->button().isEnabled());
        QCOMPARE(note->button().text(), QString("Stop"));
        QCOMPARE(window.bar().findChild<QLabel*>("subject")->text(), QString("First run"));
        note->button().click();
        QCOMPARE(button.text(), QString("Simulate"));
        QVERIFY(note->bar().isHidden() && note->words().contains("None was launched yet"));
        QCOMPARE(note->button().text(), QString("Launch the experiment"));
        QTRY_VERIFY_WITH_TIMEOUT(!window.plans().is_busy(), patient_ms);
        window.document().edit("more", [](Experiment& x) { x.pipeline.microbatches += 1; });
        note->button().click();
        QCOMPARE(button.text(), QString("Planning…"));
        QTRY_COMPARE_WITH_TIMEOUT(button.text(), QString("Starting…"), patient_ms);
        QTRY_COMPARE_WITH_TIMEOUT(button.text(), QString("Simulate"), patient_ms);
    }

    /// W7: what computes nothing is called a simulation.
    void the_status_tells_a_simulation() {
        RunInfo run;
        run.id = 3, run.planner = "gpipe", run.iterations = 4;
        QCOMPARE(run_words(run, true), QString("Simulation 3, gpipe: iteration 0 of 4"));
        QCOMPARE(run_words(run), QString("Run 3, gpipe: iteration 0 of 4"));
    }

    /// W1: what the command line refuses is said in its words, not as the JSON that is for programs.
    void a_run_that_cannot_start_says_why() {
        if (!worker_is_built()) QSKIP("skippipe and its worker are not built");
        QTemporaryDir folder;
        MainWindow window(planners_, folder.filePath("record.sqlite").toStdString());
        Experiment e = three_linked_nodes();
        e.data.source = DataSource::text;
        e.data.path = "/nowhere/at/all.txt";
        window.document().start_new(e);
        QTRY_VERIFY_WITH_TIMEOUT(window.plans().ready() != nullptr, patient_ms);
        window.launch();
        QTRY_VERIFY_WITH_TIMEOUT(window.banner().text().contains("did not start"), patient_ms);
        QVERIFY2(window.banner().text().contains("/nowhere/at/all.txt") && !window.banner().text().contains('{'),
                 qPrintable(window.banner().text()));
        QVERIFY2(window.why_not_launch().isEmpty(), "nothing is being started any more");
    }

    /// What was chosen is kept, and given to every run that is launched.
    void runs_stop_by_themselves_as_chosen() {
        QTemporaryDir folder;
        const QString settings = folder.filePath("settings.ini");
        const auto rule = [](MainWindow& window, const QString& words) {
            for (auto* action : window.findChildren<QAction*>())
                if (action->text() == words) return action;
            return static_cast<QAction*>(nullptr);
        };
        {
            MainWindow window(planners_, folder.filePath("record.sqlite").toStdString());
            window.remember_in(settings, {});
            QCOMPARE(window.stop_rules(), QStringList{});
            auto* disk = rule(window, "The disk fills up");
            QVERIFY(disk != nullptr && disk->isCheckable() && !disk->isChecked());
            disk->trigger();
            QCOMPARE(window.stop_rules(), QStringList{"disk"});
        }
        MainWindow window(planners_, folder.filePath("record.sqlite").toStdString());
        window.remember_in(settings, {});
        QCOMPARE(window.stop_rules(), QStringList{"disk"});
    }

    /// A run that was launched elsewhere stops on its alarm: whoever does not look at the window hears of both.
    void alarms_and_ends_are_told() {
        QTemporaryDir folder;
        const auto record = std::filesystem::path(folder.filePath("record.sqlite").toStdString());
        Recorder recorder(record);
        Experiment experiment;
        experiment.name = "told";
        const RunId run = recorder.begin({.name = "told", .experiment_json = to_text(experiment), .iterations = 10});
        MainWindow window(planners_, record);
        QStringList heard;
        connect(&window, &MainWindow::noted, this, [&](const QString& words) { heard << words; });
        QTRY_VERIFY_WITH_TIMEOUT(window.feed().run(run) != nullptr, patient_ms);
        recorder.warn(run, "iteration 3: the loss jumps");
        QTRY_VERIFY_WITH_TIMEOUT(!heard.isEmpty(), patient_ms);
        QVERIFY(heard.front().contains("iteration 3: the loss jumps"));
        QVERIFY(window.banner().text().contains("iteration 3"));
        recorder.finish(run, RunState::stopped, {}, "{}");
        QTRY_COMPARE_WITH_TIMEOUT(heard.size(), 2, patient_ms);
        QCOMPARE(heard.back(), QString("Run %1 stopped").arg(run));
    }

    /// Of a worker that was killed the window says so in a sentence, with the ways to the run and to its log.
    void a_killed_worker_is_told_in_a_sentence() {
        QTemporaryDir folder;
        const auto record = std::filesystem::path(folder.filePath("record.sqlite").toStdString());
        Recorder recorder(record);
        Experiment experiment;
        const RunId run = recorder.begin({.name = "told", .experiment_json = to_text(experiment), .iterations = 10});
        MainWindow window(planners_, record);
        window.show();
        QTRY_VERIFY_WITH_TIMEOUT(window.feed().run(run) != nullptr, patient_ms);
        recorder.finish(run, RunState::failed,
                        {.iterations_done = 3,
                         .error = "worker: the training worker was killed by signal 9 (Killed); the run cannot go on "
                                  "without it. Look at its messages above; if memory ran out, use fewer threads"},
                        "{}");
        QTRY_COMPARE_WITH_TIMEOUT(
            window.banner().text(),
            QString("Run %1 was killed (signal 9) after iteration 3. If memory ran out, use fewer "
                    "threads")
                .arg(run),
            patient_ms);
        QVERIFY(window.banner().property("failure").toBool());
        const auto button = [&](const QString& words) {
            for (auto* one : window.findChild<QWidget*>("banner")->findChildren<QPushButton*>())
                if (one->text() == words && one->isVisible()) return one;
            return static_cast<QPushButton*>(nullptr);
        };
        QVERIFY(button("Show run") != nullptr && button("Dismiss") != nullptr);
        QVERIFY(button("Open its log") != nullptr);
        button("Open its log")->click();
        QVERIFY(!window.banner().isVisible());
        QCOMPARE(window.watch_page().run(), run);
        QVERIFY(window.watch_page().log().isVisible());
        // What else failed is told as it was recorded, with its place as people call it.
        RunInfo other{.id = 7, .state = RunState::failed, .error = "/execution/transport: two ranks are on one GPU"};
        QCOMPARE(bad_end_words(other), QString("Run 7 failed: Transport: two ranks are on one GPU"));
        other.error = "rank 1: its worker ended early; the run cannot go on without it. Look at its messages above";
        QCOMPARE(bad_end_words(other),
                 QString("Run 7 failed: rank 1: its worker ended early; the run cannot go on without it."));
    }

    void the_whole_way() {
        if (!worker_is_built()) QSKIP("skippipe-worker is not built (SKIPPIPE_TORCH is off)");
        QTemporaryDir folder;
        QFile corpus(folder.filePath("corpus.txt"));
        QVERIFY(corpus.open(QIODevice::WriteOnly));
        for (int i = 0; i < 4000; ++i)
            corpus.write("In the beginning there was a line of text, and it was number " + QByteArray::number(i) +
                         ".\n");
        corpus.close();
        MainWindow window(planners_, folder.filePath("record.sqlite").toStdString());
        window.resize(1280, 800);
        window.show();
        QVERIFY(QTest::qWaitForWindowExposed(&window));
        const Experiment first = window.document().experiment();
        QVERIFY2(!window.why_not_launch().isEmpty(), "an empty experiment cannot be launched, and Launch says why");

        auto& canvas = window.design_page().canvas();
        const QSize size = canvas.viewport()->size();
        for (const QPointF at : {QPointF(0.2, 0.5), QPointF(0.5, 0.3), QPointF(0.8, 0.5)})
            QTest::mouseDClick(canvas.viewport(), Qt::LeftButton, {},
                               QPoint(int(at.x() * size.width()), int(at.y() * size.height())));
        draw_link(canvas, "node-1", "node-2");
        draw_link(canvas, "node-2", "node-3");
        QCOMPARE(window.document().experiment().topology.nodes.size(), std::size_t{3});
        QCOMPARE(window.document().experiment().topology.links.size(), std::size_t{2});
        draw_link(canvas, "node-1", "node-3");
        window.document().edit("Settings", [&](Experiment& e) {
            make_small(e, 2);
            e.data.path = folder.filePath("corpus.txt").toStdString();
        });
        window.bar().skip_link().click();
        auto* ratio = window.design_page().inspector().widget()->findChild<QLineEdit*>("skip_ratio");
        QVERIFY(ratio != nullptr);
        ratio->selectAll();
        QTest::keyClicks(ratio, "0.33");
        QTest::keyClick(ratio, Qt::Key_Return);
        QCOMPARE(window.document().experiment().pipeline.skip_ratio, 0.33);
        QTRY_VERIFY_WITH_TIMEOUT(!window.plans().is_busy(), patient_ms);
        QVERIFY2(window.plans().outcome()->has_plan, qPrintable(window.why_not_launch()));
        QTRY_COMPARE(window.why_not_launch(), QString());

        const auto shown = window.plans().outcome();
        QTest::mouseClick(&window.bar().launch_button(), Qt::LeftButton);
        QTRY_VERIFY2_WITH_TIMEOUT(!window.feed().runs().empty(), qPrintable(window.banner().text()), patient_ms);
        QTRY_VERIFY2_WITH_TIMEOUT(window.feed().runs().front().state == RunState::finished,
                                  qPrintable(QString::fromStdString(window.feed().runs().front().error)), patient_ms);
        const RunId one = window.feed().runs().front().id;
        Faults faults;
        const Plan launched =
            parse_plan(parse_json(Reader(folder.filePath("record.sqlite").toStdString()).plan_json(one), faults),
                       shown->problem, faults);
        QVERIFY(!has_errors(faults));
        QCOMPARE(launched.planner, shown->plan.planner);
        QVERIFY2(launched.paths == shown->plan.paths && launched.stages == shown->plan.stages &&
                     launched.order == shown->plan.order,
                 "the plan that is shown is the one launched");
        QTRY_COMPARE(window.watch_page().run(), one);
        QTRY_VERIFY(window.watch_page().timeline().data() != nullptr &&
                    window.watch_page().timeline().data()->span_count() > 0);
        QTRY_VERIFY(window.watch_page().curves().point_count() >= 2);
        QTRY_VERIFY(window.watch_page().idle().table().rowCount() > 0);

        using Format = MainWindow::ExportFormat;
        const std::tuple<Format, const char*, const char*> files[] = {
            {Format::spans_csv, "spans.csv", "iteration,"},
            {Format::metrics_csv, "metrics.csv", "iteration,"},
            {Format::chrome_trace, "trace.json", "{"},
            {Format::svg, "timeline.svg", "<"}};
        QCOMPARE(window.run_in_sight(), one);
        for (const auto& [format, name, begin] : files) {
            QSignalSpy exported(&window, &MainWindow::exported);
            window.export_run(one, format, folder.filePath(name).toStdString());
            QTRY_COMPARE_WITH_TIMEOUT(exported.count(), 1, patient_ms);
            QVERIFY2(exported[0][1].toBool(), qPrintable(window.banner().text()));
            QFile written(folder.filePath(name));
            QVERIFY(written.open(QIODevice::ReadOnly));
            const QByteArray text = written.readAll();
            QVERIFY2(text.startsWith(begin) && text.size() > 200, name);
        }
        QSignalSpy refused(&window, &MainWindow::exported);
        window.export_run(one, Format::svg, folder.filePath("nowhere/timeline.svg").toStdString());
        QTRY_COMPARE_WITH_TIMEOUT(refused.count(), 1, patient_ms);
        QVERIFY2(!refused[0][1].toBool() && window.banner().text().contains("nowhere"), "a folder that is not there");

        window.document().edit("Longer", [](Experiment& e) { e.training.iterations = 100'000; });
        QTRY_VERIFY_WITH_TIMEOUT(!window.plans().is_busy(), patient_ms);
        QTRY_COMPARE(window.why_not_launch(), QString());
        window.launch();
        QTRY_VERIFY_WITH_TIMEOUT(window.feed().running() != nullptr, patient_ms);
        const RunId two = window.feed().running()->id;
        QTRY_VERIFY_WITH_TIMEOUT(window.feed().run(two)->iterations_done >= 1, patient_ms);
        auto& pause = window.bar().pause_button();
        QTRY_VERIFY_WITH_TIMEOUT(pause.isEnabled(), patient_ms);
        QCOMPARE(pause.text(), QString("Pause"));
        QTest::mouseClick(&pause, Qt::LeftButton);
        QVERIFY2(pause.property("told").toBool(), "it was told and has not done so yet");
        QTRY_VERIFY_WITH_TIMEOUT(window.feed().run(two)->paused, patient_ms);
        QTRY_COMPARE(pause.text(), QString("Resume"));
        QTRY_VERIFY(window.statusBar()->findChild<QLabel*>()->text().contains("paused"));
        // What was at hand is finished; then nothing goes on.
        int done = -1;
        QTRY_VERIFY_WITH_TIMEOUT(std::exchange(done, window.feed().run(two)->iterations_done) == done &&
                                     (QTest::qWait(1000), window.feed().run(two)->iterations_done == done),
                                 patient_ms);
        QTest::mouseClick(&pause, Qt::LeftButton);
        QTRY_VERIFY_WITH_TIMEOUT(window.feed().run(two)->iterations_done > done, patient_ms);
        QTRY_COMPARE_WITH_TIMEOUT(pause.text(), QString("Pause"), patient_ms);
        QTRY_VERIFY_WITH_TIMEOUT(window.bar().stop_button().isEnabled(), patient_ms);
        QTest::mouseClick(&window.bar().stop_button(), Qt::LeftButton);
        QTRY_VERIFY_WITH_TIMEOUT(window.feed().run(two)->state == RunState::stopped, patient_ms);
        QTRY_VERIFY(!pause.isEnabled());

        window.show_workspace(MainWindow::compare);
        QTRY_COMPARE(window.compare_page().list().selected().size(), std::size_t{2});
        QTRY_COMPARE(window.compare_page().timelines().size(), std::size_t{2});
        bool iterations_differ = false;
        for (int row = 0; row < window.compare_page().table().rowCount(); ++row)
            iterations_differ = iterations_differ || window.compare_page().table().item(row, 0)->text() == "Iterations";
        QVERIFY(iterations_differ);

        while (window.document().undo_stack().canUndo()) window.document().undo_stack().undo();
        QVERIFY(window.document().experiment() == first);
    }

    /// Trained for real, with planned reductions: the run's timeline shows each transfer of a gradient and what it
    /// carries, and who waits for it says for whom and over which line.
    void a_run_shows_its_planned_reductions() {
        if (!worker_is_built()) QSKIP("skippipe-worker is not built (SKIPPIPE_TORCH is off)");
        QTemporaryDir folder;
        QFile corpus(folder.filePath("corpus.txt"));
        QVERIFY(corpus.open(QIODevice::WriteOnly));
        for (int i = 0; i < 4000; ++i) corpus.write("One more line of text, number " + QByteArray::number(i) + ".\n");
        corpus.close();
        MainWindow window(planners_, folder.filePath("record.sqlite").toStdString());
        window.show();
        window.open_template("");
        window.document().edit("Draw", [&](Experiment& e) {
            for (int i = 0; i < 4; ++i) add_node(e, {100.0 * i, 0});
            for (const auto& [from, to] : {std::pair{1, 2}, {1, 3}, {1, 4}, {2, 3}, {2, 4}, {3, 4}})
                add_link(e, "node-" + std::to_string(from), "node-" + std::to_string(to));
            make_small(e, 2);
            e.pipeline.stage_sizes = {1, 2, 1};
            e.data.path = folder.filePath("corpus.txt").toStdString();
        });
        QTRY_VERIFY_WITH_TIMEOUT(!window.plans().is_busy(), patient_ms);
        QTRY_COMPARE(window.why_not_launch(), QString());
        window.launch();
        QTRY_VERIFY2_WITH_TIMEOUT(
            !window.feed().runs().empty() && window.feed().runs().front().state == RunState::finished,
            qPrintable(window.banner().text()), patient_ms);
        const auto& timeline = window.watch_page().timeline();
        const auto is_whole = [&] {
            const auto data = window.feed().data(window.feed().runs().front().id);
            return data != nullptr && data->explained_iterations == 2 && timeline.data() != nullptr;
        };
        QTRY_VERIFY_WITH_TIMEOUT(is_whole(), patient_ms);
        const auto data = timeline.data();
        const auto sent = data->longest_reduction(0, data->extent_s());
        QVERIFY(sent.span != nullptr);
        const QString card = plain(describe_span(*sent.span, sent.lane, *data).join('\n'));
        for (const char* words : {"Reduction of stage 1, node-", "of the gradient", "iteration "})
            QVERIFY2(card.contains(words), qPrintable(card));
        QVERIFY2(card.contains("the part of node-") || card.contains("the sum of node-"), qPrintable(card));
        bool told = false;
        for (int lane = 0; lane < static_cast<int>(data->lanes().size()); ++lane)
            data->visit_gaps(lane, 0, data->extent_s(), 0, [&](const LaneGap& gap) {
                const auto words = describe_gap(gap, data->lanes()[at(lane)].name, *data).join('\n');
                told = told || (gap.cause == IdleCause::all_reduce && words.contains("for what node-") &&
                                words.contains("\nover node-"));
            });
        QVERIFY2(told, "no idle stretch names the replica and the line");
    }

    void a_killed_run_is_told_as_died_and_goes_on_by_its_button() {
        if (!worker_is_built()) QSKIP("skippipe-worker is not built (SKIPPIPE_TORCH is off)");
        QTemporaryDir folder;
        QFile corpus(folder.filePath("corpus.txt"));
        QVERIFY(corpus.open(QIODevice::WriteOnly));
        for (int i = 0; i < 4000; ++i) corpus.write("Another line of text, number " + QByteArray::number(i) + ".\n");
        corpus.close();
        const std::filesystem::path record = folder.filePath("record.sqlite").toStdString();
        auto window = std::make_unique<MainWindow>(planners_, record);
        Experiment e;
        for (int i = 0; i < 3; ++i) add_node(e, {100.0 * i, 0});
        for (const char* to : {"node-2", "node-3"}) add_link(e, "node-1", to);
        add_link(e, "node-2", "node-3");
        constexpr int iterations = 2000;
        make_small(e, iterations);
        e.training.checkpoint_every = 20;
        e.data.path = folder.filePath("corpus.txt").toStdString();
        window->document().start_new(e);
        QTRY_VERIFY_WITH_TIMEOUT(!window->plans().is_busy(), patient_ms);
        window->launch();
        QTRY_VERIFY2_WITH_TIMEOUT(window->feed().running() != nullptr, qPrintable(window->banner().text()), patient_ms);
        const RunId run = window->feed().running()->id;
        window.reset();  // the run goes on without its window
        window = std::make_unique<MainWindow>(planners_, record);
        QTRY_VERIFY_WITH_TIMEOUT(window->feed().running() != nullptr && window->feed().running()->id == run,
                                 patient_ms);
        const auto pid = static_cast<pid_t>(window->feed().running()->pid);
        QVERIFY(pid > 1);
        QTRY_VERIFY_WITH_TIMEOUT(!list_checkpoints(record, run).empty(), patient_ms);
        QCOMPARE(::kill(pid, SIGKILL), 0);
        QTRY_VERIFY_WITH_TIMEOUT(window->feed().run(run)->state == RunState::died, patient_ms);
        QVERIFY(window->banner().text().contains("died"));
        QVERIFY(window->feed().run(run)->iterations_done < iterations);

        window->show_workspace(MainWindow::watch);
        window->watch_page().show_run(run);
        auto& resume = window->bar().pause_button();  // as of a run that is held
        QCOMPARE(resume.text(), QString("Resume"));
        QTRY_VERIFY2_WITH_TIMEOUT(resume.isEnabled(), qPrintable(resume.toolTip()), patient_ms);
        resume.click();
        QTRY_VERIFY_WITH_TIMEOUT(window->feed().running() != nullptr && window->feed().running()->id == run,
                                 patient_ms);
        QTRY_VERIFY_WITH_TIMEOUT(window->feed().run(run)->state == RunState::finished, patient_ms);
        QCOMPARE(window->feed().run(run)->iterations_done, iterations);
        QVERIFY(Reader(record).runs().size() == 1);
        int losses = 0;
        for (const auto& metric : Reader(record).metrics(run)) losses += metric.name == "loss";
        QCOMPARE(losses, iterations);
    }

    /// A run in which a node was lost in the second iteration and was back for the third, beside one without losses.
    void lost_nodes_are_accounted_for() {
        QTemporaryDir folder;
        const std::filesystem::path file = folder.filePath("record.sqlite").toStdString();
        const Experiment e = three_linked_nodes();
        const auto planned = make_plan(e, *planners_.find("gpipe"), request_for(e));
        QVERIFY(planned->has_plan);
        const double length = planned->timeline.iteration_s;
        Recorder recorder(file);
        std::vector<RunId> runs;
        for (const bool loses : {false, true}) {
            const RunId run = recorder.begin({.name = "recorded",
                                              .planner = "gpipe",
                                              .experiment_json = to_text(e),
                                              .plan_json = to_json(planned->plan, planned->problem, nullptr).dump(),
                                              .iterations = 3,
                                              .predicted_iteration_s = length});
            runs.push_back(run);
            for (int i = 0; i < 3; ++i) {
                auto spans = planned->timeline.spans;
                const auto note = [&](const char* name, double value, double at_s) {
                    recorder.metric(run, {0, i, name, value, i * length + at_s, 1, 1});
                };
                if (loses && i == 1) {
                    std::erase_if(spans, [](const Span& span) { return span.node == 1; });
                    spans.push_back({SpanKind::down, 1, -1, 1, -1, 0, 0.25 * length, length, 0});
                    note("nodes_lost", 1, length / 2);
                    note("detection_s", length / 4, length / 2);
                    note("replanning_s", 0.125, length / 2);
                    note("redone_operations", 7, length / 2);
                    note("lost_gradients", 0, length / 2);
                    recorder.event(
                        run,
                        {.iteration = i,
                         .kind = RunEvent::Kind::lost,
                         .network_s = 1.25 * length,
                         .lasted_s = length / 4,
                         .what =
                             "node-2 lost, and the others run again what it had done, which is more than a line of the "
                             "list has room for, in any font that anybody chose"});
                    recorder.event(run, {.iteration = i + 1,
                                         .kind = RunEvent::Kind::plan,
                                         .network_s = 2 * length,
                                         .what = "another plan: all nodes are there"});
                }
                recorder.spans(run, i, i * length, spans);
                note("iteration_s", length, length);
                recorder.iteration_done(run, i + 1, 1);
            }
            recorder.finish(run, RunState::finished, {.iterations_done = 3}, "{}");
        }
        MainWindow window(planners_, file);
        window.resize(1280, 800);
        window.show();
        window.show_workspace(MainWindow::watch);
        auto& page = window.watch_page();
        const auto loaded = [&](RunId run) {
            const auto data = window.feed().data(run);
            return data != nullptr && data->explained_iterations == 3 && !window.feed().is_loading();
        };
        page.show_run(runs[0]);
        QTRY_VERIFY_WITH_TIMEOUT(loaded(runs[0]), patient_ms);
        auto* tabs = page.findChild<QTabWidget*>("watch_details");
        QVERIFY(tabs != nullptr);
        const int tab = tabs->indexOf(&page.failures());
        QVERIFY(!tabs->isTabVisible(tab));
        QVERIFY(!page.loss_key().isVisible());
        page.show_run(runs[1]);
        QTRY_VERIFY_WITH_TIMEOUT(loaded(runs[1]) && tabs->isTabVisible(tab), patient_ms);
        QCOMPARE(page.loss_key().text().trimmed(), QString("node-2 lost"));
        QVERIFY2(page.findChild<QLabel*>("disturbances")->text().isEmpty(), "it took no longer");
        window.resize(1024, 700);
        LossAccount many;
        many.nodes = 12;
        many.lost_s = 1e4;
        many.usual_s = 1;
        page.loss_key().show_losses(many, {});
        QTRY_COMPARE(page.loss_key().text().trimmed(), QString("12 losses"));
        window.resize(1280, 800);
        QTRY_VERIFY(page.loss_key().text().contains("12 losses, +"));
        const auto lost_words = [&](int losses, const QStringList& nodes) {
            many.nodes = losses;
            page.loss_key().show_losses(many, nodes);
            return page.loss_key().text().trimmed().section(',', 0, 0);
        };
        QCOMPARE(lost_words(3, {"n11"}), QString("n11 lost 3 times"));
        QCOMPARE(lost_words(2, {"n11"}), QString("n11 lost twice"));
        QCOMPARE(lost_words(2, {"n1", "n2"}), QString("2 nodes lost"));
        QCOMPARE(lost_words(5, {"n1", "n2"}), QString("5 losses of 2 nodes"));
        // Of a run that is over, and not long, all is in sight; the key leads to the loss.
        const auto zoomed = [&] { return page.zoom().end() - page.zoom().begin(); };
        QVERIFY(!page.zoom().follows());
        QVERIFY(page.zoom().begin() <= 0 && page.zoom().end() >= page.zoom().extent());
        QTest::mouseClick(&page.loss_key(), Qt::LeftButton);
        QCOMPARE(tabs->currentWidget(), &page.failures());
        const Loss lost = page.timeline().data()->losses().front();
        QVERIFY(zoomed() < 2 * length);
        QVERIFY(page.zoom().begin() < lost.begin_s && page.zoom().end() > lost.end_s);
        const auto& table = page.failures().table();
        QStringList rows;
        for (int row = 0; row < table.rowCount(); ++row)
            rows << QString(table.item(row, 0)->text() + ' ' + table.item(row, 1)->text()).replace(QChar(0x2009), ' ');
        for (const char* row : {"Losses 1, of node-2", "Iterations disturbed 1", "Planning again 125 ms",
                                "Operations run again 7", "Gradients lost 0"})
            QVERIFY2(rows.contains(row), qPrintable(rows.join('\n')));
        QVERIFY2(!rows.contains("Iteration time lost 0 s"), "what did not happen says nothing");
        QVERIFY2(tabs->tabBar()->tabRect(tab).right() <= tabs->tabBar()->width(), "the last tab is in sight");

        // The network shows the time at the end of what is in sight, or of what is selected.
        const auto is_down = [&] { return page.network().scene_model().node("node-2")->down; };
        page.zoom().show(0, 1.75 * length);
        QVERIFY(is_down());
        const QString tip = page.network().scene_model().tip_for(page.network().scene_model().node("node-2"));
        QVERIFY2(tip.contains("lost since"), qPrintable(tip));
        page.zoom().show(0, 1.2 * length);
        QVERIFY(!is_down());
        page.zoom().show(0, 3 * length);
        QVERIFY(!is_down());
        page.zoom().show(0, 2 * length);
        QVERIFY2(is_down(), "at the iteration's end as well");
        page.zoom().show(0, 3 * length);
        QTRY_VERIFY(page.timeline().settled());
        QTest::mouseClick(&page.timeline(), Qt::LeftButton, {}, page.timeline().place_of(1.6 * length, 1).toPoint());
        QTRY_VERIFY(is_down());
        auto* one = page.findChild<QPushButton*>("one_iteration");
        QTest::mouseClick(one, Qt::LeftButton);
        QVERIFY2(std::abs(page.zoom().begin() - 0.995 * length) < 1e-6 * length &&
                     std::abs(page.zoom().end() - 2.005 * length) < 1e-6 * length,
                 "the iteration's own bounds");
        const auto* differences = page.findChild<QLabel*>("difference_summary");
        QVERIFY2(differences->text().startsWith("Iteration 2"), qPrintable(differences->text()));
        auto* by_node = page.findChild<QTabWidget*>("idle_tabs")->widget(2)->findChild<QTableWidget*>();
        QCOMPARE(by_node->rowCount(), 4);  // three nodes and their sum
        // A click on empty canvas leaves nothing selected anywhere.
        QVERIFY(window.selection().now().nodes.contains("node-2") && page.timeline().selected_gap());
        QTest::mouseClick(page.network().viewport(), Qt::LeftButton, {}, {3, 3});
        QVERIFY(window.selection().now().empty() && !page.timeline().selected_gap());
        const auto& happened = page.failures().events();
        QCOMPARE(happened.rowCount(), 2);
        QVERIFY(happened.item(0, 1)->text().startsWith("node-2 lost"));
        QVERIFY2(happened.rowHeight(0) > happened.rowHeight(1), "a long sentence is seen whole");
        page.zoom().show(2.5 * length, 3 * length);
        QTest::mouseClick(happened.viewport(), Qt::LeftButton, {},
                          happened.visualItemRect(happened.item(0, 1)).center());
        QVERIFY2(page.zoom().begin() < 1.25 * length && page.zoom().end() > 1.25 * length, "its moment is in sight");
        QCOMPARE(page.replay().moment_s(), 1.25 * length);
        page.show_run(runs[0]);
        QTRY_VERIFY_WITH_TIMEOUT(!is_down() && !tabs->isTabVisible(tab), patient_ms);
    }

    /// A run of this process: it goes on until it is told as finished.
    void a_node_of_a_live_run_is_made_to_fail() {
        QTemporaryDir folder;
        const std::filesystem::path file = folder.filePath("record.sqlite").toStdString();
        const Experiment e = three_linked_nodes();
        const auto planned = make_plan(e, *planners_.find("gpipe"), request_for(e));
        QVERIFY(planned->has_plan);
        const double length = planned->timeline.iteration_s;
        Recorder recorder(file);
        const RunId run = recorder.begin({.name = "live",
                                          .planner = "gpipe",
                                          .experiment_json = to_text(e),
                                          .plan_json = to_json(planned->plan, planned->problem, nullptr).dump(),
                                          .iterations = 30,
                                          .predicted_iteration_s = length});
        recorder.spans(run, 0, 0, planned->timeline.spans);
        recorder.iteration_done(run, 1, 1);
        MainWindow window(planners_, file);
        window.resize(1280, 800);
        window.show();
        auto& page = window.watch_page();
        QVERIFY(!page.why_not_fail().isEmpty());
        QTRY_VERIFY_WITH_TIMEOUT(window.feed().running() != nullptr, patient_ms);
        window.show_workspace(MainWindow::watch);
        page.show_run(run);
        QTRY_VERIFY_WITH_TIMEOUT(page.network().scene_model().node("node-2") != nullptr, patient_ms);
        QCOMPARE(page.why_not_fail(), QString());
        const auto ask = [&]() -> QMenu* {
            delete page.network().findChild<QMenu*>(QString(), Qt::FindDirectChildrenOnly);
            const QPoint at = page.network().mapFromScene(page.network().scene_model().node("node-2")->pos());
            QContextMenuEvent event(QContextMenuEvent::Mouse, at, page.network().viewport()->mapToGlobal(at));
            QApplication::sendEvent(page.network().viewport(), &event);
            return page.network().findChild<QMenu*>(QString(), Qt::FindDirectChildrenOnly);
        };
        std::vector<Command> commands;
        const auto take = [&] {
            for (const auto& command : recorder.take_commands(run)) commands.push_back(command);
            return !commands.empty();
        };
        const auto payload = [&] { return QJsonDocument::fromJson(commands.front().payload_json.c_str()).object(); };
        QMenu* menu = ask();
        QVERIFY(menu != nullptr);
        auto* fail = menu->findChild<QMenu*>("fail_now");
        QVERIFY(fail != nullptr);
        fail->findChild<QDoubleSpinBox*>("back_after_s")->setValue(60);
        fail->findChild<QPushButton*>("fail_node")->click();
        QTRY_VERIFY_WITH_TIMEOUT(take(), patient_ms);
        QCOMPARE(commands.front().kind, std::string("fail"));
        QCOMPARE(payload(), (QJsonObject{{"node", "node-2"}, {"back_after_s", 60}}));
        QVERIFY(window.statusBar()->currentMessage().contains("node-2 fails now, back"));
        commands.clear();
        fail = ask()->findChild<QMenu*>("fail_now");
        QCOMPARE(fail->findChild<QDoubleSpinBox*>("back_after_s")->value(), 60.0);
        for (auto* action : fail->actions())
            if (action->text() == "For good") action->trigger();
        QTRY_VERIFY_WITH_TIMEOUT(take(), patient_ms);
        QVERIFY(payload().contains("back_after_s") && payload()["back_after_s"].isNull());

        recorder.finish(run, RunState::finished, {.iterations_done = 1}, "{}");
        QTRY_VERIFY_WITH_TIMEOUT(window.feed().running() == nullptr, patient_ms);
        menu = ask();
        QVERIFY(menu->findChild<QMenu*>("fail_now") == nullptr);
        auto* off = menu->findChild<QAction*>("fail_now");
        QVERIFY(off != nullptr && !off->isEnabled());
        QVERIFY2(off->toolTip().contains("finished"), qPrintable(off->toolTip()));
        menu->close();
    }

private:
    PlannerRegistry planners_;
};

QTEST_MAIN(TestWindowRuns)
#include "test_window_runs.moc"
