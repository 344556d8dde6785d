// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include <set>

#include "core/experiment/io.h"
#include "core/planner/bounds/bounds.h"
#include "core/planner/plan/validator.h"
#include "core/planner/timeline/evaluator.h"
#include "plugins/planners/all.h"
#include "plugins/planners/common/packed_trees.h"
#include "plugins/planners/common/reduction_starts.h"
#include "plugins/planners/joint/anneal/vary_reduction.h"
#include "tests/planner/examples.h"
#include "tests/planner/random_problems.h"
#include "tests/planner/random_reductions.h"
#include "tests/planner/region_networks.h"

using namespace skippipe;
using namespace skippipe::planners;

namespace {

Problem planned(Problem problem) {
    problem.plan_reductions = true;
    problem.charge_all_reduce = false;
    return problem;
}

Problem quick_start() {
    auto problem = make_problem(
        load_experiment(std::string(SKIPPIPE_SOURCE_DIR) + "/resources/experiments/quick-start.json").experiment);
    problem.charge_all_reduce = true;
    problem.plan_reductions = false;
    return problem;
}

/// So many nodes of one stage, two lines between each pair, of this latency and so many bytes a second.
Problem one_stage(int replicas, double latency_s, double bytes_per_s, double gradient_bytes) {
    std::vector<std::string> ids;
    for (int n = 0; n < replicas; ++n) ids.push_back("n" + std::to_string(n));
    auto problem = planned(examples::toy(ids, 1, 1, replicas));
    problem.shared_links = true;
    problem.gradient_bytes = {gradient_bytes};
    for (auto& hop : problem.hops) {
        hop.latency_s = latency_s;
        hop.bandwidth_bytes_per_s = bytes_per_s;
    }
    return problem;
}

/// Without the lines between other pairs; one way only where `both` is false.
void keep_lines(Problem& problem, const std::vector<std::pair<int, int>>& pairs, bool both = true) {
    for (int a = 0; a < problem.nodes(); ++a)
        for (int b = 0; b < problem.nodes(); ++b) {
            const auto is = [&](const auto& pair) {
                return pair == std::pair(a, b) || (both && pair == std::pair(b, a));
            };
            if (a != b && std::none_of(pairs.begin(), pairs.end(), is))
                problem.hops[at(a * problem.nodes() + b)].line = no_line;
        }
}

std::vector<NodeIndex> all_nodes(const Problem& problem) {
    std::vector<NodeIndex> nodes;
    for (NodeIndex n = 0; n < problem.nodes(); ++n) nodes.push_back(n);
    return nodes;
}

Pieces best_of(const Problem& problem) { return ReductionChoice(problem).best(all_nodes(problem), 0); }
double lone_s(const Problem& problem, const Pieces& pieces) {
    return ReductionChoice(problem).lone_s(all_nodes(problem), 0, pieces);
}

/// Two regions of so many nodes: 10 ms and lines of their own within, one line each way between them of this latency
/// and so many bytes a second, and uplinks of 1 byte/s.
Problem two_regions(int each, double between_s, double between_bytes_per_s) {
    auto problem = one_stage(2 * each, 0.01, 1e6, 12);
    for (int a = 0; a < 2 * each; ++a)
        for (int b = 0; b < 2 * each; ++b) {
            auto& hop = problem.hops[at(a * 2 * each + b)];
            if (a / each == b / each) continue;
            hop.latency_s = between_s;
            hop.bandwidth_bytes_per_s = between_bytes_per_s;
            hop.line = problem.hop(NodeIndex(a < each ? 0 : each), NodeIndex(a < each ? each : 0)).line;
        }
    problem.up_bytes_per_s.assign(at(2 * each), 1);
    problem.down_bytes_per_s.assign(at(2 * each), INFINITY);
    return problem;
}

/// Of each piece, what crosses from one region to the other and back.
int crossings(const Pieces& pieces, int each) {
    int count = 0;
    for (const Piece& piece : pieces)
        visit_transfers(piece, 2 * each, [&](int from, int to) { count += from / each != to / each ? 1 : 0; });
    return count;
}

}  // namespace

