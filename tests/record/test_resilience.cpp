// SPDX-License-Identifier: GPL-3.0-or-later
// A record that fails under way never ends what it records, and what was given to it is there in the end.
#include <QTemporaryDir>
#include <QtTest>
#include <csignal>
#include <fstream>
#include <map>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/format.h>

#include "core/base/fault.h"
#include "core/record/record.h"
#include "core/record/spill.h"

using namespace skippipe;
using namespace std::chrono_literals;

namespace {

constexpr auto patient = 60s;
constexpr int spans_each = 500;

bool eventually(const std::function<bool()>& condition) {
    const auto deadline = std::chrono::steady_clock::now() + patient;
    while (!condition()) {
        if (std::chrono::steady_clock::now() > deadline) return false;
        std::this_thread::sleep_for(10ms);
    }
    return true;
}

void record_iterations(Recorder& recorder, RunId run, int first, int last) {
    for (int i = first; i < last; ++i) {
        recorder.spans(run, i, i, std::vector<Span>(spans_each));
        recorder.metric(run, {0, i, "loss", 5.0 - 0.01 * i, 1.0 * i, 1.0 * i, 1});
        recorder.iteration_done(run, i + 1, 1.0 * i);
        recorder.heartbeat(run);
    }
}

/// All losses in order, the spans of every iteration from `first_whole`, and the state.
bool is_whole(const std::filesystem::path& file, RunId run, int iterations, RunState state, int first_whole = 0) {
    Reader reader{file};
    const auto info = reader.run(run);
    const auto metrics = reader.metrics(run);
    bool whole = info && info->state == state && info->iterations_done == iterations &&
                 metrics.size() == static_cast<std::size_t>(iterations);
    for (int i = 0; whole && i < iterations; ++i) whole = metrics[static_cast<std::size_t>(i)].iteration == i;
    for (int i = first_whole; whole && i < iterations; ++i)
        whole = reader.spans(run, i).size() == static_cast<std::size_t>(spans_each);
    if (!whole)
        qWarning("%s, %d iterations, %zu metrics, %zu spans", info ? std::string(state_name(*info)).c_str() : "no run",
                 info ? info->iterations_done : 0, metrics.size(), reader.spans(run).size());
    return whole;
}

/// No file of this process may grow beyond `bytes`: to SQLite a disk that is full, for the files that are longer.
class FullDisk {
public:
    explicit FullDisk(std::uintmax_t bytes) {
        std::signal(SIGXFSZ, SIG_IGN);
        getrlimit(RLIMIT_FSIZE, &before_);
        rlimit limit{bytes, before_.rlim_max};
        setrlimit(RLIMIT_FSIZE, &limit);
    }
    ~FullDisk() { setrlimit(RLIMIT_FSIZE, &before_); }

private:
    rlimit before_{};
};

/// A write lock held by another program.
class Lock {
public:
    explicit Lock(const std::filesystem::path& file) : database_{file.string(), SQLite::OPEN_READWRITE, 10'000} {
        database_.exec("BEGIN IMMEDIATE");
    }
    ~Lock() { database_.exec("ROLLBACK"); }

private:
    SQLite::Database database_;
};

/// A file system of one MiB under `place` for this process alone; false where this system does not allow it.
bool mount_small_disk(const std::filesystem::path& place) {
    if (unshare(CLONE_NEWNS) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
    mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr);
    return mount("tmpfs", place.c_str(), "tmpfs", 0, "size=1m") == 0;
}

/// Another process that records a run each time it is told to; it keeps the record open until it is told again, or let
/// go.
class OtherProcess {
public:
    explicit OtherProcess(const std::filesystem::path& file) {
        if (pipe(to_) != 0 || pipe(from_) != 0) return;
        pid_ = fork();
        ::close(pid_ == 0 ? to_[1] : to_[0]);  // so that each sees the other go
        ::close(pid_ == 0 ? from_[0] : from_[1]);
        if (pid_ != 0) return;
        char byte = 0;
        std::optional<Recorder> recorder;
        while (read(to_[0], &byte, 1) == 1) {
            recorder.reset();
            if (byte == 'r') {
                recorder.emplace(file);
                const RunId run = recorder->begin({.name = "another's", .iterations = 1});
                record_iterations(*recorder, run, 0, 1);
                recorder->finish(run, RunState::finished, {.iterations_done = 1}, "{}");
            }
            if (write(from_[1], &byte, 1) != 1) break;
        }
        _exit(0);
    }
    /// 'r': record a run; 'c': close the record. False where it did not.
    bool tell(char what) { return write(to_[1], &what, 1) == 1 && read(from_[0], &what, 1) == 1; }
    ~OtherProcess() {
        ::close(to_[1]);
        ::close(from_[0]);
        waitpid(pid_, nullptr, 0);
    }

private:
    int to_[2]{}, from_[2]{};
    pid_t pid_ = 0;
};

constexpr int cannot_mount = 77;

/// What the child of `a_disk_that_is_really_full` does; its exit code is the first thing that was wrong.
int fill_a_small_disk(const std::filesystem::path& place) try {
    if (!mount_small_disk(place)) return cannot_mount;
    const auto file = place / "record.sqlite", ballast = place / "ballast";
    Recorder recorder{file};
    const RunId run = recorder.begin({.name = "small", .iterations = 40});
    record_iterations(recorder, run, 0, 1);
    if (!recorder.flush(patient)) return 2;
    std::ofstream{ballast} << std::string(std::size_t{1} << 20, 'x');  // takes what is left
    record_iterations(recorder, run, 1, 10);
    if (!eventually([&] { return !recorder.health().writable; })) return 3;
    // What readers are told follows what the recorder knows.
    const auto told = [&] { return Reader{file}.run(run)->warning.find("full") != std::string::npos; };
    if (!eventually(told)) return 4;
    std::filesystem::remove(ballast);
    if (!recorder.flush(patient)) return 5;
    recorder.finish(run, RunState::finished, {.iterations_done = 10}, "{}");
    return is_whole(file, run, 10, RunState::finished) ? 0 : 6;
} catch (const std::exception& error) {
    qWarning("%s", error.what());
    return 1;
}

}  // namespace

