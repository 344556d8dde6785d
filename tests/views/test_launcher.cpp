// SPDX-License-Identifier: GPL-3.0-or-later
// What the window launches reads the files that the document names, wherever its own copy lies.
#include <atomic>
#include <chrono>
#include <future>

#include <QTemporaryDir>
#include <QtTest>

#include "core/experiment/io.h"
#include "views/document/document.h"
#include "views/document/file_worker.h"
#include "views/runs/launcher.h"

using namespace skippipe;

class TestLauncher : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void every_file_is_found_from_the_frozen_experiment() {
        QTemporaryDir folder;
        QVERIFY(QDir(folder.path()).mkpath("mine"));
        const std::filesystem::path place = folder.path().toStdString();
        Experiment e;
        e.data.source = DataSource::text;
        e.data.files = {{"a.txt", 1}, {"/elsewhere/b.txt", 2}};
        e.data.tokenizer = "../tokens.model";
        e.training.initial_weights = "start.safetensors";
        write_file_atomically(place / "mine" / "experiment.json", to_text(e));
        const auto mine = place / "mine" / "experiment.json";
        const auto file = freeze(e, mine, nullptr, place / "launched");
        Faults faults;
        const auto frozen = parse_experiment(read_file(file, faults)).experiment;
        QVERIFY(faults.empty());
        QCOMPARE(frozen.data.path, std::string());
        QCOMPARE(frozen.data.files[0].path, (place / "mine/a.txt").string());
        QCOMPARE(frozen.data.files[1].path, std::string("/elsewhere/b.txt"));
        QCOMPARE(frozen.data.tokenizer, (place / "tokens.model").string());
        QCOMPARE(frozen.training.initial_weights, (place / "mine/start.safetensors").string());

        e.data.files.clear();
        e.data.path = "a.txt";
        const auto other = parse_experiment(read_file(freeze(e, mine, nullptr, place / "launched"), faults));
        QCOMPARE(other.experiment.data.path, (place / "mine/a.txt").string());
    }

    void an_experiment_without_a_file_keeps_what_it_says() {
        QTemporaryDir folder;
        Experiment e;
        e.data.path = "a.txt";
        Faults faults;
        const auto file = freeze(e, {}, nullptr, folder.path().toStdString());
        QCOMPARE(parse_experiment(read_file(file, faults)).experiment.data.path, std::string("a.txt"));
    }

    /// An empty experiment cannot run, so what is told comes from the program.
    void launching_waits_for_no_disk() {
        if (Launcher::program().isEmpty()) QSKIP("skippipe is not built");
        QTemporaryDir folder;
        const std::filesystem::path place = folder.path().toStdString();
        FileWorker files;
        Launcher launcher(files, place / "record.sqlite", place / "launched");
        QSignalSpy failed(&launcher, &Launcher::failed);
        Document document;
        std::promise<void> disk;
        std::atomic<bool> answered = false;
        files.ask({}, [&] {
            disk.get_future().wait_for(std::chrono::seconds(20));
            answered = true;
        });
        int turns = 0;
        QTimer timer;
        connect(&timer, &QTimer::timeout, this, [&] { ++turns; });
        timer.start(5);
        launcher.launch(document, nullptr);
        QVERIFY(launcher.is_starting());
        QTRY_VERIFY(turns > 3);
        QVERIFY2(!answered && failed.isEmpty() && !std::filesystem::exists(place / "launched"),
                 "nothing is written yet, and nobody waited");
        disk.set_value();
        QTRY_COMPARE_WITH_TIMEOUT(failed.count(), 1, 60'000);
        QVERIFY2(failed.front().front().toString().contains("no node"), qPrintable(failed.front().front().toString()));
        QVERIFY(!launcher.is_starting());
    }
};

QTEST_GUILESS_MAIN(TestLauncher)
#include "test_launcher.moc"
