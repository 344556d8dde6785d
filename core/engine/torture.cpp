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

#include <fmt/format.h>

#include "core/base/index.h"
#include "core/base/infinite.h"
#include "core/base/rng.h"
#include "core/engine/ledger_compute.h"
#include "core/engine/moves.h"
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

/// What the books say after an iteration.
std::string check_books(const TortureScene& scene, const LedgerCompute& ledger, int lost_gradients) {
    int missing = 0;
    for (const auto& path : scene.plan.paths) {
        const int m = path.microbatch;
        for (const int node : ledger.path(m)) {
            const int times = ledger.counted(m, ledger.stage_of(node));
            if (times > 1) return fmt::format("the gradient of microbatch {} counts {} times", m, times);
            missing += times == 0 ? 1 : 0;
        }
        if (ledger.counted_head(m) != ledger.counted(m, 0))
            return fmt::format("head and body of stage 0 disagree about microbatch {}", m);
    }
    if (missing != lost_gradients)
        return fmt::format("{} gradients are missing, {} were reported lost", missing, lost_gradients);
    for (int n = 0; n < scene.problem.nodes(); ++n)
        if (ledger.held(n) != 0) return fmt::format("node {} still holds a microbatch", n);
    return {};
}

/// What is to be said of an iteration that has run.
TortureOutcome checked(const TortureScene& scene, const RankIteration& result, const Watched& controller,
                       const LedgerCompute& ledger) {
    TortureOutcome outcome{.abandoned = !result.abandoned.empty(), .recoveries = controller.count};
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
    if (!controller.last) return outcome;
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
    if (outcome.fault.empty()) outcome.fault = check_books(scene, ledger, outcome.lost_gradients);
    return outcome;
}

struct Draw {
    Rng rng;
    int between(int low, int high) { return low + static_cast<int>(rng.below(at(high - low + 1))); }
    bool chance(double share) { return rng.uniform() < share; }
};

/// Uneven speeds, equal and zero latencies (ties) or none, shared or unlimited lines.
Problem random_network(Draw& draw, int stages, int length, int nodes, int microbatches) {
    Problem problem;
    problem.stages = stages;
    problem.path_length = length;
    problem.microbatches = microbatches;
    problem.blocks.assign(at(stages), 1);
    const bool ties = draw.chance(0.5);
    for (int n = 0; n < nodes; ++n) {
        problem.node_ids.push_back("n" + std::to_string(n));
        problem.seconds_per_sample_per_block.push_back(ties ? 1 : 0.5 + draw.rng.uniform());
        problem.memory.push_back(draw.between(1, 4));
    }
    std::vector<Hop> pairs;
    for (int k = 0; k < nodes * nodes; ++k) {
        const auto seconds = [&] { return ties ? draw.between(0, 2) * 0.5 : draw.rng.uniform(); };
        pairs.push_back({seconds(), 1 + draw.rng.uniform(), seconds(), seconds(), draw.between(0, nodes)});
        problem.line_names.push_back("line " + std::to_string(k));
    }
    problem.hops = std::move(pairs);
    problem.shared_links = draw.chance(0.5);
    problem.charge_all_reduce = draw.chance(0.5);
    problem.step_seconds = 0.25;
    problem.gradient_bytes.assign(at(stages), 5);
    problem.forward_bytes = 3;
    problem.backward_bytes = 2;
    problem.balance_data_nodes = false;
    problem.constraints.uniform_execution = problem.constraints.bounded_disorder = false;
    return problem;
}

/// One to four of equal shares, or the default.
Pieces random_pieces(Draw& draw, int replicas) {
    Pieces pieces;
    const int count = replicas > 1 ? draw.between(0, 4) : 0;
    for (int k = 0; k < count; ++k) {
        if (draw.chance(0.2)) {
            pieces.push_back({.share = 1.0 / count, .form = PieceForm::exchange});
            continue;
        }
        Piece piece = star_piece(replicas, draw.between(0, replicas - 1), 1.0 / count);
        std::vector<int> order{piece.root};
        for (auto* parents : {&piece.up, &piece.down}) {
            order.resize(1);
            for (int place = 0; place < replicas; ++place)
                if (place != piece.root) order.push_back(place);
            for (int place = 1; place < replicas; ++place)
                (*parents)[at(order[at(place)])] = order[draw.rng.below(at(place))];
        }
        pieces.push_back(piece);
    }
    return pieces;
}

Plan random_plan(Draw& draw, const Problem& problem) {
    Plan plan{.planner = "torture", .split_backward = draw.chance(0.3), .blocks = problem.blocks};
    plan.stages.resize(at(problem.stages));
    for (NodeIndex n = 0; n < problem.nodes(); ++n)
        plan.stages[at(n < problem.stages ? static_cast<int>(n) : draw.between(0, problem.stages - 1))].push_back(n);
    std::vector<int> others(at(problem.stages - 1));
    std::iota(others.begin(), others.end(), 1);
    for (MicrobatchIndex m = 0; m < problem.microbatches; ++m) {
        Path path{m, {}};
        const auto visit = [&](int stage) {
            const auto& ring = plan.stages[at(stage)];
            path.nodes.push_back(ring[draw.rng.below(ring.size())]);
        };
        visit(0);
        draw.rng.shuffle(others);
        for (int hop = 1; hop < problem.path_length; ++hop) visit(others[at(hop - 1)]);
        plan.paths.push_back(path);
    }
    return plan;
}

