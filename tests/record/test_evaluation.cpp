// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTemporaryDir>
#include <QtTest>

#include "core/base/fault.h"
#include "core/record/record.h"
#include "core/record/schema.h"

using namespace skippipe;

namespace {

Evaluation evaluation_of(double loss) {
    return {"2026-11-22T10:00:00.000Z",
            "/models/w.safetensors",
            3,
            4096,
            1,
            0xFFFF'FFFF'FFFF'FFFFULL,
            64,
            {{{}, loss}, {{0}, loss + 3}, {{1}, loss + 1}, {{2}, loss + 0.5}, {{1, 2}, loss + 2}}};
}

}  // namespace

class TestEvaluation : public QObject {
    Q_OBJECT
    QTemporaryDir folder_;
    int files_ = 0;
    std::filesystem::path fresh() { return folder_.filePath(QStringLiteral("e%1.sqlite").arg(++files_)).toStdString(); }

private Q_SLOTS:
    void what_is_written_is_read_and_replaced() {
        const auto file = fresh();
        Recorder recorder{file};
        const auto first = recorder.begin({}), second = recorder.begin({});
        Reader reader{file};
        QVERIFY(!reader.evaluation(first));
        reader.set_evaluation(first, evaluation_of(2));
        QVERIFY(Reader{file}.evaluation(first) == evaluation_of(2));
        QVERIFY(!reader.evaluation(second));
        auto fewer = evaluation_of(1.5);
        fewer.losses.resize(2);
        reader.set_evaluation(first, fewer);
        QVERIFY(reader.evaluation(first) == fewer);
        fewer.evaluated_utc.clear();
        reader.set_evaluation(first, fewer);
        QVERIFY(reader.evaluation(first)->evaluated_utc.starts_with("20"));
        QVERIFY_EXCEPTION_THROWN(reader.set_evaluation(77, fewer), InputError);
    }

    void it_goes_with_its_run() {
        const auto file = fresh();
        RunId run = 0;
        {
            Recorder recorder{file};
            run = recorder.begin({});
            recorder.finish(run, RunState::finished, {}, "{}");
        }
        Reader reader{file};
        reader.set_evaluation(run, evaluation_of(2));
        reader.remove(run);
        SQLite::Database database{file.string()};
        QCOMPARE(database.execAndGet("SELECT count(*) FROM evaluations").getInt(), 0);
        QCOMPARE(database.execAndGet("SELECT count(*) FROM omissions").getInt(), 0);
    }
};

QTEST_GUILESS_MAIN(TestEvaluation)
#include "test_evaluation.moc"
