// SPDX-License-Identifier: GPL-3.0-or-later
// Plans, timelines, bounds, rests and explanations are the same bits from version to version. Where a change is meant,
//     SKIPPIPE_WRITE_GOLDEN=1 build/bin/planner_test_golden
// writes tests/data/golden_plans.json anew; what moved then shows in the diff.
#include <QTest>

#include <bit>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/experiment/io.h"
#include "core/planner/bounds/bounds.h"
#include "core/planner/explain/explain.h"
#include "core/planner/plan/validator.h"
#include "core/planner/replan/replan.h"
#include "core/planner/timeline/evaluator.h"
#include "core/planner/timeline/executed_order.h"
#include "plugins/planners/all.h"
#include "tests/engine/random_plans.h"
#include "tests/planner/authors.h"
#include "tests/planner/random_reductions.h"

using namespace skippipe;

namespace {

/// FNV-1a over the bits of numbers and the bytes of texts.
class Hash {
public:
    Hash& add(std::uint64_t value) {
        for (int byte = 0; byte < 8; ++byte) {
            state_ = (state_ ^ (value & 0xFF)) * 0x100000001B3;
            value >>= 8;
        }
        return *this;
    }
    Hash& add(int value) { return add(static_cast<std::uint64_t>(static_cast<std::int64_t>(value))); }
    Hash& add(double value) { return add(std::bit_cast<std::uint64_t>(value)); }
    Hash& add(const std::string& text) {
        for (const char c : text) add(static_cast<std::uint64_t>(static_cast<unsigned char>(c)));
        return add(text.size());
    }
    template <class T>
    Hash& add(const std::vector<T>& values) {
        for (const auto& value : values) add(value);
        return add(values.size());
    }
    Hash& add(const Path& path) { return add(path.microbatch).add(path.nodes); }
    Hash& add(const Operation& operation) { return add(static_cast<int>(operation.kind)).add(operation.microbatch); }
    Hash& add(const Span& span) {
        add(static_cast<int>(span.kind)).add(span.node).add(span.to_node).add(span.stage).add(span.microbatch);
        return add(span.ready_s).add(span.start_s).add(span.end_s).add(span.bytes);
    }
    Hash& add(const Plan& plan) {
        return add(plan.stages).add(plan.blocks).add(plan.paths).add(plan.order).add(plan.split_backward ? 1 : 0);
    }
    Hash& add(const Timeline& timeline) {
        add(timeline.spans).add(timeline.makespan_s).add(timeline.iteration_s).add(timeline.busy_s).add(timeline.bytes);
        return add(timeline.used_nodes).add(timeline.complete ? 1 : 0).add(timeline.blocked);
    }
    Hash& add(const MicrobatchCosts& costs) {
        add(costs.compute_s).add(costs.loss_s).add(costs.latency_s).add(costs.transfer_s).add(costs.end_s);
        for (const auto& wait : costs.waits)
            add(static_cast<int>(wait.cause)).add(wait.node).add(wait.start_s).add(wait.end_s).add(wait.others);
        return *this;
    }
    Hash& add(const ChainPiece& piece) {
        add(static_cast<int>(piece.kind)).add(static_cast<int>(piece.start)).add(piece.node).add(piece.line);
        return add(piece.start_s).add(piece.end_s);
    }
    std::string text() const { return fmt::format("{:016x}", state_); }

private:
    std::uint64_t state_ = 0xCBF29CE484222325;
};

std::string hex(double value) { return fmt::format("{:a}", value); }

/// A hash for every `group` seeds, so that a difference is soon found.
template <class Add>
nlohmann::ordered_json hashes(std::uint64_t last, std::uint64_t group, const Add& add) {
    auto list = nlohmann::ordered_json::array();
    for (std::uint64_t first = 1; first <= last; first += group) {
        Hash hash;
        for (std::uint64_t seed = first; seed < first + group; ++seed) add(seed, hash);
        list.push_back(hash.text());
    }
    return list;
}

/// Random plans, even and uneven, with the order in which dispatch ran them, some of it exchanged.
std::pair<Problem, Plan> some_plan(std::uint64_t seed) {
    auto [problem, plan] = seed % 3 == 0 ? examples::uneven_plan(seed) : examples::random_plan(seed);
    if (seed % 4 == 0)
        for (std::size_t pair = 0; pair < problem.hops.size(); ++pair) problem.hops[pair].line = static_cast<int>(pair);
    if (seed % 2 == 0) return {problem, plan};
    const auto timeline = evaluate(problem, plan);
    if (!timeline.complete) return {problem, plan};
    plan = with_executed_order(plan, problem, timeline);
    Rng rng(seed, 12);
    auto& order = plan.order[rng.below(plan.order.size())];
    if (seed % 5 == 0 && order.size() > 1) std::swap(order[rng.below(order.size())], order[rng.below(order.size())]);
    return {problem, plan};
}

}  // namespace

