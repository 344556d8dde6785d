// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include <algorithm>

#include "core/base/index.h"
#include "core/planner/plan/validator.h"
#include "core/planner/timeline/evaluator.h"
#include "plugins/planners/all.h"
#include "plugins/planners/common/dispatch_order.h"
#include "plugins/planners/common/feasibility.h"
#include "plugins/planners/joint/partitions.h"
#include "tests/planner/random_problems.h"

using namespace skippipe;
using namespace skippipe::planners;
using namespace skippipe::planners::joint;

/// Large problems in parts that do not wait for each other.
class TestPartitions : public QObject {
    Q_OBJECT

    static constexpr int least_operations = 250;

    static std::vector<Partition> partitions_of(const Problem& problem, std::uint64_t seed) {
        return make_partitions(problem, Network(problem), problem.stage_sizes, least_operations, seed);
    }

    /// Of all pairs of different nodes.
    static double mean_round_s(const Problem& problem) {
        const Network network(problem);
        double sum_s = 0;
        for (NodeIndex a = 0; a < problem.nodes(); ++a)
            for (NodeIndex b = 0; b < problem.nodes(); ++b) sum_s += a != b ? network.round_s(a, b) : 0;
        return sum_s / (problem.nodes() * (problem.nodes() - 1));
    }

private Q_SLOTS:
    void they_are_the_problem() {
        for (std::uint64_t seed = 1; seed <= 6; ++seed) {
            const auto problem = examples::many_regions(seed);
            const auto partitions = partitions_of(problem, seed);
            QVERIFY(partitions.size() > 1);
            PerNode<int> count(at(problem.nodes()), 0);
            PerStage<int> sizes(at(problem.stages), 0);
            int microbatches = 0;
            for (const auto& [nodes, part] : partitions) {
                QCOMPARE(part.nodes(), static_cast<int>(nodes.size()));
                QVERIFY(part.microbatches * (2 * part.path_length + 1) >= least_operations);
                QVERIFY(part.microbatches % part.stage_sizes[0] == 0);
                microbatches += part.microbatches;
                for (StageIndex s = 0; at(s) < sizes.size(); ++s) sizes[s] += part.stage_sizes[s];
                for (std::size_t a = 0; a < nodes.size(); ++a) {
                    ++count[nodes[a]];
                    QCOMPARE(part.node_ids[a], problem.node_ids[nodes[a]]);
                    for (std::size_t b = 0; b < nodes.size(); ++b)
                        QCOMPARE(part.hop(NodeIndex(a), NodeIndex(b)).line, problem.hop(nodes[a], nodes[b]).line);
                }
            }
            QCOMPARE(microbatches, problem.microbatches);
            QCOMPARE(sizes, problem.stage_sizes);
            QVERIFY(std::all_of(count.begin(), count.end(), [](int each) { return each == 1; }));
        }
    }

    /// Rates and queues are those of the partition's own nodes.
    void uplinks_go_with_their_nodes() {
        auto problem = examples::many_regions(1);
        for (const char* what : {"uplink of ", "downlink of "})
            for (int n = 0; n < problem.nodes(); ++n) {
                problem.line_names.push_back(what + problem.node_ids[at(n)]);
                auto& rates = what[0] == 'u' ? problem.up_bytes_per_s : problem.down_bytes_per_s;
                rates.push_back(1e6 + (what[0] == 'u' ? n : 1000 + n));
            }
        const auto partitions = partitions_of(problem, 1);
        QVERIFY(partitions.size() > 1);
        const std::size_t lines = problem.line_names.size() - 2 * at(problem.nodes());
        for (const auto& [nodes, part] : partitions) {
            QCOMPARE(part.up_bytes_per_s.size(), nodes.size());
            QCOMPARE(part.line_names.size(), lines + 2 * nodes.size());
            for (std::size_t n = 0; n < nodes.size(); ++n) {
                QCOMPARE(part.up_bytes_per_s[n], problem.up_bytes_per_s[nodes[n]]);
                QCOMPARE(part.down_bytes_per_s[n], problem.down_bytes_per_s[nodes[n]]);
                QCOMPARE(part.line_names[lines + n], "uplink of " + part.node_ids[n]);
            }
        }
    }

    void near_nodes_are_together() {
        for (std::uint64_t seed = 1; seed <= 6; ++seed) {
            const auto problem = examples::many_regions(seed);
            double within_s = 0;
            const auto partitions = partitions_of(problem, seed);
            for (const auto& partition : partitions) within_s += mean_round_s(partition.problem);
            within_s /= static_cast<double>(partitions.size());
            const auto say = std::to_string(within_s) + " of " + std::to_string(mean_round_s(problem));
            QVERIFY2(within_s < 0.85 * mean_round_s(problem), say.c_str());
        }
    }

    /// Nothing of one waits for another: together they take as long as the longest of them, to the last bit.
    void merged_plans_take_as_long_as_the_longest() {
        PlannerRegistry registry;
        register_planners(registry);
        for (std::uint64_t seed = 1; seed <= 3; ++seed) {
            const auto problem = examples::many_regions(seed);
            const auto partitions = partitions_of(problem, seed);
            std::vector<PlanCandidate> candidates;
            double longest_s = 0;
            for (const auto& [nodes, part] : partitions) {
                PlanRequest request;
                request.steps = 20;
                request.seed = seed;
                auto candidate = candidate_of(part, registry.find("skippipe")->plan(part, request));
                if (candidate.schedule.order.empty()) candidate.schedule.order = dispatch_order(part, candidate);
                longest_s = std::max(longest_s, evaluated_s(part, candidate));
                candidates.push_back(std::move(candidate));
            }
            const auto whole = merge_partitions(problem, partitions, candidates);
            const auto plan = make_plan(problem, whole, "merged", {}, 0, {});
            const auto timeline = evaluate(problem, plan);
            const auto violations = check_plan(problem, plan, timeline);
            QVERIFY2(violations.empty(), violations.empty() ? "" : violations.front().what.c_str());
            QCOMPARE(sizes_of(whole.stages), problem.stage_sizes);
            QVERIFY2(timeline.iteration_s == longest_s,
                     (std::to_string(timeline.iteration_s) + ", " + std::to_string(longest_s)).c_str());
        }
    }

    void none_where_parts_would_hang_together() {
        auto small = examples::many_regions(1);
        small.microbatches = 20;
        QVERIFY(partitions_of(small, 1).empty());
        auto given = examples::many_regions(1);
        given.placement.assign(6, {0});
        QVERIFY(partitions_of(given, 1).empty());
        auto blocks = examples::many_regions(1);
        blocks.plan_blocks = true;
        QVERIFY(partitions_of(blocks, 1).empty());
        auto odd = examples::many_regions(1);
        odd.stage_sizes[0] = 19;
        odd.microbatches = 19 * 12;
        QVERIFY(partitions_of(odd, 1).empty());
    }
};

QTEST_APPLESS_MAIN(TestPartitions)
#include "test_partitions.moc"
