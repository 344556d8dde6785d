// SPDX-License-Identifier: GPL-3.0-or-later
// Trainings by a document's failures, as `run` makes them, with books instead of tensors.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "core/base/index.h"
#include "core/engine/torture.h"
#include "core/engine/torture_draw.h"
#include "core/engine/trainer.h"
#include "core/planner/plan/validator.h"
#include "core/planner/planner.h"
#include "core/planner/timeline/evaluator.h"

namespace skippipe {

namespace {

constexpr std::int64_t search_operations = 500;  // of a search that need not be good here
constexpr int most_events = 20'000;              // of a training that ends

/// Any plan that comes to its end, with the nodes where the problem has them.
class AnyPlan final : public Planner {
public:
    std::string name() const override { return "any"; }
    std::string description() const override { return "Any plan."; }
    bool full_pipeline() const override { return false; }
    Plan plan(const Problem& problem, const PlanRequest& request) const override {
        Draw draw{Rng(request.seed, 77)};
        for (int attempt = 0; attempt < 4 && problem.nodes() >= problem.stages; ++attempt) {
            auto plan = random_plan(draw, problem);
            if (!problem.placement.empty()) replace(draw, problem, plan);
            if (check_structure(problem, plan).empty() && evaluate(problem, plan).complete) return plan;
        }
        throw InputError("plan", "none was drawn that comes to its end", "", "");
    }

private:
    static void replace(Draw& draw, const Problem& problem, Plan& plan) {
        PerNode<StageIndex> stage_of = stage_of_nodes(plan, problem.nodes());
        for (auto& path : plan.paths)
            for (auto& node : path.nodes) node = draw.one_of(problem.placement[stage_of[node]]);
        plan.stages = problem.placement;
    }
};

/// Hears a training, and looks at the books after each iteration. What is wrong it throws as a std::logic_error.
class Witness final : public TrainingListener {
public:
    Witness(const TortureTraining& training, LedgerCompute& ledger) : training_(training), ledger_(ledger) {}

    void validated(int, double, double, std::int64_t, const ValidationResult&) override {}
    void iterated(const IterationReport& report) override {
        happens(report.iteration, report.offset_s + report.timeline->iteration_s);
        ++outcome.iterations;
        if (report.iteration != next_iteration_)
            throw std::logic_error(
                fmt::format("iteration {} ended where {} was due", report.iteration, next_iteration_));
        ++next_iteration_;
        if (report.offset_s < ended_s_ * (1 - 1e-12))
            throw std::logic_error(fmt::format("iteration {} began before the one before had ended", report.iteration));
        ended_s_ = report.offset_s + report.timeline->iteration_s;
        auto fault = fault_of_iteration(training_.problem, ledger_, *report.timeline, lost_gradients_);
        if (fault.empty()) fault = fault_after_step(ledger_);
        if (!fault.empty()) throw std::logic_error(fmt::format("iteration {}: {}", report.iteration, fault));
        outcome.lost_gradients += std::exchange(lost_gradients_, 0);
    }
    void recovered(int iteration, double offset_s, const RecoveryReport& report) override {
        happens(iteration, offset_s + report.detected_s);
        ++outcome.recoveries;
        outcome.redone += report.redone_forwards + report.redone_backwards;
        outcome.dropped += report.dropped;
        lost_gradients_ = report.abandoned.empty() ? lost_gradients_ + report.lost_gradients : 0;
    }
    void rejoined(int iteration, double at_s, const RejoinReport& report) override {
        happens(iteration, at_s + report.refetching_s);
        outcome.rejoined += static_cast<int>(report.nodes.size());
        if (report.refetching_s < 0) throw std::logic_error("weights come before they are asked for");
    }
    void went_back(const TrainingPosition& position, const Setback& setback) override {
        happens(position.iterations_done, position.network_s);
        ++outcome.went_back;
        lost_gradients_ = 0;
        if (setback.lost_iterations != next_iteration_ - position.iterations_done || setback.lost_s < 0)
            throw std::logic_error(fmt::format("{} iterations are said to be lost, {} are", setback.lost_iterations,
                                               next_iteration_ - position.iterations_done));
        next_iteration_ = position.iterations_done;
    }
    void plan_switched(int iteration, const Plan& plan, const std::string&) override {
        happens(iteration, static_cast<double>(plan.paths.size()));
        ++switches_;
    }

