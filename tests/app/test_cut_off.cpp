// SPDX-License-Identifier: GPL-3.0-or-later
// A test that is killed in the middle of a run leaves nothing behind that trains on. The test starts itself once more.
#include <QCoreApplication>

#include "tests/app/losing_ranks.h"

using namespace launched;

class TestCutOff : public QObject {
    Q_OBJECT

    static constexpr const char* is_cut_off = "SKIPPIPE_IS_CUT_OFF";

    /// Processes that carry this variable.
    static int with_variable(const QByteArray& variable) {
        int found = 0;
        for (const auto& name : QDir(QStringLiteral("/proc")).entryList(QDir::Dirs)) {
            QFile environment(QStringLiteral("/proc/%1/environ").arg(name));
            if (name.toLongLong() <= 0 || !environment.open(QIODevice::ReadOnly)) continue;
            found += environment.readAll().split('\0').contains(variable);
        }
        return found;
    }

private Q_SLOTS:
    void initTestCase() {
        if (!no_worker().isEmpty()) QSKIP(qPrintable(no_worker()));
    }

    /// The one that is cut off.
    void trains_for_ever() {
        if (!qEnvironmentVariableIsSet(is_cut_off)) QSKIP("it is started by the other test");
        const Scene scene;
        auto process = start(scene, {"run", everywhere(scene, 1'000'000)});
        QVERIFY2(process.ended(10 * patient_ms), process.text());
    }

    void nothing_is_left_behind_data() {
        QTest::addColumn<int>("signal");
        QTest::newRow("SIGTERM") << SIGTERM;
        QTest::newRow("SIGKILL") << SIGKILL;
    }
    void nothing_is_left_behind() {
        QFETCH(int, signal);
        const auto mark = QUuid::createUuid().toByteArray(QUuid::WithoutBraces);
        QProcess cut_off;
        auto environment = QProcessEnvironment::systemEnvironment();
        environment.insert(QString::fromLatin1(is_cut_off), QString::fromLatin1(mark));
        cut_off.setProcessEnvironment(environment);
        cut_off.start(QCoreApplication::applicationFilePath(), {"trains_for_ever"});
        QVERIFY(cut_off.waitForStarted());
        const auto there = [&] { return with_variable(QByteArray(is_cut_off) + "=" + mark); };
        // Itself, `skippipe` and a worker a rank.
        const bool trains = wait_until([&] { return there() >= 2 + ranks; }, patient_ms);
        ::kill(static_cast<pid_t>(cut_off.processId()), signal);
        QVERIFY(cut_off.waitForFinished(10'000));
        QVERIFY(trains);
        QVERIFY2(wait_until([&] { return there() == 0; }, 10'000), qPrintable(QString("%1 are left").arg(there())));
    }
};

QTEST_GUILESS_MAIN(TestCutOff)
#include "test_cut_off.moc"
