// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include <algorithm>
#include <cmath>
#include <set>
#include <stop_token>

#include "core/base/index.h"
#include "core/base/rng.h"
#include "core/planner/plan/validator.h"
#include "core/planner/timeline/evaluator.h"
#include "plugins/planners/all.h"
#include "plugins/planners/joint/starts/start_search.h"
#include "tests/planner/faults.h"
#include "tests/planner/random_problems.h"
#include "tests/planner/region_networks.h"

using namespace skippipe;
using namespace skippipe::planners;
using namespace skippipe::planners::joint;

/// What a search of many nodes begins with.
class TestTimedStarts : public QObject {
    Q_OBJECT

    static std::optional<TimedStart> first_start(const Problem& problem) {
        return StartSearch(problem, Network(problem), 1, 1).begin([](double) { return true; });
    }

    /// Empty where the start is a valid plan that takes as long as it says, to the last bit.
    static std::string faults_of(const Problem& problem, const TimedStart& start) {
        const auto plan = make_plan(problem, start.candidate, "test", {}, 0, {});
        auto found = examples::faults_of(problem, plan);
        const double seconds = evaluate(problem, plan).iteration_s;
        if (seconds != start.seconds) found += fmt::format("takes {} s, not {}", seconds, start.seconds);
        return found;
    }

private Q_SLOTS:
    void paths_take_what_they_say() {
        for (const bool shared : {true, false})
            for (std::uint64_t seed = 1; seed <= 4; ++seed) {
                auto problem = examples::region_network(seed, {60, 6, 180, shared}).problem;
                if (seed == 2) problem.sizes = {8, 4, 1};
                if (seed == 3) {
                    problem.charge_all_reduce = true;
                    problem.gradient_bytes.assign(6, 3e7);
                }
                if (seed == 4) {
                    problem.plan_reductions = true;
                    problem.gradient_bytes.assign(6, 3e8);
                }
                const auto start = first_start(problem);
                QVERIFY(start.has_value());
                const auto found = faults_of(problem, *start);
                QVERIFY2(found.empty(), found.c_str());
            }
    }

    /// With gradients that the line between two regions hardly carries, the best start has other nodes in each stage
    /// than if they were not looked at.
    void planned_reductions_are_seen() {
        examples::RegionShape shape{60, 6, 180};
        shape.gradient_bytes = 5e8;
        const auto problem = examples::region_network(2, shape).problem;
        auto free = problem;
        free.plan_reductions = false;
        auto blind = first_start(free)->candidate;
        choose_reductions(problem, blind);
        const double seen_s = first_start(problem)->seconds, blind_s = iteration_s(problem, blind);
        QVERIFY2(seen_s < 0.8 * blind_s, fmt::format("{} {}", seen_s, blind_s).c_str());
    }

    /// Stages take the nodes group after group, so that as few as can be have nodes in two.
    void stages_of_near_nodes() {
        const auto network = examples::region_network(1, {100, 8, 400});
        const auto sizes = network.problem.default_stage_sizes();
        const auto stages = placement_by_groups(network.problem, network.region, sizes);
        QCOMPARE(sizes_of(stages), sizes);
        std::set<std::pair<int, int>> pairs;
        std::set<NodeIndex> nodes;
        for (StageIndex s = 0; s < network.problem.stages; ++s)
            for (const NodeIndex node : stages[s]) {
                pairs.emplace(s, network.region[at(node)]);
                nodes.insert(node);
            }
        QCOMPARE(nodes.size(), std::size_t{100});
        QVERIFY(pairs.size() <= 8 + 4 - 1);
    }

