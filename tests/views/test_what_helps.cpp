// SPDX-License-Identifier: GPL-3.0-or-later
// What would help a node or an iteration: weighed by the evaluator, told beside the causes.
#include <QtTest>

#include "core/planner/explain/node_what_ifs.h"
#include "core/planner/explain/shared_work.h"
#include "plugins/planners/all.h"
#include "tests/planner/random_problems.h"
#include "tests/views/recorded_runs.h"
#include "views/idle/what_helps.h"
#include "views/theme/numbers.h"

using namespace skippipe;

class TestWhatHelps : public QObject {
    Q_OBJECT
    PlannerRegistry planners_;

    struct Planned {
        Problem problem;
        Plan plan;
        Timeline timeline;
    };
    /// Of random problems those that the planner can plan to their end.
    std::vector<Planned> random_plans(const char* planner, std::uint64_t seeds) const {
        std::vector<Planned> all;
        for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
            try {
                const auto problem = examples::random_problem(seed);
                const auto plan = planners_.find(planner)->plan(problem, {.seed = seed, .steps = 50});
                auto timeline = evaluate(problem, plan);
                if (timeline.complete) all.push_back({problem, plan, std::move(timeline)});
            } catch (const InputError&) {  // it has no plan
            }
        }
        return all;
    }

