// SPDX-License-Identifier: GPL-3.0-or-later
// Who is first at a loss, over seeds; whether the skip pays; trade-offs; the page of a report.
#include <QtTest>

#include <cmath>

#include "core/analysis/loss_race.h"
#include "core/analysis/pareto.h"
#include "core/analysis/ranking.h"
#include "core/analysis/report.h"
#include "core/analysis/skip_worth.h"
#include "core/planner/timeline/evaluator.h"
#include "tests/planner/examples.h"

using namespace skippipe;

namespace {

bool near(double a, double b, double off = 1e-9) { return std::abs(a - b) <= off; }

/// Falls from 6 by `step` a unit of x, at x = 0, 1/4, ..., last.
std::vector<CurvePoint> falling(double step, int last) {
    std::vector<CurvePoint> curve;
    for (int x = 0; x <= 4 * last; ++x) curve.push_back({x / 4.0, 6 - step * x / 4});
    return curve;
}

std::vector<RecordedSpan> spans_of(const examples::Example& example) {
    std::vector<RecordedSpan> spans;
    for (const auto& span : evaluate(example.problem, example.plan).spans)
        spans.push_back({static_cast<std::int64_t>(spans.size()) + 1, 0, 0, span});
    return spans;
}

ReportRun report_run(RunId id, const std::string& name, double skip_ratio) {
    const auto example = examples::collision();
    ReportRun run;
    run.info = {.id = id, .name = name, .planner = "gpipe", .state = RunState::finished};
    run.info.iteration_s = 10 - skip_ratio;
    run.experiment_json = "{\"pipeline\": {\"skip_ratio\": " + std::to_string(skip_ratio) + "}}";
    run.summary_json = R"({"idle_by_cause": {"memory": 0.25, "link": 0}})";
    run.problem = example.problem;
    run.plan = example.plan;
    run.drawn = example.plan;
    run.spans = spans_of(example);
    for (int i = 0; i < 4; ++i)
        run.metrics.push_back({.iteration = i,
                               .name = "loss",
                               .value = 6.0 - i - 0.1 * static_cast<double>(id),
                               .network_s = 10.0 * (i + 1)});
    run.repeat = {"skippipe run run-1.json"};
    return run;
}

std::size_t count_of(const std::string& text, const std::string& part) {
    std::size_t count = 0;
    for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
    return count;
}

RunInfo info(std::optional<double> loss, std::optional<double> seconds) {
    RunInfo one;
    one.last_validation_loss = loss;
    one.iteration_s = seconds;
    return one;
}

}  // namespace

class TestLossRace : public QObject {
    Q_OBJECT
private Q_SLOTS:
    /// t = 2 of one degree of freedom and t of two have closed forms; for many degrees it is the normal distribution.
    void the_t_distribution_is_right() {
        const auto two_sided = [](double t, double degrees) {
            return incomplete_beta(degrees / 2, 0.5, degrees / (degrees + t * t));
        };
        for (const double t : {0.1, 0.5, 1.0, 2.0, 12.706, 300.0}) {
            QVERIFY(near(two_sided(t, 1), 1 - 2 / M_PI * std::atan(t), 1e-13));
            QVERIFY(near(two_sided(t, 2), 1 - t / std::sqrt(2 + t * t), 1e-13));
        }
        QVERIFY(near(two_sided(1.959964, 1e7), 0.05, 1e-7));
        QVERIFY(near(two_sided(2.228139, 10), 0.05, 1e-7));  // of every table
        QCOMPARE(incomplete_beta(2, 3, 0), 0.0);
        QCOMPARE(incomplete_beta(2, 3, 1), 1.0);
        QVERIFY(near(incomplete_beta(2, 3, 0.25), 0.26171875, 1e-14));  // 6 x^2 - 8 x^3 + 3 x^4
        QVERIFY(std::isnan(incomplete_beta(0, 1, 0.5)));
    }

