// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include <algorithm>
#include <set>

#include "core/base/fault.h"
#include "core/base/index.h"
#include "core/planner/plan/paths.h"
#include "plugins/planners/common/feasibility.h"
#include "plugins/planners/common/placement.h"
#include "plugins/planners/common/routing.h"
#include "tests/planner/random_problems.h"

using namespace skippipe;
using namespace skippipe::planners;

/// Paths without a timeline: allowed, along lines that exist, and as short and even as they were asked to be.
class TestRouting : public QObject {
    Q_OBJECT

    struct Routed {
        Problem problem;
        std::vector<std::vector<StageIndex>> sequences;
        PlanCandidate candidate;
    };

    static Routed routed(std::uint64_t seed, const RouteRules& rules, const examples::RandomRules& of = {}) {
        Routed result;
        auto& problem = result.problem = examples::random_problem(seed, of);
        problem.placement.clear();
        result.sequences = balanced_sequences(problem, problem.path_length);
        result.candidate = make_candidate(problem, listed_placement(problem), problem.path_length);
        route(problem, Network(problem), result.sequences, rules, seed, result.candidate);
        return result;
    }

    static std::vector<int> visits(const Problem& problem, const std::vector<std::vector<StageIndex>>& sequences) {
        std::vector<int> visits(at(problem.stages), 0);
        for (const auto& sequence : sequences)
            for (const StageIndex stage : sequence) ++visits[at(stage)];
        return visits;
    }

    static std::vector<std::vector<StageIndex>> stages_of(const FlatPlan& schedule) {
        std::vector<std::vector<StageIndex>> sequences;
        for (ReleaseIndex i = 0; i < schedule.count(); ++i) {
            auto& sequence = sequences.emplace_back();
            for (int hop = 0; hop < schedule.length; ++hop)
                sequence.push_back(schedule.stage_of[schedule.path(i)[hop]]);
        }
        return sequences;
    }

    /// There, and each hop back to where it began.
    static double network_s(const Problem& problem, const FlatPlan& schedule) {
        const Network network(problem);
        double sum_s = 0;
        for (ReleaseIndex i = 0; i < schedule.count(); ++i)
            for (int hop = 0; schedule.length > 1 && hop < schedule.length; ++hop)
                sum_s += network.round_s(schedule.path(i)[hop], schedule.path(i)[(hop + 1) % schedule.length]);
        return sum_s;
    }

private Q_SLOTS:
    void paths_are_allowed() {
        for (std::uint64_t seed = 1; seed <= 200; ++seed) {
            const RouteRules rules{.aware = seed % 2 == 0, .balanced = seed % 3 != 0};
            const auto [problem, sequences, candidate] = routed(seed, rules);
            const auto say = "seed " + std::to_string(seed);
            const auto starts = data_nodes_in_turn(problem, candidate.stages);
            std::multiset<NodeIndex> wanted(starts.begin(), starts.end()), found;
            for (const auto& sequence : stages_of(candidate.schedule))
                QVERIFY2(allowed_sequence(problem, sequence), say.c_str());
            for (ReleaseIndex i = 0; i < candidate.schedule.count(); ++i) found.insert(candidate.schedule.path(i)[0]);
            QVERIFY2(found == wanted, say.c_str());
            QVERIFY2(fits_everywhere(problem, candidate), say.c_str());
            // Exchanges leave to every stage the visits that its sequences have (CC2).
            QVERIFY2(visits(problem, stages_of(candidate.schedule)) == visits(problem, sequences), say.c_str());
        }
    }

    /// Blind to the network, every node of a stage carries as many microbatches as its siblings, one more at most.
    void balanced_is_even() {
        int several = 0;
        for (std::uint64_t seed = 1; seed <= 200; ++seed) {
            const auto [problem, sequences, candidate] = routed(seed, {.aware = false, .balanced = true});
            std::vector<int> loads(at(problem.nodes()), 0);
            for (const NodeIndex node : candidate.schedule.nodes) ++loads[at(node)];
            for (std::size_t s = 1; s < candidate.stages.size(); ++s) {
                const auto [least, most] =
                    std::minmax_element(candidate.stages[s].begin(), candidate.stages[s].end(),
                                        [&](NodeIndex a, NodeIndex b) { return loads[at(a)] < loads[at(b)]; });
                QVERIFY2(loads[at(*most)] - loads[at(*least)] <= 1, std::to_string(seed).c_str());
                several += candidate.stages[s].size() > 1 ? 1 : 0;
            }
        }
        QVERIFY(several > 200);
    }

    /// On the same placement: in all, and hardly ever longer.
    void aware_paths_are_shorter() {
        double aware_s = 0, blind_s = 0;
        int longer = 0;
        for (std::uint64_t seed = 1; seed <= 200; ++seed) {
            const auto aware = routed(seed, {.aware = true, .balanced = false});
            const auto blind = routed(seed, {.aware = false, .balanced = true});
            const double one_s = network_s(aware.problem, aware.candidate.schedule),
                         other_s = network_s(blind.problem, blind.candidate.schedule);
            aware_s += one_s;
            blind_s += other_s;
            longer += one_s > other_s * (1 + 1e-9) ? 1 : 0;
        }
        QVERIFY2(aware_s < 0.8 * blind_s, (std::to_string(aware_s) + " of " + std::to_string(blind_s)).c_str());
        QVERIFY2(longer <= 10, std::to_string(longer).c_str());
    }

    /// Paths go around lines that are missing; where they cannot, the pair is named.
    void missing_lines() {
        int around = 0, refused = 0;
        for (std::uint64_t seed = 1; seed <= 200; ++seed) {
            try {
                const auto [problem, sequences, candidate] =
                    routed(seed, {.aware = true, .balanced = true}, {.missing_lines = 0.12});
                QVERIFY(fits_everywhere(problem, candidate));
                ++around;
            } catch (const InputError& error) {
                QVERIFY2(std::string(error.what()).find("linked") != std::string::npos, error.what());
                ++refused;
            }
        }
        QVERIFY2(around > 40 && refused > 10, (std::to_string(around) + ", " + std::to_string(refused)).c_str());
    }

    void seeds_repeat() {
        for (std::uint64_t seed = 1; seed <= 20; ++seed) {
            const RouteRules rules{.aware = seed % 2 == 0, .balanced = true};
            QVERIFY(routed(seed, rules).candidate == routed(seed, rules).candidate);
        }
    }
};

QTEST_APPLESS_MAIN(TestRouting)
#include "test_routing.moc"
