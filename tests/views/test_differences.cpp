// SPDX-License-Identifier: GPL-3.0-or-later
// What several runs come to, and in what they differ, from their figures alone.
#include <QtTest>

#include "tests/views/recorded_runs.h"
#include "views/compare/differences.h"
#include "views/compare/figure_table.h"
#include "views/compare/headline_cards.h"
#include "views/compare/headlines.h"
#include "views/curves/curve_set.h"
#include "views/runs/clock_words.h"
#include "views/runs/parameters.h"
#include "views/theme/numbers.h"
#include "views/timeline/colours.h"

using namespace skippipe;

namespace {

/// Which run is best, if any is.
QString answered(const std::vector<const RunData*>& runs) {
    const auto answer = headlines(runs).answer;
    return answer ? plain(to_text(*answer)) : QString{};
}

/// All headlines, a line each.
QString said(const std::vector<const RunData*>& runs) {
    QStringList lines;
    for (const auto& headline : headlines(runs).cards) lines << plain(to_text(headline));
    return lines.join('\n');
}

}  // namespace

class TestDifferences : public QObject {
    Q_OBJECT

private Q_SLOTS:
    /// Seconds are called what they were counted by, in rows, headlines and on axes alike.
    void times_are_called_by_the_clock_of_the_runs() {
        RunData a, b, c;
        a.info.id = 1, b.info.id = 2, c.info.id = 3;
        a.info.last_validation_loss = 3, b.info.last_validation_loss = 2, c.info.last_validation_loss = 1;
        a.info.iteration_s = 1, b.info.iteration_s = 2, c.info.iteration_s = 4;
        a.network_s = 3, b.network_s = 6, c.network_s = 9;
        a.experiment.execution.clock = b.experiment.execution.clock = Clock::wall;
        const auto has_row = [](const std::vector<const RunData*>& runs, const QString& name) {
            const auto rows = differences(runs);
            return std::any_of(rows.begin(), rows.end(), [&](const auto& row) { return row.name == name; });
        };
        QVERIFY(has_row({&a, &b}, "Iteration, wall-clock time") && has_row({&a, &b}, "Wall-clock time"));
        QVERIFY(!has_row({&a, &b}, "Network time"));
        QVERIFY(said({&a, &b}).contains("Shortest iteration by the wall clock: run 1, 1.00 s"));
        QVERIFY(has_row({&a, &c}, "Iteration, network or wall-clock time"));
        QVERIFY(said({&a, &b, &c}).contains("Shortest iteration, of the network or by the wall clock: run 1"));
        QVERIFY(has_row({&c}, "Network time") && has_row({&c}, "Iteration, network time"));
        PointStore store;
        const auto label = [&](const std::vector<const RunData*>& runs) {
            return curve_set(runs, 1, {"iteration_s", WorkAxis::network_time}, store);
        };
        QCOMPARE(label({&a, &b}).x_label, QString("Wall-clock time"));
        QCOMPARE(label({&a, &b}).y_label, QString("Iteration, wall-clock time"));
        QCOMPARE(label({&c}).x_label, QString("Network time"));
        QCOMPARE(work_in_sentence(WorkAxis::network_time, clock_of({&a, &b})), QString("wall-clock time"));
    }

    /// What differs is told whole, in more lines where a column is too narrow for it.
    void words_without_room_wrap() {
        std::vector<RunData> all(5);
        std::vector<const RunData*> runs;
        for (auto& run : all) {
            run.info.id = static_cast<RunId>(runs.size() + 1);
            runs.push_back(&run);
        }
        DifferenceRow row;
        row.section = DifferenceSection::parameters;
        row.name = "Time per sample per block of 20 nodes of a name that goes on";
        row.values = QStringList{QString::fromUtf8("4\u2009ms to 8\u2009ms"), "Any stage: all its nodes are lost", "a",
                                 "b", "c"};
        row.deltas = QStringList{"", "", "", "", ""};
        row.verdicts.resize(5);
        DifferenceRow brief = row;
        brief.name = "Seed", brief.values = QStringList{"1", "2", "1", "1", "1"};
        FigureTable table;
        table.resize(640, 400);
        table.show();
        table.show_rows({row, brief}, runs);
        QCOMPARE(table.rowCount(), 3);
        QVERIFY2(table.rowHeight(1) > table.rowHeight(2), qPrintable(QString::number(table.rowHeight(1))));
        for (int c = 0; c < table.columnCount(); ++c) QVERIFY2(table.is_whole(1, c), qPrintable(QString::number(c)));
        table.resize(2400, 400);
        QTRY_COMPARE(table.rowHeight(1), table.rowHeight(2));
    }