    void welch_knows_unequal_variances() {
        // Means 2 and 6, squared errors 1/3 and 4/3: t = 4 / sqrt(5/3); degrees (5/3)^2 / ((1/9 + 16/9) / 2).
        const auto test = welch_test({1, 2, 3}, {4, 6, 8});
        QVERIFY(near(test.t, 4 / std::sqrt(5.0 / 3)));
        QVERIFY(near(test.degrees, 25.0 / 9 / (17.0 / 18)));
        QVERIFY(test.p > 0.02 && test.p < 0.06);
        QCOMPARE(welch_test({4, 6, 8}, {1, 2, 3}).p, test.p);
        QVERIFY(std::isnan(welch_test({1}, {2, 3}).p));
        QCOMPARE(welch_test({1, 1}, {1, 1}).p, 1.0);
        QCOMPARE(welch_test({1, 1}, {2, 2}).p, 0.0);
    }

    void groups_race_to_a_loss() {
        // Two seeds a group: 1 and 1.25 a unit; 2 and 2.5 a unit.
        const std::vector<std::vector<CurvePoint>> curves{falling(1, 4), falling(2, 2), falling(1.25, 4),
                                                          falling(2.5, 2)};
        const auto race = loss_race(curves, {0, 1, 0, 1});
        QCOMPARE(*race.target, 2.0);  // where the worst of them ends
        QCOMPARE(*race.common_x, 2.0);
        QCOMPARE(race.groups[0].runs, (std::vector<std::size_t>{0, 2}));
        QVERIFY(near(*race.groups[0].to_target.mean, (4 + 3.2) / 2));
        QVERIFY(near(*race.groups[1].to_target.mean, (2 + 1.6) / 2));
        QVERIFY(near(*race.groups[1].to_target.share, 0.5));
        QCOMPARE(*race.groups[1].to_target.least, 1.6);
        QVERIFY(near(*race.groups[0].at_common.mean, (4 + 3.5) / 2));
        QVERIFY(near(*race.groups[1].to_target.p, welch_test({4, 3.2}, {2, 1.6}).p));
        QVERIFY(!race.groups[0].to_target.p && !race.groups[0].to_target.share);
        const auto further = loss_race(curves, {0, 1, 0, 1}, 0, 1.5);
        QCOMPARE(further.groups[0].to_target.values.size(), 1U);  // one of them never got there
        QVERIFY(!further.groups[0].to_target.deviation && !further.groups[1].to_target.p);
        QVERIFY(!further.groups[1].to_target.share && further.groups[0].there == 1);
        QVERIFY(!loss_race({{}, {}}, {0, 1}).common_x);
        // Two readings a run say that each was there, and not which was first.
        const auto seldom = loss_race({{{0, 6}, {40, 2}}, {{0, 6}, {36, 2.5}}}, {0, 1});
        QVERIFY(seldom.groups[0].to_target.values.empty() && seldom.groups[0].there == 1);
        QCOMPARE(*seldom.groups[0].by, 40.0);
        QCOMPARE(seldom.groups[0].readings, 2U);
        QVERIFY(!seldom.groups[1].to_target.share && !seldom.groups[1].at_common.share);
    }