class TestReductionSearch : public QObject {
    Q_OBJECT

private Q_SLOTS:
    /// Whatever is changed, pieces stay a whole gradient and trees of all replicas; every form and number comes about.
    void variations_stay_valid() {
        int exchanges = 0, several = 0, deep = 0, changed = 0;
        for (std::uint64_t seed = 1; seed <= 40; ++seed) {
            Rng rng(seed);
            const int replicas = 2 + static_cast<int>(rng.below(6));
            Pieces pieces = default_pieces(replicas);
            for (int step = 0; step < 500; ++step) {
                const Pieces before = pieces;
                const bool said = joint::vary(pieces, replicas, rng);
                const auto fault = fault_of(pieces, replicas);
                QVERIFY2(fault.empty(), (std::to_string(seed) + ": " + fault).c_str());
                if (!said) QVERIFY(pieces == before);
                changed += said && !(pieces == before) ? 1 : 0;
                several += pieces.size() > at(replicas) ? 1 : 0;
                for (const Piece& piece : pieces) {
                    exchanges += piece.form == PieceForm::exchange ? 1 : 0;
                    deep += piece.form == PieceForm::tree && piece.up != star_piece(replicas, piece.root, 1).up ? 1 : 0;
                }
            }
        }
        QVERIFY(changed > 5000 && exchanges > 100 && several > 100 && deep > 1000);
    }

    /// Starts are valid, and have their lines, also where lines are missing; the choice is the shortest of them in
    /// whatever order the nodes stand.
    void starts() {
        for (std::uint64_t seed = 1; seed <= 60; ++seed) {
            const auto problem = planned(examples::random_problem(seed, {.missing_lines = seed % 3 == 0 ? 0.1 : 0.0}));
            Rng rng(seed, 9);
            std::vector<NodeIndex> nodes(at(problem.nodes()));
            std::iota(nodes.begin(), nodes.end(), NodeIndex(0));
            rng.shuffle(nodes);
            nodes.resize(2 + rng.below(std::min<std::uint64_t>(nodes.size() - 1, 7)));
            ReductionChoice choice(problem);
            double least_s = INFINITY;
            auto sorted = nodes;
            std::sort(sorted.begin(), sorted.end());
            for (const auto& pieces : reduction_starts(problem, sorted, 0)) {
                QVERIFY(fault_of(pieces, static_cast<int>(nodes.size())).empty());
                QVERIFY(has_reduction_lines(problem, sorted, pieces));
                least_s = std::min(least_s, choice.lone_s(sorted, 0, pieces));
                QVERIFY(lone_reduction_bound_s(problem, sorted, 0) <= choice.lone_s(sorted, 0, pieces));
            }
            if (std::isinf(least_s)) continue;  // these nodes do not reach each other
            const auto best = choice.best(nodes, 0);
            QVERIFY(fault_of(best, static_cast<int>(nodes.size())).empty());
            QVERIFY(has_reduction_lines(problem, nodes, best));
            const double best_s = choice.lone_s(nodes, 0, best);
            QVERIFY2(best_s <= least_s * 1.2, std::to_string(seed).c_str());  // ties fall by places
        }
    }

