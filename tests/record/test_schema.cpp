// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTemporaryDir>
#include <QtTest>
#include <fstream>
#include <iterator>
#include <thread>

#include <sqlite3.h>

#include "core/record/record.h"
#include "core/record/schema.h"

using namespace skippipe;

namespace {

std::string bytes_of(const std::filesystem::path& file) {
    std::ifstream in{file, std::ios::binary};
    return {std::istreambuf_iterator<char>{in}, {}};
}

void write(const std::filesystem::path& file, const std::string& bytes) {
    std::ofstream{file, std::ios::binary} << bytes;
}

/// The fault that opening gives, by recorder and by reader the same.
std::optional<Fault> fault_of(const std::filesystem::path& file) {
    std::optional<Fault> first;
    try {
        Recorder recorder{file};
    } catch (const InputError& error) {
        first = error.faults().front();
    }
    try {
        Reader reader{file};
        return std::nullopt;
    } catch (const InputError& error) {
        return error.faults().front() == first ? first : std::nullopt;
    }
}

}  // namespace

class TestSchema : public QObject {
    Q_OBJECT
    QTemporaryDir folder_;
    int files_ = 0;
    std::filesystem::path fresh() { return folder_.filePath(QStringLiteral("s%1.sqlite").arg(++files_)).toStdString(); }

private Q_SLOTS:
    void a_new_record_is_of_the_newest_version() {
        const auto file = fresh();
        { Recorder recorder{file}; }
        SQLite::Database database{file.string()};
        QCOMPARE(database.execAndGet("PRAGMA user_version").getInt(), static_cast<int>(record::migrations().size()));
        QCOMPARE(database.execAndGet("PRAGMA application_id").getInt(), record::application_id);
        QCOMPARE(database.execAndGet("PRAGMA journal_mode").getString(), std::string{"wal"});
    }

    void migrations_keep_what_is_there() {
        const auto file = fresh();
        RunId id = 0;
        {
            Recorder recorder{file};
            id = recorder.begin({});
            recorder.finish(id, RunState::finished, {}, "{}");
        }
        auto steps = record::migrations();
        steps.push_back("ALTER TABLE runs ADD COLUMN weather TEXT NOT NULL DEFAULT 'fair'");
        SQLite::Database database{file.string(), SQLite::OPEN_READWRITE};
        record::migrate(database, steps, file);
        QCOMPARE(database.execAndGet("PRAGMA user_version").getInt(), static_cast<int>(steps.size()));
        QCOMPARE(database.execAndGet("SELECT weather FROM runs").getString(), std::string{"fair"});
        record::migrate(database, steps, file);  // nothing left to do
        // A step that fails leaves the version before it.
        steps.push_back("ALTER TABLE nowhere ADD COLUMN x");
        QVERIFY_EXCEPTION_THROWN(record::migrate(database, steps, file), SQLite::Exception);
        QCOMPARE(database.execAndGet("PRAGMA user_version").getInt(), static_cast<int>(steps.size()) - 1);
    }

    /// Runs that were recorded before have it too.
    void version_7_knows_skip_ratios() {
        const auto file = fresh();
        RunId id = 0;
        {
            Recorder recorder{file};
            RunStart start;
            start.experiment_json = R"({"pipeline": {"skip_ratio": 0.25}})";
            start.plan_json = R"({"stages": [["a"], ["b"]], "paths": [{"nodes": ["a"]}]})";
            id = recorder.begin(start);
            recorder.finish(id, RunState::finished, {}, "{}");
        }
        {
            SQLite::Database database{file.string(), SQLite::OPEN_READWRITE};
            database.exec("ALTER TABLE runs DROP COLUMN skip_ratio");
            database.exec("PRAGMA user_version = 6");
        }
        QCOMPARE(Reader{file}.run(id)->skip_ratio, std::optional{0.25});
    }

    void a_newer_record_is_refused() {
        const auto file = fresh();
        { Recorder recorder{file}; }
        { SQLite::Database{file.string(), SQLite::OPEN_READWRITE}.exec("PRAGMA user_version = 999"); }
        const auto before = bytes_of(file);
        const auto fault = fault_of(file);
        QVERIFY(fault);
        QVERIFY(fault->what.find("999") != std::string::npos);
        QVERIFY(fault->remedy.find("newer") != std::string::npos);
        QVERIFY(bytes_of(file) == before);
    }

