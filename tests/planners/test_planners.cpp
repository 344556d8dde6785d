// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include <chrono>
#include <cmath>
#include <stop_token>

#include "core/base/fault.h"
#include "core/planner/bounds/bounds.h"
#include "core/planner/plan/paths.h"
#include "core/planner/plan/validator.h"
#include "core/planner/timeline/evaluator.h"
#include "plugins/planners/all.h"
#include "tests/planner/authors.h"
#include "tests/planner/examples.h"
#include "tests/planner/faults.h"
#include "tests/planner/random_problems.h"

using namespace skippipe;

class TestPlanners : public QObject {
    Q_OBJECT

    PlannerRegistry registry_;
    const authors::Authors authors_{SKIPPIPE_SOURCE_DIR "/tests/data/authors-plan-20-nodes.json"};

    Plan plan(const std::string& planner, const Problem& problem, std::int64_t steps = 0) const {
        PlanRequest request;
        request.steps = steps;
        return registry_.find(planner)->plan(problem, request);
    }
    static double seconds(const Problem& problem, const Plan& plan) { return evaluate(problem, plan).iteration_s; }

    std::string error(const std::string& planner, const Problem& problem) const {
        try {
            plan(planner, problem, 200);
        } catch (const InputError& error) {
            return error.what();
        }
        return {};
    }

private Q_SLOTS:
    void initTestCase() { register_planners(registry_); }

    void listed_in_order() {
        std::vector<std::string> names;
        for (const auto& planner : registry_.all()) {
            names.push_back(planner->name());
            QVERIFY(!planner->description().empty());
        }
        const std::vector<std::string> wanted{"gpipe",           "1f1b",     "zero-bubble",   "dtfm", "dtfm-skip",
                                              "skippipe-no-tc2", "skippipe", "skippipe-joint"};
        QCOMPARE(names, wanted);
    }