    /// Where the best by loss is not the quickest, both are named, with what differs.
    void the_quickest_run_is_named_beside_the_best() {
        RunData a, b, c;
        a.info.id = 1, b.info.id = 2, c.info.id = 3;
        a.info.last_validation_loss = 3, b.info.last_validation_loss = 2, c.info.last_validation_loss = 4;
        a.info.iteration_s = 1, b.info.iteration_s = 2, c.info.iteration_s = 4;
        b.experiment.seed = 7;
        c.experiment.pipeline.planner = "1f1b";
        const QString words = said({&a, &b, &c});
        QVERIFY2(words.startsWith("Lowest last validation loss: run 2, 2"), qPrintable(words));
        QVERIFY2(words.contains("Shortest iteration of the network: run 1, 1.00 s. Run 2 takes 2.00 × as long "
                                "(seed 7), run 3: 4.00 × (planner 1f1b)"),
                 qPrintable(words));
        b.info.iteration_s = 0.5;
        QVERIFY(said({&a, &b, &c}).contains("Shortest iteration of the network: run 2, 500 ms"));  // the best one too
        a.info.iteration_s = c.info.iteration_s = 0.5;
        QCOMPARE(headlines({&a, &b, &c}).cards.size(), std::size_t{1});  // none is quicker
        a.info.iteration_s = 1, c.info.iteration_s = 4;
        // Losses that differ by less than those of two seeds are no reason.
        b.info.last_validation_loss = 3.0001, c.info.last_validation_loss = 3.0002;
        const QString alike = said({&a, &b, &c});
        QVERIFY2(alike.startsWith("Last validation losses: 3.00. The runs are alike"), qPrintable(alike));
        QVERIFY2(alike.contains("Shortest iteration of the network: run 2, 500 ms"), qPrintable(alike));
    }

    /// The loss that all get to, and who is there first; what a run was trained with, whatever its experiment says.
    void who_is_soonest_at_a_loss_is_named_first() {
        RunData a, b;
        a.info.id = 1, b.info.id = 2;
        a.info.iteration_s = 1, b.info.iteration_s = 4;
        a.experiment.pipeline.skip_ratio = b.experiment.pipeline.skip_ratio = 0.25;
        b.experiment.pipeline.planner = "gpipe";
        b.experiment.pipeline.skip_ratio = 0.33;
        b.plan.stages = {{NodeIndex(0)}, {NodeIndex(1)}};
        b.plan.paths = {{MicrobatchIndex(0), {NodeIndex(0), NodeIndex(1)}}};
        for (auto* run : {&a, &b})
            for (int i = 0; i <= 10; ++i)
                run->metrics.push_back(
                    {.iteration = i, .name = "loss", .value = 6 - 0.3 * i, .network_s = i * *run->info.iteration_s});
        a.info.last_validation_loss = b.info.last_validation_loss = 3;
        const QString words = said({&b, &a});
        QVERIFY2(words.startsWith("Soonest at training loss 3.00: run 1, 10.0 s. Run 2 takes 4.00 × as long"),
                 qPrintable(words));
        QVERIFY2(words.contains("as long (skip ratio 0, planner gpipe)"), qPrintable(words));
        auto nearly = a;
        nearly.info.id = 3;
        nearly.experiment.seed = 2;
        for (auto& metric : nearly.metrics) metric.network_s *= 1.001;
        QVERIFY(said({&a, &b, &nearly}).contains("Run 3 takes as long (seed 2), run 2: 4.00 ×"));
        QVERIFY2(!words.contains("full pipeline"), qPrintable(words));
        a.metrics.resize(2), b.metrics.resize(2);
        a.metrics[1].value = 5;  // some time between two readings that are a run apart it was where b ends
        QVERIFY(!said({&b, &a}).contains("Soonest"));
    }

    /// One line says which runs are best, by what, and what they alone have; nothing that may be chance decides.
    void one_line_says_which_run_is_best() {
        std::vector<RunData> all(4);
        for (std::size_t i = 0; i < all.size(); ++i) {
            auto& run = all[i];
            run.info.id = static_cast<RunId>(i + 1);
            run.info.iteration_s = i < 2 ? 1 : 4;
            run.experiment.pipeline.skip_ratio = i < 2 ? 0.33 : 0;
            run.experiment.seed = i == 1 ? 2 : 1;
            for (int n = 0; n <= 10; ++n)
                run.metrics.push_back(
                    {.iteration = n, .name = "loss", .value = 6 - 0.3 * n, .network_s = n * *run.info.iteration_s});
            run.info.last_validation_loss = 3;
        }
        all[3].experiment.pipeline.planner = "gpipe";
        const std::vector<const RunData*> runs{&all[0], &all[1], &all[2], &all[3]};
        QCOMPARE(answered(runs),
                 QString("Runs 1 and 2 are best. Soonest at training loss 3.00, shortest iteration of the network. "
                         "Only they have skip ratio 0.33 instead of 0"));
        all[3].info.last_validation_loss = 2.99;
        QVERIFY2(answered(runs).contains("; that run 4 has the lowest last validation loss may be chance. Only"),
                 qPrintable(answered(runs)));
        all[3].info.last_validation_loss = 2;
        QVERIFY2(answered(runs).contains("; run 4 has the lowest last validation loss. Only"),
                 qPrintable(answered(runs)));
        all[1].info.iteration_s = 2;
        for (auto& metric : all[1].metrics) metric.network_s *= 2;
        QVERIFY2(answered(runs).startsWith("Runs 1 and 2 are best. Soonest"), qPrintable(answered(runs)));
        QVERIFY2(answered(runs).endsWith("Only they have skip ratio 0.33 instead of 0"), "another seed is no reason");
        QVERIFY2(answered({&all[0], &all[3]})
                     .endsWith("Only it has skip ratio 0.33 instead of 0, planner "
                               "skippipe-joint instead of gpipe"),
                 qPrintable(answered({&all[0], &all[3]})));
        QCOMPARE(answered({&all[0], &all[0]}), QString());
    }