    void other_files_are_refused_untouched_data() {
        QTest::addColumn<QByteArray>("bytes");
        QTest::newRow("text") << QByteArray("dear diary\n");
        QTest::newRow("long text") << QByteArray(5000, 'x');
        QTest::newRow("half a header") << QByteArray("SQLite format 3\0", 16);
        QTest::newRow("header and zeros") << QByteArray("SQLite format 3\0", 16).append(QByteArray(4096, '\0'));
    }
    void other_files_are_refused_untouched() {
        QFETCH(QByteArray, bytes);
        const auto file = fresh();
        write(file, bytes.toStdString());
        const auto fault = fault_of(file);
        QVERIFY(fault);
        QVERIFY(!fault->remedy.empty());
        QVERIFY(bytes_of(file) == bytes.toStdString());
        QVERIFY(!std::filesystem::exists(file.string() + "-wal"));
    }

    void another_programs_database_is_refused_untouched() {
        const auto file = fresh();
        {
            SQLite::Database{file.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE}.exec(
                "CREATE TABLE bookmarks (url TEXT)");
        }
        const auto before = bytes_of(file);
        QVERIFY(fault_of(file));
        QVERIFY(bytes_of(file) == before);
    }

    void folders_and_unwritable_places_are_told() {
        QVERIFY(fault_of(folder_.path().toStdString()));
        const auto file = fresh();
        write(file, "I am in the way");
        try {
            Recorder recorder{file / "below" / "record.sqlite"};
            QFAIL("a file is no folder");
        } catch (const InputError& error) {
            QVERIFY(!error.faults().front().remedy.empty());
        }
    }

    void damage_is_told_not_crashed_on() {
        const auto file = fresh();
        {
            Recorder recorder{file};
            const RunId id = recorder.begin({});
            for (int i = 0; i < 50; ++i) recorder.spans(id, i, 0, std::vector<Span>(100));
            recorder.finish(id, RunState::finished, {}, "{}");
        }
        const auto whole = bytes_of(file);
        int told = 0;
        for (std::size_t at = 100; at < whole.size(); at += 997) {
            const auto broken = fresh();
            auto bytes = whole;
            for (std::size_t i = at; i < std::min(at + 300, bytes.size()); ++i)
                bytes[i] = static_cast<char>(bytes[i] ^ 0x5A);
            write(broken, bytes);
            try {
                Reader reader{broken};
                for (const auto& run : reader.runs()) reader.spans(run.id);
                reader.spans(1);
            } catch (const InputError& error) {
                ++told;
                QVERIFY(!error.faults().front().remedy.empty());
            }
            std::filesystem::remove(broken);
        }
        QVERIFY(told > 0);
    }

    void every_code_has_a_remedy() {
        for (const int code : {SQLITE_BUSY, SQLITE_READONLY, SQLITE_CANTOPEN, SQLITE_FULL, SQLITE_IOERR, SQLITE_CORRUPT,
                               SQLITE_NOTADB, SQLITE_CONSTRAINT, SQLITE_ERROR})
            QVERIFY(!record::error_of(code, "message", "f").faults().front().remedy.empty());
        QVERIFY(record::error_of(SQLITE_FULL, "", "f").faults().front().what.find("full") != std::string::npos);
        QVERIFY(record::error_of(SQLITE_IOERR_WRITE, "", "f").faults().front().remedy.find("disk") !=
                std::string::npos);  // extended codes too
    }

    void many_may_make_it_at_once() {
        for (int round = 0; round < 20; ++round) {
            const auto file = fresh();
            std::atomic<int> begun = 0;
            std::vector<std::thread> threads;
            for (int i = 0; i < 4; ++i)
                threads.emplace_back([&] {
                    try {
                        Recorder recorder{file};
                        recorder.begin({});
                        ++begun;
                    } catch (const std::exception& error) {
                        qWarning("%s", error.what());
                    }
                });
            for (auto& thread : threads) thread.join();
            QCOMPARE(begun.load(), 4);
            QCOMPARE(Reader{file}.runs().size(), std::size_t{4});
        }
    }
};

QTEST_APPLESS_MAIN(TestSchema)
#include "test_schema.moc"