    /// Tokens that a run needs, by tokens of the network's own iteration, times what that takes there.
    void the_skip_is_worth_what_it_saves() {
        std::vector<SkipMeasured> measured{{0.5, 30, 2, 10, {falling(0.5, 8), falling(0.5, 8)}},
                                           {0, 100, 4, 10, {falling(1, 4), falling(1, 4)}}};
        const auto worths = skip_worth(measured, {}, 3.6);
        QCOMPARE(*worths.target, 2.0);
        QCOMPARE(worths.rows[0].skip_ratio, 0.0);
        QCOMPARE(*worths.rows[0].iterations.mean, 1.0);  // 4 tokens, 4 an iteration
        QCOMPARE(*worths.rows[0].network_s.mean, 100.0);
        QVERIFY(near(*worths.rows[0].money.mean, 100 * 10 * 3.6 / 3600));
        QCOMPARE(*worths.rows[1].iterations.mean, 4.0);
        QCOMPARE(*worths.rows[1].network_s.mean, 120.0);
        QVERIFY(near(*worths.rows[1].network_s.share, 1.2));  // more iterations than each saves
        QCOMPARE(*worths.rows[1].network_s.p, 0.0);
        QVERIFY(skip_worth({}, {}, 0).rows.empty());
        // One seed trained twice says nothing of chance.
        auto seeded = measured;
        seeded[0].seeds = {1, 2}, seeded[1].seeds = {1, 2};
        QVERIFY(skip_worth(seeded, {}, 3.6).rows[1].network_s.p.has_value());
        for (const std::size_t twice : {0, 1}) {
            auto same = seeded;
            same[twice].seeds = {1, 1};
            const auto untested = skip_worth(same, {}, 3.6).rows[1];
            QVERIFY(!untested.network_s.p && !untested.iterations.p && untested.network_s.share);
        }
        measured[0].losses.front() = {{0, 6}, {8, 1}};
        const auto unknown = skip_worth(measured, {}, 3.6);
        QCOMPARE(unknown.rows[1].there, 2U);
        QCOMPARE(*unknown.rows[1].by_iterations, 4.0);
        QVERIFY(unknown.rows[1].network_s.values.size() == 1 && !unknown.rows[1].network_s.share);
    }

    void trade_offs_are_those_that_nothing_beats() {
        QCOMPARE(pareto_front({{1, 5}, {2, 4}, {2, 5}, {3, 3}, {std::nullopt, 1}}),
                 (std::vector<bool>{true, true, false, true, false}));
        QCOMPARE(pareto_front({{1, 1}, {1, 1}}), (std::vector<bool>{true, true}));
    }

    /// By loss against the baseline, or the next where that is best; by time where there are no losses.
    void runs_are_ranked() {
        const auto ranked = [](std::vector<RunInfo> infos, std::vector<Experiment> experiments = {}) {
            experiments.resize(infos.size());
            std::vector<RankedRun> runs;
            for (std::size_t i = 0; i < infos.size(); ++i) runs.push_back({&infos[i], &experiments[i]});
            return rank_runs(runs, SeedGroups(runs));
        };
        QVERIFY(!ranked({info(1, 1)}) && !ranked({info(1, {}), info({}, 1)}));
        const auto both = ranked({info(3, 1), info(2, 2), info(4, 4)});
        QVERIFY(both->by == Ranking::By::loss && both->best == 1 && both->other == 0 && !both->may_be_chance);
        QVERIFY(both->quickest == std::size_t{0} && both->slowest == 2);
        const auto first = ranked({info(2, 1), info(4, 2), info(3, 3)});
        QVERIFY(first->best == 0 && first->other == 2 && !first->quickest);
        const auto paces_of = [](const std::vector<RunInfo>& runs) {
            std::vector<RankedRun> all;
            for (const auto& run : runs) all.push_back({&run, nullptr});
            return paces(all);
        };
        const auto pace = paces_of({info(2, 1), info(4, 2), info(3, 3)});
        QVERIFY(pace && pace->quickest == 0 && pace->slowest == 2);  // the best one too
        QVERIFY(!paces_of({}) && !paces_of({info(2, 1), info(4, 1)}) && !paces_of({info(2, 1), info(4, {})}));
        QVERIFY2(!paces_of({info(2, 1), info(4, 1 + 1e-9)}), "what rounding left over is no pace");
        const auto timed = ranked({info({}, 2), info(3, 1)});
        QVERIFY(timed->by == Ranking::By::iteration && timed->best == 1 && !timed->quickest);
        const auto alike = ranked({info(2, 2), info(2.001, 1)});
        QVERIFY(alike->alike && alike->quickest == std::size_t{1});
        QVERIFY(ranked({info(2, 1), info(2.03, 1)})->may_be_chance);
        QVERIFY(!both->unequal);
        auto longer = info(2, 1);
        longer.iterations_done = 40;
        QVERIFY2(ranked({info(3, 1), longer})->unequal, "more iterations are no better training");
        // Two seeds of each: what Welch's test says counts, however large the difference.
        std::vector<Experiment> seeds(4);
        seeds[1].seed = seeds[3].seed = 2;
        seeds[2].pipeline.skip_ratio = seeds[3].pipeline.skip_ratio = 0.5;
        const auto apart = ranked({info(3, 1), info(3.001, 1), info(2, 1), info(2.001, 1)}, seeds);
        QVERIFY(apart->best == 2 && apart->best_seeds == 2 && apart->other_seeds == 2 && apart->p < 0.001);
        QVERIFY(!apart->may_be_chance);
        const auto wide = ranked({info(2.5, 1), info(4, 1), info(2, 1), info(3, 1)}, seeds);
        QVERIFY(wide->p > 0.05 && wide->may_be_chance);
        // Trained again, a seed is no further one.
        auto twice = seeds;
        twice.insert(twice.end(), 2, seeds[3]);
        const auto again =
            ranked({info(3, 1), info(3.001, 1), info(2, 1), info(2.001, 1), info(2.001, 1), info(9, 1)}, twice);
        QVERIFY(again->best_seeds == 2 && again->p == apart->p);
        // Seeds of one experiment alone are no two groups, however many there are.
        std::vector<Experiment> three(3);
        three[1].seed = 2;
        three[2].seed = 3;
        const auto one_group = ranked({info(3, 1), info(2.5, 1), info(2, 1)}, three);
        QVERIFY(one_group->best == 2 && !one_group->p && one_group->best_seeds == 1);
    }

