// SPDX-License-Identifier: GPL-3.0-or-later
// Runs of another record: copied whole, once, and never half.
#include <QTemporaryDir>
#include <QtTest>

#include <chrono>
#include <fstream>
#include <thread>

#include "core/base/fault.h"
#include "core/record/import.h"
#include "core/record/record.h"
#include "core/record/schema.h"

using namespace skippipe;

namespace {

/// A finished run with something in every table, and one that goes on.
std::pair<RunId, RunId> write_record(Recorder& recorder, const std::filesystem::path& file) {
    const RunId first = recorder.begin({.name = "first",
                                        .planner = "gpipe",
                                        .experiment_json = "{\"a\": 1}",
                                        .plan_json = "{\"p\": 0}",
                                        .versions_json = "{}",
                                        .machine_json = "{\"cores\": 2}",
                                        .seed = 0xFFFF'FFFF'FFFF'FFFFULL,
                                        .iterations = 2});
    Span span{
        .kind = SpanKind::forward, .node = NodeIndex(1), .stage = StageIndex(0), .microbatch = MicrobatchIndex(3)};
    span.end_s = 0.5;
    recorder.spans(first, 0, 0, {span, span});
    recorder.plan(first, 1, "{\"p\": 1}", "n1 was lost");
    recorder.spans(first, 1, 1.5, {span});
    recorder.metric(first,
                    {.iteration = 0, .name = "loss", .value = 2.5, .network_s = 1, .machine_s = 2, .tokens = 64});
    recorder.iteration_done(first, 2, 3);
    recorder.finish(first, RunState::finished, {.iterations_done = 2, .iteration_s = 1.5}, "{\"sum\": 1}");
    const RunId second = recorder.begin({.name = "second", .planner = "dtfm", .iterations = 5});
    recorder.metric(second, {.iteration = 0, .name = "loss", .value = 9});
    recorder.flush(std::chrono::seconds(5));
    Reader reader(file);
    reader.set_tags(first, {"good", "starred"});
    reader.set_note(first, "what was learnt");
    reader.set_evaluation(first, {"2026-11-22T10:00:00.000Z", "/w", 3, 4096, 1, 7, 64, {{{}, 2}, {{1}, 3}}});
    return {first, second};
}

}  // namespace

class TestImport : public QObject {
    Q_OBJECT
    QTemporaryDir folder_;
    std::filesystem::path file(const char* name) { return folder_.filePath(name).toStdString(); }

private Q_SLOTS:
    void runs_are_copied_whole_and_once() {
        const auto theirs = file("theirs.sqlite"), mine = file("mine.sqlite");
        Recorder writer(theirs);
        const auto [first, second] = write_record(writer, theirs);
        RunId own = 0;
        {
            Recorder recorder(mine);
            own = recorder.begin({.name = "own", .planner = "gpipe", .iterations = 1});
            recorder.metric(own, {.name = "loss", .value = 1});
            recorder.finish(own, RunState::finished, {}, "{}");
        }
        const auto imported = import_runs(theirs, mine);
        QCOMPARE(imported.size(), std::size_t{2});
        QVERIFY(imported[0].there == first && imported[0].here != 0 && imported[0].here != own);
        QVERIFY2(imported[1].here == 0 && imported[1].why.find("goes on") != std::string::npos, "it is being written");
        Reader from(theirs), to(mine);
        const RunId here = imported[0].here;
        const auto a = *from.run(first), b = *to.run(here);
        QVERIFY(a.name == b.name && a.seed == b.seed && a.state == b.state && a.started_utc == b.started_utc);
        QVERIFY(a.tags == b.tags && a.note == b.note && a.iteration_s == b.iteration_s);
        QVERIFY(from.experiment_json(first) == to.experiment_json(here));
        QVERIFY(from.machine_json(first) == to.machine_json(here) && from.summary_json(first) == to.summary_json(here));
        QCOMPARE(to.plan_json(here, 1), std::string("{\"p\": 1}"));
        QCOMPARE(to.plan_changes(here).size(), std::size_t{1});
        const auto spans = to.spans(here), their_spans = from.spans(first);
        QCOMPARE(spans.size(), std::size_t{3});
        for (std::size_t i = 0; i < spans.size(); ++i)
            QVERIFY(spans[i].span == their_spans[i].span && spans[i].offset_s == their_spans[i].offset_s);
        QCOMPARE(to.metrics(here).size(), std::size_t{1});
        QCOMPARE(to.metrics(here)[0].value, 2.5);
        QVERIFY(to.evaluation(here) == from.evaluation(first));
        QCOMPARE(to.metrics(own).size(), std::size_t{1});
        for (const auto& again : import_runs(theirs, mine)) QCOMPARE(again.here, RunId{0});
        QCOMPARE(to.runs().size(), std::size_t{2});
        for (const auto& entry : std::filesystem::directory_iterator(folder_.path().toStdString()))
            QVERIFY2(entry.path().filename().string().find("import") == std::string::npos, entry.path().c_str());
    }

