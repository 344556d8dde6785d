// SPDX-License-Identifier: GPL-3.0-or-later
// What GPUs said of themselves, in the record and back.
#include <QTemporaryDir>
#include <QTest>

#include <SQLiteCpp/SQLiteCpp.h>

#include "core/record/import.h"
#include "core/record/record.h"

using namespace skippipe;

namespace {

DeviceReading reading_of(const char* device, double busy) {
    return {"here", device, "Card", std::string("GPU-") + device, {0, 2}, 3, {busy, 50, 80, 300.5, 1e9, -1}};
}

}  // namespace

class TestDevices : public QObject {
    Q_OBJECT
    QTemporaryDir folder_;

    std::filesystem::path fresh(const char* name) const { return folder_.filePath(name).toStdString(); }

private Q_SLOTS:
    void as_they_were_told() {
        const auto file = fresh("told.sqlite");
        Recorder recorder(file);
        const RunId run = recorder.begin({.name = "told"}), other = recorder.begin({.name = "other"});
        recorder.devices(run, 0, {reading_of("cuda:0", 0.25), reading_of("cuda:1", -1)});
        recorder.devices(run, 1, {});
        recorder.devices(run, 2, {reading_of("cuda:0", 1)});
        recorder.devices(other, 0, {reading_of("cuda:7", 0)});
        QVERIFY(recorder.flush(std::chrono::seconds(30)));
        Reader reader(file);
        const auto all = reader.devices(run);
        QCOMPARE(all.size(), std::size_t{2});
        QCOMPARE(all[0].iteration, 0);
        QCOMPARE(all[0].devices, (std::vector{reading_of("cuda:0", 0.25), reading_of("cuda:1", -1)}));
        QCOMPARE(all[1].iteration, 2);
        QCOMPARE(reader.devices(run, 1).size(), std::size_t{1});
        QCOMPARE(reader.devices(other).size(), std::size_t{1});
        const SQLite::Database database(file.string(), SQLite::OPEN_READONLY);
        SQLite::Statement nulls(database,
                                "SELECT count(*) FROM devices WHERE busy IS NULL AND memory_clock_hz IS NULL");
        nulls.executeStep();
        QCOMPARE(nulls.getColumn(0).getInt(), 1);
    }

    /// Whether it was written already or waits.
    void a_training_that_goes_back_takes_them_with_it() {
        for (const bool written : {false, true}) {
            const auto file = fresh(written ? "back1.sqlite" : "back2.sqlite");
            Recorder recorder(file);
            const RunId run = recorder.begin({.name = "back"});
            for (int i = 0; i < 4; ++i) recorder.devices(run, i, {reading_of("cuda:0", 0.25)});
            if (written) QVERIFY(recorder.flush(std::chrono::seconds(30)));
            recorder.go_back(run, {.iterations_done = 2});
            recorder.devices(run, 2, {reading_of("cuda:0", 0.5)});
            QVERIFY(recorder.flush(std::chrono::seconds(30)));
            const auto all = Reader(file).devices(run);
            QCOMPARE(all.size(), std::size_t{3});
            QCOMPARE(all.back().devices.front().gpu.busy, 0.5);
        }
    }

    /// A record that was moved away is made again with what its run had recorded.
    void they_follow_their_run_to_a_new_file() {
        const auto file = fresh("moved.sqlite");
        Recorder recorder(file);
        const RunId run = recorder.begin({.name = "moved"});
        recorder.devices(run, 0, {reading_of("cuda:0", 0.25)});
        QVERIFY(recorder.flush(std::chrono::seconds(30)));
        std::filesystem::rename(file, fresh("elsewhere.sqlite"));
        recorder.devices(run, 1, {reading_of("cuda:0", 0.5)});
        QVERIFY(recorder.flush(std::chrono::seconds(30)));
        Reader reader(file);
        QCOMPARE(reader.devices(reader.runs().front().id).size(), std::size_t{2});
    }

    void imported_with_their_run() {
        const auto file = fresh("there.sqlite"), mine = fresh("here.sqlite");
        {
            Recorder recorder(file);
            const RunId run = recorder.begin({.name = "there"});
            recorder.devices(run, 0, {reading_of("cuda:0", 0.25)});
            recorder.finish(run, RunState::finished, {}, "{}");
        }
        const auto imported = import_runs(file, mine);
        QCOMPARE(imported.size(), std::size_t{1});
        QCOMPARE(Reader(mine).devices(imported.front().here).size(), std::size_t{1});
    }

    void a_damaged_list_of_nodes_is_none() {
        const auto file = fresh("damaged.sqlite");
        Recorder recorder(file);
        const RunId run = recorder.begin({.name = "damaged"});
        recorder.devices(run, 0, {reading_of("cuda:0", 0.25)});
        QVERIFY(recorder.flush(std::chrono::seconds(30)));
        SQLite::Database(file.string(), SQLite::OPEN_READWRITE).exec("UPDATE devices SET nodes = '[1, \"x'");
        QVERIFY(Reader(file).devices(run).front().devices.front().nodes.empty());
        SQLite::Database(file.string(), SQLite::OPEN_READWRITE).exec("UPDATE devices SET nodes = '3'");
        Reader(file).devices(run);  // whatever it says
    }
};

QTEST_GUILESS_MAIN(TestDevices)
#include "test_devices.moc"
