// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/engine/torture.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <numeric>
#include <stdexcept>
#include <thread>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/base/index.h"
#include "core/base/infinite.h"
#include "core/engine/moves.h"
#include "core/engine/torture_draw.h"
#include "core/engine/virtual_clock.h"
#include "core/planner/plan/part.h"
#include "core/planner/timeline/evaluator.h"

namespace skippipe {

namespace {

constexpr std::int64_t replanning_operations = 2'000;  // of a search that need not be good here
constexpr std::size_t most_faults = 10;

/// Answers as the planner does, and keeps the last answer.
class Watched final : public RecoveryController {
public:
    Watched(RecoveryPolicy policy, const std::function<void(Replan&)>& tamper)
        : planner_(policy, replanning_operations), tamper_(tamper) {}
    Replan recover(const Problem& network, const Plan& plan, const ReplanRequest& request) override {
        auto rest = planner_.recover(network, plan, request);
        last = rest;
        ++count;
        if (tamper_) tamper_(rest);
        return rest;
    }
    std::optional<Replan> last;
    int count = 0;

private:
    ReplanController planner_;
    const std::function<void(Replan&)>& tamper_;
};

/// Spans that end after a time (transfers, and steps after planned reductions: begun from then on), in one order.
std::vector<Span> after(std::vector<Span> spans, double at_s, bool plan_reductions) {
    std::erase_if(spans, [&](const Span& span) {
        const bool from_then_on = is_on_line(span.kind) || (plan_reductions && span.kind == SpanKind::step);
        return span.end_s <= at_s || (from_then_on && span.ready_s < at_s);
    });
    std::sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) {
        return std::tie(a.start_s, a.end_s, a.kind, a.node, a.to_node, a.stage, a.microbatch) <
               std::tie(b.start_s, b.end_s, b.kind, b.node, b.to_node, b.stage, b.microbatch);
    });
    return spans;
}

std::string text_of(const Span& span) {
    return fmt::format("{} of microbatch {} on node {}, {:.9g} to {:.9g} s", to_string(span.kind), span.microbatch,
                       span.node, span.start_s, span.end_s);
}

std::string first_difference(const std::vector<Span>& done, const std::vector<Span>& foretold) {
    const auto [a, b] = std::mismatch(done.begin(), done.end(), foretold.begin(), foretold.end());
    if (a == done.end() && b == foretold.end()) return {};
    return (a == done.end() ? std::string("nothing") : text_of(*a)) + " where " +
           (b == foretold.end() ? std::string("nothing") : text_of(*b)) + " was foretold";
}

/// What is to be said of an iteration that has run.
TortureOutcome checked(const TortureScene& scene, const RankIteration& result, const Watched& controller,
                       const LedgerCompute& ledger) {
    TortureOutcome outcome;
    outcome.abandoned = !result.abandoned.empty();
    outcome.recoveries = controller.count;
    outcome.refused = result.refused;
    if (outcome.abandoned) return outcome;
    for (const auto& report : result.recoveries) {
        outcome.lost_gradients += report.lost_gradients;
        outcome.redone += report.redone_forwards + report.redone_backwards;
        outcome.dropped += report.dropped;
    }
    if (!result.timeline.complete) {
        outcome.fault = "the iteration does not end: " +
                        (result.timeline.blocked.empty() ? std::string("nothing waits") : result.timeline.blocked[0]);
        return outcome;
    }
    outcome.fault = fault_of_iteration(scene.problem, ledger, result.timeline, outcome.lost_gradients);
    if (!controller.last || !outcome.fault.empty()) return outcome;
    const auto& last = *controller.last;
    const bool nothing_since =
        std::none_of(scene.disturbances.begin(), scene.disturbances.end(),
                     [&](const Disturbance& d) { return d.at_s > last.at_s || d.detected_s > last.at_s; });
    if (nothing_since) {
        outcome.fault = first_difference(after(result.timeline.spans, last.at_s, scene.problem.plan_reductions),
                                         after(last.timeline.spans, last.at_s, scene.problem.plan_reductions));
        if (outcome.fault.empty() && result.timeline.iteration_s != last.iteration_s)
            outcome.fault = fmt::format("the iteration ends at {:.9g} s where {:.9g} s was foretold",
                                        result.timeline.iteration_s, last.iteration_s);
    }
    return outcome;
}