    /// What is said of several runs is true of each; a loss after more iterations is said of none.
    void a_claim_is_true_of_all_that_are_named() {
        std::vector<RunData> all(3);
        for (std::size_t i = 0; i < all.size(); ++i) {
            auto& run = all[i];
            run.info.id = static_cast<RunId>(i + 1);
            run.info.iteration_s = i < 2 ? 1 : 2;
            run.info.iterations_done = 10;
            run.experiment.pipeline.skip_ratio = i < 2 ? 0.33 : 0;
            run.experiment.seed = i + 1;
            for (int n = 0; n <= 10; ++n)
                run.metrics.push_back(
                    {.iteration = n, .name = "loss", .value = 6 - 0.3 * n, .network_s = n * *run.info.iteration_s});
            run.info.last_validation_loss = 3;
        }
        all[0].info.iteration_s = 3;  // of two seeds one is quicker than the third run, the other is not
        const std::vector<const RunData*> runs{&all[0], &all[1], &all[2]};
        QCOMPARE(answered(runs), QString("Runs 1 and 2 are best. Soonest at training loss 3.00; run 2 has the shortest "
                                         "iteration of the network. Only they have skip ratio 0.33 instead of 0"));
        all[0].info.iteration_s = 1;
        all[1].info.iterations_done = 60;
        all[1].info.last_validation_loss = 2;
        const auto unequal = headlines(runs);
        QCOMPARE(plain(to_text(*unequal.answer)),
                 QString("Runs 1 and 2 are best. Soonest at training loss 3.00, shortest iteration of the network. "
                         "Only they have skip ratio 0.33 instead of 0. The runs did unequal work: their last losses "
                         "say nothing"));
        QVERIFY(unequal.answer->asks_for_race);
        QVERIFY2(said(runs).contains("Last validation losses: 2.00 to 3.00. Run 2 did 60 iterations, runs 1 and 3 did "
                                     "10: To a loss compares equal work"),
                 qPrintable(said(runs)));
        for (const auto& row : differences(runs))
            if (row.name == "Last validation loss") QVERIFY(row.best == -1 && row.verdicts[1] == Verdict::none);
    }

    /// What reads the same is the same, whatever rounding left over.
    void what_reads_the_same_does_not_differ() {
        std::vector<RunData> all(3);
        for (std::size_t i = 0; i < all.size(); ++i) {
            all[i].info.id = static_cast<RunId>(i + 1);
            all[i].info.iteration_s = 1;
            all[i].explained_iterations = 1;
            all[i].idle_share[0] = i < 2 ? 0.0771 : 0.2;
        }
        all[1].idle_share[0] -= 4e-17;
        const auto rows = differences({&all[0], &all[1], &all[2]});
        const auto row = std::find_if(rows.begin(), rows.end(),
                                      [](const auto& one) { return one.section == DifferenceSection::idle; });
        QVERIFY(row != rows.end());
        QCOMPARE(row->deltas[1], QString());
        QCOMPARE(row->best, -1);
        QVERIFY(!row->deltas[2].isEmpty());
    }

