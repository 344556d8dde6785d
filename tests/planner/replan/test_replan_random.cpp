// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include <cmath>

#include "core/base/fault.h"
#include "core/base/index.h"
#include "core/planner/replan/replan.h"
#include "core/planner/replan/residual_simulator.h"
#include "core/planner/replan/validate_residual.h"
#include "core/planner/timeline/evaluator.h"
#include "plugins/planners/all.h"
#include "tests/engine/random_plans.h"
#include "tests/planner/faults.h"
#include "tests/planner/random_problems.h"

using namespace skippipe;
using examples::text_of;
using Kind = NetworkChange::Kind;

namespace {

/// Iteration time of the rest with the given paths: `stages` as replanned.
double rest_seconds(const Problem& network, const Problem& before, const Plan& plan, const Plan& after,
                    const Residual& residual) {
    ResidualSimulator simulator(network, residual, before, plan.stages);
    ResidualPlan way{.stages = after.stages, .stage_of = stage_of_nodes(plan, before.nodes())};
    for (StageIndex s = 0; at(s) < after.stages.size(); ++s)
        for (const NodeIndex node : after.stages[s]) way.stage_of[node] = s;
    for (const auto& path : after.paths) way.nodes.insert(way.nodes.end(), path.nodes.begin(), path.nodes.end());
    return simulator.times(way).iteration_s;
}

/// Compute spans that end after a time, in a canonical order.
std::vector<Span> left_of(const Timeline& timeline, double at_s) {
    std::vector<Span> spans;
    for (const auto& span : timeline.spans)
        if (span.end_s > at_s && is_compute(span.kind)) spans.push_back(span);
    std::sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) {
        return std::tuple(a.node, a.start_s, a.end_s, a.microbatch, a.kind) <
               std::tuple(b.node, b.start_s, b.end_s, b.microbatch, b.kind);
    });
    return spans;
}

struct Scene {
    Problem problem;
    Plan plan;
    Timeline timeline;
    ReplanRequest request;
    std::vector<NodeIndex> down;
};

}  // namespace

/// Replanning of random plans on random networks.
class TestReplanRandom : public QObject {
    Q_OBJECT

    PlannerRegistry registry_;

    Plan plan_of(const std::string& planner, const Problem& problem, std::uint64_t seed = 1) const {
        PlanRequest request;
        request.seed = seed;
        request.steps = 100;
        return registry_.find(planner)->plan(problem, request);
    }

    /// Goes on from a cut without any change, and says where that differs from the timeline that was cut.
    static std::string goes_on(const Problem& problem, const Plan& plan, const Timeline& timeline, double at_s) {
        const auto progress = progress_at(problem, plan, timeline, at_s);
        const auto result = replan(problem, plan, {.progress = progress});
        if (!(result.plan == plan) || !result.changes.empty()) return "the plan changed";
        if (result.iteration_s != timeline.iteration_s || result.unchanged_s != timeline.iteration_s ||
            result.timeline.makespan_s != timeline.makespan_s)
            return fmt_times(result.iteration_s, timeline.iteration_s);
        if (left_of(result.timeline, at_s) != left_of(timeline, at_s)) return "other operations, or at other times";
        return text_of(check_residual(problem, plan, progress, {}, result.plan, result.timeline));
    }
    static std::string fmt_times(double a, double b) {
        return std::to_string(a) + " s instead of " + std::to_string(b) + " s";
    }