class TestGolden : public QObject {
    Q_OBJECT

    static Experiment bundled(const std::string& name) {
        return load_experiment(fmt::format("{}/resources/experiments/{}.json", SKIPPIPE_SOURCE_DIR, name)).experiment;
    }
    /// With the ring where the bundled document plans its reductions: what is charged stays to the bit.
    static Problem charged(const std::string& name) {
        auto experiment = bundled(name);
        if (experiment.costs.all_reduce == AllReduceRule::planned) experiment.costs.all_reduce = AllReduceRule::charged;
        return make_problem(experiment);
    }

    const std::filesystem::path file_ = SKIPPIPE_SOURCE_DIR "/tests/data/golden_plans.json";
    const bool write_ = qEnvironmentVariableIsSet("SKIPPIPE_WRITE_GOLDEN");
    nlohmann::ordered_json golden_;

    void compare(const std::string& name, const nlohmann::ordered_json& found) {
        if (write_) {
            golden_[name] = found;
            return;
        }
        for (const auto& [key, value] : found.items()) {
            const auto& wanted = found.is_array() ? golden_[name][std::stoul(key)] : golden_[name][key];
            QVERIFY2(wanted == value, (name + " " + key + ": " + value.dump() + ", was " + wanted.dump()).c_str());
        }
        QCOMPARE(golden_[name].size(), found.size());
    }

private Q_SLOTS:
    void initTestCase() {
        if (write_) return;
        std::ifstream stream(file_);
        golden_ = nlohmann::ordered_json::parse(stream);
    }

    void cleanupTestCase() {
        if (!write_) return;
        std::ofstream stream(file_);
        stream << golden_.dump(1) << '\n';
        QVERIFY(stream.good());
    }

    void planners() {
        const authors::Authors authors(SKIPPIPE_SOURCE_DIR "/tests/data/authors-plan-20-nodes.json");
        std::vector<std::pair<std::string, Problem>> problems{{"authors", authors.problem}};
        for (const char* name : {"quick-start", "single-cluster", "authors-20"})
            problems.emplace_back(name, charged(name));
        problems.emplace_back("random 3", examples::random_problem(3));
        problems.emplace_back("random 8, uneven", examples::uneven(examples::random_problem(8), 8));
        problems.emplace_back("authors, any sizes", authors.problem);
        problems.back().second.stage_sizes.clear();
        PlannerRegistry registry;
        register_planners(registry);
        nlohmann::ordered_json found;
        for (const auto& [name, problem] : problems)
            for (const auto& planner : registry.all()) {
                PlanRequest request;
                request.seed = 7;
                request.steps = planner->name() == "skippipe-joint" ? 20'000 : 1000;
                request.threads = 2;
                const auto plan = planner->plan(problem, request);
                const auto timeline = evaluate(problem, plan);
                found[name + ", " + planner->name()] = {Hash().add(plan).text(), hex(timeline.iteration_s)};
            }
        PlanRequest request;
        request.steps = 6000;
        request.robust = Robustness{.jitter = {.compute = 0.2, .links = 0.2}, .samples = 50};
        const auto plan = registry.find("skippipe-joint")->plan(authors.problem, request);
        const auto spread = distribution(authors.problem, plan, request.robust->jitter, 50, 1, 1);
        found["authors, skippipe-joint, robust"] = {Hash().add(plan).text(), hex(spread.p95_s)};
        compare("plans", found);
    }

    void planned_reductions() {
        PlannerRegistry registry;
        register_planners(registry);
        nlohmann::ordered_json found;
        for (const char* name : {"quick-start", "single-cluster"})
            for (const char* planner : {"1f1b", "skippipe-joint"}) {
                const auto problem = make_problem(bundled(name));
                QVERIFY2(problem.plan_reductions, name);
                const auto plan = registry.find(planner)->plan(problem, {.seed = 7, .steps = 2000, .threads = 2});
                found[std::string(name) + ", " + planner] = {Hash().add(plan).text(),
                                                             hex(evaluate(problem, plan).iteration_s)};
            }
        compare("planned reductions", found);
    }