    /// How far a run came that goes on is said first; its figures so far are there, and judged by nobody.
    void a_run_that_goes_on_is_not_judged() {
        RunData one, other, now;
        one.info.id = 1, other.info.id = 3, now.info.id = 6;
        for (auto* run : {&one, &other}) {
            run->info.state = RunState::finished;
            run->info.iterations = run->info.iterations_done = 16;
            run->info.iteration_s = 1;
            run->info.last_validation_loss = 3;
            run->metrics = {{.iteration = 15, .name = "bits_per_byte", .value = 4}};
        }
        other.info.iteration_s = 2;
        other.experiment.pipeline.skip_ratio = 0.33;
        now.info.iterations = 60, now.info.iterations_done = 3;
        now.metrics = {{.iteration = 0, .name = "bits_per_byte", .value = 8}};
        for (int i = 0; i < 3; ++i) {
            now.metrics.push_back(
                {.iteration = i, .name = "iteration_s", .value = 1.2, .machine_s = 1.0 + i, .tokens = 1000 * (i + 1)});
            now.metrics.push_back({.iteration = i, .name = "loss", .value = 5.5 - 0.1 * i});
        }
        const auto found = headlines({&one, &other, &now});
        QCOMPARE(plain(to_text(*found.answer)),
                 QString("Run 6 is at 3 of 60. Of the others run 1 is best: shortest iteration of the network. Only it "
                         "has skip ratio 0 instead of 0.33"));
        QCOMPARE(found.cards.size(), headlines({&one, &other}).cards.size());
        QCOMPARE(answered({&one, &now}), QString("Run 6 is at 3 of 60. There is nothing to compare run 1 with"));
        const auto rows = differences({&one, &other, &now});
        const auto row = [&](const QString& name) {
            return *std::find_if(rows.begin(), rows.end(), [&](const auto& each) { return each.name == name; });
        };
        QCOMPARE(plain(row("Iteration, network time").values[2]), QString("1.20 s"));
        QCOMPARE(row("Tokens/s of this machine").values[2], QString("1 000").replace(' ', QChar(0x2009)));
        QCOMPARE(row("Last training loss").values[2], QString("5.30"));
        QCOMPARE(row("Bits per byte").values[2], QString());
        QCOMPARE(row("State").values[2], QString("running, 3 of 60"));
        for (const auto& each : rows)
            if (each.is_metric) QVERIFY2(each.verdicts[2] == Verdict::none && each.best != 2, qPrintable(each.name));
    }

    /// A run that failed says why, and what can be done; among others it is named.
    void a_failed_run_says_what_to_do() {
        RunData one, other, failed;
        one.info.id = 1, other.info.id = 3, failed.info.id = 7;
        one.info.iteration_s = 1, other.info.iteration_s = 2;
        failed.info.state = RunState::failed;
        failed.info.iterations = 16, failed.info.iterations_done = 5, failed.info.checkpoint = 4;
        failed.info.error = "/execution/transport: the worker is gone";
        const auto alone = headlines({&failed}).answer;
        QCOMPARE(to_text(*alone),
                 QString("Run 7 failed after 5 of 16 iterations. Transport: the worker is gone. It can "
                         "go on after iteration 4, where its newest checkpoint is"));
        QVERIFY(alone->ended == 7 && alone->can_resume);
        failed.info.checkpoint = 0;
        QVERIFY(headlines({&failed}).answer->words.contains("Run 7 has no checkpoint"));
        QVERIFY(!headlines({&failed}).answer->can_resume);
        const auto among = headlines({&one, &other, &failed}).answer;
        QVERIFY2(among->words.endsWith(". Run 7 failed after 5 of 16 iterations"), qPrintable(among->words));
        QVERIFY(among->title == "Run 1 is best" && among->ended == 7);
        other.info.state = RunState::stopped;
        other.info.iterations = 16, other.info.iterations_done = 8;
        QVERIFY2(answered({&one, &other}).endsWith(". Run 3 was stopped after 8 of 16 iterations"),
                 qPrintable(answered({&one, &other})));
        HeadlineCards cards;
        QSignalSpy watched(&cards, &HeadlineCards::watch_requested);
        cards.show_headlines(headlines({&failed}));
        auto* button = cards.findChild<QPushButton*>("answer_ended");
        QCOMPARE(button->text(), QString("Watch run 7"));
        button->click();
        QCOMPARE(watched.takeFirst().front().toLongLong(), 7);
        cards.show_headlines(headlines({&one}));
        QVERIFY(button->isHidden());
    }

    /// Prose is no reason, and what another seed may do is not called better without a word.
    void a_small_difference_may_be_chance() {
        RunData a, b, c;
        a.info.id = 1, b.info.id = 2, c.info.id = 3;
        a.experiment.description = "Twenty nodes in twelve cities";
        b.experiment.pipeline.skip_ratio = 0.5;
        a.info.last_validation_loss = 2, b.info.last_validation_loss = 2.02, c.info.last_validation_loss = 2.5;
        const QString small = said({&a, &b});
        QVERIFY2(small.contains("skip ratio 0 instead of 0.5"), qPrintable(small));
        QVERIFY2(!small.contains("cities") && small.contains("may be chance: more seeds"), qPrintable(small));
        QVERIFY(!said({&c, &a}).contains("chance"));
        c.experiment = b.experiment;
        c.experiment.seed = 9;
        RunData d;
        d.info.id = 4, d.info.last_validation_loss = 2.3;
        d.experiment.seed = 9;
        const QString tested = said({&a, &b, &c, &d});
        QVERIFY2(tested.contains("Over 2 and 2 seeds p = 0."), qPrintable(tested));
        QVERIFY2(tested.contains("it may be chance"), qPrintable(tested));
        // What tells runs from each other: names, planners, skip ratios, seeds.
        QCOMPARE(told_apart({&b, &c}), QStringList({"seed 1", "seed 9"}));
        QCOMPARE(told_apart({&a, &b}), QStringList({"skip ratio 0", "skip ratio 0.5"}));
        a.info.planner = "gpipe";
        QCOMPARE(told_apart({&a, &b}), QStringList({"gpipe", ""}));
        b.info.name = "Half";
        QCOMPARE(told_apart({&a, &b}), QStringList({"", "Half"}));
        // As many as it takes: c is b with another seed.
        b.info.name.clear();
        QCOMPARE(told_apart({&a, &b, &c}),
                 QStringList({"gpipe, skip ratio 0, seed 1", "skip ratio 0.5, seed 1", "skip ratio 0.5, seed 9"}));
    }