/// Iterations on one ledger: the scene's, and where every stage has a node left, one by another plan.
class TorturedTraining {
public:
    TorturedTraining(const TortureScene& scene, const TortureTampering& tampering)
        : scene_(scene),
          tampering_(tampering),
          ledger_(scene_.problem, scene.plan, tampering.books),
          draw_{Rng(scene.next_seed)} {}

    TortureOutcome run() {
        auto outcome = iterate();
        if (outcome.abandoned || !outcome.fault.empty()) return outcome;
        const auto before = left();
        const auto next = next_plan(before);
        if (!next) return outcome;
        outcome.fault = move_to(*next, before, outcome.moved);
        scene_.disturbances.clear();
        const auto timeline = evaluate(scene_.problem, scene_.plan);
        if (!outcome.fault.empty() || !timeline.complete) return outcome;
        if (draw_.chance(0.5)) lose_one(timeline.iteration_s);
        auto second = iterate();
        outcome.fault = std::exchange(second.fault, {});
        second.abandoned = false;
        return outcome += second;
    }

private:
    TortureOutcome iterate() {
        ledger_.begin_iteration(iteration_);
        const auto schedule = one_rank_schedule(scene_.problem.nodes(), scene_.plan);
        const PlannedProblem planned(scene_.problem, scene_.plan.blocks);
        VirtualClock clock(planned.get(), schedule, ledger_);
        if (tampering_.believes_everybody) clock.believe_everybody();
        Driver driver(planned.get(), schedule, 0, clock);
        Watched controller(scene_.policy, tampering_.rest);
        const auto result = driver.run_iteration(iteration_, scene_.disturbances, controller);
        auto outcome = checked(scene_, result, controller, ledger_);
        if (outcome.abandoned || !outcome.fault.empty()) return outcome;
        scene_.disturbances.resize(result.disturbances);  // the others come too late
        for (int steps = tampering_.steps_twice && iteration_ == 0 ? 2 : 1; steps > 0; --steps)
            ledger_.step(iteration_, result.sums);
        ++iteration_;
        outcome.fault = fault_after_step(ledger_);
        return outcome;
    }

    bool lost(NodeIndex node) const {
        return std::any_of(scene_.disturbances.begin(), scene_.disturbances.end(), [&](const Disturbance& d) {
            return d.change.kind == NetworkChange::Kind::node_down && d.change.node == node;
        });
    }

    /// Who is left in each stage.
    PerStage<std::vector<NodeIndex>> left() const {
        auto stages = scene_.plan.stages;
        for (auto& ring : stages) std::erase_if(ring, [&](NodeIndex node) { return lost(node); });
        return stages;
    }

    /// Some of those who are left in stages anew; nothing where a stage has lost its last node.
    std::optional<Plan> next_plan(const PerStage<std::vector<NodeIndex>>& stages) {
        std::vector<NodeIndex> nodes;
        for (const auto& ring : stages) {
            if (ring.empty()) return std::nullopt;
            nodes.insert(nodes.end(), ring.begin(), ring.end());
        }
        draw_.rng.shuffle(nodes);
        if (nodes.size() > stages.size() && draw_.chance(0.3)) nodes.pop_back();
        auto part = with_nodes(scene_.problem, nodes);
        auto plan = random_plan(draw_, part);
        if (scene_.problem.plan_reductions && draw_.chance(0.5))
            for (const auto& ring : plan.stages)
                plan.reductions.push_back(random_pieces(draw_, static_cast<int>(ring.size())));
        return plan_of_whole(scene_.problem, nodes, std::move(plan));
    }

    std::string move_to(const Plan& next, const PerStage<std::vector<NodeIndex>>& before, int& moved) {
        auto moves = moves_between(scene_.problem, before, next.stages);
        if (!moves.possible) return "a stage with nodes has nobody to fetch from";
        if (auto fault = fault_of_moves(scene_.problem, before, next.stages, moves.list); !fault.empty()) return fault;
        if (tampering_.moves) tampering_.moves(moves.list);
        for (const auto& move : moves.list) {
            if (move.stage < 0) continue;
            ++moved;
            const double bytes = state_bytes(scene_.problem, StageIndex(move.stage));
            if (moves.lasts_s < travel_s(scene_.problem, move.from, move.node, bytes) * (1 - 1e-12))
                return fmt::format("node {} has its weights before they can have come", move.node);
        }
        ledger_.move(one_rank_schedule(scene_.problem.nodes(), next), moves.list);
        scene_.plan = next;
        return {};
    }