    /// Nothing that is tried falls below the bound; many small pieces come near it.
    void bound_alone() {
        std::vector<double> ratios;
        for (std::uint64_t seed = 1; seed <= 120; ++seed) {
            Rng rng(seed, 11);
            auto problem = planned(examples::random_problem(seed));
            problem.shared_links = true;
            if (seed % 2 == 0) {
                problem = examples::with_uplinks(problem, rng);
                for (auto* rates : {&problem.up_bytes_per_s, &problem.down_bytes_per_s})
                    for (double& rate : *rates) rate *= 1e7;
            }
            const int replicas = 2 + static_cast<int>(rng.below(std::min(7, problem.nodes() - 1)));
            std::vector<NodeIndex> nodes;
            for (NodeIndex n = 0; n < replicas; ++n) nodes.push_back(n);
            ReductionChoice choice(problem);
            const double bound_s = lone_reduction_bound_s(problem, nodes, 0);
            const auto best = choice.best(nodes, 0);
            double best_s = choice.lone_s(nodes, 0, best);
            auto starts = reduction_starts(problem, nodes, 0);
            starts.push_back(best);
            for (Pieces pieces : starts)
                for (int step = 0; step < 60; ++step) {
                    const double seconds = choice.lone_s(nodes, 0, pieces);
                    QVERIFY2(bound_s <= seconds, qPrintable(QString("seed %1").arg(seed)));
                    best_s = std::min(best_s, seconds);
                    joint::vary(pieces, replicas, rng);
                }
            ratios.push_back(best_s / bound_s);
        }
        std::sort(ratios.begin(), ratios.end());
        qInfo("best over bound: median %.3f, worst %.3f", ratios[ratios.size() / 2], ratios.back());
        QVERIFY(ratios[ratios.size() / 2] < 1.3);
    }

    /// 6 bytes of three nodes over lines of 1 byte/s: each byte has to go over four of them in all, and there are six.
    /// Over uplinks of 1 byte/s: four in all, and there are three.
    void three_by_hand() {
        auto problem = planned(examples::toy({"A", "B", "C"}, 1, 1, 3));
        problem.shared_links = true;
        problem.gradient_bytes = {6};
        for (auto& hop : problem.hops) {
            hop.latency_s = 0;
            hop.bandwidth_bytes_per_s = 1;
        }
        const std::vector<NodeIndex> nodes = {0, 1, 2};
        const auto rounded = [](double seconds) { return std::round(seconds * 50) / 50; };
        const auto best_s = [&] {
            ReductionChoice choice(problem);
            return choice.lone_s(nodes, 0, choice.best(nodes, 0));
        };
        QCOMPARE(rounded(lone_reduction_bound_s(problem, nodes, 0)), 4.0);
        QVERIFY2(best_s() < 4.2, std::to_string(best_s()).c_str());
        for (auto& hop : problem.hops) hop.bandwidth_bytes_per_s = 100;
        problem.up_bytes_per_s = {1, 1, 1};
        problem.down_bytes_per_s = {INFINITY, INFINITY, INFINITY};
        QCOMPARE(rounded(lone_reduction_bound_s(problem, nodes, 0)), 8.0);
        QVERIFY2(best_s() < 8.5, std::to_string(best_s()).c_str());
        // With 10 s a hop the way to a root and back would take 20 s; an exchange takes 12 s of an uplink, and a hop.
        for (auto& hop : problem.hops) hop.latency_s = 10;
        problem.gradient_bytes = {0.5};
        QCOMPARE(rounded(lone_reduction_bound_s(problem, nodes, 0)), 11.0);
        QCOMPARE(best_s(), 11.0);
    }

