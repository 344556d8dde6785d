// SPDX-License-Identifier: GPL-3.0-or-later
// Failures as text: what is typed is what the document then has, and back.
#include <QTest>

#include "core/base/fault.h"
#include "core/base/format.h"
#include "core/base/rng.h"
#include "core/experiment/describe.h"
#include "core/experiment/failure_text.h"

using namespace skippipe;

namespace {

/// Thin spaces as plain ones.
QString plain(const std::string& words) { return QString::fromStdString(words).replace(QChar(0x2009), ' '); }

Fault fault_of(const std::string& text) {
    try {
        parse_failure(text, "--fail");
    } catch (const InputError& error) {
        return error.faults().front();
    }
    return {};
}

}  // namespace

class TestFailureText : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void what_is_typed_is_what_fails() {
        QVERIFY(parse_failure("crash:node-3@120s+60s", "") ==
                (Failure{.target = "node-3", .at_s = 120, .rejoin_after_s = 60}));
        QVERIFY(parse_failure("stage-loss:any@3%", "") ==
                (Failure{.kind = FailureKind::stage_loss, .target = "any", .probability_per_iteration = 0.03}));
        QVERIFY(parse_failure("slow-down:node-2@iteration=5x3", "") ==
                (Failure{.kind = FailureKind::slow_down, .target = "node-2", .at_iteration = 5, .factor = 3}));
        QVERIFY(parse_failure("link-cut:a->b@0.5/h+1min", "") ==
                (Failure{.kind = FailureKind::link_cut, .target = "a->b", .rate_per_hour = 0.5, .rejoin_after_s = 60}));
        QVERIFY(parse_failure("coordinator-loss@1h", "") ==
                (Failure{.kind = FailureKind::coordinator_loss, .at_s = 3600}));
        QCOMPARE(*parse_failure("crash:a@1500ms", "").at_s, 1.5);
        QCOMPARE(*parse_failure("crash:a@2d", "").at_s, 172800.0);
        QCOMPARE(*parse_failure("crash:a@1e+3s+1e+1s", "").rejoin_after_s, 10.0);
        QCOMPARE(parse_failure("jitter:a@1s+5sx0.25", "").factor, 0.25);  // either order
        QVERIFY2(parse_failure("crash:me@home:x@5s", "").target == "me@home:x", "names may hold @ and :");
    }

    void it_reads_back_to_the_last_bit() {
        Rng rng(11);
        const auto kinds = names_of(static_cast<FailureKind*>(nullptr));
        for (int round = 0; round < 20'000; ++round) {
            Failure f;
            f.kind = kinds[rng.below(kinds.size())].first;
            if (f.kind != FailureKind::coordinator_loss) f.target = round % 3 == 0 ? "a->b" : "node 7@x:y";
            const double number = rng.uniform() * std::pow(10.0, static_cast<double>(rng.below(12)));
            switch (rng.below(4)) {
                case 0: f.at_s = number; break;
                case 1: f.at_iteration = static_cast<int>(rng.below(1'000'000'000)); break;
                case 2:
                    f.probability_per_iteration = rng.uniform() * std::pow(0.1, static_cast<double>(rng.below(9)));
                    break;
                default: f.rate_per_hour = std::fmod(number, 1e6); break;
            }
            if (rng.below(2) == 0) f.rejoin_after_s = rng.uniform() * 1e4;
            if (has_factor(f.kind)) f.factor = rng.uniform() * 10;
            const auto text = failure_text(f);
            QVERIFY2(parse_failure(text, "") == f, text.c_str());
        }
        for (const double share : {0.0, 0.03, 0.07, 0.1, 0.29, 0.57, 1.0 / 3, 1.0, 1e-12, 5e-324}) {
            const auto text = failure_text({.target = "a", .probability_per_iteration = share});
            QVERIFY2(parse_failure(text, "").probability_per_iteration == share, text.c_str());
        }
        QCOMPARE(failure_text({.target = "a", .probability_per_iteration = 0.07}), std::string("crash:a@7%"));
        QCOMPARE(failure_text(parse_failure("slow-down:b@2min+90s", "")), std::string("slow-down:b@120sx2+90s"));
    }

    void bad_texts_are_told_with_a_remedy_data() {
        QTest::addColumn<QString>("text");
        QTest::addColumn<QString>("what");
        QTest::addColumn<QString>("remedy");
        QTest::newRow("empty") << ""
                               << "no time"
                               << "120s";
        QTest::newRow("no time") << "crash:a"
                                 << "no time"
                                 << "120s";
        QTest::newRow("unknown kind") << "crush:a@5s"
                                      << "\"crush\""
                                      << "\"crash\"";
        QTest::newRow("strange kind") << "earthquake:a@5s"
                                      << "\"earthquake\""
                                      << "\"stage-loss\"";
        QTest::newRow("no target") << "crash@5s"
                                   << "what it happens to"
                                   << "crash:node-3";
        QTest::newRow("no link") << "link-cut:@5s"
                                 << "what it happens to"
                                 << "link-cut:a->b";
        QTest::newRow("target of none") << "coordinator-loss:a@5s"
                                        << "\"a\""
                                        << "one coordinator";
        QTest::newRow("no unit") << "crash:a@120"
                                 << "no unit behind 120"
                                 << "120s";
        QTest::newRow("odd unit") << "crash:a@2m"
                                  << "no unit behind 2"
                                  << "min";
        QTest::newRow("no number") << "crash:a@soon"
                                   << "no number after \"@\""
                                   << "iteration=5";
        QTest::newRow("not finite") << "crash:a@infs"
                                    << "no number"
                                    << "120s";
        QTest::newRow("too large for a number") << "crash:a@1e999s"
                                                << "no number"
                                                << "120s";
        QTest::newRow("no iteration") << "crash:a@iteration=x"
                                      << "iteration="
                                      << "iteration=5";
        QTest::newRow("negative") << "crash:a@-5s"
                                  << "-5 is not within 0"
                                  << "within";
        QTest::newRow("more than certain") << "crash:a@101%"
                                           << "1.01 is not within 0 and 1"
                                           << "within";
        QTest::newRow("too often") << "crash:a@2e6/h"
                                   << "2000000 is not within"
                                   << "within";
        QTest::newRow("no back") << "crash:a@5s+"
                                 << "no number after \"+\""
                                 << "120s";
        QTest::newRow("back twice") << "crash:a@5s+1s+2s"
                                    << "twice"
                                    << "+BACK";
        QTest::newRow("factor of a crash") << "crash:a@5sx3"
                                           << "a crash has none"
                                           << "xFACTOR";
        QTest::newRow("factor twice") << "slow-down:a@5sx3x4"
                                      << "twice"
                                      << "xFACTOR";
        QTest::newRow("jitter of what") << "jitter:a@5s"
                                        << "how much"
                                        << "x0.2";
        QTest::newRow("words behind") << "crash:a@5s please"
                                      << "\" please\""
                                      << "+60s";
    }
    void bad_texts_are_told_with_a_remedy() {
        QFETCH(QString, text);
        QFETCH(QString, what);
        QFETCH(QString, remedy);
        const auto fault = fault_of(text.toStdString());
        QCOMPARE(fault.pointer, std::string("--fail"));
        QVERIFY2(QString::fromStdString(fault.what).contains(what), fault.what.c_str());
        QVERIFY2(QString::fromStdString(fault.remedy).contains(remedy), fault.remedy.c_str());
        QVERIFY(!fault.why.empty());
    }

    void words_say_what_happens_to_whom() {
        const auto words = [](const char* text) { return plain(failure_words(parse_failure(text, ""))); };
        QCOMPARE(words("crash:a@2min+60s"), QString("Crashes at 2 min 00 s, back 1 min 00 s later"));
        QCOMPARE(words("slow-down:a@3%"), QString("Twice as slow, chance of 3 % an iteration, for good"));
        QCOMPARE(words("link-degraded:a->b@iteration=5x3+5s"),
                 QString("3 times as slow in iteration 5 (from 0), for 5.00 s"));
        QCOMPARE(words("jitter:a@0.5/hx0.2"),
                 QString("Durations vary by 20 %, 0.5 times an hour on average, for good"));
        const auto subject = [](const char* text) { return plain(failure_subject(parse_failure(text, ""))); };
        QCOMPARE(subject("crash:any@5s"), QString("Any node"));
        QCOMPARE(subject("crash:any-data-node@5s"), QString("Any data node"));
        QCOMPARE(subject("stage-loss:2@5s"), QString("Stage 2"));
        QCOMPARE(subject("stage-loss:any@5s"), QString("Any stage"));
        QCOMPARE(subject("link-cut:a->b@5s"), QString::fromUtf8("a → b"));
        QCOMPARE(subject("coordinator-loss@5s"), QString("Coordinator"));
    }
};

QTEST_APPLESS_MAIN(TestFailureText)
#include "test_failure_text.moc"