    /// Shares of iterations that differ in length say nothing of each other: causes are held against each other as
    /// time.
    void idle_time_is_compared_as_time() {
        RunData quick, slow;
        quick.info.id = 1, slow.info.id = 2;
        quick.info.iteration_s = 1, slow.info.iteration_s = 5;
        quick.explained_iterations = slow.explained_iterations = 1;
        quick.idle_share[0] = 0.2, slow.idle_share[0] = 0.1;  // 0.2 s and 0.5 s
        quick.plan.stages = slow.plan.stages = {{0}, {1}, {2}};
        quick.plan.paths = {{MicrobatchIndex(0), {0, 2}}};
        slow.plan.paths = {{MicrobatchIndex(0), {0, 1, 2}}};
        slow.experiment.pipeline.skip_ratio = 0.25;
        quick.info.last_validation_loss = 2, slow.info.last_validation_loss = 2.03;
        auto rows = differences({&quick, &slow});
        const auto named = [&](const QString& name) {
            return *std::find_if(rows.begin(), rows.end(), [&](const auto& row) { return row.name == name; });
        };
        const auto cause = named(cause_words(IdleCause(0)));
        QCOMPARE(plain(cause.values[1]), QString("500 ms"));
        QVERIFY(cause.verdicts[1] == Verdict::worse);
        QCOMPARE(named("Stages a microbatch visits").values, QStringList({"2 of 3", "3 of 3"}));
        QVERIFY2(!named("Skip ratio").differs && named("Skip ratio").values[1] == "0", "both did without");
        quick.experiment.pipeline.skip_ratio = 0.34;
        slow.info.planner = "gpipe";
        rows = differences({&quick, &slow});
        QCOMPARE(named("Skip ratio").values, QStringList({"0.34", "0"}));
        QCOMPARE(named("Skip ratio").details, QStringList({"", "0.25 in the experiment, but gpipe visits all stages"}));
        // A loss that two seeds may be apart is neither better nor worse.
        QVERIFY(named("Last validation loss").verdicts[1] == Verdict::none);
        slow.info.last_validation_loss = 2.06;
        rows = differences({&quick, &slow});
        QVERIFY(named("Last validation loss").verdicts[1] == Verdict::worse);
    }

    /// A deviation has no more digits than it tells.
    void deviations_are_not_more_exact_than_they_are() {
        const auto seconds = [](double s, double beside) { return duration_beside(s, beside); };
        const auto number = [](double y, double) { return three_digits(y); };
        QCOMPARE(plain(mean_and_deviation(18.5, 0.0712, seconds)), QString::fromUtf8("18.5 s ± 0.07 s"));
        QCOMPARE(plain(mean_and_deviation(18.5, 1.234, seconds)), QString::fromUtf8("18.5 s ± 1.2 s"));
        QCOMPARE(plain(mean_and_deviation(0.35, 0.12, seconds)), QString::fromUtf8("350 ms ± 120 ms"));
        QCOMPARE(mean_and_deviation(2.77, 0.0056, number), QString::fromUtf8("2.77 ± 0.006"));
        QCOMPARE(mean_and_deviation(2.77, 0.97, number), QString::fromUtf8("2.77 ± 1"));
        QCOMPARE(plain(mean_and_deviation(2.77, 0.001, number)), QString::fromUtf8("2.77 ± < 0.1 %"));
    }