    /// A random problem, plan, instant and change.
    Scene scene(std::uint64_t seed) const {
        static const char* planners[] = {"skippipe", "1f1b", "zero-bubble", "dtfm-skip", "gpipe", "skippipe-no-tc2"};
        Scene s;
        s.problem = examples::random_problem(seed, {.missing_lines = seed % 6 == 0 ? 0.02 : 0.0});
        Rng rng(seed, 5);
        if (seed % 5 == 0) s.problem.memory.assign(at(s.problem.nodes()), 1);
        s.plan = plan_of(planners[rng.below(std::size(planners))], s.problem, seed);
        s.timeline = evaluate(s.problem, s.plan);
        s.request.progress = progress_at(s.problem, s.plan, s.timeline, rng.uniform() * s.timeline.iteration_s);
        const int changes = 1 + static_cast<int>(rng.below(2));
        for (int k = 0; k < changes; ++k) {
            const NodeIndex node(rng.below(at(s.problem.nodes()))), to((node + 1) % s.problem.nodes());
            switch (rng.below(4)) {
                case 0:
                case 1:
                    if (std::find(s.down.begin(), s.down.end(), node) != s.down.end()) break;
                    s.request.changes.push_back({.kind = Kind::node_down, .node = node});
                    s.down.push_back(node);
                    break;
                case 2:
                    s.request.changes.push_back(
                        {.kind = Kind::line_slower, .node = node, .to = to, .factor = 1 + 4 * rng.uniform()});
                    break;
                case 3:
                    s.request.changes.push_back(
                        {.kind = Kind::node_slower, .node = node, .factor = 1 + 4 * rng.uniform()});
                    break;
            }
        }
        s.request.operations = 20'000;
        return s;
    }

    /// The next living nodes of the stage take over in turn.
    static double naive_seconds(const Scene& s, const Problem& network, const Replan& result) {
        PerStage<char> keeps;
        for (const auto& ring : result.plan.stages) keeps.push_back(!ring.empty());
        const auto residual = make_residual(s.problem, s.plan, s.request.progress, s.down, keeps);
        auto plan = s.plan;
        plan.stages = result.plan.stages;
        const auto stage_of = stage_of_nodes(s.plan, s.problem.nodes());
        PerStage<std::size_t> turn(s.plan.stages.size(), 0);
        for (std::size_t i = 0; i < plan.paths.size(); ++i)
            for (int hop = 0; hop < residual.length; ++hop) {
                if (residual.forced[i * at(residual.length) + at(hop)] == 0) continue;
                const StageIndex stage = stage_of[plan.paths[i].nodes[at(hop)]];
                if (plan.stages[stage].empty()) return std::numeric_limits<double>::infinity();
                plan.paths[i].nodes[at(hop)] = plan.stages[stage][turn[stage]++ % plan.stages[stage].size()];
            }
        for (const auto& path : plan.paths)
            for (std::size_t k = 0; k < path.nodes.size(); ++k) {
                const NodeIndex from = path.nodes[k], to = path.nodes[(k + 1) % path.nodes.size()];
                if (from != to && (!network.reachable(from, to) || !network.reachable(to, from)))
                    return std::numeric_limits<double>::infinity();
            }
        return rest_seconds(network, s.problem, s.plan, plan, residual);
    }

private Q_SLOTS:
    void initTestCase() { register_planners(registry_); }

    /// A cut timeline goes on to the bit, whatever ties there are, and nothing changes when nothing happened.
    void a_cut_goes_on_exactly() {
        int cuts = 0;
        for (std::uint64_t seed = 1; seed <= 400; ++seed) {
            const auto [problem, plan] = examples::random_plan(seed);
            const auto timeline = evaluate(problem, plan);
            if (!timeline.complete) continue;
            Rng rng(seed, 9);
            for (int k = 0; k < 4; ++k, ++cuts) {
                // Half of the cuts at the very instant of an event.
                const double at_s = k % 2 == 0 ? rng.uniform() * timeline.iteration_s
                                               : timeline.spans[rng.below(timeline.spans.size())].end_s;
                const auto found = goes_on(problem, plan, timeline, at_s);
                QVERIFY2(found.empty(),
                         ("seed " + std::to_string(seed) + " at " + std::to_string(at_s) + ": " + found).c_str());
            }
        }
        QVERIFY(cuts > 600);
    }

    void planned_orders_go_on_exactly() {
        for (std::uint64_t seed = 1; seed <= 60; ++seed) {
            const auto problem = examples::random_problem(seed);
            for (const char* planner : {"1f1b", "zero-bubble", "gpipe", "skippipe"}) {
                const auto plan = plan_of(planner, problem, seed);
                const auto timeline = evaluate(problem, plan);
                const auto found = goes_on(problem, plan, timeline, timeline.iteration_s * 0.37);
                QVERIFY2(found.empty(),
                         (std::string(planner) + ", seed " + std::to_string(seed) + ": " + found).c_str());
            }
        }
    }