    /// Compared where the authors measured: each step of their table is an improvement here too.
    void authors_problem() {
        const auto& problem = authors_.problem;
        const double theirs_s = seconds(problem, authors_.plan("skippipe"));
        for (const auto& planner : registry_.all()) {
            const auto made = plan(planner->name(), problem, planner->name() == "skippipe-joint" ? 60'000 : 0);
            const auto violations = check_plan(problem, made, evaluate(problem, made));
            QVERIFY2(violations.empty(), planner->name().c_str());
            QVERIFY(lower_bound(problem, static_cast<int>(made.paths[0].nodes.size())).seconds <=
                    seconds(problem, made));
        }
        QVERIFY(seconds(problem, plan("1f1b", problem)) < seconds(problem, plan("gpipe", problem)));
        QVERIFY(seconds(problem, plan("zero-bubble", problem)) < seconds(problem, plan("1f1b", problem)));
        QVERIFY(seconds(problem, plan("dtfm", problem)) < 165);
        QVERIFY(seconds(problem, plan("skippipe", problem)) < theirs_s);
        QVERIFY(seconds(problem, plan("skippipe-joint", problem, 60'000)) < 0.9 * theirs_s);
    }

    void given_places_are_kept() {
        auto problem = authors_.problem;
        problem.placement = authors_.plan("skippipe").stages;
        for (const auto& planner : registry_.all())
            QCOMPARE(plan(planner->name(), problem, 300).stages, problem.placement);
    }

    void skipping_alone_has_no_swaps() {
        auto problem = authors_.problem;
        problem.constraints.max_swaps = 0;
        for (const char* name : {"dtfm-skip", "skippipe-no-tc2", "skippipe", "skippipe-joint"}) {
            const auto made = plan(name, problem, 2000);
            const auto stage_of = stage_of_nodes(made, problem.nodes());
            for (const auto& path : made.paths)
                for (std::size_t hop = 1; hop < path.nodes.size(); ++hop)
                    QVERIFY(stage_of[static_cast<std::size_t>(path.nodes[hop])] >
                            stage_of[static_cast<std::size_t>(path.nodes[hop - 1])]);
        }
    }

    /// With M = 1 and swaps, first come, first served often deadlocks: plans must be complete all the same.
    void little_memory() {
        auto problem = authors_.problem;
        problem.memory.assign(20, 1);
        for (const auto& planner : registry_.all()) {
            const auto made = plan(planner->name(), problem, 500);
            QVERIFY2(evaluate(problem, made).complete, planner->name().c_str());
        }
    }

    void paths_avoid_missing_lines() {
        for (std::uint64_t seed = 1; seed <= 40; ++seed) {
            const auto problem =
                examples::random_problem(seed, {.most_nodes = 20, .most_stages = 4, .missing_lines = 0.03});
            for (const auto& planner : registry_.all()) {
                std::string found = error(planner->name(), problem);
                if (found.empty()) {
                    const auto made = plan(planner->name(), problem, 200);
                    found += examples::faults_of(problem, made);
                }
                QVERIFY2(found.empty(), (planner->name() + ", seed " + std::to_string(seed) + ": " + found).c_str());
            }
        }
    }

    /// DT-FM's placement is a ring of stages: with few lines it finds one that has them all, or says which pair has
    /// none and what would help.
    void dtfm_with_missing_lines() {
        int planned = 0, refused = 0;
        for (std::uint64_t seed = 1; seed <= 120; ++seed) {
            const auto problem = examples::random_problem(
                seed, {.most_nodes = 16, .most_stages = 4, .missing_lines = 0.01 * static_cast<double>(seed % 30)});
            for (const char* name : {"dtfm", "dtfm-skip"}) {
                PlanRequest request;
                request.seed = seed;
                request.steps = 300;
                try {
                    const auto plan = registry_.find(name)->plan(problem, request);
                    const auto found = check_plan(problem, plan, evaluate(problem, plan));
                    QVERIFY2(found.empty(), (std::string(name) + ", seed " + std::to_string(seed) + ": " +
                                             (found.empty() ? "" : found.front().what))
                                                .c_str());
                    ++planned;
                } catch (const InputError& error) {
                    const auto& fault = error.faults().front();
                    QVERIFY2(!fault.remedy.empty() && std::string(error.what()).find("linked") != std::string::npos,
                             error.what());
                    ++refused;
                }
            }
        }
        qInfo("%d planned, %d refused", planned, refused);
        QVERIFY(planned > 60 && refused > 20);
    }

    /// More than 64 stages: the conflict search searches, and what it returns is valid.
    void many_stages() {
        std::vector<std::string> ids;
        for (int n = 0; n < 80; ++n) ids.push_back("n" + std::to_string(n));
        auto problem = examples::toy(ids, 70, 40, 20);
        PlanRequest request;
        request.steps = 20;
        const auto plan = registry_.find("skippipe")->plan(problem, request);
        const auto found = check_plan(problem, plan, evaluate(problem, plan));
        QVERIFY2(found.empty(), found.empty() ? "" : found.front().what.c_str());
        QVERIFY(plan.steps > 0);
    }

    /// Where each data node starts as many microbatches, better numbers of them may be several nodes' moves away (found
    /// by trial: 3.91 s and 58.1 s without trying other numbers; five data nodes are better than the four and the one
    /// that these begin with).
    void numbers_of_data_nodes_are_tried() {
        const auto best_of = [&](std::uint64_t network) {
            const auto problem = examples::random_problem(network, {.most_nodes = 30});
            const auto made = plan("skippipe-joint", problem);
            qInfo("network %d: %.3f s with %zu data nodes", static_cast<int>(network), seconds(problem, made),
                  made.stages[0].size());
            return seconds(problem, made);
        };
        QVERIFY(best_of(295) < 2.9);
        QVERIFY(best_of(286) < 52);
    }

    /// Collisions ignored, but not memory: about as long as the authors' own plan (79.95 s), on the mean of five seeds.
    void without_tc2_as_strong_as_the_authors() {
        const authors::Authors authors(SKIPPIPE_SOURCE_DIR "/tests/data/authors-plan-20-nodes.json");
        double sum_s = 0;
        for (std::uint64_t seed = 1; seed <= 5; ++seed) {
            PlanRequest request;
            request.seed = seed;
            sum_s += evaluate(authors.problem, registry_.find("skippipe-no-tc2")->plan(authors.problem, request))
                         .iteration_s;
        }
        qInfo("mean %.2f s", sum_s / 5);
        QVERIFY(sum_s / 5 < 1.05 * 79.95);
    }

    void impossible_problems_say_why() {
        auto problem = authors_.problem;
        problem.memory[3] = 0;
        QVERIFY(error("skippipe", problem).find("TC1") != std::string::npos);
        problem = authors_.problem;
        problem.constraints.max_passed_over = 0;
        QVERIFY(error("skippipe-joint", problem).find("max_passed_over") != std::string::npos);
        problem = authors_.problem;
        for (int n = 1; n < problem.nodes(); ++n) problem.hops[static_cast<std::size_t>(n)].line = no_line;
        problem.placement = authors_.plan("skippipe").stages;
        QVERIFY(error("skippipe-joint", problem).find("n0 is not linked to") != std::string::npos);
        problem.placement.clear();
        problem.stage_sizes.clear();
        problem.stages = 30;
        QVERIFY(error("1f1b", problem).find("30 stages") != std::string::npos);
    }

    void sequences_stay_within_the_constraints() {
        Problem problem = examples::toy({"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"}, 10, 4, 30);
        problem.constraints.max_passed_over = 3;
        std::vector<int> visits(10, 0);
        for (const auto& sequence : balanced_sequences(problem, 4)) {
            QVERIFY(allowed_sequence(problem, sequence));
            for (const int stage : sequence) ++visits[static_cast<std::size_t>(stage)];
        }
        for (int stage = 1; stage < 10; ++stage)
            QVERIFY(visits[static_cast<std::size_t>(stage)] <= problem.visits_cap(4));
        QVERIFY(!allowed_sequence(problem, {0, 5, 6, 7}));
        QVERIFY(allowed_sequence(problem, {0, 4, 3, 5}));
        QVERIFY(!allowed_sequence(problem, {0, 4, 2, 5}));
        QVERIFY(!allowed_sequence(problem, {0, 4, 4, 5}));
        QVERIFY(!allowed_sequence(problem, {1, 2, 3, 4}));
    }

    void cancelled_and_continued() {
        std::stop_source source;
        source.request_stop();
        PlanRequest request;
        request.stop = source.get_token();
        for (const auto& planner : registry_.all()) {
            const auto made = planner->plan(authors_.problem, request);
            QVERIFY(check_plan(authors_.problem, made, evaluate(authors_.problem, made)).empty());
        }
        const auto first = plan("skippipe-joint", authors_.problem, 20'000);
        PlanRequest on;
        on.seed = 9;
        on.steps = 300;
        on.warm_start = &first;
        double fraction = 0;
        on.progress = [&](const PlanProgress& progress) { fraction = progress.fraction; };
        QVERIFY(seconds(authors_.problem, registry_.find("skippipe-joint")->plan(authors_.problem, on)) <=
                seconds(authors_.problem, first));
        QCOMPARE(fraction, 1.0);
    }

    void stops_by_the_clock() {
        PlanRequest request;
        request.seconds = 0.3;
        request.threads = 2;
        const auto begin = std::chrono::steady_clock::now();
        const auto made = registry_.find("skippipe-joint")->plan(authors_.problem, request);
        QVERIFY(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() < 3);
        QVERIFY(made.steps > 0);
        QVERIFY(check_plan(authors_.problem, made, evaluate(authors_.problem, made)).empty());
    }
};

QTEST_APPLESS_MAIN(TestPlanners)
#include "test_planners.moc"
