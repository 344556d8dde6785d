// SPDX-License-Identifier: GPL-3.0-or-later
// Nodes are lost in the middle of an iteration: the machines go on as the planner's simulation of the rest says, to the
// last tie, and no gradient is lost or counted twice.
#include <QTest>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "core/base/index.h"
#include "core/engine/ledger_compute.h"
#include "core/engine/virtual_clock.h"
#include "core/planner/replan/validate_residual.h"
#include "core/planner/timeline/evaluator.h"
#include "plugins/planners/all.h"
#include "tests/engine/random_plans.h"
#include "tests/planner/random_problems.h"

using namespace skippipe;
using Kind = NetworkChange::Kind;

namespace {

/// Keeps what it was asked and what it answered.
class Watched final : public RecoveryController {
public:
    Replan recover(const Problem& network, const Plan& plan, const ReplanRequest& request) override {
        requests.push_back(request);
        plans.push_back(plan);
        replans.push_back(replanner_.recover(network, plan, request));
        return replans.back();
    }
    std::vector<ReplanRequest> requests;
    std::vector<Plan> plans;
    std::vector<Replan> replans;

private:
    ReplanController replanner_{RecoveryPolicy::reroute, 20'000};
};

bool by_place(const Span& a, const Span& b) {
    return std::tie(a.start_s, a.end_s, a.kind, a.node, a.to_node, a.stage, a.microbatch) <
           std::tie(b.start_s, b.end_s, b.kind, b.node, b.to_node, b.stage, b.microbatch);
}

/// Spans that end after a time; of transfers those handed over from then on.
std::vector<Span> after(std::vector<Span> spans, double at_s) {
    std::erase_if(
        spans, [&](const Span& span) { return span.end_s <= at_s || (is_transfer(span.kind) && span.ready_s < at_s); });
    std::sort(spans.begin(), spans.end(), by_place);
    return spans;
}

std::string text_of(const Span& span) {
    return fmt::format("{} m{} on {} -> {} at {}: {} {}", to_string(span.kind), span.microbatch, span.node,
                       span.to_node, span.ready_s, span.start_s, span.end_s);
}

std::string first_difference(const std::vector<Span>& done, const std::vector<Span>& foretold) {
    for (std::size_t k = 0; k < std::max(done.size(), foretold.size()); ++k) {
        if (k < done.size() && k < foretold.size() && done[k] == foretold[k]) continue;
        return (k < done.size() ? text_of(done[k]) : std::string("nothing")) + " instead of " +
               (k < foretold.size() ? text_of(foretold[k]) : std::string("nothing"));
    }
    return {};
}

struct Scene {
    Problem problem;
    Plan plan;
    double iteration_s = 0;
};

}  // namespace

class TestRecovery : public QObject {
    Q_OBJECT

    PlannerRegistry registry_;

    Scene scene(std::uint64_t seed) const {
        static const char* planners[] = {"skippipe", "1f1b", "zero-bubble", "dtfm-skip", "gpipe", "skippipe-no-tc2"};
        Scene s;
        s.problem = examples::random_problem(seed);
        Rng rng(seed, 5);
        PlanRequest request;
        request.seed = seed;
        request.steps = 100;
        s.plan = registry_.find(planners[rng.below(std::size(planners))])->plan(s.problem, request);
        s.iteration_s = evaluate(s.problem, s.plan).iteration_s;
        return s;
    }

    struct Outcome {
        int recoveries = 0, abandoned = 0, lost_gradients = 0, redone = 0;
        std::string fault;
    };

    static Outcome run(const Scene& s, const std::vector<Disturbance>& disturbances) {
        try {
            return held_against_what_was_foretold(s, disturbances);
        } catch (const std::logic_error& error) {
            return {.fault = error.what()};
        }
    }