    /// Each form where it is the best there is. With hardly any bytes it is latencies that count: two hops by a star,
    /// one by an exchange, along the only lines by the nearest or in the ring that the lines make.
    void each_start_where_it_is_best() {
        QVERIFY(best_of(one_stage(4, 10, 1, 0.01)) == (Pieces{{.form = PieceForm::exchange}}));
        auto hub = one_stage(4, 10, 1, 0.01);
        keep_lines(hub, {{2, 0}, {2, 1}, {2, 3}});
        QVERIFY(best_of(hub) == Pieces{star_piece(4, 2, 1)});
        auto chain = one_stage(4, 10, 1, 0.01);
        keep_lines(chain, {{0, 1}, {1, 2}, {2, 3}});
        const Pieces near = best_of(chain);
        QVERIFY(near.size() == 1 && near[0].up == near[0].down);
        QVERIFY(near[0].up == (near[0].root == 1 ? std::vector{1, 1, 1, 2} : std::vector{1, 2, 2, 2}));
        auto loop = one_stage(4, 10, 1, 0.01);
        keep_lines(loop, {{0, 2}, {2, 1}, {1, 3}, {3, 0}}, false);
        const Pieces ring = best_of(loop);
        QCOMPARE(ring.size(), std::size_t{4});
        for (const Piece& piece : ring)
            for (int k = 0; k < 4; ++k) {
                const int next[] = {2, 3, 1, 0}, before[] = {3, 2, 0, 1};
                QVERIFY(k == piece.root || (piece.up[at(k)] == next[k] && piece.down[at(k)] == before[k]));
            }
        // Where bytes count and every line is alike each byte goes over four lines of six: direct exchange by thirds.
        QVERIFY(best_of(one_stage(3, 0.01, 1, 6)) == default_pieces(3));
        // Only small pieces over the same two lines fill both ways at once.
        auto line = one_stage(3, 0.01, 1, 6);
        keep_lines(line, {{0, 1}, {1, 2}});
        const Pieces packed = best_of(line);
        QVERIFY(packed.size() > 6);
        QVERIFY2(lone_s(line, packed) < 7, std::to_string(lone_s(line, packed)).c_str());  // a star takes 12 s
    }

    /// A has lines of four times the bandwidth of that between the others: its root gets four sixths.
    void shares_follow_bandwidths() {
        auto problem = one_stage(3, 0.01, 4, 6);
        for (const int hop : {1 * 3 + 2, 2 * 3 + 1}) problem.hops[at(hop)].bandwidth_bytes_per_s = 1;
        const auto starts = reduction_starts(problem, all_nodes(problem), 0);
        const auto found = std::find_if(starts.begin(), starts.end(), [](const Pieces& pieces) {
            return pieces.size() == 3 && std::abs(pieces[0].share - 4.0 / 6) < 0.01 &&
                   pieces[0].up == star_piece(3, 0, 1).up && std::abs(pieces[1].share - pieces[2].share) < 1e-9;
        });
        QVERIFY(found != starts.end());
        QVERIFY(lone_s(problem, *found) < 0.7 * lone_s(problem, default_pieces(3)));
        for (const int root : {0, 1, 2}) QVERIFY(lone_s(problem, *found) < lone_s(problem, {star_piece(3, root, 1)}));
    }

    /// Region by region each piece crosses once each way, and the regions' members take turns: of the starts but packed
    /// trees that is the shortest.
    void region_by_region() {
        const auto problem = two_regions(3, 10, 1);
        auto starts = reduction_starts(problem, all_nodes(problem), 0);
        starts.pop_back();
        const auto best = *std::min_element(starts.begin(), starts.end(), [&](const Pieces& a, const Pieces& b) {
            return lone_s(problem, a) < lone_s(problem, b);
        });
        QCOMPARE(best.size(), std::size_t{6});
        QCOMPARE(crossings(best, 3), 12);
        std::set<int> leaders;
        for (const Piece& piece : best)
            for (int k = 0; k < 6; ++k)
                if (k / 3 != piece.root / 3 && piece.up[at(k)] == piece.root) leaders.insert(k);
        QCOMPARE(leaders.size(), std::size_t{6});
        QVERIFY(lone_s(problem, best_of(problem)) <= lone_s(problem, best));
        // Of one region there is nothing to go by.
        const auto alike = one_stage(6, 0.01, 1, 12);
        for (const auto& start : reduction_starts(alike, all_nodes(alike), 0))
            QVERIFY(start.size() != 6 || crossings(start, 3) != 12);
    }

    /// Many replicas: few transfers, and much shorter than by direct exchange all the same.
    void many_replicas() {
        const auto problem = two_regions(30, 1, 2);
        const Pieces best = best_of(problem);
        QVERIFY(fault_of(best, 60).empty());
        std::size_t transfers = 0;
        for (const Piece& piece : best) visit_transfers(piece, 60, [&](int, int) { ++transfers; });
        QVERIFY2(transfers <= 4096, std::to_string(transfers).c_str());
        const double seconds = lone_s(problem, best), direct_s = lone_s(problem, default_pieces(60));
        QVERIFY2(seconds < 0.35 * direct_s, (std::to_string(seconds) + " of " + std::to_string(direct_s)).c_str());
        for (const auto& start : reduction_starts(problem, all_nodes(problem), 0)) QVERIFY(start.size() <= 32);
    }