    /// What failed at once is set aside and says why; one run alone asks for another.
    void runs_that_did_nothing_are_set_aside() {
        RunData a, b, failed;
        a.info.id = 1, b.info.id = 2, failed.info.id = 3;
        a.info.iteration_s = 1, b.info.iteration_s = 5;
        failed.info.state = RunState::failed;
        failed.info.error = "/execution/transport: two ranks are on one GPU";
        const auto alone = headlines({&a, &failed});
        QCOMPARE(alone.answer->title, QString("Run 3 failed before its first iteration"));
        QCOMPARE(alone.answer->words,
                 QString("There is nothing to compare run 1 with. Transport: two ranks are on one GPU"));
        QVERIFY(alone.cards.empty());
        const auto others = headlines({&a, &b, &failed});
        QVERIFY2(others.answer->words.endsWith("Run 3 failed before its first iteration"),
                 qPrintable(others.answer->words));
        QCOMPARE(others.cards.size(), headlines({&a, &b}).cards.size());
        QCOMPARE(headlines({&a}).answer->title, QString("Run 1 alone"));
        // Nothing is no figure, and no change of one.
        a.network_s = 10;
        const auto rows = differences({&a, &failed});
        const auto took =
            std::find_if(rows.begin(), rows.end(), [](const auto& row) { return row.name == "Network time"; });
        QVERIFY(took->values[1].isEmpty() && took->deltas[1].isEmpty());
        FigureTable table;
        table.show_rows(rows, {&a, &failed});
        for (int r = 0; r < table.rowCount(); ++r)
            if (table.item(r, 0)->text() == "Network time") QCOMPARE(table.item(r, 2)->text(), QString::fromUtf8("–"));
    }

    /// One run with many times the baseline's: its whole row is told in such words, the next one in its own.
    void a_row_is_told_in_one_way() {
        RunData a, b, c;
        a.info.iteration_s = 1, b.info.iteration_s = 1.01, c.info.iteration_s = 5;
        a.info.last_validation_loss = 2, b.info.last_validation_loss = 2.2, c.info.last_validation_loss = 2.4;
        const auto rows = differences({&a, &b, &c});
        const auto deltas = [&](const QString& name) {
            return plain(std::find_if(rows.begin(), rows.end(), [&](const auto& row) {
                             return row.name == name;
                         })->deltas.join("; "));
        };
        QCOMPARE(deltas("Iteration, network time"), QString::fromUtf8("; 1.01 ×; 5.00 ×"));
        QCOMPARE(deltas("Last validation loss"), QString("; +10.0 %; +20.0 %"));
    }

    /// Of more than two runs the best value of a row is marked, of equal ones none; what runs are called is no row.
    void the_best_of_several_is_marked() {
        RunData a, b, c;
        a.info.id = 1, b.info.id = 2, c.info.id = 3;
        a.experiment.name = "one", b.experiment.name = "two";
        b.experiment.description = "Prose";
        a.info.iteration_s = 2, b.info.iteration_s = 1, c.info.iteration_s = 3;
        a.info.tokens_per_second = 10, b.info.tokens_per_second = 20, c.info.tokens_per_second = 20;
        const auto best = [](const std::vector<DifferenceRow>& rows, const QString& name) {
            return std::find_if(rows.begin(), rows.end(), [&](const auto& row) { return row.name == name; })->best;
        };
        const auto rows = differences({&a, &b, &c});
        QCOMPARE(best(rows, "Iteration, network time"), 1);
        QCOMPARE(best(rows, "Tokens/s of this machine"), -1);
        c.info.tokens_per_second = 30;
        QCOMPARE(best(differences({&a, &b, &c}), "Tokens/s of this machine"), -1);  // how busy it was
        QCOMPARE(best(differences({&a, &b}), "Iteration, network time"), -1);
        QVERIFY(std::none_of(rows.begin(), rows.end(),
                             [](const auto& row) { return row.name == "Name" || row.name == "Description"; }));
    }

    /// Parameters are called as in the form; a failure is one line, not five.
    void parameters_are_said_as_people_read_them() {
        RunData calm, struck;
        calm.info.id = 1, struck.info.id = 2;
        calm.experiment.topology.nodes = {{.id = "n3"}, {.id = "n4"}};
        struck.experiment = calm.experiment;
        struck.experiment.pipeline.skip_ratio = 0.25;
        struck.experiment.topology.nodes[0].memory_microbatches = 5;
        struck.experiment.failures.push_back({.kind = FailureKind::crash, .target = "n3", .at_s = 120});
        const auto found = differing({&calm, &struck});
        QStringList names;
        for (const auto& one : found) names << one.name;
        QCOMPARE(names, QStringList({"Skip ratio", "Failures", "n3, microbatches in memory"}));
        QCOMPARE(found[1].values[0], QString("none"));
        QCOMPARE(plain(found[1].values[1]), QString("n3: crashes at 2 min 00 s, for good"));
        calm.info.last_validation_loss = 2, struck.info.last_validation_loss = 3;
        const QString words = said({&calm, &struck});
        QVERIFY2(words.contains("no failures instead of \"n3: crashes at 2 min 00 s, for good\""), qPrintable(words));
    }