    void random_changes() {
        int planned = 0, refused = 0, forced = 0, improved = 0, redone = 0, bound = 0;
        for (std::uint64_t seed = 1; seed <= 600; ++seed) {
            Scene s;
            try {
                s = scene(seed);
            } catch (const InputError&) {
                continue;  // no plan without the lines that are missing
            }
            std::erase_if(s.request.changes, [&](const NetworkChange& c) {
                return c.kind == Kind::line_slower && !s.problem.reachable(c.node, c.to);
            });
            const auto network = changed_network(s.problem, s.request.changes);
            const auto say = [&](const std::string& what) { return "seed " + std::to_string(seed) + ": " + what; };
            Replan result;
            try {
                result = replan(s.problem, s.plan, s.request);
            } catch (const InputError& error) {
                QVERIFY2(!error.faults().front().remedy.empty(), error.what());
                ++refused;
                continue;
            }
            ++planned;
            forced += result.forced_paths;
            improved += result.improved_paths;
            redone += result.redone_forwards;
            bound += s.plan.order.empty() && !result.plan.order.empty() ? 1 : 0;
            const auto found =
                text_of(check_residual(network, s.plan, s.request.progress, s.down, result.plan, result.timeline));
            QVERIFY2(found.empty(), say(found).c_str());
            QVERIFY2(std::isfinite(result.iteration_s) && result.iteration_s <= result.repaired_s &&
                         result.timeline.iteration_s == result.iteration_s,
                     say("times").c_str());
            QVERIFY2(result.improved_paths == 0 ||
                         result.repaired_s - result.iteration_s >
                             0.99 * 0.002 * result.improved_paths * (result.repaired_s - result.at_s),
                     say("threshold").c_str());
            if (s.down.empty())
                QVERIFY2(result.repaired_s == result.unchanged_s && result.forced_paths == 0,
                         say("repaired without need").c_str());
            const auto again = replan(s.problem, s.plan, s.request);
            QVERIFY2(
                again.plan == result.plan && again.iteration_s == result.iteration_s && again.changes == result.changes,
                say("not reproducible").c_str());
            if (!s.plan.order.empty() || !result.plan.order.empty()) continue;
            const auto naive = naive_seconds(s, network, result);
            QVERIFY2(result.repaired_s <= naive,
                     say("worse than the naive repair: " + fmt_times(result.repaired_s, naive)).c_str());
        }
        qInfo("%d planned, %d refused, %d paths forced, %d improved, %d forwards redone, %d put in order", planned,
              refused, forced, improved, redone, bound);
        QVERIFY(planned > 300 && forced > 200 && improved > 20 && redone > 50);
    }

    /// Operations that ended by `until_s` on a node that then lives, counted.
    static void count(const Timeline& timeline, double until_s,
                      std::map<std::tuple<MicrobatchIndex, NodeIndex, SpanKind>, int>& ended) {
        for (const auto& span : timeline.spans)
            if (is_compute(span.kind) && span.end_s <= until_s) ++ended[{span.microbatch, span.node, span.kind}];
    }