    /// The one rule of the window and of reports: the first that is sure, with those that are as good.
    void the_best_runs_are_judged_by_one_rule() {
        std::vector<RunInfo> infos{info(2.778, 1.2), info(2.801, 6.6), info(2.772, 1.205)};
        std::vector<Experiment> experiments(3);
        std::vector<std::vector<Metric>> metrics(3);
        const double pace[] = {1.2, 6.6, 1.2005};
        for (std::size_t r = 0; r < 3; ++r)
            for (int i = 0; i < 16; ++i)
                metrics[r].push_back(
                    {.iteration = i, .name = "loss", .value = 5.5 - 0.17 * i, .network_s = pace[r] * i});
        std::vector<JudgedRun> runs;
        for (std::size_t r = 0; r < 3; ++r) runs.push_back({&infos[r], &experiments[r], &metrics[r], nullptr});
        const auto found = judge(runs);
        QVERIFY(found && found->soonest && found->ranking.may_be_chance);
        QCOMPARE(found->best, (std::vector<std::size_t>{0, 2}));
        metrics.assign(3, {});
        QCOMPARE(judge(runs)->best, (std::vector<std::size_t>{0, 2}));  // by the pace then
        infos[2] = info(2.5, 1.205);
        QCOMPARE(judge(runs)->best, std::vector<std::size_t>{2});  // the loss is sure
        QVERIFY(!judge({runs[0]}));
    }

    /// A seed wins nothing over another one, and more iterations nothing over fewer.
    void seeds_and_unequal_work_are_no_verdict() {
        std::vector<RunInfo> infos{info(2.0, 2), info(2.5, 2.1), info(2.9, 4), info(3.0, 4.1)};
        std::vector<Experiment> experiments(4);
        experiments[1].seed = experiments[3].seed = 2;
        experiments[0].pipeline.skip_ratio = experiments[1].pipeline.skip_ratio = 0.33;
        const std::vector<Metric> none;
        const auto judged = [&](const std::vector<std::size_t>& which) {
            std::vector<JudgedRun> runs;
            for (const auto r : which) runs.push_back({&infos[r], &experiments[r], &none, nullptr});
            return *judge(runs);
        };
        QVERIFY(judged({0, 1}).best.empty() && judged({0, 1}).undecided == Undecided::only_seeds);
        QCOMPARE(judged({0, 1, 2}).best, (std::vector<std::size_t>{0, 1}));
        QCOMPARE(judged({3, 0, 2, 1}).best, (std::vector<std::size_t>{1, 3}));
        infos[1].last_validation_loss = 2.95;  // of two seeds one is before a run, the other behind it: by pace then
        QCOMPARE(judged({0, 1, 2}).best, (std::vector<std::size_t>{0, 1}));
        infos[1].iteration_s = 5;
        QVERIFY(judged({0, 1, 2}).best.empty() && judged({0, 1, 2}).undecided == Undecided::no);
        infos[2].iterations_done = 16;
        infos[2].last_validation_loss = 1;
        QVERIFY(judged({0, 2}).best.empty() && judged({0, 2}).undecided == Undecided::unequal_work);
    }

