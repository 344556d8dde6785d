// SPDX-License-Identifier: GPL-3.0-or-later
// What a run is told from the window while and after it trains: that it is silent, to go on for longer, or from a
// checkpoint as another run.
#include <QInputDialog>
#include <QMenu>
#include <QMenuBar>
#include <QtTest>

#include <SQLiteCpp/SQLiteCpp.h>

#include "core/record/checkpoints.h"
#include "plugins/planners/all.h"
#include "tests/views/recorded_runs.h"

using namespace skippipe;

class TestRunSteering : public QObject {
    Q_OBJECT
    PlannerRegistry planners_;

private Q_SLOTS:
    void initTestCase() { register_planners(planners_); }

    /// A process that is stopped gives no sign of life.
    void a_silent_run_is_told_of_once() {
        Recorded recorded(planners_);
        Recorder recorder(recorded.file);
        const RunId run = recorded.begin(recorder, recorded.experiment);
        MainWindow window(planners_, recorded.file);
        QStringList heard;
        connect(&window, &MainWindow::noted, this, [&](const QString& words) { heard << words; });
        QTRY_VERIFY_WITH_TIMEOUT(window.feed().run(run) != nullptr, patient_ms);
        QVERIFY(heard.isEmpty());
        SQLite::Database{recorded.file.string(), SQLite::OPEN_READWRITE}.exec(
            "UPDATE runs SET heartbeat_s = heartbeat_s - 60");
        QTRY_COMPARE_WITH_TIMEOUT(heard.size(), 1, patient_ms);
        QVERIFY2(heard.front().contains("no sign of life"), qPrintable(heard.front()));
        QVERIFY(window.banner().text().contains("no sign of life"));
        recorded.iterate(recorder, run, 0);  // which writes a heartbeat
        QTRY_VERIFY_WITH_TIMEOUT(!window.feed().run(run)->silent, patient_ms);
        QCOMPARE(heard.size(), 1);
    }

    /// A run that goes on is told; one that has ended needs a checkpoint, and the program says so.
    void a_run_is_extended_from_the_window() {
        Recorded recorded(planners_);
        Recorder recorder(recorded.file);
        const RunId run = recorded.begin(recorder, recorded.experiment);
        const auto window = std::make_unique<MainWindow>(planners_, recorded.file);
        window->show();
        QTRY_VERIFY_WITH_TIMEOUT(window->feed().run(run) != nullptr, patient_ms);
        QVERIFY(window->bar().extend_button().isVisibleTo(&window->bar()));
        const auto places = [&] {
            QCoreApplication::sendPostedEvents(nullptr, QEvent::LayoutRequest);
            return QList{window->bar().launch_button().x(), window->bar().pause_button().x(),
                         window->bar().stop_button().x()};
        };
        const auto while_it_runs = places();
        window->extend_run(run, recorded_iterations);
        QVERIFY2(window->banner().text().contains("4 iterations already"), qPrintable(window->banner().text()));
        QTimer answers;
        connect(&answers, &QTimer::timeout, this, [&] {
            if (auto* dialog = window->findChild<QInputDialog*>()) {
                dialog->setIntValue(9);
                dialog->accept();
            }
        });
        answers.start(20);
        QTest::mouseClick(&window->bar().extend_button(), Qt::LeftButton);
        answers.stop();
        std::string payload;
        QTRY_VERIFY_WITH_TIMEOUT(
            [&] {
                for (const auto& command : recorder.take_commands(run))
                    if (command.kind == "extend") payload = command.payload_json;
                return !payload.empty();
            }(),
            patient_ms);
        QCOMPARE(payload, std::string(R"({"iterations":9})"));
        recorder.finish(run, RunState::finished, {}, "{}");
        QTRY_VERIFY_WITH_TIMEOUT(window->feed().running() == nullptr, patient_ms);
        QVERIFY(!window->bar().extend_button().isVisibleTo(&window->bar()));
        QVERIFY2(places() == while_it_runs, "a click on Pause would launch");
        if (!worker_is_built()) return;
        window->extend_run(run, 9);
        QTRY_VERIFY2_WITH_TIMEOUT(window->banner().text().contains("no checkpoint"),
                                  qPrintable(window->banner().text()), patient_ms);
    }

    /// A run that has not come to its first checkpoint says when it will.
    void a_run_that_has_none_yet_says_when() {
        Recorded recorded(planners_);
        recorded.experiment.training.checkpoint_every = 20;
        Recorder recorder(recorded.file);
        const RunId run = recorded.begin(recorder, recorded.experiment);
        recorded.iterate(recorder, run, 0);
        MainWindow window(planners_, recorded.file);
        window.show();
        QTRY_VERIFY_WITH_TIMEOUT(window.feed().run(run) != nullptr, patient_ms);
        window.watch_page().show_run(run);
        QTRY_VERIFY_WITH_TIMEOUT(window.feed().data(run) != nullptr, patient_ms);
        Q_EMIT window.compare_page().list().fork_requested(run);
        QTRY_VERIFY2_WITH_TIMEOUT(window.banner().text().contains("the first after 20 iterations"),
                                  qPrintable(window.banner().text()), patient_ms);
    }