    void lose_one(double iteration_s) {
        const auto& ring = scene_.plan.stages[draw_.rng.below(scene_.plan.stages.size())];
        const double at_s = draw_.rng.uniform() * iteration_s;
        scene_.disturbances = {
            {at_s, {.kind = NetworkChange::Kind::node_down, .node = ring[draw_.rng.below(ring.size())]}, at_s}};
    }

    TortureScene scene_;
    const TortureTampering& tampering_;
    LedgerCompute ledger_;
    Draw draw_;
    int iteration_ = 0;
};

TortureCase shrink(TortureCase failing, const TortureTampering& tampering) {
    const auto still_fails = [&](const TortureCase& smaller) {
        const auto outcome = torture_one(smaller, tampering);
        if (outcome.fault.empty()) return false;
        failing = smaller;
        failing.fault = outcome.fault;
        return true;
    };
    for (bool smaller = true; smaller;) {
        smaller = false;
        for (std::size_t k = 0; k < failing.disturbances.size() && !smaller; ++k) {
            auto fewer = failing;
            fewer.disturbances.erase(fewer.disturbances.begin() + static_cast<std::ptrdiff_t>(k));
            smaller = still_fails(fewer);
        }
        for (int fewer_microbatches = 1; fewer_microbatches < failing.microbatches && !smaller; ++fewer_microbatches) {
            auto fewer = failing;
            fewer.microbatches = fewer_microbatches;
            smaller = still_fails(fewer);
        }
    }
    return failing;
}

}  // namespace

TortureOutcome torture_iteration(const TortureScene& scene, const TortureTampering& tampering) {
    try {
        return TorturedTraining(scene, tampering).run();
    } catch (const std::logic_error& error) {
        TortureOutcome outcome;
        outcome.fault = error.what();
        return outcome;
    }
}

namespace {

/// Drawn apart, so that seeds keep what they lose: who only seems lost, and lines that get slower.
void draw_more(Draw draw, double iteration_s, TortureScene& scene) {
    for (auto& one : scene.disturbances) one.lives_on = one.loses() && one.detected_s == one.at_s && draw.chance(0.8);
    if (!draw.chance(0.25)) return;
    const int from = draw.between(0, scene.problem.nodes() - 1), to = draw.between(0, scene.problem.nodes() - 1);
    scene.disturbances.push_back(
        {draw.rng.uniform() * iteration_s,
         {.kind = NetworkChange::Kind::line_slower, .node = NodeIndex(from), .to = NodeIndex(to), .factor = 1.5},
         0});
    std::stable_sort(scene.disturbances.begin(), scene.disturbances.end(),
                     [](const Disturbance& a, const Disturbance& b) { return a.at_s < b.at_s; });
}

}  // namespace

TortureScene torture_scene(std::uint64_t seed) {
    for (std::uint64_t attempt = 0;; ++attempt) {
        Draw draw{Rng(seed, 1000 + attempt)};
        const int stages = draw.between(1, 5), length = stages == 1 ? 1 : draw.between(2, stages);
        const int nodes = stages + draw.between(2, 9), microbatches = draw.between(1, 12);
        TortureScene scene{.next_seed = Rng(seed, 3000 + attempt).next()};
        scene.problem = random_network(draw, stages, length, nodes, microbatches);
        scene.plan = random_plan(draw, scene.problem);
        Draw more{Rng(seed, 2000 + attempt)};
        draw_transfers(more, scene.problem, scene.plan);
        const auto timeline = evaluate(scene.problem, scene.plan);
        if (!timeline.complete) continue;  // memory is too small for these paths
        std::vector<NodeIndex> order(at(nodes));
        std::iota(order.begin(), order.end(), NodeIndex(0));
        draw.rng.shuffle(order);
        const int losses = draw.between(1, std::min(4, nodes - 1));
        const bool at_once = draw.chance(0.4);
        const auto instant = [&] { return draw.rng.uniform() * timeline.iteration_s; };
        for (int k = 0; k < losses; ++k) {
            const double at_s = instant();
            scene.disturbances.push_back({at_s,
                                          {.kind = NetworkChange::Kind::node_down, .node = order[at(k)]},
                                          at_once ? at_s : at_s + 0.2 * instant()});
        }
        if (draw.chance(0.3))
            scene.disturbances.push_back(
                {instant(), {.kind = NetworkChange::Kind::node_slower, .node = order.back(), .factor = 1.5}, 0});
        std::stable_sort(scene.disturbances.begin(), scene.disturbances.end(),
                         [](const Disturbance& a, const Disturbance& b) { return a.at_s < b.at_s; });
        constexpr std::array policies{RecoveryPolicy::reroute, RecoveryPolicy::reroute, RecoveryPolicy::skip,
                                      RecoveryPolicy::drop};
        scene.policy = policies[draw.rng.below(policies.size())];
        draw_more(Draw{Rng(seed, 4000 + attempt)}, timeline.iteration_s, scene);
        return scene;
    }
}