    /// Runs one iteration with the disturbances, and holds its last rest against what was foretold.
    static Outcome held_against_what_was_foretold(const Scene& s, const std::vector<Disturbance>& disturbances) {
        LedgerCompute ledger(s.problem.nodes(), s.plan);
        const auto schedule = one_rank_schedule(s.problem.nodes(), s.plan);
        const PlannedProblem planned(s.problem, s.plan.blocks);
        VirtualClock clock(planned.get(), schedule, ledger);
        Driver driver(planned.get(), schedule, 0, clock);
        Watched controller;
        const auto result = driver.run_iteration(0, disturbances, controller);
        Outcome outcome{.recoveries = static_cast<int>(controller.replans.size())};
        if (!result.abandoned.empty()) {
            outcome.abandoned = 1;
            return outcome;
        }
        if (!result.timeline.complete) return {.fault = "the iteration did not come to its end"};
        if (controller.replans.empty()) return outcome;
        // The last rest ran to its end, with nothing slower after it.
        const auto& last = controller.replans.back();
        const bool undisturbed_since =
            std::none_of(disturbances.begin(), disturbances.end(),
                         [&](const Disturbance& d) { return d.at_s > last.at_s || d.detected_s > last.at_s; });
        if (undisturbed_since) {
            outcome.fault =
                first_difference(after(result.timeline.spans, last.at_s), after(last.timeline.spans, last.at_s));
            if (!outcome.fault.empty()) return outcome;
            if (result.timeline.iteration_s != last.iteration_s) outcome.fault = "another iteration time";
        }
        for (const auto& report : result.recoveries) {
            outcome.lost_gradients += report.lost_gradients;
            outcome.redone += report.redone_forwards + report.redone_backwards;
        }
        int missing = 0;
        for (const auto& path : s.plan.paths) {
            for (const int node : ledger.path(path.microbatch)) {
                const int times = ledger.counted(path.microbatch, ledger.stage_of(node));
                if (times > 1) outcome.fault = "a gradient counts twice";
                missing += times == 0 ? 1 : 0;
            }
            if (ledger.counted_head(path.microbatch) != ledger.counted(path.microbatch, 0))
                outcome.fault = fmt::format("head and body of stage 0 disagree about microbatch {}", path.microbatch);
        }
        if (missing != outcome.lost_gradients)
            outcome.fault =
                fmt::format("{} gradients are missing, {} were reported lost", missing, outcome.lost_gradients);
        for (int n = 0; n < s.problem.nodes(); ++n)
            if (ledger.held(n) != 0) outcome.fault = fmt::format("node {} still holds a microbatch", n);
        return outcome;
    }

    static Disturbance loss(int node, double at_s, double delay_s = 0) {
        return {at_s, {.kind = Kind::node_down, .node = node}, at_s + delay_s};
    }

private Q_SLOTS:
    void initTestCase() { register_planners(registry_); }

    void losses_data() {
        QTest::addColumn<int>("most");
        QTest::addColumn<double>("delay");
        QTest::addColumn<bool>("slower");
        QTest::newRow("one, known at once") << 1 << 0.0 << false;
        QTest::newRow("one, known later") << 1 << 0.3 << false;
        QTest::newRow("several, known at once") << 4 << 0.0 << false;
        QTest::newRow("several, each known later") << 4 << 0.2 << false;
        QTest::newRow("several, while others get slower") << 3 << 0.1 << true;
    }

    /// Nodes are lost at random instants; delays are shares of the iteration.
    void losses() {
        QFETCH(int, most);
        QFETCH(double, delay);
        QFETCH(bool, slower);
        int recovered = 0, redone = 0, abandoned = 0, twice = 0, bad = 0;
        for (std::uint64_t seed = 0; seed < 300; ++seed) {
            const auto s = scene(seed);
            Rng rng(seed, 9);
            std::vector<int> nodes;
            for (int n = 0; n < s.problem.nodes(); ++n) nodes.push_back(n);
            rng.shuffle(nodes);
            const auto count = std::min<std::size_t>(1 + rng.below(at(most)), nodes.size() - 1);
            std::vector<Disturbance> disturbances;
            for (std::size_t k = 0; k < count; ++k)
                disturbances.push_back(
                    loss(nodes[k], rng.uniform() * s.iteration_s, delay * rng.uniform() * s.iteration_s));
            if (slower)
                disturbances.push_back({rng.uniform() * s.iteration_s,
                                        {.kind = Kind::node_slower, .node = nodes.back(), .factor = 1.5},
                                        0});
            std::sort(disturbances.begin(), disturbances.end(),
                      [](const Disturbance& a, const Disturbance& b) { return a.at_s < b.at_s; });
            const auto outcome = run(s, disturbances);
            if (!outcome.fault.empty()) qWarning("seed %d: %s", static_cast<int>(seed), outcome.fault.c_str());
            bad += outcome.fault.empty() ? 0 : 1;
            recovered += outcome.abandoned == 0 ? 1 : 0;
            abandoned += outcome.abandoned;
            redone += outcome.redone;
            twice += outcome.abandoned == 0 && outcome.recoveries > 1 ? 1 : 0;
        }
        QCOMPARE(bad, 0);
        QVERIFY2(recovered > 100 && redone > 200 && (most == 1 || twice > 30),
                 qPrintable(QString("%1 recovered, %2 of them twice, %3 redone, %4 abandoned")
                                .arg(recovered)
                                .arg(twice)
                                .arg(redone)
                                .arg(abandoned)));
    }
};

QTEST_APPLESS_MAIN(TestRecovery)
#include "test_recovery.moc"