    /// What cannot be done with the run in sight is pale in the menu, with the reason.
    void what_a_run_cannot_is_pale_in_the_menu() {
        Recorded recorded(planners_);
        recorded.experiment.training.checkpoint_every = 0;
        Recorder recorder(recorded.file);
        MainWindow window(planners_, recorded.file);
        window.show();
        QMenu* menu = nullptr;
        for (auto* action : window.menuBar()->actions())
            if (action->text().remove('&') == "Run") menu = action->menu();
        QVERIFY(menu != nullptr && menu->toolTipsVisible());
        const auto entry = [&](const char* words) -> QAction* {
            for (auto* action : menu->actions())
                if (action->text() == QString::fromUtf8(words)) return action;
            return nullptr;
        };
        auto *extend = entry("Extend…"), *fork = entry("Fork from checkpoint…");
        QVERIFY(extend != nullptr && fork != nullptr);
        const auto opened = [&] {
            Q_EMIT menu->aboutToHide();
            Q_EMIT menu->aboutToShow();
        };
        opened();
        QVERIFY(!extend->isEnabled() && !fork->isEnabled());
        QVERIFY2(extend->toolTip().contains("no run to extend"), qPrintable(extend->toolTip()));
        const RunId run = recorded.begin(recorder, recorded.experiment);
        QTRY_VERIFY_WITH_TIMEOUT(window.feed().run(run) != nullptr, patient_ms);
        window.watch_page().show_run(run);
        QTRY_VERIFY_WITH_TIMEOUT(window.feed().data(run) != nullptr, patient_ms);
        opened();
        QVERIFY2(extend->isEnabled(), "it goes on");
        QVERIFY2(!fork->isEnabled() && fork->toolTip().contains("no checkpoint"), qPrintable(fork->toolTip()));
        recorder.finish(run, RunState::finished, {}, "{}");
        QTRY_VERIFY_WITH_TIMEOUT(window.feed().running() == nullptr, patient_ms);
        opened();
        QVERIFY2(!extend->isEnabled() && extend->toolTip().contains("no checkpoint"), qPrintable(extend->toolTip()));
        Q_EMIT menu->aboutToHide();
        QVERIFY2(extend->isEnabled() && fork->isEnabled(), "keys of its own say why");
    }

    /// At a checkpoint, with the settings of the open document.
    void a_run_is_forked_from_the_window() {
        if (!worker_is_built()) QSKIP("skippipe-worker is not built (SKIPPIPE_TORCH is off)");
        QTemporaryDir folder;
        QFile corpus(folder.filePath("corpus.txt"));
        QVERIFY(corpus.open(QIODevice::WriteOnly));
        for (int i = 0; i < 4000; ++i) corpus.write("line of text number " + QByteArray::number(i) + ".\n");
        corpus.close();
        MainWindow window(planners_, folder.filePath("record.sqlite").toStdString());
        window.show();
        Experiment e = three_linked_nodes();
        e.data.source = DataSource::text;
        e.data.path = corpus.fileName().toStdString();
        e.training.iterations = 4;
        e.training.checkpoint_every = 2;
        window.document().start_new(e);
        QTRY_VERIFY_WITH_TIMEOUT(window.plans().ready() != nullptr && !window.plans().is_busy(), patient_ms);
        window.launch();
        const auto finished = [&](std::size_t runs) {
            return window.feed().runs().size() == runs && window.feed().runs().front().state == RunState::finished;
        };
        QTRY_VERIFY2_WITH_TIMEOUT(finished(1), qPrintable(window.banner().text()), patient_ms);
        const RunId first = window.feed().runs().front().id;
        window.document().edit("rate", [](Experiment& x) {
            x.training.learning_rate = 1e-5;
            x.training.iterations = 6;
        });
        QTRY_COMPARE_WITH_TIMEOUT(window.why_not_launch(), QString(), patient_ms);
        window.compare_page().list().select({first});
        Q_EMIT window.compare_page().list().view().customContextMenuRequested({5, 5});
        auto* menu = window.findChild<QMenu*>("run_menu");
        QVERIFY(menu != nullptr);
        QTimer answers;
        connect(&answers, &QTimer::timeout, this, [&] {
            if (auto* dialog = window.findChild<QInputDialog*>()) dialog->accept();  // the newest
        });
        answers.start(20);
        for (auto* action : menu->actions())
            if (action->text() == QString::fromUtf8("Fork from checkpoint…")) action->trigger();
        menu->close();
        QTRY_VERIFY2_WITH_TIMEOUT(finished(2), qPrintable(window.banner().text()), patient_ms);
        answers.stop();
        const auto& fork = window.feed().runs().front();
        QVERIFY2(fork.note.find("Forked from run " + std::to_string(first) + " after 4") != std::string::npos,
                 fork.note.c_str());
        QCOMPARE(fork.iterations, 6);
        Reader reader(window.feed().file());
        QCOMPARE(parse_experiment(reader.experiment_json(fork.id)).experiment.training.learning_rate, 1e-5);
    }
};

QTEST_MAIN(TestRunSteering)
#include "test_run_steering.moc"