    /// Whoever goes on with a run is another process, on another machine perhaps; it is the same run.
    void one_that_went_on_grows() {
        const auto theirs = file("went_on.sqlite"), mine = file("has_it.sqlite");
        const RunId first = [&] {
            Recorder writer(theirs);
            return write_record(writer, theirs).first;
        }();
        const RunId here = import_runs(theirs, mine).front().here;
        Reader(mine).set_note(here, "mine");
        {
            auto database = record::open(theirs, record::OpenMode::existing);
            database.exec(
                "UPDATE runs SET pid = 4711, boot_id = 'another', iterations = 4, iterations_done = 4, state = "
                "'stopped' WHERE id = " +
                std::to_string(first));
            database.exec(
                "INSERT INTO metrics (run, row, iteration, name, value, network_s, machine_s, tokens) VALUES (" +
                std::to_string(first) + ", 900, 3, 'loss', 1.5, 4, 5, 256)");
        }
        const auto again = import_runs(theirs, mine);
        QVERIFY(again[0].there == first && again[0].here == here && again[0].grown && !again[1].grown);
        Reader to(mine);
        const auto grown = *to.run(here);
        QVERIFY(grown.iterations_done == 4 && grown.state == RunState::stopped && grown.note == "mine");
        QCOMPARE(to.metrics(here).size(), std::size_t{2});
        QCOMPARE(to.runs().size(), std::size_t{2});
        QCOMPARE(to.spans(here).size(), std::size_t{3});
        QCOMPARE(import_runs(theirs, mine)[0].here, RunId{0});
        // Nor does the older one come back.
        QCOMPARE(import_runs(mine, theirs)[0].here, RunId{0});
    }

    /// Nobody writes any more, though nobody said so either.
    void one_that_fell_silent_has_died() {
        const auto theirs = file("silent.sqlite"), mine = file("after.sqlite");
        const RunId second = [&] {
            Recorder writer(theirs);
            return write_record(writer, theirs).second;
        }();
        auto database = record::open(theirs, record::OpenMode::existing);
        database.exec("UPDATE runs SET state = 'running', heartbeat_s = heartbeat_s - 7200 WHERE id = " +
                      std::to_string(second));
        const auto imported = import_runs(theirs, mine);
        QVERIFY2(imported[1].here != 0, imported[1].why.c_str());
        QVERIFY(Reader(mine).run(imported[1].here)->state == RunState::died);
    }