    /// A node is lost in a rest: what goes on without a change goes on to the bit; then every microbatch's every
    /// operation has ended on a node that lives.
    void lost_again() {
        int again = 0, refused = 0, redone = 0, backwards = 0;
        for (std::uint64_t seed = 1; seed <= 900; ++seed) {
            const auto say = [&](const std::string& what) { return "seed " + std::to_string(seed) + ": " + what; };
            try {
                const Scene s = scene(seed);
                if (s.down.empty()) continue;
                const auto network = changed_network(s.problem, s.request.changes);
                const auto first = replan(s.problem, s.plan, s.request);
                Rng rng(seed, 8);
                const double at_s = first.at_s + rng.uniform() * (first.iteration_s - first.at_s);
                const auto progress = progress_at(s.problem, s.plan, s.request, first, at_s);
                const auto same = replan(network, first.plan, {.progress = progress});
                QVERIFY2(same.iteration_s == first.iteration_s && same.plan.paths == first.plan.paths &&
                             same.changes.empty(),
                         say(fmt_times(same.iteration_s, first.iteration_s)).c_str());
                QVERIFY2(left_of(same.timeline, at_s) == left_of(first.timeline, at_s),
                         say("other operations, or at other times").c_str());
                const auto& ring = first.plan.stages[rng.below(first.plan.stages.size())];
                if (ring.empty()) continue;
                const ReplanRequest request{
                    .progress = progress,
                    .changes = {{.kind = Kind::node_down, .node = ring[rng.below(ring.size())]}},
                    .operations = 20'000};
                const auto second = replan(network, first.plan, request);
                const auto found = text_of(check_residual(network, first.plan, progress, {request.changes[0].node},
                                                          second.plan, second.timeline));
                QVERIFY2(found.empty(), say(found).c_str());
                if (second.lost_gradients > 0) continue;  // a stage has lost its last node
                ++again;
                redone += second.redone_forwards;
                backwards += second.redone_backwards;
                std::map<std::tuple<MicrobatchIndex, NodeIndex, SpanKind>, int> ended;
                count(s.timeline, first.at_s, ended);
                count(first.timeline, at_s, ended);
                count(second.timeline, second.iteration_s, ended);
                const auto last = s.plan.split_backward ? SpanKind::weight_gradient : SpanKind::backward;
                for (const auto& path : second.plan.paths)
                    for (const NodeIndex node : path.nodes) {
                        QVERIFY2(node != request.changes[0].node &&
                                     std::find(s.down.begin(), s.down.end(), node) == s.down.end(),
                                 say("a gradient is on a lost node").c_str());
                        QVERIFY2((ended[{path.microbatch, node, SpanKind::forward}] == 1), say("forwards").c_str());
                        QVERIFY2((ended[{path.microbatch, node, last}] == 1), say("gradients").c_str());
                        if (node == path.nodes[0])
                            QVERIFY2((ended[{path.microbatch, node, SpanKind::loss}] == 1), say("losses").c_str());
                    }
            } catch (const InputError& error) {
                QVERIFY2(!error.faults().front().remedy.empty(), error.what());
                ++refused;
            }
        }
        qInfo("%d replanned again, %d refused, %d forwards and %d backwards redone", again, refused, redone, backwards);
        QVERIFY(again > 100 && redone > 50 && backwards > 30);
    }

    /// Paths in any order of stages and little memory: where first come, first served would deadlock, an order is
    /// bound, or memory is named.
    void little_memory() {
        int planned = 0, refused = 0, bound = 0;
        for (std::uint64_t seed = 1; seed <= 1500; ++seed) {
            auto [problem, plan] = examples::random_plan(seed);
            if (seed > 500) problem.memory.assign(at(problem.nodes()), 1);
            const auto timeline = evaluate(problem, plan);
            Rng rng(seed, 3);
            const auto& ring = plan.stages[rng.below(plan.stages.size())];
            if (!timeline.complete || ring.size() < 2) continue;
            const NodeIndex node = ring[rng.below(ring.size())];
            const ReplanRequest request{
                .progress = progress_at(problem, plan, timeline, rng.uniform() * timeline.makespan_s),
                .changes = {{.kind = Kind::node_down, .node = node}},
                .operations = 10'000};
            try {
                const auto result = replan(problem, plan, request);
                const auto found =
                    text_of(check_residual(problem, plan, request.progress, {node}, result.plan, result.timeline));
                QVERIFY2(found.empty(), ("seed " + std::to_string(seed) + ": " + found).c_str());
                ++planned;
                bound += result.plan.order.empty() ? 0 : 1;
            } catch (const InputError& error) {
                QVERIFY2(std::string(error.what()).find("TC1") != std::string::npos, error.what());
                ++refused;
            }
        }
        qInfo("%d planned, %d of them put in order, %d refused", planned, bound, refused);
        QVERIFY(planned > 300 && bound > 0);
    }
};

QTEST_APPLESS_MAIN(TestReplanRandom)
#include "test_replan_random.moc"