    /// Where lines are unlimited nothing comes later than booked: whatever is bound to come first has ended by then.
    void booked_times_are_kept() {
        for (std::uint64_t seed = 1; seed <= 4; ++seed)
            for (const double width : {1.0, 4.0}) {
                auto problem = examples::region_network(seed, {60, 6, 180, false}).problem;
                if (seed == 2) problem.sizes = {8, 4, 1};
                if (seed == 3) problem.memory.assign(at(problem.nodes()), 1);
                const Network network(problem);
                const auto groups = near_groups(problem, network);
                auto candidate = make_candidate(
                    problem,
                    placement_in_groups(problem, groups, problem.default_stage_sizes(), DataNodes::of_each_group),
                    problem.path_length);
                const double booked_s = ReservedPaths(problem, network, groups).fill(candidate, {.width = width});
                const double exact_s = iteration_s(problem, candidate);
                QVERIFY2(exact_s <= booked_s * (1 + 1e-9),
                         fmt::format("seed {} width {}: {} {}", seed, width, exact_s, booked_s).c_str());
                QVERIFY2(exact_s > 0.9 * booked_s,
                         fmt::format("seed {} width {}: {} {}", seed, width, exact_s, booked_s).c_str());
            }
    }

    /// Sixteen means, the last one that of all microbatches' ends; whoever is given that pace keeps it, and whoever is
    /// given a hair less at any of them is given up.
    void pace_of_what_is_booked() {
        auto problem = examples::region_network(1, {60, 6, 180}).problem;
        const Network network(problem);
        const auto groups = near_groups(problem, network);
        const auto placed = make_candidate(
            problem, placement_in_groups(problem, groups, problem.default_stage_sizes(), DataNodes::of_each_group),
            problem.path_length);
        ReservedPaths paths(problem, network, groups);
        auto candidate = placed;
        const double end_s = paths.fill(candidate, {});
        const Pace pace = paths.pace();
        QCOMPARE(pace.size(), std::size_t{16});
        for (std::size_t k = 1; k < pace.size(); ++k) QVERIFY(pace[k] > pace[k - 1]);
        QVERIFY(pace.back() > 0.4 * end_s && pace.back() < 0.7 * end_s);
        constexpr double never_s = std::numeric_limits<double>::infinity();
        candidate = placed;
        QCOMPARE(paths.fill(candidate, {}, never_s, pace), end_s);
        for (std::size_t k = 0; k < pace.size(); ++k) {
            Pace faster = pace;
            faster[k] *= 1 - 1e-9;
            candidate = placed;
            QCOMPARE(paths.fill(candidate, {}, never_s, faster), never_s);
            QCOMPARE(paths.pace().size(), k + 1);
        }
        // Of fewer microbatches than parts.
        problem = examples::region_network(1, {60, 6, 7}).problem;
        ReservedPaths few(problem, network, groups);
        candidate = make_candidate(problem, placed.stages, problem.path_length);
        const double soon_s = few.fill(candidate, {});
        QVERIFY(soon_s < end_s);
        QCOMPARE(few.pace().size(), std::size_t{16});
    }

    /// Against going through all that is taken.
    void calendar() {
        Rng rng(1, 1);
        Calendar calendar;
        std::vector<std::pair<double, double>> taken;
        for (int k = 0; k < 400; ++k) {
            const double from_s = 40 * rng.uniform(), seconds = 0.01 + 0.1 * rng.uniform();
            double expected_s = from_s;
            for (bool moved = true; moved;) {
                moved = false;
                for (const auto& [begin_s, end_s] : taken)
                    if (begin_s < expected_s + seconds && expected_s < end_s) {
                        expected_s = end_s;
                        moved = true;
                    }
            }
            const double begin_s = calendar.earliest_s(from_s, seconds);
            QVERIFY(std::abs(begin_s - expected_s) < 1e-9);
            calendar.take(begin_s, seconds);
            taken.emplace_back(begin_s, begin_s + seconds);
        }
    }

    /// There a next node is not looked for everywhere.
    void many_groups() {
        const auto problem = examples::region_network(1, {300, 6, 450}).problem;
        const Network network(problem);
        StartSearch search(problem, network, 1, 1);
        const double first_s = search.begin([](double) { return true; })->seconds;
        search.run(30, {}, [](double, double) { return true; });
        QVERIFY(search.best()->seconds < first_s);
        const auto found = faults_of(problem, *search.best());
        QVERIFY2(found.empty(), found.c_str());
    }