    /// Of runs most of which train the same those are compared; the rest is said to be set aside.
    void a_run_of_another_model_is_set_aside() {
        std::vector<RunData> all(3);
        for (std::size_t i = 0; i < all.size(); ++i) {
            all[i].info.id = static_cast<RunId>(i + 1);
            all[i].info.last_validation_loss = 4 - static_cast<double>(i);
            all[i].info.iteration_s = 1;
        }
        all[1].experiment.pipeline.skip_ratio = 0.25;
        all[2].experiment.model.width *= 2;
        QVERIFY2(answered({&all[0], &all[1], &all[2]}).startsWith("Run 2 is best. Lowest last validation loss."),
                 qPrintable(answered({&all[0], &all[1], &all[2]})));
        QVERIFY(answered({&all[0], &all[1], &all[2]})
                    .endsWith(". Run 3 trains another model, or on other data, and is set aside"));
        QVERIFY2(!said({&all[0], &all[1], &all[2]}).contains("run 3"), qPrintable(said({&all[0], &all[1], &all[2]})));
        all[1].experiment.model.width *= 4;
        QVERIFY(answered({&all[0], &all[1], &all[2]}).isEmpty());
        QVERIFY(said({&all[0], &all[1], &all[2]}).startsWith("Not the same work"));
    }

    /// Seeds of one experiment are neither better nor worse than each other; runs of unequal work are led to where
    /// equal work is compared.
    void seeds_and_unequal_work_decide_nothing() {
        std::vector<RunData> all(3);
        for (std::size_t i = 0; i < all.size(); ++i) {
            all[i].info.id = static_cast<RunId>(i + 1);
            all[i].info.iteration_s = i == 1 ? 1.05 : 1;
            all[i].info.last_validation_loss = i == 1 ? 2.5 : 2;
            all[i].info.iterations_done = 4;
            all[i].experiment.seed = i == 1 ? 2 : 1;
        }
        all[2].experiment.pipeline.skip_ratio = 0.33;
        all[2].info.iteration_s = 0.5;
        QCOMPARE(answered({&all[0], &all[1]}), QString("Only the seed differs. What tells these runs apart is chance"));
        const auto rows = differences({&all[0], &all[1], &all[2]});
        const auto row = [&](const QString& name) {
            return *std::find_if(rows.begin(), rows.end(), [&](const auto& one) { return one.name == name; });
        };
        for (const char* name : {"Iteration, network time", "Last validation loss"})
            QVERIFY2(row(name).verdicts[1] == Verdict::none && !row(name).deltas[1].isEmpty(), name);
        QVERIFY(row("Iteration, network time").verdicts[2] == Verdict::better);
        QCOMPARE(row("Iteration, network time").best, 2);
        all[2].info.iteration_s = 1.5;
        for (const auto& one : differences({&all[0], &all[1], &all[2]}))
            if (one.name == "Iteration, network time") QCOMPARE(one.best, -1);  // a seed's of two
        all[2].info.iterations_done = 16;
        all[2].info.last_validation_loss = 1;
        const auto unequal = headlines({&all[0], &all[1], &all[2]}).answer;
        QVERIFY(unequal && unequal->asks_for_race && unequal->best.empty());
        QCOMPARE(
            plain(to_text(*unequal)),
            QString("The runs did unequal work. Run 3 did 16 iterations, runs 1 and 2 did 4. What each takes to one "
                    "loss says which is better"));
    }

    /// Runs of other models are no better or worse, whatever their losses.
    void other_work_has_no_verdict() {
        RunData a, b;
        a.info.id = 1, b.info.id = 2;
        a.info.last_validation_loss = 2, b.info.last_validation_loss = 4;
        a.info.iteration_s = 1, b.info.iteration_s = 2;
        const auto verdicts = [&] {
            int told = 0;
            for (const auto& row : differences({&a, &b}))
                told += static_cast<int>(std::count_if(row.verdicts.begin(), row.verdicts.end(),
                                                       [](Verdict one) { return one != Verdict::none; }));
            return told;
        };
        QVERIFY(verdicts() > 0);
        QVERIFY(!said({&a, &b}).contains("Not the same work"));
        b.experiment.model.width *= 2;
        QCOMPARE(verdicts(), 0);
        QVERIFY2(said({&a, &b}).startsWith("Not the same work"), qPrintable(said({&a, &b})));
        b.experiment.model = a.experiment.model;
        b.experiment.data.source = DataSource::jargon;
        a.experiment.data.source = DataSource::bible_kjv;
        QCOMPARE(verdicts(), 0);
    }