    bool is_done() const { return next_iteration_ == training_.experiment.training.iterations; }
    TortureOutcome outcome;

private:
    /// A mark of all that happened, in its order.
    void happens(int iteration, double time_s) {
        if (++events_ > most_events) throw std::logic_error("the training does not end");
        std::uint64_t bits = 0;
        static_assert(sizeof bits == sizeof time_s);
        std::memcpy(&bits, &time_s, sizeof bits);
        outcome.end = (outcome.end ^ bits ^ static_cast<std::uint64_t>(iteration)) * 0x9e3779b97f4a7c15ull;
        outcome.end ^= outcome.end >> 31;
    }

    const TortureTraining& training_;
    LedgerCompute& ledger_;
    int next_iteration_ = 0, lost_gradients_ = 0, events_ = 0, switches_ = 0;
    double ended_s_ = 0;
};

Failure random_failure(Draw& draw, const Problem& problem, int iterations, double iteration_s) {
    using Kind = FailureKind;
    constexpr std::array kinds{Kind::crash,     Kind::crash,      Kind::crash,
                               Kind::slow_down, Kind::link_cut,   Kind::link_degraded,
                               Kind::jitter,    Kind::stage_loss, Kind::coordinator_loss};
    const auto node = [&] { return draw.one_of(problem.node_ids); };
    const auto link = [&] {
        const auto to = draw.rng.below(problem.node_ids.size()), from = draw.rng.below(problem.node_ids.size());
        return problem.node_ids[from] + "->" + problem.node_ids[from != to ? to : (to + 1) % problem.node_ids.size()];
    };
    Failure failure;
    failure.kind = draw.one_of(kinds);
    switch (failure.kind) {
        case Kind::crash:
        case Kind::slow_down:
            failure.target = draw.chance(0.5) ? node() : draw.chance(0.7) ? any_target : any_data_node;
            break;
        case Kind::link_cut:
        case Kind::link_degraded: failure.target = link(); break;
        case Kind::jitter: failure.target = draw.chance(0.5) ? node() : link(); break;
        case Kind::stage_loss:
            failure.target = draw.chance(0.5) ? any_target : std::to_string(draw.between(0, problem.stages - 1));
            break;
        case Kind::coordinator_loss: break;
    }
    failure.factor = failure.kind == Kind::jitter ? 0.3 : 1.5;
    switch (draw.between(0, 3)) {
        case 0: failure.at_s = draw.rng.uniform() * iterations * iteration_s; break;
        case 1: failure.at_iteration = draw.between(0, iterations - 1); break;
        case 2: failure.probability_per_iteration = 0.2 + 0.6 * draw.rng.uniform(); break;
        default: failure.rate_per_hour = 3600 / iteration_s * (0.1 + 0.4 * draw.rng.uniform());
    }
    if (draw.chance(0.75)) failure.rejoin_after_s = draw.rng.uniform() * 2 * iteration_s;
    return failure;
}

Recovery random_recovery(Draw& draw, double iteration_s) {
    constexpr std::array policies{RecoveryPolicy::reroute, RecoveryPolicy::skip, RecoveryPolicy::drop,
                                  RecoveryPolicy::replay, RecoveryPolicy::restart};
    constexpr std::array rebuilds{StageRebuild::disk, StageRebuild::checkpoint, StageRebuild::neighbours};
    Recovery recovery;
    recovery.policy = draw.one_of(policies);
    recovery.rebuild = draw.one_of(rebuilds);
    recovery.heartbeat_s = iteration_s * (0.01 + 0.1 * draw.rng.uniform());
    recovery.deadline_s = recovery.heartbeat_s * (1 + draw.rng.uniform());
    recovery.restore_s = iteration_s * draw.rng.uniform();
    recovery.planning_s = draw.chance(0.5) ? 0 : iteration_s * draw.rng.uniform();
    recovery.move_nodes_s = draw.chance(0.5) ? 0 : 100 * iteration_s;
    return recovery;
}

}  // namespace

TortureTraining torture_document(std::uint64_t seed) {
    for (std::uint64_t attempt = 0;; ++attempt) {
        Draw draw{Rng(seed, 5000 + attempt)};
        const int stages = draw.between(1, 3), length = stages == 1 ? 1 : draw.between(2, stages);
        const int nodes = stages + draw.between(1, 4), microbatches = draw.between(1, 5);
        TortureTraining training;
        training.problem = random_network(draw, stages, length, nodes, microbatches);
        training.plan = random_plan(draw, training.problem);
        draw_transfers(draw, training.problem, training.plan);
        const auto timeline = evaluate(training.problem, training.plan);
        if (!timeline.complete) continue;  // memory is too small for these paths
        auto& document = training.experiment;
        document.seed = seed + 1;
        for (const auto& id : training.problem.node_ids) document.topology.nodes.push_back({.id = id});
        document.training.iterations = draw.between(3, 4);
        document.training.checkpoint_every = draw.between(0, 2);
        document.pipeline.plan_steps = 1;
        document.execution = {.clock = Clock::virtual_time, .compute = Compute::cost};
        document.recovery = random_recovery(draw, timeline.iteration_s);
        for (int k = draw.between(1, 4); k > 0; --k)
            document.failures.push_back(
                random_failure(draw, training.problem, document.training.iterations, timeline.iteration_s));
        return training;
    }
}

TortureTraining torture_document(const TortureCase& part) {
    auto training = torture_document(part.seed);
    std::vector<Failure> kept;
    for (const auto k : part.disturbances)
        if (k < training.experiment.failures.size()) kept.push_back(training.experiment.failures[k]);
    training.experiment.failures = std::move(kept);
    leave_microbatches(training.problem, training.plan, part.microbatches);
    return training;
}

TortureOutcome torture_training(const TortureTraining& training, const TortureTampering& tampering) {
    LedgerCompute ledger(training.problem, training.plan, tampering.books);
    Witness witness(training, ledger);
    const AnyPlan planner;
    LocalTransport alone;
    TrainingStart start;
    start.planner = &planner;
    start.replanning_operations = search_operations;
    auto& outcome = witness.outcome;
    try {
        train(training.experiment, training.problem, one_rank_schedule(training.problem.nodes(), training.plan), ledger,
              alone, &witness, nullptr, {}, start);
        if (!witness.is_done()) outcome.fault = "it ends before its last iteration, and does not say why";
    } catch (const InputError& error) {
        outcome.abandoned = true;  // it says so
        if (ledger.unequal_replica() >= 0) outcome.fault = error.what();
    } catch (const std::exception& error) {
        outcome.fault = error.what();
    }
    return outcome;
}

std::string fault_of_iteration(const Problem& problem, const LedgerCompute& ledger, const Timeline& timeline,
                               int lost_gradients) {
    int missing = 0;
    for (const auto& [m, path] : ledger.paths()) {
        for (const int node : path) {
            const int times = ledger.counted(m, ledger.stage_of(node));
            if (times > 1) return fmt::format("the gradient of microbatch {} counts {} times", m, times);
            missing += times == 0 ? 1 : 0;
        }
        if (ledger.counted_head(m) != ledger.counted(m, 0))
            return fmt::format("head and body of stage 0 disagree about microbatch {}", m);
    }
    if (missing != lost_gradients)
        return fmt::format("{} gradients are missing, {} were reported lost", missing, lost_gradients);
    for (int n = 0; n < problem.nodes(); ++n)
        if (ledger.held(n) != 0) return fmt::format("node {} still holds a microbatch", n);
    if (ledger.on_the_way() > 0) return fmt::format("{} messages neither came nor were lost", ledger.on_the_way());
    const auto &sent = ledger.sent(), &came = ledger.came(), &gone = ledger.lost_on_the_way();
    if (sent.messages != came.messages + gone.messages)
        return fmt::format("{} messages were handed over, {} came and {} were lost", sent.messages, came.messages,
                           gone.messages);
    Traffic drawn;
    double bytes = 0;
    for (const auto& span : timeline.spans) {
        bytes += span.bytes;
        if (is_transfer(span.kind)) drawn.add(span.bytes);
    }
    const auto differ = [](double a, double b) { return std::abs(a - b) > 1e-9 * std::max(1.0, std::abs(b)); };
    if (drawn.messages != sent.messages || differ(drawn.bytes, sent.bytes) ||
        differ(came.bytes + gone.bytes, sent.bytes))
        return fmt::format("{} spans of {} bytes say that {} messages of {} bytes were handed over", drawn.messages,
                           drawn.bytes, sent.messages, sent.bytes);
    if (differ(timeline.bytes, bytes))
        return fmt::format("the iteration has {} bytes, its spans {}", timeline.bytes, bytes);
    return {};
}

std::string fault_after_step(const LedgerCompute& ledger) {
    if (auto fault = ledger.fault_of_steps(); !fault.empty()) return fault;
    if (const int kept = ledger.kept(); kept > 0) return fmt::format("{} results are kept after the step", kept);
    if (const int node = ledger.unequal_replica(); node >= 0)
        return fmt::format("node {} has other weights than its stage", node);
    return {};
}

}  // namespace skippipe