    /// Gradients 200 times the quick start's: what starts early does not hold up activations.
    void an_early_start_holds_up_no_activations() {
        auto problem = planned(quick_start());
        for (double& bytes : problem.gradient_bytes) bytes *= 200;
        PlannerRegistry registry;
        register_planners(registry);
        PlanRequest request;
        request.steps = 4000;
        auto plan = registry.find("skippipe-joint")->plan(problem, request);
        Problem free = problem;
        free.plan_reductions = false;
        const double free_s = evaluate(free, plan).makespan_s, makespan_s = evaluate(problem, plan).makespan_s;
        QVERIFY2(makespan_s <= 1.3 * free_s, (std::to_string(makespan_s) + " of " + std::to_string(free_s)).c_str());
        // As plain pieces would on paths that heed no reductions.
        const auto careless = registry.find("dtfm-skip")->plan(free, request);
        const double least_s = evaluate(free, careless).makespan_s, held_s = evaluate(problem, careless).makespan_s;
        QVERIFY2(held_s > 1.3 * least_s, (std::to_string(held_s) + " of " + std::to_string(least_s)).c_str());
    }

    /// Packed trees span the replicas, also where lines are missing, or there are none.
    void packed() {
        int found = 0;
        for (std::uint64_t seed = 1; seed <= 60; ++seed) {
            const auto problem = planned(examples::random_problem(seed, {.missing_lines = seed % 3 == 0 ? 0.2 : 0.0}));
            std::vector<NodeIndex> nodes;
            for (NodeIndex n = 0; n < 2 + static_cast<int>(seed % 3); ++n) nodes.push_back(n);
            const auto pieces = packed_trees(problem, nodes, 0, {.pieces = 7});
            if (pieces.empty()) continue;
            ++found;
            QCOMPARE(pieces.size(), std::size_t{7});
            QVERIFY(fault_of(pieces, static_cast<int>(nodes.size())).empty());
            QVERIFY(has_reduction_lines(problem, nodes, pieces));
        }
        QVERIFY(found > 40 && found < 60);
    }

    /// Any planner's plan is valid; the joint search's is the same again, and shorter than with the charged ring.
    void plans() {
        PlannerRegistry registry;
        register_planners(registry);
        const auto charged = quick_start(), problem = planned(charged);
        PlanRequest request;
        request.steps = 4000;
        for (const auto& planner : registry.all()) {
            const auto plan = planner->plan(problem, request);
            const auto timeline = evaluate(problem, plan);
            QVERIFY2(timeline.complete && check_plan(problem, plan, timeline).empty(), planner->name().c_str());
            QCOMPARE(plan.reductions.size(), plan.stages.size());
        }
        const auto& joint = *registry.find("skippipe-joint");
        const auto plan = joint.plan(problem, request);
        request.threads = 2;
        QVERIFY(joint.plan(problem, request) == plan);
        const double seconds = evaluate(problem, plan).iteration_s,
                     charged_s = evaluate(charged, joint.plan(charged, request)).iteration_s;
        QVERIFY2(seconds < 0.9 * charged_s, (std::to_string(seconds) + " of " + std::to_string(charged_s)).c_str());
    }