    /// Where one loss is reached by all, unequal work is in nobody's way: that two seeds contradict each other is.
    void a_known_race_is_not_undecided_for_unequal_work() {
        std::vector<RunInfo> infos{info(2.8, 1), info(3.6, 3), info(3.6, 2)};
        const int iterations[] = {16, 12, 12};
        std::vector<Experiment> experiments(3);
        experiments[1].seed = 2;
        experiments[2].pipeline.skip_ratio = 0.33;
        std::vector<std::vector<Metric>> metrics(3);
        for (std::size_t r = 0; r < 3; ++r) {
            infos[r].iterations_done = iterations[r];
            for (int i = 0; i < iterations[r]; ++i)
                metrics[r].push_back({.iteration = i,
                                      .name = "loss",
                                      .value = 5.5 - 0.17 * i,
                                      .network_s = *infos[r].iteration_s * (i + 1)});
        }
        const auto judged = [&](const std::vector<std::size_t>& which) {
            std::vector<JudgedRun> runs;
            for (const auto r : which) runs.push_back({&infos[r], &experiments[r], &metrics[r], nullptr});
            return *judge(runs);
        };
        const auto found = judged({0, 1, 2});
        QVERIFY(found.soonest && found.ranking.unequal);
        QCOMPARE(found.soonest->quickest, std::size_t{0});
        for (std::size_t r = 0; r < 3; ++r) QVERIFY(near(found.soonest->seconds[r], std::vector{12.0, 36.0, 24.0}[r]));
        QVERIFY2(found.best.empty() && found.undecided == Undecided::no, "who is soonest is known");
        QCOMPARE(judged({0, 2}).best, std::vector<std::size_t>{0});
        metrics.assign(3, {});
        QVERIFY(judged({0, 1, 2}).undecided == Undecided::unequal_work);
    }

    /// Seconds are called by the clock that runs counted by, in tables, axes and timelines alike.
    void a_report_calls_times_by_their_clock() {
        auto one = report_run(1, "one", 0), other = report_run(9, "nine", 0.25);
        const std::string by_wall = R"({"execution": {"clock": "wall"}})";
        one.experiment_json = other.experiment_json = by_wall;
        const auto wall = report_html({one, other}, {.title = "Wall", .x = WorkAxis::network_time});
        for (const char* part : {"Iteration, wall-clock time", ">Wall-clock time</text>", ">Wall-clock time 1",
                                 "an iteration by the wall clock", "Wall-clock time passed while iterations ran."})
            QVERIFY2(wall.find(part) != std::string::npos, part);
        QVERIFY(wall.find("etwork time") == std::string::npos);
        const auto mixed = report_html({one, report_run(3, "three", 0)}, {.title = "Mixed"});
        QVERIFY(mixed.find("Iteration, network or wall-clock time") != std::string::npos);
        QCOMPARE(count_of(mixed, ">Wall-clock time 1"), 1U);  // each timeline by its own run's
        QCOMPARE(count_of(mixed, ">Network time 1"), 1U);
    }