    /// Whatever is changed, and however little memory there is.
    void changes_keep_plans_valid() {
        for (std::uint64_t seed = 1; seed <= 3; ++seed) {
            auto problem = examples::region_network(seed, {60, 6, 180}).problem;
            if (seed == 2) problem.stage_sizes = problem.stage_sizes_with(12);
            if (seed == 3) problem.memory.assign(at(problem.nodes()), 1);
            const Network network(problem);
            StartSearch search(problem, network, seed, 1);
            const double first_s = search.begin([](double) { return true; })->seconds;
            search.run(300, {}, [](double, double) { return true; });
            QVERIFY(search.best()->seconds < first_s);
            const auto found = faults_of(problem, *search.best());
            QVERIFY2(found.empty(), found.c_str());
            if (seed == 2) QCOMPARE(sizes_of(search.best()->candidate.stages), problem.stage_sizes);
        }
    }

    void groups_are_the_regions() {
        for (std::uint64_t seed = 1; seed <= 5; ++seed) {
            const auto network = examples::region_network(seed, {100, 8, 400});
            const auto groups = near_groups(network.problem, Network(network.problem));
            std::set<std::pair<int, int>> pairs;
            for (std::size_t n = 0; n < groups.size(); ++n) pairs.emplace(groups[n], network.region[n]);
            QCOMPARE(pairs.size(), std::size_t{4});
            QCOMPARE(std::set(groups.begin(), groups.end()).size(), std::size_t{4});
        }
        auto room = examples::region_network(1, {60, 6, 180}).problem;
        for (auto& hop : room.hops) hop.latency_s = 0.001, hop.seconds_per_forward = hop.seconds_per_backward = 0;
        QCOMPARE(near_groups(room, Network(room)), std::vector<int>(60, 0));
    }

    /// Data nodes are those with the most memory, the other stages have about as much each, and some of each group.
    void placement_sees_memory_and_groups() {
        const auto network = examples::region_network(1, {100, 8, 400});
        const auto& problem = network.problem;
        const auto sizes = problem.default_stage_sizes();
        const auto stages = placement_in_groups(problem, network.region, sizes, DataNodes::anywhere);
        QCOMPARE(sizes_of(stages), sizes);
        int least = unlimited_memory, most_elsewhere = 0;
        std::vector<double> memory;
        for (StageIndex s = 0; s < problem.stages; ++s) {
            double sum = 0;
            std::set<int> regions;
            for (const NodeIndex node : stages[s]) {
                (s == 0 ? least : most_elsewhere) =
                    s == 0 ? std::min(least, problem.memory[node]) : std::max(most_elsewhere, problem.memory[node]);
                sum += problem.memory[node];
                regions.insert(network.region[at(node)]);
            }
            QCOMPARE(regions.size(), std::size_t{4});
            if (s > 0) memory.push_back(sum);
        }
        QVERIFY(least >= most_elsewhere);
        const auto [fewest, most] = std::minmax_element(memory.begin(), memory.end());
        QVERIFY(*most < 1.35 * *fewest);
    }

    /// A plan at once, far shorter than that of the published method; on any number of threads the same.
    void many_nodes_in_regions() {
        PlannerRegistry registry;
        register_planners(registry);
        const auto& joint = *registry.find("skippipe-joint");
        for (std::uint64_t seed = 1; seed <= 2; ++seed) {
            const auto problem = examples::region_network(seed, {60, 6, 180}).problem;
            PlanRequest request;
            request.steps = 1000;
            const auto plan = joint.plan(problem, request);
            const auto found = examples::faults_of(problem, plan);
            QVERIFY2(found.empty(), found.c_str());
            request.threads = 2;
            QVERIFY(joint.plan(problem, request).paths == plan.paths);
            const double seconds = evaluate(problem, plan).iteration_s;
            QVERIFY(seconds < 0.8 * evaluate(problem, registry.find("skippipe")->plan(problem, {})).iteration_s);
            std::stop_source stop;
            request.stop = stop.get_token();
            request.progress = [&](const PlanProgress& progress) {
                if (progress.best_iteration_s > 0) stop.request_stop();
            };
            const auto first = joint.plan(problem, request);
            QVERIFY(examples::faults_of(problem, first).empty());
            QVERIFY(evaluate(problem, first).iteration_s >= seconds);
        }
    }
};

QTEST_APPLESS_MAIN(TestTimedStarts)
#include "test_timed_starts.moc"