/// Planned reductions, uplinks and downlinks; drawn apart, so that seeds keep their networks and paths.
void draw_transfers(Draw& draw, Problem& problem, Plan& plan) {
    problem.plan_reductions = !problem.charge_all_reduce && draw.chance(0.7);
    if (problem.plan_reductions && draw.chance(0.7))
        for (const auto& nodes : plan.stages)
            plan.reductions.push_back(random_pieces(draw, static_cast<int>(nodes.size())));
    if (!problem.shared_links || !draw.chance(0.5)) return;
    const bool ties = draw.chance(0.5);
    for (auto* rates : {&problem.up_bytes_per_s, &problem.down_bytes_per_s})
        for (int n = 0; n < problem.nodes(); ++n)
            rates->push_back(draw.chance(0.4) ? infinite : ties ? 4 : 1 + 5 * draw.rng.uniform());
    for (const char* queue : {"uplink", "downlink"})
        for (const auto& id : problem.node_ids) problem.line_names.push_back(queue + (" of " + id));
}

/// Iterations on one ledger: the scene's, and where every stage has a node left, one by another plan.
class TorturedTraining {
public:
    TorturedTraining(const TortureScene& scene, const TortureTampering& tampering)
        : scene_(scene),
          tampering_(tampering),
          ledger_(scene.problem.nodes(), scene.plan),
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
        const auto second = iterate();
        outcome.fault = second.fault;
        outcome.recoveries += second.recoveries;
        outcome.redone += second.redone;
        outcome.lost_gradients += second.lost_gradients;
        outcome.dropped += second.dropped;
        return outcome;
    }

private:
    TortureOutcome iterate() {
        ledger_.begin_iteration(0);
        const auto schedule = one_rank_schedule(scene_.problem.nodes(), scene_.plan);
        const PlannedProblem planned(scene_.problem, scene_.plan.blocks);
        VirtualClock clock(planned.get(), schedule, ledger_);
        Driver driver(planned.get(), schedule, 0, clock);
        Watched controller(scene_.policy, tampering_.rest);
        const auto result = driver.run_iteration(0, scene_.disturbances, controller);
        auto outcome = checked(scene_, result, controller, ledger_);
        if (outcome.abandoned || !outcome.fault.empty()) return outcome;
        scene_.disturbances.resize(result.disturbances);  // the others come too late
        ledger_.step(0, result.sums);
        if (const int node = ledger_.unequal_replica(); node >= 0)
            outcome.fault = fmt::format("node {} has other weights than its stage", node);
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
};

TortureCase shrink(TortureCase failing, const TortureTampering& tampering) {
    const auto still_fails = [&](const TortureCase& smaller) {
        const auto outcome = torture_iteration(torture_scene(smaller), tampering);
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
        return {.fault = error.what()};
    }
}

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
        return scene;
    }
}

TortureScene torture_scene(const TortureCase& part) {
    auto scene = torture_scene(part.seed);
    std::vector<Disturbance> kept;
    for (const auto k : part.disturbances)
        if (k < scene.disturbances.size()) kept.push_back(scene.disturbances[k]);
    scene.disturbances = std::move(kept);
    if (part.microbatches > 0 && part.microbatches < scene.problem.microbatches) {
        scene.plan.paths.resize(at(part.microbatches));
        scene.problem.microbatches = part.microbatches;
    }
    return scene;
}

TortureSummary torture(std::uint64_t first, std::uint64_t count, const std::function<bool(std::uint64_t)>& progress,
                       const TortureTampering& tampering) {
    TortureSummary summary;
    std::atomic<std::uint64_t> next{0};
    std::atomic<bool> ends{false};
    std::mutex mutex;
    const auto began = std::chrono::steady_clock::now();
    const auto work = [&] {
        for (std::uint64_t k = next++; k < count && !ends; k = next++) {
            const auto scene = torture_scene(first + k);
            const auto outcome = torture_iteration(scene, tampering);
            TortureCase failing{.seed = first + k, .microbatches = scene.problem.microbatches};
            if (!outcome.fault.empty()) {
                failing.disturbances.resize(scene.disturbances.size());
                std::iota(failing.disturbances.begin(), failing.disturbances.end(), 0);
                failing.fault = outcome.fault;
                failing = shrink(failing, tampering);
            }
            const std::lock_guard lock(mutex);
            ++summary.seeds;
            summary.recoveries += static_cast<std::uint64_t>(outcome.recoveries);
            summary.redone += static_cast<std::uint64_t>(outcome.redone);
            summary.lost_gradients += static_cast<std::uint64_t>(outcome.lost_gradients);
            summary.dropped += static_cast<std::uint64_t>(outcome.dropped);
            summary.moved += static_cast<std::uint64_t>(outcome.moved);
            summary.abandoned += outcome.abandoned ? 1 : 0;
            if (!failing.fault.empty() && summary.faults.size() < most_faults) summary.faults.push_back(failing);
            if (summary.faults.size() == most_faults) ends = true;
            if (progress && summary.seeds % 64 == 0 && !progress(summary.seeds)) ends = true;
        }
    };
    std::vector<std::jthread> threads;
    for (unsigned t = 1; t < std::max(1U, std::thread::hardware_concurrency()); ++t) threads.emplace_back(work);
    work();
    threads.clear();
    summary.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    std::sort(summary.faults.begin(), summary.faults.end(),
              [](const TortureCase& a, const TortureCase& b) { return a.seed < b.seed; });
    return summary;
}

}  // namespace skippipe