    /// As in the window: who trains another model is neither best nor better, and in no race; nor is who did nothing.
    void a_report_sets_other_work_aside() {
        auto one = report_run(1, "one", 0), other = report_run(9, "nine", 0.25), apart = report_run(4, "four", 0);
        apart.experiment_json = R"({"model": {"blocks": 3}})";
        one.info.last_validation_loss = 3;
        other.info.last_validation_loss = 2.5;
        apart.info.last_validation_loss = 1;
        apart.info.iteration_s = 1;
        const auto has = [](const std::string& text, const std::string& part) {
            return text.find(part) != std::string::npos;
        };
        const auto text = report_html({one, other, apart}, {.title = "Apart"});
        for (const char* part : {"<strong>Run 9 is best.</strong>", "Run 9 has the lowest loss",
                                 "Run 4 trains another model, or on other data, and is set aside."})
            QVERIFY2(has(text, part), part);
        QCOMPARE(count_of(text, "class=\"better\""), 2U);  // run 9's iteration and loss, none of run 4
        QVERIFY2(!has(text, "run 4 takes"), "it is in no race");
        QVERIFY(has(report_html({one, apart}, {.title = "Two"}), "These runs train different models"));
        // The odd one first is no baseline of a race: those that train the same are held against each other.
        for (const auto& runs : {std::vector{apart, one, other}, {one, apart, other}}) {
            const auto odd = report_html(runs, {.title = "Odd"});
            QVERIFY(has(odd, "Run 9 is best.") && has(odd, "Run 4 trains another model"));
            const auto race = odd.find("Reaches "), end = odd.find("</tr>", race);
            QCOMPARE(count_of(odd.substr(race, end - race), "<td>–</td>"), 1U);
        }
        QVERIFY2(!has(report_html({one, apart}, {.title = "Two"}), "Reaches "), "nor is there a race of two models");
        // By times alone another model is no better either.
        auto timed = one, quick = apart;
        timed.info.last_validation_loss.reset(), quick.info.last_validation_loss.reset();
        const auto times = report_html({timed, quick}, {.title = "Times"});
        QVERIFY(!has(times, " is best") && !has(times, "class=\"better\""));
        // What cannot be read is not another model; what goes on is not there yet.
        auto unread = apart, running = one;
        unread.experiment_json = "{";
        running.info.id = 6, running.info.state = RunState::running, running.info.iterations = 60;
        const auto left = report_html({one, other, unread, running}, {.title = "Unread"});
        QVERIFY(has(left, "Run 4 is set aside: its experiment cannot be read.") && has(left, "Run 9 is best."));
        QVERIFY(has(left, "Run 6 goes on and is set aside.") && !has(left, "another model"));
        // A loss after more iterations is no lower one.
        auto longer = other;
        longer.info.iterations_done = 60;
        const auto unequal = report_html({one, longer}, {.title = "Unequal"});
        QVERIFY(has(unequal, "The runs did unequal work: run 1 did 0 iterations, run 9 did 60 iterations."));
        QVERIFY(!has(unequal, "lowest loss"));
        QCOMPARE(count_of(unequal, "class=\"better\""), 1U);  // its iteration
        ReportRun failed{.info = {.id = 5, .state = RunState::failed}};
        const auto failing = report_html({one, other, failed}, {.title = "Failed"});
        QVERIFY(has(failing, "Run 9 is best.") && has(failing, "Run 5 failed before its first iteration."));
    }