class TestResilience : public QObject {
    Q_OBJECT
    QTemporaryDir folder_;
    int files_ = 0;
    std::filesystem::path fresh() {
        const auto folder = folder_.filePath(QStringLiteral("f%1").arg(++files_)).toStdString();
        std::filesystem::create_directory(folder);
        return folder + "/record.sqlite";
    }
    /// Files beside the record that are neither it nor SQLite's own.
    static int left_files(const std::filesystem::path& file) {
        int count = 0;
        for (const auto& entry : std::filesystem::directory_iterator{file.parent_path()})
            count += entry.path().filename().string().starts_with("skippipe-spill-");
        return count;
    }

private Q_SLOTS:
    void initTestCase() { qputenv("XDG_STATE_HOME", folder_.filePath("state").toUtf8()); }

    void a_full_disk_is_waited_for() {
        const auto file = fresh();
        Recorder recorder{file};
        const RunId run = recorder.begin({.name = "full", .iterations = 60});
        record_iterations(recorder, run, 0, 5);
        QVERIFY(recorder.flush(patient));
        {
            const FullDisk full{std::filesystem::file_size(file.string() + "-wal") + 20'000};
            record_iterations(recorder, run, 5, 60);
            QVERIFY(eventually([&] { return !recorder.health().writable; }));
            QVERIFY(!recorder.health().trouble.remedy.empty());
            const auto told = recorder.take_warnings();
            QCOMPARE(told.size(), std::size_t{1});
            QVERIFY(told[0].severity == Fault::Severity::warning && !told[0].why.empty());
            const auto seen = Reader{file}.run(run);
            QVERIFY2(seen->state == RunState::running && !seen->warning.empty(), "a window sees what the trouble is");
        }
        QVERIFY(recorder.flush(patient));
        QVERIFY(recorder.health().writable);
        QCOMPARE(recorder.take_warnings().size(), std::size_t{1});
        QVERIFY(Reader{file}.run(run)->warning.empty());
        recorder.finish(run, RunState::finished, {.iterations_done = 60}, R"({"end": 1})");
        QVERIFY(is_whole(file, run, 60, RunState::finished));
        QCOMPARE(Reader{file}.summary_json(run), std::string{R"({"end": 1})"});
        QCOMPARE(left_files(file), 0);
    }

    void an_end_on_a_full_disk_is_taken_in_later() {
        const auto file = fresh();
        auto recorder = std::make_unique<Recorder>(file);
        const RunId run = recorder->begin({.name = "full", .iterations = 60});
        record_iterations(*recorder, run, 0, 5);
        QVERIFY(recorder->flush(patient));
        {
            // The spill has this much room, the log of the record has not.
            const FullDisk full{std::filesystem::file_size(file.string() + "-wal") + 20'000};
            record_iterations(*recorder, run, 5, 8);
            QVERIFY(eventually([&] { return !recorder->health().writable; }));
            recorder->finish(run, RunState::finished, {.iterations_done = 8}, R"({"end": 1})");
            QVERIFY(!recorder->health().spill.empty());
            QVERIFY(recorder->take_warnings().back().why.find("skippipe-spill") != std::string::npos);
            recorder.reset();
        }
        QVERIFY(left_files(file) > 0);
        Reader{file}.sweep_dead();
        QVERIFY(is_whole(file, run, 8, RunState::finished));
        QCOMPARE(Reader{file}.summary_json(run), std::string{R"({"end": 1})"});
        QCOMPARE(left_files(file), 0);
    }

    void a_disk_that_is_really_full() {
        const auto place = fresh().parent_path();
        const pid_t child = fork();
        if (child == 0) _exit(fill_a_small_disk(place));
        int status = 0;
        QCOMPARE(waitpid(child, &status, 0), child);
        QVERIFY(WIFEXITED(status));
        if (WEXITSTATUS(status) == cannot_mount) QSKIP("this system lets nobody mount a file system of its own");
        QCOMPARE(WEXITSTATUS(status), 0);
    }

    void a_lock_is_sat_out() {
        const auto file = fresh();
        Recorder recorder{file};
        const RunId run = recorder.begin({.name = "locked", .iterations = 30});
        {
            const Lock lock{file};
            record_iterations(recorder, run, 0, 30);  // returns while the lock is held
            QVERIFY(!recorder.flush(10ms));
            QVERIFY(eventually([&] { return !recorder.health().writable; }));
            QVERIFY(recorder.take_warnings().front().what.find("locked") != std::string::npos);
        }
        recorder.finish(run, RunState::finished, {.iterations_done = 30}, "{}");
        QVERIFY(is_whole(file, run, 30, RunState::finished));
        QCOMPARE(left_files(file), 0);
    }

    void an_end_under_a_lock_is_taken_in_later() {
        const auto file = fresh();
        RunId run = 0;
        {
            auto recorder = std::make_unique<Recorder>(file);
            run = recorder->begin({.name = "locked", .iterations = 4});
            const Lock lock{file};
            record_iterations(*recorder, run, 0, 4);
            recorder->finish(run, RunState::stopped, {.iterations_done = 4}, "{}");
            QVERIFY(!recorder->health().spill.empty());
            recorder.reset();
        }
        { Recorder next{file}; }
        QVERIFY(is_whole(file, run, 4, RunState::stopped));
        QCOMPARE(left_files(file), 0);
    }

    /// What the record had of iterations that are done anew is gone once it has what was kept beside it: where the same
    /// recorder takes that in, and where the next one does.
    void going_back_is_made_up_for_data() {
        QTest::addColumn<bool>("by_the_next");
        QTest::newRow("by the same") << false;
        QTest::newRow("by the next") << true;
    }
    void going_back_is_made_up_for() {
        QFETCH(bool, by_the_next);
        const auto file = fresh();
        auto recorder = std::make_unique<Recorder>(file, RecorderLimits{.memory_bytes = 1 << 18});
        const RunId run = recorder->begin({.name = "went back", .iterations = 20});
        record_iterations(*recorder, run, 0, 15);
        recorder->plan(run, 12, "{}", "old");
        QVERIFY(recorder->flush(patient));
        {
            const Lock lock{file};
            record_iterations(*recorder, run, 15, 16);
            const auto go_back = [&](int to, int from) {
                recorder->go_back(run, {.iterations_done = to, .machine_s = 1.0 * to});
                recorder->metric(run, {0, to, "lost_iterations", 1.0 * (from - to), 30, 1.0 * to, 1});
            };
            go_back(10, 16);
            record_iterations(*recorder, run, 10, 12);
            QVERIFY(eventually([&] { return !recorder->health().writable; }));
            record_iterations(*recorder, run, 12, 15);  // more than memory keeps
            QVERIFY(eventually([&] { return !recorder->health().spill.empty(); }));
            go_back(11, 15);
            record_iterations(*recorder, run, 11, 13);
            QCOMPARE(Reader{file}.run(run)->iterations_done, 15);  // as it was, until it can be written
            if (by_the_next) {
                recorder->finish(run, RunState::finished, {.iterations_done = 13}, "{}");
                recorder.reset();
            }
        }
        if (recorder) {
            QVERIFY(recorder->flush(patient));
            recorder->finish(run, RunState::finished, {.iterations_done = 13}, "{}");
        }
        Recorder next{file};
        Reader reader{file};
        QCOMPARE(reader.run(run)->iterations_done, 13);
        QVERIFY(reader.plan_changes(run).empty());
        std::map<int, int> losses, spans;
        for (const auto& metric : reader.metrics(run))
            if (metric.name == "loss") ++losses[metric.iteration];
        for (const auto& span : reader.spans(run)) ++spans[span.iteration];
        QCOMPARE(losses.size(), std::size_t{13});
        QCOMPARE(spans.size(), std::size_t{13});
        for (int i = 0; i < 13; ++i) QVERIFY(losses[i] == 1 && spans[i] == spans_each);
        QCOMPARE(left_files(file), 0);
    }

    void memory_and_spill_have_bounds_and_metrics_outlive_spans() {
        const auto file = fresh();
        constexpr int iterations = 400;
        Recorder recorder{file, {.memory_bytes = 1 << 18, .spill_bytes = 1 << 20}};
        const RunId run = recorder.begin({.name = "bounded", .iterations = iterations});
        {
            const Lock lock{file};
            for (int i = 0; i < iterations; i += 4) {
                record_iterations(recorder, run, i, i + 4);
                // As slow as a training is: the thread keeps up with moving rows aside.
                if (i > 0) QVERIFY(eventually([&] { return !recorder.health().spill.empty(); }));
            }
            QVERIFY(eventually([&] { return recorder.health().dropped_spans > 0; }));
            QVERIFY(std::filesystem::file_size(recorder.health().spill) < (std::size_t{3} << 20));
        }
        QVERIFY(recorder.flush(patient));
        recorder.finish(run, RunState::finished, {.iterations_done = iterations}, "{}");
        QVERIFY2(is_whole(file, run, iterations, RunState::finished, iterations - 1), "the newest spans are kept");
        Reader reader{file};
        QVERIFY(reader.spans(run).size() < std::size_t{iterations} * spans_each);
        QVERIFY(reader.run(run)->warning.find("could not be kept") != std::string::npos);
        QVERIFY(recorder.take_warnings().back().why.find("could not be kept") != std::string::npos);
    }

    void a_deleted_record_is_made_again_data() {
        QTest::addColumn<QString>("how");
        for (const char* how : {"file", "moved", "folder"}) QTest::newRow(how) << how;
    }
    void a_deleted_record_is_made_again() {
        QFETCH(QString, how);
        const auto file = fresh();
        Recorder recorder{file};
        recorder.begin({.name = "another"});
        const RunId run = recorder.begin({.name = "kept", .experiment_json = "{\"e\": 1}", .iterations = 20});
        record_iterations(recorder, run, 0, 10);
        QVERIFY(recorder.flush(patient));
        if (how == "file") std::filesystem::remove(file);
        if (how == "moved") std::filesystem::rename(file, file.parent_path() / "elsewhere.sqlite");
        if (how == "folder") std::filesystem::remove_all(file.parent_path());
        record_iterations(recorder, run, 10, 20);
        QVERIFY(recorder.flush(patient));
        QVERIFY(recorder.take_warnings().front().what.find("deleted") != std::string::npos);
        recorder.finish(run, RunState::finished, {.iterations_done = 20}, "{}");
        QVERIFY(is_whole(file, run, 20, RunState::finished));
        QCOMPARE(Reader{file}.experiment_json(run), std::string{"{\"e\": 1}"});
        SQLite::Database database{file.string()};
        QCOMPARE(database.execAndGet("PRAGMA integrity_check").getString(), std::string{"ok"});
    }

    /// A dialog that looks at the files of a folder opens and closes the record: this process's locks are gone (fcntl's
    /// rule), and the next program to leave takes the log away as the last.
    void a_reader_whose_log_was_taken_reads_on() {
        const auto file = fresh();
        OtherProcess other{file};
        { Recorder make{file}; }
        Reader reader{file};
        QCOMPARE(reader.runs().size(), std::size_t{0});
        for (const char* end : {"", "-wal", "-shm"}) std::ifstream{file.string() + end}.get();
        QVERIFY(other.tell('r') && other.tell('c'));
        QVERIFY2(!std::filesystem::exists(file.string() + "-shm"), "the other was the last");
        QVERIFY(other.tell('r'));
        QCOMPARE(reader.runs().size(), std::size_t{2});
        QCOMPARE(reader.metrics(reader.runs().front().id).size(), std::size_t{1});
        reader.set_note(reader.runs().front().id, "kept");
        QVERIFY(other.tell('c'));
        QCOMPARE(Reader{file}.runs().front().note, std::string{"kept"});
    }

    void damage_under_way_ends_nothing() {
        const auto file = fresh();
        Recorder recorder{file};
        const RunId run = recorder.begin({.name = "damaged", .iterations = 20});
        record_iterations(recorder, run, 0, 10);
        QVERIFY(recorder.flush(patient));
        {
            SQLite::Database other{file.string(), SQLite::OPEN_READWRITE, 10'000};
            other.exec("PRAGMA writable_schema = ON");
            other.exec("UPDATE sqlite_schema SET rootpage = 99999 WHERE name = 'metrics'");
            other.exec("PRAGMA schema_version = 77");
        }
        record_iterations(recorder, run, 10, 20);
        recorder.finish(run, RunState::finished, {.iterations_done = 20}, "{}");
        QVERIFY(!recorder.health().writable);
        const auto spill = recorder.health().spill;
        QVERIFY2(!spill.empty(), "what came after is beside it");
        QCOMPARE(Reader{spill}.metrics(run).back().iteration, 19);
        QVERIFY(Reader{spill}.run(run)->state == RunState::finished);
    }

    /// Damaged for so long that it is opened anew, and refused then: whoever begins a run meanwhile is told why.
    void a_record_that_cannot_be_opened_again_is_waited_for() {
        const auto file = fresh();
        Recorder recorder{file};
        const RunId run = recorder.begin({.name = "damaged", .iterations = 20});
        record_iterations(recorder, run, 0, 10);
        QVERIFY(recorder.flush(patient));
        SQLite::Database other{file.string(), SQLite::OPEN_READWRITE, 10'000};
        other.exec("PRAGMA writable_schema = ON");
        const int page = other.execAndGet("SELECT rootpage FROM sqlite_schema WHERE name = 'metrics'").getInt(),
                  version = other.execAndGet("PRAGMA user_version").getInt();
        const auto damage = [&](int root, int user_version, int schema_version) {
            other.exec(fmt::format("UPDATE sqlite_schema SET rootpage = {} WHERE name = 'metrics'", root));
            other.exec(fmt::format("PRAGMA user_version = {}", user_version));
            other.exec(fmt::format("PRAGMA schema_version = {}", schema_version));
        };
        damage(99999, version + 1000, 77);
        record_iterations(recorder, run, 10, 20);
        const auto is_it = [](const Fault& fault) {
            return fault.what.find("this program knows up to") != std::string::npos;
        };
        QVERIFY(eventually([&] { return is_it(recorder.health().trouble); }));
        try {
            recorder.begin({.name = "another"});
            QFAIL("it was begun");
        } catch (const InputError& error) {
            QVERIFY2(is_it(error.faults().front()), error.what());
        }
        damage(page, version, 78);
        QVERIFY(recorder.flush(patient));
        recorder.finish(run, RunState::finished, {.iterations_done = 20}, "{}");
        QVERIFY(is_whole(file, run, 20, RunState::finished));
        QCOMPARE(left_files(file), 0);
    }

    void what_cannot_be_begun_is_refused() {
        const auto file = fresh();
        { Recorder recorder{file}; }
        const pid_t child = fork();
        if (child == 0) {  // root may write anywhere
            std::filesystem::permissions(file, std::filesystem::perms(0444));
            std::filesystem::permissions(file.parent_path(), std::filesystem::perms(0555));
            std::filesystem::permissions(folder_.path().toStdString(), std::filesystem::perms(0755));
            if (geteuid() == 0 && setuid(65534) != 0) _exit(cannot_mount);
            try {
                Recorder recorder{file};
                recorder.begin({});
                _exit(1);
            } catch (const InputError& error) {
                _exit(error.faults().front().remedy.empty() ? 2 : 0);
            }
        }
        int status = 0;
        QCOMPARE(waitpid(child, &status, 0), child);
        std::filesystem::permissions(file.parent_path(), std::filesystem::perms(0755));
        QVERIFY(WIFEXITED(status));
        QCOMPARE(WEXITSTATUS(status), 0);
        Recorder recorder{fresh()};
        recorder.finish(99, RunState::failed, {}, "{}");  // of a run that was never begun: nothing to end
        recorder.metric(99, {});
        QVERIFY(recorder.flush(patient));
    }

    void pauses_are_told() {
        const auto file = fresh();
        Recorder recorder{file};
        const RunId run = recorder.begin({.name = "paused"});
        Reader reader{file};
        const auto tell = [&](const char* command) {
            reader.send_command(run, command);
            return recorder.flush(patient) && eventually([&] { return !recorder.take_commands(run).empty(); }) &&
                   recorder.flush(patient);
        };
        QVERIFY(tell("pause"));
        QVERIFY(reader.run(run)->state == RunState::running && reader.run(run)->paused);
        QCOMPARE(state_name(*reader.run(run)), std::string_view{"paused"});
        QVERIFY(tell("resume"));
        QVERIFY(!reader.run(run)->paused);
        QVERIFY(tell("pause"));
        recorder.finish(run, RunState::stopped, {}, "{}");
        QCOMPARE(state_name(*reader.run(run)), std::string_view{"stopped"});
    }
};

QTEST_APPLESS_MAIN(TestResilience)
#include "test_resilience.moc"