TortureScene torture_scene(const TortureCase& part) {
    auto scene = torture_scene(part.seed);
    std::vector<Disturbance> kept;
    for (const auto k : part.disturbances)
        if (k < scene.disturbances.size()) kept.push_back(scene.disturbances[k]);
    scene.disturbances = std::move(kept);
    leave_microbatches(scene.problem, scene.plan, part.microbatches);
    return scene;
}

TortureCase torture_case(std::uint64_t seed, bool training) {
    TortureCase all{.seed = seed, .training = training, .disturbances = {}, .microbatches = 0, .fault = {}};
    const auto parts =
        training ? torture_document(seed).experiment.failures.size() : torture_scene(seed).disturbances.size();
    all.disturbances.resize(parts);
    std::iota(all.disturbances.begin(), all.disturbances.end(), 0);
    return all;
}

TortureOutcome torture_one(const TortureCase& part, const TortureTampering& tampering) {
    return part.training ? torture_training(torture_document(part), tampering)
                         : torture_iteration(torture_scene(part), tampering);
}

std::string command_of(const TortureCase& failing) {
    auto command = fmt::format("skippipe torture --seed {}", failing.seed);
    if (failing.training) command += " --training";
    command +=
        failing.disturbances.empty() ? " --calm" : fmt::format(" --only {}", fmt::join(failing.disturbances, ","));
    if (failing.microbatches > 0) command += fmt::format(" --microbatches {}", failing.microbatches);
    return command;
}

TortureOutcome& TortureOutcome::operator+=(const TortureOutcome& other) {
    recoveries += other.recoveries;
    redone += other.redone;
    lost_gradients += other.lost_gradients;
    dropped += other.dropped;
    moved += other.moved;
    refused += other.refused;
    iterations += other.iterations;
    rejoined += other.rejoined;
    went_back += other.went_back;
    return *this;
}

TortureSummary torture(std::uint64_t first, std::uint64_t count, const std::function<bool(std::uint64_t)>& progress,
                       const TortureTampering& tampering) {
    TortureSummary summary;
    std::atomic<std::uint64_t> next{0};
    std::atomic<bool> ends{false};
    std::mutex mutex;
    const auto began = std::chrono::steady_clock::now();
    const auto one = [&](std::uint64_t seed, bool training) {
        auto whole = torture_case(seed, training);
        const auto outcome = torture_one(whole, tampering);
        whole.fault = outcome.fault;
        if (!whole.fault.empty()) {
            whole.microbatches =
                training ? torture_document(seed).problem.microbatches : torture_scene(seed).problem.microbatches;
            whole = shrink(whole, tampering);
        }
        const std::lock_guard lock(mutex);
        summary.sum += outcome;
        (training ? summary.trainings_ended : summary.abandoned) += outcome.abandoned ? 1 : 0;
        if (!whole.fault.empty() && summary.faults.size() < most_faults) summary.faults.push_back(whole);
        if (summary.faults.size() == most_faults) ends = true;
    };
    const auto work = [&] {
        for (std::uint64_t k = next++; k < count && !ends; k = next++) {
            for (const bool training : {false, true}) one(first + k, training);
            const std::lock_guard lock(mutex);
            ++summary.seeds;
            if (progress && summary.seeds % 64 == 0 && !progress(summary.seeds)) ends = true;
        }
    };
    std::vector<std::jthread> threads;
    for (unsigned t = 1; t < std::max(1U, std::thread::hardware_concurrency()); ++t) threads.emplace_back(work);
    work();
    threads.clear();
    summary.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    std::sort(summary.faults.begin(), summary.faults.end(), [](const TortureCase& a, const TortureCase& b) {
        return std::tie(a.seed, a.training) < std::tie(b.seed, b.training);
    });
    return summary;
}

}  // namespace skippipe