    void a_report_stands_alone() {
        const auto text = report_html({report_run(1, "<one>", 0), report_run(9, "nine", 0.25)},
                                      {.title = "A & B", .question = "Is it <worth> it?", .program = "test"});
        QVERIFY(text.starts_with("<!DOCTYPE html>") && text.ends_with("</html>\n"));
        for (const char* part :
             {"<title>A &amp; B</title>", "Is it &lt;worth&gt; it?", "&lt;one&gt;", "Skip ratio", "Run 9</th>",
              "Run 1 (baseline)", "waiting for memory", "How to repeat", "Iteration, network time",
              "skippipe run run-1.json", "stroke-dasharray", "<strong>Run 9 is best.</strong></p>", ">Run 9, gpipe<"})
            QVERIFY2(text.find(part) != std::string::npos, part);
        for (const char* outside : {"<one>", "<script", "src=", "href=", "url(http"})
            QVERIFY2(text.find(outside) == std::string::npos, outside);
        QCOMPARE(count_of(text, "<svg"), 3U);  // losses and two timelines
        QCOMPARE(count_of(text, "<polyline"), 2U);
        QCOMPARE(count_of(text, "Plain: forward."), 1U);  // below the last timeline
        QVERIFY(text.find("(-2.50") != std::string::npos || text.find("(\xE2\x88\x92"
                                                                      "2.50") != std::string::npos);
        QVERIFY(text.find("Network time is that of the drawn network.") != std::string::npos);
        QVERIFY(text.find("all-clock") == std::string::npos);
        QVERIFY2(text.find("<td>Note</td>") == std::string::npos, "nobody wrote one");
        auto noted = report_run(1, "one", 0);
        noted.info.note = "warm";
        noted.info.started_utc = "2026-11-28T06:56:07.515Z";
        const auto alone = report_html({noted}, {.title = "One"});
        QVERIFY(alone.find("<td>Note</td><td>warm</td>") != std::string::npos);
        QVERIFY(alone.find("<td>2026-11-28 06:56\xC2\xA0UTC</td>") != std::string::npos);
        QVERIFY(alone.find("What was different") == std::string::npos);
        auto slow = report_run(1, "one", 0), quick = report_run(9, "nine", 0);
        slow.experiment_json = R"({"training": {"learning_rate": 0.01}})";
        quick.experiment_json = R"({"training": {"learning_rate": 0.02}})";
        quick.info.iteration_s = 5;
        const auto apart = report_html({slow, quick}, {.title = "Told apart"});
        for (const char* part : {"<strong>Run 9 is best.</strong> Only it has learning rate 0.02 instead of 0.01.",
                                 ">Run 9, learning rate 0.02<"})
            QVERIFY2(apart.find(part) != std::string::npos, part);
        quick.experiment_json = R"({"seed": 2, "training": {"learning_rate": 0.01}})";
        const auto seeds = report_html({slow, quick}, {.title = "Two seeds"});
        QVERIFY(seeds.find("Only the seed differs") != std::string::npos);
        QVERIFY(seeds.find(" is best") == std::string::npos && seeds.find("class=\"better\"") == std::string::npos);
        // What is alike is told once; what nobody has, not at all.
        auto here = report_run(1, "one", 0), there = report_run(9, "nine", 0.25);
        here.machine_json = there.machine_json = R"({"host": "vm", "memory_bytes": 8000000000})";
        here.versions_json = R"({"skippipe": "0.2.0", "blas_gflops": 59.01258})";
        there.versions_json = R"({"skippipe": "0.2.0", "blas_gflops": 81.2})";
        const auto setup = report_html({here, there}, {.title = "Setup"});
        QCOMPARE(count_of(setup, "<td>Host</td><td>vm</td></tr>"), 1U);
        QCOMPARE(count_of(setup, "<td>SkipPipe</td><td>0.2.0</td></tr>"), 1U);
        QVERIFY(setup.find("<td>Memory</td><td>8.00\u2009GB</td></tr>") != std::string::npos);
        QVERIFY(setup.find("<td>Matrix products</td><td>59.0\u2009GFLOPS</td><td>81.2") != std::string::npos);
        QVERIFY(setup.find("&quot;host&quot;") == std::string::npos);
        QVERIFY(text.find("Better and worse:") < text.find("<td>Iteration, network time</td>"));
        const auto nothing = report_html({{.info = {.id = 3}}}, {.title = "Nothing yet"});
        QCOMPARE(count_of(nothing, "<svg"), 0U);
        const auto unread = report_html({report_run(1, "one", 0), {.info = {.id = 3}}, report_run(9, "nine", 0.25)},
                                        {.title = "One is no document"});
        QVERIFY(unread.find("Run 3 is left out: its experiment cannot be read.") != std::string::npos);
        QVERIFY(unread.find("<td>Skip ratio</td><td>0</td><td>–</td><td>0 (full pipeline)</td>") != std::string::npos);
    }
};

QTEST_APPLESS_MAIN(TestLossRace)
#include "test_loss_race.moc"
