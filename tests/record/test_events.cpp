// SPDX-License-Identifier: GPL-3.0-or-later
// What happened to a run, in the record and back.
#include <QTemporaryDir>
#include <QTest>

#include <SQLiteCpp/SQLiteCpp.h>

#include "core/record/import.h"
#include "core/record/record.h"

using namespace skippipe;

namespace {

RunEvent lost(int iteration, double at_s) {
    return {.iteration = iteration, .kind = RunEvent::Kind::lost, .network_s = at_s, .lasted_s = 3, .what = "n5 lost"};
}

std::vector<RunEvent> without_rows(std::vector<RunEvent> events) {
    for (auto& event : events) event.row = 0;
    return events;
}

}  // namespace

class TestEvents : public QObject {
    Q_OBJECT
    QTemporaryDir folder_;

    std::filesystem::path fresh(const char* name) const { return folder_.filePath(name).toStdString(); }

private Q_SLOTS:
    void as_they_were_told() {
        const auto file = fresh("told.sqlite");
        Recorder recorder(file);
        const RunId run = recorder.begin({.name = "told"}), other = recorder.begin({.name = "other"});
        std::vector<RunEvent> told;
        for (const auto kind : {RunEvent::Kind::lost, RunEvent::Kind::back, RunEvent::Kind::speeds,
                                RunEvent::Kind::went_back, RunEvent::Kind::plan, RunEvent::Kind::met_anew})
            told.push_back({.iteration = static_cast<int>(kind), .kind = kind, .network_s = 1.5, .what = "it"});
        for (const auto& event : told) recorder.event(run, event);
        recorder.metric(run, {.iteration = 7, .name = "loss", .value = 3});
        recorder.event(run, lost(7, 2.5));
        recorder.event(other, lost(0, 1));
        QVERIFY(recorder.flush(std::chrono::seconds(30)));
        told.push_back(lost(7, 2.5));
        Reader reader(file);
        const auto all = reader.events(run);
        QCOMPARE(without_rows(all), told);
        QCOMPARE(reader.events(run, all[5].row), (std::vector{all[6]}));
        QCOMPARE(reader.events(other).size(), std::size_t{1});
        QVERIFY(reader.events(99).empty());
    }

    /// Unlike what is done anew: it has happened.
    void a_training_that_goes_back_keeps_them() {
        for (const bool written : {false, true}) {
            const auto file = fresh(written ? "back1.sqlite" : "back2.sqlite");
            Recorder recorder(file);
            const RunId run = recorder.begin({.name = "back"});
            for (int i = 0; i < 4; ++i) recorder.event(run, lost(i, i));
            if (written) QVERIFY(recorder.flush(std::chrono::seconds(30)));
            recorder.go_back(run, {.iterations_done = 2});
            recorder.event(run, lost(2, 9));
            QVERIFY(recorder.flush(std::chrono::seconds(30)));
            QCOMPARE(Reader(file).events(run).size(), std::size_t{5});
        }
    }

    /// What happened after its checkpoint happened in a process that is gone; numbers go on.
    void a_run_that_is_taken_up_goes_on_from_its_checkpoint() {
        const auto file = fresh("resumed.sqlite");
        RunId run = 0;
        {
            Recorder recorder(file);
            run = recorder.begin({.name = "resumed", .iterations = 6});
            for (int i = 0; i < 4; ++i) recorder.event(run, lost(i, i));
            recorder.iteration_done(run, 4, 1);
            recorder.finish(run, RunState::stopped, {}, "{}");
        }
        Recorder recorder(file);
        recorder.resume(run, {.iterations_done = 2});
        recorder.metric(run, {.iteration = 2, .name = "loss", .value = 3});
        recorder.event(run, lost(2, 9));
        QVERIFY(recorder.flush(std::chrono::seconds(30)));
        const auto events = Reader(file).events(run);
        QCOMPARE(without_rows(events), (std::vector{lost(0, 0), lost(1, 1), lost(2, 9)}));
        QVERIFY(events.back().row > 4);
    }

    void they_follow_their_run() {
        const auto file = fresh("moved.sqlite"), mine = fresh("here.sqlite");
        {
            Recorder recorder(file);
            const RunId run = recorder.begin({.name = "moved"});
            recorder.event(run, lost(0, 1));
            QVERIFY(recorder.flush(std::chrono::seconds(30)));
            std::filesystem::rename(file, fresh("elsewhere.sqlite"));
            recorder.event(run, lost(1, 2));
            recorder.finish(run, RunState::finished, {}, "{}");
        }
        QCOMPARE(Reader(file).events(Reader(file).runs().front().id).size(), std::size_t{2});
        const auto imported = import_runs(file, mine);
        QCOMPARE(imported.size(), std::size_t{1});
        QCOMPARE(Reader(mine).events(imported.front().here).size(), std::size_t{2});
    }

    void a_kind_that_nobody_knows_is_left_out() {
        const auto file = fresh("strange.sqlite");
        Recorder recorder(file);
        const RunId run = recorder.begin({.name = "strange"});
        recorder.event(run, lost(0, 1));
        recorder.event(run, lost(1, 2));
        QVERIFY(recorder.flush(std::chrono::seconds(30)));
        SQLite::Database(file.string(), SQLite::OPEN_READWRITE).exec("UPDATE events SET kind = 'eaten' WHERE row = 1");
        QCOMPARE(Reader(file).events(run).size(), std::size_t{1});
    }
};

QTEST_GUILESS_MAIN(TestEvents)
#include "test_events.moc"