    /// One run of another model takes the verdicts of itself, not those of the others; none is the best of all.
    void other_work_leaves_others_their_verdicts() {
        RunData base, slow, foreign;
        base.info.id = 1, slow.info.id = 2, foreign.info.id = 3;
        base.info.iteration_s = 1, slow.info.iteration_s = 2, foreign.info.iteration_s = 84;
        foreign.experiment.model.width *= 2;
        const auto rows = differences({&base, &slow, &foreign});
        const auto iteration = std::find_if(rows.begin(), rows.end(),
                                            [](const auto& row) { return row.name == "Iteration, network time"; });
        QVERIFY(iteration->verdicts == (std::vector<Verdict>{Verdict::none, Verdict::worse, Verdict::none}));
        QCOMPARE(iteration->best, -1);
        QCOMPARE(plain(iteration->deltas[2]), QString::fromUtf8("84.0 ×"));
    }

    /// Plans of two searches differ by less than a hundredth: that is said, and judged to be nothing.
    void hardly_a_difference_has_no_verdict() {
        RunData a, b;
        a.info.id = 1, b.info.id = 2;
        a.info.iteration_s = 1, b.info.iteration_s = 1.009;
        a.explained_iterations = b.explained_iterations = 1;
        a.idle_share[0] = 0.5, b.idle_share[0] = 0.504;
        const auto verdict = [&](const QString& name) {
            const auto rows = differences({&a, &b});
            return std::find_if(rows.begin(), rows.end(), [&](const auto& row) { return row.name == name; })
                ->verdicts[1];
        };
        for (const char* name : {"Iteration, network time", "Idle share"})
            QVERIFY2(verdict(name) == Verdict::none, name);
        b.info.iteration_s = 1.02;
        b.idle_share[0] = 0.49;
        QVERIFY(verdict("Iteration, network time") == Verdict::worse);
        QVERIFY(verdict("Idle share") == Verdict::better);
    }

    /// What many nodes differ in is one row: from the least to the most, each node's at hand; grouped by it, runs that
    /// only look alike are not put together.
    void what_many_nodes_differ_in_is_one_row() {
        RunData slow, fast, other;
        slow.info.id = 1, fast.info.id = 2, other.info.id = 3;
        for (int i = 0; i < 4; ++i) {
            Node node;
            node.id = "n" + std::to_string(i);
            node.memory_microbatches = 2 + i;
            slow.experiment.topology.nodes.push_back(node);
        }
        fast.experiment = other.experiment = slow.experiment;
        for (auto& node : fast.experiment.topology.nodes) node.memory_microbatches = *node.memory_microbatches + 4;
        for (int i = 0; i < 4; ++i)
            other.experiment.topology.nodes[static_cast<std::size_t>(i)].memory_microbatches = 9 - i;
        fast.experiment.topology.nodes[0].seconds_per_sample_per_block = 0.5;
        fast.experiment.topology.nodes[1].seconds_per_sample_per_block = 0.5;
        const auto rows = folded(differing({&slow, &fast, &other}));
        QStringList names;
        for (const auto& row : rows) names << row.name;
        QCOMPARE(names.size(), 3);  // two nodes of other speed are told each
        const auto speed =
            std::find_if(rows.begin(), rows.end(), [](const auto& row) { return row.details.isEmpty(); });
        QVERIFY(speed != rows.end());
        QCOMPARE(plain(speed->values[1]), QString("500 ms"));
        const auto many =
            std::find_if(rows.begin(), rows.end(), [](const auto& row) { return !row.details.isEmpty(); });
        QVERIFY(many != rows.end());
        QCOMPARE(many->name, QString("Microbatches in memory of 4 nodes"));
        QCOMPARE(many->values, QStringList({"2 to 5", "6 to 9", "6 to 9"}));
        QCOMPARE(many->details[1], QString("n0: 6\nn1: 7\nn2: 8\nn3: 9"));
        QCOMPARE(seed_groups({&slow, &fast, &other}).removeDuplicates(), 0);
        fast.experiment.topology.nodes = slow.experiment.topology.nodes;
        for (auto& node : fast.experiment.topology.nodes) node.memory_microbatches = *node.memory_microbatches + 4;
        auto groups = seed_groups({&slow, &fast, &other});
        QCOMPARE(groups[1] + " (2)", groups[2]);
        for (const auto& grouping : groupings({&slow, &fast, &other}))
            if (grouping.name == many->name) groups = grouping.keys;
        QCOMPARE(groups.removeDuplicates(), 0);
        // Whole nodes that one run has more.
        for (const char* id : {"x", "y", "z"}) {
            Node node;
            node.id = id;
            slow.experiment.topology.nodes.push_back(node);
        }
        const auto whole = folded(differing({&slow, &other}));
        const auto there =
            std::find_if(whole.begin(), whole.end(), [](const auto& row) { return row.name == "3 nodes"; });
        QStringList all;
        for (const auto& row : whole) all << row.name + '=' + row.values.join('|');
        QVERIFY2(there != whole.end(), qPrintable(all.join('\n')));
        QCOMPARE(there->values, QStringList({"3 of them", "none"}));
    }
};

QTEST_MAIN(TestDifferences)
#include "test_differences.moc"
