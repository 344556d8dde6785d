// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include <map>

#include "core/base/fault.h"
#include "plugins/planners/all.h"
#include "plugins/planners/common/dispatch_order.h"
#include "plugins/planners/joint/orders/order_annealer.h"
#include "plugins/planners/joint/paths/path_annealer.h"
#include "tests/planner/random_problems.h"

using namespace skippipe;
using namespace skippipe::planners;
using namespace skippipe::planners::joint;

/// After every move that an annealer takes or undoes, what it holds is compared with the evaluator: the candidate, its
/// times, and all that is derived from it.
class TestMoves : public QObject {
    Q_OBJECT

    PlannerRegistry registry_;
    using Tallies = std::map<std::string, MoveTally>;

    static bool always(double) { return true; }

    static Problem problem_of(std::uint64_t seed) {
        auto problem = examples::random_problem(seed, {.most_nodes = 14, .missing_lines = seed % 4 == 0 ? 0.05 : 0.0});
        problem.split_backward = seed % 3 == 0;
        problem.plan_reductions = seed % 6 == 1;
        problem.charge_all_reduce = problem.charge_all_reduce && !problem.plan_reductions;
        return seed % 5 < 2 ? examples::uneven(problem, seed / 5) : problem;
    }

    /// A plan's candidate; nothing where missing lines leave none.
    std::optional<PlanCandidate> start_of(const Problem& problem, std::uint64_t seed) const {
        PlanRequest request;
        request.seed = seed;
        request.steps = 20;
        try {
            return candidate_of(problem, registry_.find("skippipe")->plan(problem, request));
        } catch (const InputError&) {
            return {};
        }
    }

    template <typename State>
    static void run(Annealer<State>& annealer, Tallies& tallies) {
        annealer.check_moves();
        // Hot and cold, so that much is taken and much undone.
        annealer.stay(150, annealer.best_s() * 0.05);
        annealer.stay(150, annealer.best_s() * 0.001);
        for (const auto& tally : annealer.tallies()) {
            auto& all = tallies[tally.name];
            all.name = tally.name;
            all.drawn += tally.drawn;
            all.judged += tally.judged;
            all.taken += tally.taken;
        }
    }

    template <typename MoveList>
    static void each_was_taken_and_undone(const MoveList& moves, const Tallies& tallies) {
        QCOMPARE(tallies.size(), moves.size());
        for (const auto& [name, tally] : tallies) {
            const auto say = name + ": " + std::to_string(tally.drawn) + " drawn, " + std::to_string(tally.judged) +
                             " judged, " + std::to_string(tally.taken) + " taken";
            qInfo("%s", say.c_str());
            QVERIFY2(tally.taken >= 10 && tally.judged - tally.taken >= 10 && tally.drawn > tally.judged, say.c_str());
        }
    }

private Q_SLOTS:
    void initTestCase() { register_planners(registry_); }

    void path_moves_are_the_evaluators() {
        Tallies tallies;
        for (std::uint64_t seed = 1; seed <= 120; ++seed) {
            const auto problem = problem_of(seed);
            auto start = start_of(problem, seed);
            if (!start) continue;
            start->schedule.order.clear();
            PathAnnealer annealer(problem, Network(problem), *start, seed, 1);
            try {
                run(annealer, tallies);
            } catch (const std::logic_error& error) {
                QFAIL(("seed " + std::to_string(seed) + ": " + error.what()).c_str());
            }
        }
        each_was_taken_and_undone(all_path_moves(), tallies);
    }

    void order_moves_are_the_evaluators() {
        Tallies tallies;
        int exact = 0, shared = 0;
        for (std::uint64_t seed = 1; seed <= 120; ++seed) {
            const auto problem = problem_of(seed);
            auto start = start_of(problem, seed);
            if (!start) continue;
            if (start->schedule.order.empty()) start->schedule.order = dispatch_order(problem, *start);
            ++(has_dedicated_lines(problem) ? exact : shared);
            OrderAnnealer annealer(problem, *start, seed, 1);
            try {
                run(annealer, tallies);
            } catch (const std::logic_error& error) {
                QFAIL(("seed " + std::to_string(seed) + ": " + error.what()).c_str());
            }
        }
        each_was_taken_and_undone(all_order_moves(), tallies);
        QVERIFY(exact > 20 && shared > 20);
    }

    /// A move that changes something without telling the journal is found at once, and named.
    void a_broken_undo_is_named() {
        const auto problem = examples::random_problem(3);
        auto start = start_of(problem, 3);
        QVERIFY(start.has_value());
        start->schedule.order.clear();
        const PathMove broken{"broken", [](const PathState&) { return 1; },
                              [](PathState& state, Rng& rng) {
                                  auto& nodes = const_cast<PlanCandidate&>(state.candidate()).schedule;
                                  std::swap(nodes.path(0)[0], nodes.path(pick<ReleaseIndex>(rng, nodes.count()))[0]);
                                  return false;
                              }};
        Annealer<PathState> annealer(3, 1, {&broken}, problem, Network(problem), *start);
        annealer.check_moves();
        try {
            annealer.stay(100, annealer.best_s());
            QFAIL("not found");
        } catch (const std::logic_error& error) {
            QVERIFY2(QString(error.what()).startsWith("move \"broken\", undone: "), error.what());
        }
    }

    /// The first of several chains leaves blocks as they are.
    void held_blocks_stay() {
        int held = 0;
        for (std::uint64_t seed = 1; seed <= 40; ++seed) {
            const auto problem = examples::uneven(examples::random_problem(seed), 2);
            auto start = start_of(problem, seed);
            if (!start) continue;
            start->schedule.order.clear();
            PathAnnealer annealer(problem, Network(problem), *start, seed, 1, {.hold_blocks = true});
            annealer.stay(500, annealer.best_s());
            QCOMPARE(annealer.best().blocks, start->blocks);
            PathAnnealer free(problem, Network(problem), *start, seed, 1);
            free.stay(500, free.best_s());
            held += free.best().blocks != start->blocks ? 1 : 0;
        }
        QVERIFY(held > 5);
    }
};

QTEST_APPLESS_MAIN(TestMoves)
#include "test_moves.moc"