    /// Killed on this machine, a moment ago: its end is known, and what it became elsewhere comes in.
    void one_that_was_killed_here_grows() {
        const auto mine = file("killed.sqlite"), theirs = file("elsewhere.sqlite");
        const auto [first, second] = [&] {
            Recorder writer(mine);
            return write_record(writer, mine);
        }();
        const auto change = [&](const std::filesystem::path& record, const std::string& to) {
            auto database = record::open(record, record::OpenMode::existing);
            database.exec("UPDATE runs SET " + to + " WHERE id = " + std::to_string(second));
        };
        change(mine, "state = 'running', process_start = 1, iterations_done = 2");
        std::filesystem::copy_file(mine, theirs);
        const auto killed = import_runs(theirs, file("third.sqlite"));
        QVERIFY2(killed[1].here != 0, killed[1].why.c_str());
        change(theirs, "state = 'finished', iterations_done = 6");
        const auto grown = import_runs(theirs, mine);
        QVERIFY2(grown[1].here == second && grown[1].grown, grown[1].why.c_str());
        QCOMPARE(Reader(mine).run(second)->iterations_done, 6);
        QVERIFY(grown[0].here == 0);
    }

    /// The first version's record is brought to the newest schema in a copy: the file itself stays as it was.
    void an_older_record_is_only_read() {
        const auto theirs = file("old.sqlite");
        {
            SQLite::Database database(theirs.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
            record::migrate(database, {record::migrations().front()}, theirs);
            database.exec(
                "INSERT INTO runs (name, planner, state, seed, started_utc, iterations, pid, pid_namespace, "
                "process_start, "
                "boot_id, heartbeat_s) VALUES ('old', 'gpipe', 'finished', 1, '2026', 1, 1, '', 1, 'x', 0)");
        }
        const auto imported = import_runs(theirs, file("newer.sqlite"));
        QCOMPARE(imported.size(), std::size_t{1});
        QVERIFY(Reader(file("newer.sqlite")).run(imported[0].here)->name == "old");
        SQLite::Database database(theirs.string(), SQLite::OPEN_READONLY);
        QCOMPARE(database.execAndGet("PRAGMA user_version").getInt(), 1);
    }

    /// Another program has the record to itself for longer than anybody waits: nothing is read, and that is said.
    void a_locked_record_is_no_empty_one() {
        const auto theirs = file("locked.sqlite"), mine = file("patient.sqlite");
        {
            Recorder writer(theirs);
            write_record(writer, theirs);
        }
        SQLite::Database holder(theirs.string(), SQLite::OPEN_READWRITE);
        QCOMPARE(holder.execAndGet("PRAGMA journal_mode = DELETE").getString(), std::string("delete"));
        holder.exec("BEGIN EXCLUSIVE");
        try {
            import_runs(theirs, mine, std::chrono::milliseconds(200));
            QFAIL("it was read");
        } catch (const InputError& error) {
            const std::string words = error.what();
            QVERIFY2(words.find("locked.sqlite") != std::string::npos && words.find("locked") != std::string::npos,
                     error.what());
        }
        QVERIFY(Reader(mine).runs().empty());
        // One that is busy for a moment only is waited for.
        std::thread release([&] {
            std::this_thread::sleep_for(std::chrono::milliseconds(300));
            holder.exec("COMMIT");
        });
        const auto imported = import_runs(theirs, mine);
        release.join();
        QCOMPARE(imported.size(), std::size_t{2});
    }

    void what_is_no_record_is_refused() {
        const auto mine = file("untouched.sqlite");
        std::ofstream(file("text.sqlite")) << std::string(2000, 'x');
        SQLite::Database(file("foreign.sqlite").string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE)
            .exec("CREATE TABLE t (a)");
        for (const char* name : {"text.sqlite", "foreign.sqlite", "nowhere.sqlite", "untouched.sqlite"}) {
            try {
                import_runs(file(name), mine);
                QFAIL(name);
            } catch (const InputError& error) {
                QVERIFY2(std::string(error.what()).find(name) != std::string::npos, error.what());
            }
            if (std::filesystem::exists(mine)) QVERIFY(Reader(mine).runs().empty());
        }
    }
};

QTEST_MAIN(TestImport)
#include "test_import.moc"