private Q_SLOTS:
    void initTestCase() { register_planners(planners_); }

    /// The figures are those of the evaluator on the changed problem.
    void what_would_help_a_node_is_said_beside_its_causes() {
        Recorded recorded(planners_);
        Recorder recorder(recorded.file);
        const auto window = watching(planners_, recorded, recorded.add(recorder, recorded.experiment));
        QVERIFY(window != nullptr);
        const auto& page = window->watch_page();
        QTRY_VERIFY_WITH_TIMEOUT(selection_words(page).contains("Would help"), patient_ms);  // the run as a whole
        QVERIFY(!selection_words(page).contains("one microbatch more"));
        window->selection().select({.nodes = {"node-1"}});
        QTRY_VERIFY_WITH_TIMEOUT(selection_words(page).contains("node-1 twice as fast: "), patient_ms);
        Problem faster = recorded.planned->problem;
        faster.seconds_per_sample_per_block[NodeIndex(0)] /= 2;
        const double then = evaluate(faster, recorded.planned->plan).iteration_s, now = recorded.length();
        QVERIFY(then < now);
        const QString words = "node-1 twice as fast: " + plain(percent(1 - then / now)) + " shorter";
        QVERIFY2(selection_words(page).contains(words), qPrintable(selection_words(page)));
        const auto why = explain(recorded.planned->problem, recorded.planned->plan, recorded.planned->timeline);
        const QString bound = plain(duration(why.placed.seconds)) + " with these stages; the plan takes " +
                              plain(at_most_percent(why.placed_gap())) + " more";
        QVERIFY2(selection_words(page).contains(bound), qPrintable(selection_words(page)));
        window->selection().select({.nodes = {"node-2"}});
        QVERIFY2(!selection_words(page).contains(words), "the answer is about another node");
        QTRY_VERIFY_WITH_TIMEOUT(selection_words(page).contains("node-2 twice as fast: "), patient_ms);
        window->selection().select({.stage = 1});  // as of the run as a whole
        QVERIFY(!selection_words(page).contains("node-2 twice as fast: "));
        QTRY_VERIFY_WITH_TIMEOUT(selection_words(page).contains("Would help"), patient_ms);
        QVERIFY(!selection_words(page).contains("one microbatch more"));
        window->selection().select({.microbatch = 1});
        QVERIFY(!selection_words(page).contains("Would help"));
    }

    /// Sharing a stage's work more evenly is weighed too, and told whatever comes of it.
    void sharing_a_stages_work_is_weighed() {
        int told = 0;
        for (const auto& [problem, plan, timeline] : random_plans("skippipe-joint", 40)) {
            for (NodeIndex node = 0; node < problem.nodes(); ++node) {
                const auto shared = shared_work(problem, plan, timeline, node);
                if (!shared) continue;
                const auto help = what_helps(problem, plan, problem.node_ids[node]);
                const auto lines = help.changes + help.longer + QStringList{help.hardly};
                if (shared->change < -worth_saying && lines.size() >= 5) continue;  // of many the most
                const QString words = QString::fromStdString(
                    fmt::format(" of {} through {}", problem.node_ids[shared->from], problem.node_ids[shared->to]));
                const auto line =
                    std::find_if(lines.begin(), lines.end(), [&](const QString& one) { return one.contains(words); });
                QVERIFY2(line != lines.end(), qPrintable(words + " in\n" + lines.join('\n')));
                if (shared->change < -worth_saying) QVERIFY2(line->contains(" shorter"), qPrintable(*line));
                QCOMPARE(shared->change > worth_saying, help.longer.contains(*line));
                if (shared->change > worth_saying) QVERIFY2(line->endsWith(" longer"), qPrintable(*line));
                ++told;
            }
        }
        QVERIFY2(told > 20, qPrintable(QString::number(told)));
    }

    /// The most first; what gives less than 1 % in one line at the end.
    void what_helps_most_stands_first() {
        Recorded recorded(planners_);
        const auto& problem = recorded.planned->problem;
        for (const char* node : {"", "node-1", "node-2", "node-3"}) {
            const auto help = what_helps(problem, recorded.planned->plan, node);
            const auto& lines = help.changes;
            double before = 100;
            for (const auto& line : lines) {
                if (line.startsWith("Nothing alone")) {
                    QCOMPARE(lines.size(), qsizetype{1});
                    continue;
                }
                const double gain = plain(line).section(": ", 1).section(' ', 0, 0).toDouble();
                QVERIFY2(line.contains(" shorter") && gain >= 1 && gain <= before, qPrintable(lines.join('\n')));
                before = gain;
            }
            QVERIFY(!lines.isEmpty() && (lines.size() > 1 || help.hardly.contains(": less than 1")));
        }
    }

    /// Where a critical node twice as fast hardly helps, what limits then is named, and it is another one.
    void what_limits_then_is_named() {
        int named = 0;
        for (const auto& [problem, plan, timeline] : random_plans("skippipe", 60)) {
            const auto why = explain(problem, plan, timeline);
            for (const auto& line : what_helps(problem, plan, "").changes) {
                const auto found =
                    QRegularExpression("^(.*) twice as fast: .* shorter(, then (.*) limits it)?$").match(line);
                if (!found.hasMatch()) continue;
                const auto what = std::find_if(why.what_ifs.begin(), why.what_ifs.end(), [&](const WhatIf& one) {
                    return QString::fromStdString(one.words()) == found.captured(1) + " twice as fast";
                });
                QVERIFY(what != why.what_ifs.end());
                double share = 0;
                for (const auto& one : why.nodes)
                    if (problem.node_ids[one.node] == what->name) share = one.seconds / why.iteration_s;
                for (const auto& one : why.links)
                    if (one.name == what->name) share = one.seconds() / why.iteration_s;
                if (!found.captured(2).isEmpty()) {
                    QVERIFY2(-what->change < share / 4, qPrintable(line));
                    QVERIFY2(found.captured(3) != found.captured(1), qPrintable(line));
                    ++named;
                }
            }
        }
        QVERIFY2(named > 5, qPrintable(QString::number(named)));
    }

    /// What an iteration is as long as it is for, and whether that is the node that somebody asks about.
    void what_limits_an_iteration_is_named() {
        Recorded recorded(planners_);
        const auto& problem = recorded.planned->problem;
        const auto& plan = recorded.planned->plan;
        const auto why = explain(problem, plan, recorded.planned->timeline);
        const auto share = [&](double seconds) { return percent(seconds / why.iteration_s); };
        std::map<std::string, double> on_path;
        for (const auto& one : why.nodes) on_path[problem.node_ids[one.node]] = one.seconds;
        const std::string& most = problem.node_ids[why.nodes.front().node];
        const QString first = QString::fromStdString(most + ' ') + share(on_path[most]);
        const QString all = what_helps(problem, plan, "").limit;
        QVERIFY2(all.contains(first) && all.endsWith(" of the critical path"), qPrintable(all));
        const bool has_link = !why.links.empty() && why.links.front().seconds() > 0.01 * why.iteration_s;
        QCOMPARE(has_link, all.contains(QString::fromStdString(why.links.front().name)));
        QCOMPARE(what_helps(problem, plan, most).limit, all);
        for (const auto& node : problem.node_ids)
            if (node != most)
                QCOMPARE(what_helps(problem, plan, node).limit,
                         all + QString::fromStdString("; " + node + ' ') +
                             (on_path[node] > 0 ? share(on_path[node]) : QString("none of it")));
    }
};

QTEST_MAIN(TestWhatHelps)
#include "test_what_helps.moc"
