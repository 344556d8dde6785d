// SPDX-License-Identifier: GPL-3.0-or-later
// What the window launches reads the files that the document names, wherever its own copy lies.
#include <QTemporaryDir>
#include <QtTest>

#include "core/experiment/io.h"
#include "views/document/document.h"
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
        Document document;
        document.open(place / "mine" / "experiment.json");
        const auto file = freeze(document, nullptr, place / "launched");
        Faults faults;
        const auto frozen = parse_experiment(read_file(file, faults)).experiment;
        QVERIFY(faults.empty());
        QCOMPARE(frozen.data.path, std::string());
        QCOMPARE(frozen.data.files[0].path, (place / "mine/a.txt").string());
        QCOMPARE(frozen.data.files[1].path, std::string("/elsewhere/b.txt"));
        QCOMPARE(frozen.data.tokenizer, (place / "tokens.model").string());
        QCOMPARE(frozen.training.initial_weights, (place / "mine/start.safetensors").string());
        QVERIFY2(document.experiment().data.tokenizer == e.data.tokenizer, "the document keeps its own words");

        document.edit("Path", [](Experiment& changed) {
            changed.data.files.clear();
            changed.data.path = "a.txt";
        });
        const auto other = parse_experiment(read_file(freeze(document, nullptr, place / "launched"), faults));
        QCOMPARE(other.experiment.data.path, (place / "mine/a.txt").string());
    }

    void an_experiment_without_a_file_keeps_what_it_says() {
        QTemporaryDir folder;
        Document document;
        Experiment e;
        e.data.path = "a.txt";
        document.start_new(e);
        Faults faults;
        const auto file = freeze(document, nullptr, folder.path().toStdString());
        QCOMPARE(parse_experiment(read_file(file, faults)).experiment.data.path, std::string("a.txt"));
    }
};

QTEST_GUILESS_MAIN(TestLauncher)
#include "test_launcher.moc"
