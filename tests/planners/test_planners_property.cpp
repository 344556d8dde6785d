// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include <stop_token>

#include "core/base/fault.h"
#include "core/planner/bounds/bounds.h"
#include "core/planner/plan/validator.h"
#include "core/planner/timeline/evaluator.h"
#include "plugins/planners/all.h"
#include "tests/planner/faults.h"
#include "tests/planner/random_problems.h"

using namespace skippipe;
using examples::faults_of;

/// Random problems: every plan of every planner is complete and within the constraints; threads change nothing.
class TestPlannersProperty : public QObject {
    Q_OBJECT

    PlannerRegistry registry_;

    static PlanRequest quick(const Planner& planner, std::uint64_t seed) {
        PlanRequest request;
        request.seed = seed;
        if (planner.name() == "skippipe-joint") request.steps = 400;
        if (planner.name().starts_with("dtfm")) request.steps = 200;
        return request;
    }

private Q_SLOTS:
    void initTestCase() { register_planners(registry_); }

    void every_plan_is_valid() {
        for (std::uint64_t seed = 1; seed <= 150; ++seed) {
            const auto problem = examples::random_problem(seed);
            double skippipe_s = 0;
            for (const auto& planner : registry_.all()) {
                std::string found;
                try {
                    const auto plan = planner->plan(problem, quick(*planner, seed));
                    found = faults_of(problem, plan);
                    const double seconds = evaluate(problem, plan).iteration_s;
                    if (planner->name() == "skippipe") skippipe_s = seconds;
                    if (placed_bound(problem, plan).seconds > seconds)
                        found += "shorter than the bound of its placement";
                    if (planner->name() == "skippipe-joint" && seconds > skippipe_s) found += "longer than skippipe";
                    if (plan.planner != planner->name() || plan.seed != seed) found += "does not say who made it";
                } catch (const InputError& error) {
                    found = error.what();
                }
                QVERIFY2(found.empty(),
                         ("seed " + std::to_string(seed) + ", " + planner->name() + ": " + found).c_str());
            }
        }
    }

    /// Planned blocks, microbatches of several sizes.
    void every_uneven_plan_is_valid() {
        int moved = 0;
        for (std::uint64_t seed = 1; seed <= 120; ++seed) {
            const auto problem = examples::uneven(examples::random_problem(500 + seed), seed);
            double skippipe_s = 0;
            for (const auto& planner : registry_.all()) {
                std::string found;
                try {
                    const auto plan = planner->plan(problem, quick(*planner, seed));
                    found = faults_of(problem, plan);
                    const double seconds = evaluate(problem, plan).iteration_s;
                    if (planner->name() == "skippipe") skippipe_s = seconds;
                    if (placed_bound(problem, plan).seconds > seconds)
                        found += "shorter than the bound of its placement";
                    if (planner->name() == "skippipe-joint" && seconds > skippipe_s) found += "longer than skippipe";
                    if (const auto row = score(problem, plan); row.lower_bound_seconds > seconds || row.gap < 0)
                        found += "shorter than the bound";
                    moved += plan.blocks != problem.blocks ? 1 : 0;
                    if (plan.blocks != problem.blocks && planner->name() != "skippipe-joint") found += "moved blocks";
                } catch (const InputError& error) {
                    found = error.what();
                }
                QVERIFY2(found.empty(),
                         ("seed " + std::to_string(seed) + ", " + planner->name() + ": " + found).c_str());
            }
        }
        QVERIFY2(moved > 30, std::to_string(moved).c_str());
    }

    /// Thousands of small networks, every third with lines missing, some one way only. The searches over skipping run
    /// their course on an eighth of them; on the others they are cancelled at once, and have to hand back a valid plan
    /// all the same.
    void thousands_of_small_networks() {
        std::stop_source stopped;
        stopped.request_stop();
        int plans = 0, refused = 0;
        for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
            auto problem = examples::random_problem(
                10'000 + seed, {.most_nodes = 8, .most_stages = 4, .missing_lines = seed % 3 == 0 ? 0.08 : 0});
            const int share = problem.stage_sizes.empty() ? 1 : problem.stage_sizes[0];
            problem.microbatches = share * (1 + problem.microbatches / share % std::max(2, 8 / share));
            auto hops = problem.hops;
            const bool missing =
                std::any_of(hops.begin(), hops.end(), [](const Hop& hop) { return hop.line == no_line; });
            const auto& searches = registry_.all();
            for (std::size_t k = 0; k < searches.size(); ++k) {
                const auto& planner = *searches[k];
                PlanRequest request;
                request.seed = seed;
                request.steps = 50;
                if (k >= 5 && (seed + k) % 8 != 0) request.stop = stopped.get_token();
                std::string found;
                try {
                    found = faults_of(problem, planner.plan(problem, request));
                    ++plans;
                } catch (const InputError& error) {
                    found = missing ? "" : error.what();
                    ++refused;
                }
                QVERIFY2(found.empty(),
                         ("seed " + std::to_string(seed) + ", " + planner.name() + ": " + found).c_str());
            }
        }
        QVERIFY2(plans > 15'000 && refused < 800,
                 (std::to_string(plans) + " plans, " + std::to_string(refused) + " refused").c_str());
    }

    void threads_change_nothing() {
        for (std::uint64_t seed = 1000; seed < 1015; ++seed) {
            const auto problem = examples::random_problem(seed);
            for (const auto& planner : registry_.all()) {
                auto request = quick(*planner, seed);
                const auto one = planner->plan(problem, request);
                request.threads = 2;
                QVERIFY2(one == planner->plan(problem, request),
                         (planner->name() + ", seed " + std::to_string(seed)).c_str());
                const auto uneven = examples::uneven(problem, seed);
                const auto two = planner->plan(uneven, request);
                request.threads = 1;
                QVERIFY2(two == planner->plan(uneven, request),
                         (planner->name() + ", uneven, seed " + std::to_string(seed)).c_str());
            }
        }
    }
};

QTEST_APPLESS_MAIN(TestPlannersProperty)
#include "test_planners_property.moc"
