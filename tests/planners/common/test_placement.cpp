// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include <algorithm>
#include <numeric>

#include "core/base/index.h"
#include "core/planner/plan/paths.h"
#include "core/planner/plan/timeline.h"
#include "plugins/planners/common/placement.h"
#include "tests/planner/random_problems.h"

using namespace skippipe;
using namespace skippipe::planners;

/// Which node holds which stage: as many as were asked for, and cheap ones.
class TestPlacement : public QObject {
    Q_OBJECT

    static PlacementCost cost_of(const Problem& problem, const Network& network) {
        return {problem, network, stage_flow(problem, balanced_sequences(problem, problem.path_length))};
    }

    static GeneticResult found(const Problem& problem, const PlacementCost& cost, std::uint64_t seed) {
        return genetic_placement(problem, cost, {50, 1000}, seed, [](double) { return true; });
    }

private Q_SLOTS:
    void nodes_stand_once() {
        for (std::uint64_t seed = 1; seed <= 60; ++seed) {
            const auto problem = examples::random_problem(seed);
            const Network network(problem);
            const auto placement = found(problem, cost_of(problem, network), seed).placement;
            QCOMPARE(sizes_of(placement), stage_sizes(problem));
            std::vector<int> count(at(problem.nodes()), 0);
            for (const auto& ring : placement)
                for (const NodeIndex node : ring) ++count[at(node)];
            QVERIFY(std::all_of(count.begin(), count.end(), [](int each) { return each <= 1; }));
        }
    }

    /// The search begins with the nodes as they are listed, and never ends above that; mostly far below.
    void never_dearer_than_listed() {
        double found_s = 0, listed_s = 0;
        for (std::uint64_t seed = 1; seed <= 60; ++seed) {
            const auto problem = examples::random_problem(seed);
            const Network network(problem);
            const auto cost = cost_of(problem, network);
            std::vector<NodeIndex> nodes(at(problem.nodes()));
            std::iota(nodes.begin(), nodes.end(), NodeIndex(0));
            const double one_s = cost.seconds(found(problem, cost, seed).placement),
                         other_s = cost.seconds(placement_in_order(nodes, stage_sizes(problem)));
            QVERIFY2(one_s <= other_s, std::to_string(seed).c_str());
            found_s += one_s;
            listed_s += other_s;
        }
        QVERIFY2(found_s < 0.9 * listed_s, (std::to_string(found_s) + " of " + std::to_string(listed_s)).c_str());
    }

    /// Of few nodes, against all placements that there are.
    void finds_the_cheapest_of_few_nodes() {
        int tried = 0, missed = 0;
        for (std::uint64_t seed = 1; tried < 25; ++seed) {
            const auto problem = examples::random_problem(seed, {.most_nodes = 7});
            if (problem.nodes() < 5) continue;
            ++tried;
            const Network network(problem);
            const auto cost = cost_of(problem, network);
            const auto sizes = stage_sizes(problem);
            std::vector<NodeIndex> nodes(at(problem.nodes()));
            std::iota(nodes.begin(), nodes.end(), NodeIndex(0));
            double least_s = 1e300;
            do least_s = std::min(least_s, cost.seconds(placement_in_order(nodes, sizes)));
            while (std::next_permutation(nodes.begin(), nodes.end()));
            const double found_s = cost.seconds(found(problem, cost, seed).placement);
            // The order within a ring moves sums by their last bits.
            QVERIFY2(found_s >= least_s * (1 - 1e-12), std::to_string(seed).c_str());
            missed += found_s > least_s * (1 + 1e-9) ? 1 : 0;
        }
        QVERIFY2(missed <= 2, std::to_string(missed).c_str());
    }

    void given_placements_stay() {
        auto problem = examples::random_problem(5);
        problem.placement = listed_placement(problem);
        std::reverse(problem.placement.back().begin(), problem.placement.back().end());
        const Network network(problem);
        const auto result = found(problem, cost_of(problem, network), 1);
        QCOMPARE(result.placement, problem.placement);
        QCOMPARE(result.offspring, 0);
        QCOMPARE(listed_placement(problem), problem.placement);
    }

    /// Slower lines never make a placement cheaper.
    void slower_is_dearer() {
        int dearer = 0;
        for (std::uint64_t seed = 1; seed <= 60; ++seed) {
            auto problem = examples::random_problem(seed);
            const auto placement = listed_placement(problem);
            const Network network(problem);
            const double before_s = cost_of(problem, network).seconds(placement);
            for (auto& hop : problem.hops) hop.slow(2);
            const Network slower(problem);
            const double after_s = cost_of(problem, slower).seconds(placement);
            QVERIFY2(after_s >= before_s, std::to_string(seed).c_str());
            dearer += after_s > before_s ? 1 : 0;
        }
        QVERIFY(dearer > 40);
    }

    /// Up to seven nodes: the best of all orders. More: never worse than before.
    void rings_are_ordered() {
        int better = 0;
        for (std::uint64_t seed = 1; seed <= 80; ++seed) {
            auto problem = examples::random_problem(seed);
            problem.charge_all_reduce = true;
            Rng rng(seed);
            std::vector<NodeIndex> nodes(at(problem.nodes()));
            std::iota(nodes.begin(), nodes.end(), NodeIndex(0));
            rng.shuffle(nodes);
            nodes.resize(std::min<std::size_t>(nodes.size(), 3 + rng.below(8)));
            auto ring = nodes;
            order_ring(problem, ring, 1);
            QVERIFY(std::is_permutation(ring.begin(), ring.end(), nodes.begin(), nodes.end()));
            const double ordered_s = all_reduce_seconds(problem, ring, 1);
            QVERIFY(ordered_s <= all_reduce_seconds(problem, nodes, 1));
            better += ordered_s < all_reduce_seconds(problem, nodes, 1) ? 1 : 0;
            if (nodes.size() > 6) continue;
            std::sort(nodes.begin(), nodes.end());
            do QVERIFY(ordered_s <= all_reduce_seconds(problem, nodes, 1));
            while (std::next_permutation(nodes.begin(), nodes.end()));
        }
        QVERIFY(better > 20);
    }
};

QTEST_APPLESS_MAIN(TestPlacement)
#include "test_placement.moc"