    /// Random pieces, on shared lines and unlimited ones, with uplinks and without; the explanation with them.
    void planned_timelines() {
        int reduced = 0;
        compare("planned timelines", hashes(600, 50, [&](std::uint64_t seed, Hash& hash) {
                    auto [problem, plan] = some_plan(seed);
                    Rng rng(seed, 0x5ED);
                    problem.charge_all_reduce = false;
                    problem.plan_reductions = true;
                    for (double& bytes : problem.gradient_bytes) bytes = 1e5 + 9e6 * rng.uniform();
                    if (problem.shared_links && rng.below(2) == 0) problem = examples::with_uplinks(problem, rng);
                    plan.reductions = examples::random_reductions(plan, rng);
                    const auto timeline = evaluate(problem, plan);
                    hash.add(timeline);
                    if (!timeline.complete) return;
                    reduced += timeline.iteration_s > timeline.makespan_s + problem.step_seconds ? 1 : 0;
                    const auto why = explain(problem, plan, timeline, {.nodes = 1, .links = 1});
                    hash.add(why.microbatches).add(why.chain).add(why.summary(problem));
                }));
        QVERIFY2(reduced > 200, std::to_string(reduced).c_str());
    }

    void timelines() {
        compare("timelines", hashes(1200, 100, [](std::uint64_t seed, Hash& hash) {
                    const auto [problem, plan] = some_plan(seed);
                    hash.add(evaluate(problem, plan));
                }));
    }

    /// What was proved once: other bits of bounds may not be lower ones.
    void bounds_of_bundled_networks_never_fall() {
        for (const auto& [name, proved_s] : {std::pair{"quick-start", 0.6961},
                                             {"charged-ring", 0.7024},
                                             {"rounded-gradients", 0.6961},
                                             {"single-cluster", 0.3142},
                                             {"authors-18", 43.758},
                                             {"authors-20", 54.028},
                                             {"churn", 69.567}}) {
            const auto problem = make_problem(bundled(name));
            const auto bound = lower_bound(problem, problem.path_length);
            QVERIFY2(bound.seconds >= proved_s, qPrintable(QString("%1: %2 s").arg(name).arg(bound.seconds)));
        }
    }

    void bounds() {
        compare("bounds", hashes(60, 10, [](std::uint64_t seed, Hash& hash) {
                    const auto problem = examples::uneven(examples::random_problem(seed), seed);
                    const auto bound = lower_bound(problem, problem.path_length);
                    const auto [placed, plan] = some_plan(seed);
                    hash.add(bound.seconds).add(bound.which).add(placed_bound(placed, plan).seconds);
                }));
    }

    void explanations() {
        compare("explanations", hashes(200, 20, [](std::uint64_t seed, Hash& hash) {
                    const auto [problem, plan] = some_plan(seed);
                    const auto timeline = evaluate(problem, plan);
                    if (!timeline.complete) return;
                    const auto why = explain(problem, plan, timeline, {.nodes = 1, .links = 1});
                    hash.add(why.microbatches).add(why.chain).add(why.summary(problem));
                }));
    }

    /// A node is lost, then another one in the rest.
    void rests() {
        int planned = 0;
        compare("rests", hashes(300, 30, [&](std::uint64_t seed, Hash& hash) {
                    const auto [problem, plan] = some_plan(seed);
                    const auto timeline = evaluate(problem, plan);
                    if (!timeline.complete) return;
                    Rng rng(seed, 3);
                    const auto lose = [&](const Problem& network, const Plan& before, IterationProgress progress) {
                        const auto& ring = before.stages[rng.below(before.stages.size())];
                        ReplanRequest request{.progress = std::move(progress), .operations = 10'000};
                        if (!ring.empty())
                            request.changes = {
                                {.kind = NetworkChange::Kind::node_down, .node = ring[rng.below(ring.size())]}};
                        const auto result = replan(network, before, request);
                        hash.add(result.plan).add(result.changes).add(result.repaired_s).add(result.timeline);
                        hash.add(result.redone_forwards).add(result.redone_backwards).add(result.lost_gradients);
                        ++planned;
                        const double at_s = result.at_s + rng.uniform() * (result.iteration_s - result.at_s);
                        return std::pair(result.plan, progress_at(network, before, request, result, at_s));
                    };
                    try {
                        const double at_s = rng.uniform() * timeline.iteration_s;
                        const auto [after, progress] = lose(problem, plan, progress_at(problem, plan, timeline, at_s));
                        lose(problem, after, progress);
                    } catch (const InputError& error) {
                        hash.add(std::string(error.what()));
                    }
                }));
        QVERIFY2(planned > 150, std::to_string(planned).c_str());
    }
};

QTEST_APPLESS_MAIN(TestGolden)
#include "test_golden.moc"