    /// So many nodes that their search begins with placements in regions, which have no pieces yet: what is told is the
    /// iteration with its reductions all the same.
    void many_nodes_in_regions() {
        PlannerRegistry registry;
        register_planners(registry);
        const auto problem = examples::region_network(1, {60, 6, 180, true, 5e7}).problem;
        PlanRequest request;
        request.steps = 300;
        double least_s = INFINITY;
        request.progress = [&](const PlanProgress& progress) {
            if (progress.best_iteration_s > 0) least_s = std::min(least_s, progress.best_iteration_s);
        };
        const auto plan = registry.find("skippipe-joint")->plan(problem, request);
        const auto timeline = evaluate(problem, plan);
        const auto violations = check_plan(problem, plan, timeline);
        QVERIFY2(violations.empty(), violations.empty() ? "" : violations.front().what.c_str());
        QCOMPARE(least_s, timeline.iteration_s);
    }

    /// By the clock as well; its progress goes forward to the end, and tells a plan while the ring's is searched too.
    void by_the_clock() {
        PlannerRegistry registry;
        register_planners(registry);
        const auto problem = planned(quick_start());
        PlanRequest request;
        request.seconds = 2.4;  // a first plan is there after a tenth of it, on a busy machine too
        double last = 0;
        bool forward = true, told = true;
        request.progress = [&](const PlanProgress& progress) {
            forward = forward && progress.fraction >= last;
            told = told && (progress.best_iteration_s > 0 || progress.fraction < 0.1);
            last = progress.fraction;
        };
        const auto plan = registry.find("skippipe-joint")->plan(problem, request);
        const auto timeline = evaluate(problem, plan);
        QVERIFY(timeline.complete && check_plan(problem, plan, timeline).empty());
        QVERIFY(forward && told);
        QCOMPARE(last, 1.0);
    }

    void networks_that_lack_lines() {
        PlannerRegistry registry;
        register_planners(registry);
        int found = 0, bounded = 0;
        const auto free_bound_s = [](Problem problem) {
            problem.plan_reductions = false;
            return lower_bound(problem, problem.path_length).seconds;
        };
        for (std::uint64_t seed = 1; seed <= 40; ++seed) {
            const auto problem = planned(examples::random_problem(seed, {.missing_lines = 0.08}));
            PlanRequest request;
            request.steps = 300;
            try {
                const auto plan = registry.find("skippipe-joint")->plan(problem, request);
                const auto timeline = evaluate(problem, plan);
                const auto violations = check_plan(problem, plan, timeline);
                QVERIFY(lower_bound(problem, problem.path_length).seconds <= timeline.iteration_s);
                QVERIFY(placed_bound(problem, plan).seconds <= timeline.iteration_s);
                QVERIFY2(violations.empty(),
                         (std::to_string(seed) + ": " + (violations.empty() ? "" : violations.front().what)).c_str());
                bounded += lower_bound(problem, problem.path_length).seconds > free_bound_s(problem) ? 1 : 0;
                ++found;
            } catch (const InputError&) {}
        }
        QVERIFY2(found > 10 && bounded > 5, (std::to_string(found) + ", " + std::to_string(bounded)).c_str());
    }

    /// Two nodes of one stage with a microbatch each, F + L + B = 3.5 s; 12 bytes at 4 bytes/s after 1 s, step 0.25 s:
    /// the exchange in one round cannot be beaten.
    void bound() {
        auto problem = planned(examples::toy({"A", "B"}, 1, 1, 2));
        problem.shared_links = true;
        problem.step_seconds = 0.25;
        problem.gradient_bytes = {12};
        for (auto& hop : problem.hops) hop.bandwidth_bytes_per_s = 4;
        const Plan plan{.stages = {{0, 1}},
                        .blocks = {1},
                        .paths = {{0, {0}}, {1, {1}}},
                        .reductions = {{{1, PieceForm::exchange, 0, {}, {}}}}};
        QCOMPARE(evaluate(problem, plan).iteration_s, 7.75);
        const auto bound_s = [&] { return std::round(placed_bound(problem, plan).seconds * 1e9) * 1e-9; };
        QCOMPARE(bound_s(), 7.75);
        problem.shared_links = false;  // then pieces could be as many and as small as one likes
        QCOMPARE(bound_s(), 4.75);
    }
};

QTEST_APPLESS_MAIN(TestReductionSearch)
#include "test_reduction_search.moc"
