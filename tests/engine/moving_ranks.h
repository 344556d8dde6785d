// SPDX-License-Identifier: GPL-3.0-or-later
// A network of ranks as threads in which nodes go to other stages once rank 3 is lost, for tests of what becomes of
// that.
#pragma once
#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/engine/trainer.h"
#include "core/experiment/io.h"
#include "plugins/planners/all.h"
#include "tests/engine/thread_transport.h"

namespace skippipe::testing {

constexpr int moving_ranks = 4, leaves_in = 1;
/// Of each node.
inline const std::vector<int> rank_of_node{0, 1, 2, 1, 3, 0, 2, 0};
/// Keeps a copy of stage 1 whoever else is lost, and is no help.
constexpr std::size_t slow_node = 7;

inline void set_speed(Topology& topology, double seconds_per_sample_per_block) {
    for (auto& node : topology.nodes) node.seconds_per_sample_per_block = seconds_per_sample_per_block;
    topology.nodes[slow_node].seconds_per_sample_per_block = 20 * seconds_per_sample_per_block;
}

/// Every microbatch passes all stages in their order, so that losses do not depend on who is where. Where rank 3 is
/// lost, stage 1 has one node left that is any good, and stage 0 three: rank 1 gives weights to rank
/// 2, and then gets others from rank 0.
inline Experiment moving_experiment(int iterations) {
    Experiment experiment;
    experiment.seed = 5;
    experiment.model = {.blocks = 3, .width = 32, .heads = 2, .vocabulary = 256, .sequence = 16};
    experiment.topology.regions = {{"here"}};
    for (std::size_t i = 0; i < rank_of_node.size(); ++i)
        experiment.topology.nodes.push_back({.id = "n" + std::to_string(i), .region = "here"});
    set_speed(experiment.topology, experiment.topology.nodes[0].seconds_per_sample_per_block);
    experiment.pipeline.stages = 3;
    experiment.pipeline.microbatches = 12;
    experiment.pipeline.microbatch_samples = 2;
    experiment.pipeline.constraints.max_swaps = 0;
    experiment.pipeline.plan_steps = 1'000;
    experiment.data.validation_samples = 5;
    experiment.training.learning_rate = 3e-3;
    experiment.training.warmup_iterations = 3;
    experiment.training.iterations = iterations;
    experiment.training.validate_every = 10;
    experiment.recovery.planning_s = 1;
    experiment.recovery.move_nodes_s = 60;
    experiment.execution = {.clock = Clock::wall, .transport = Transport::gloo, .ranks = moving_ranks};
    return experiment;
}

inline Plan moving_plan() {
    Plan plan{.stages = {{0, 1, 2}, {3, 4, 7}, {5, 6}}, .blocks = {1, 1, 1}};
    for (int m = 0; m < 12; ++m)
        plan.paths.push_back({MicrobatchIndex(m), {NodeIndex(m % 3), NodeIndex(3 + m % 2), NodeIndex(5 + m % 2)}});
    return plan;
}

inline int stage_in(const Plan& plan, int node) {
    for (std::size_t stage = 0; stage < plan.stages.size(); ++stage)
        for (const int member : plan.stages[stage])
            if (member == node) return static_cast<int>(stage);
    return -1;
}

inline bool somebody_moved(const Plan& plan) {
    const auto before = moving_plan();
    for (int node = 0; node < static_cast<int>(rank_of_node.size()); ++node)
        if (const int stage = stage_in(plan, node); stage >= 0 && stage != stage_in(before, node)) return true;
    return false;
}

struct LeftTraining {};

/// Where a rank dies: as an iteration begins, as it hears which nodes go where, with the weights of one handed over and
/// not yet the optimizer's state, as who gets them or who has them, once all know, or as all go over.
enum class Dies { never, in_iteration, as_it_hears, as_it_fetches, as_it_gives, once_all_know, as_all_go };

class LeavingTransport final : public RankTransport {
public:
    LeavingTransport(Exchange& exchange, const RankSchedule& schedule, int rank, bool again, Dies dies)
        : inner_(exchange, schedule, rank, again), dies_(dies) {}
    int rank() const override { return inner_.rank(); }
    int ranks() const override { return inner_.ranks(); }
    std::vector<int> members() const override { return inner_.members(); }
    void outlive_losses(bool outlives) override { inner_.outlive_losses(outlives); }
    bool must_regroup() const override { return inner_.must_regroup(); }
    bool somebody_waits() const override { return inner_.somebody_waits(); }
    Regrouping regroup() override { return inner_.regroup(); }
    void abort() noexcept override { inner_.abort(); }
    void when_broken(std::function<void(std::exception_ptr)> broken) override { inner_.when_broken(std::move(broken)); }
    double now_s() const override { return inner_.now_s(); }
    void follow(const RankSchedule& schedule) override {
        if (std::exchange(all_know_, false)) die_where(Dies::as_all_go);
        inner_.follow(schedule);
    }
    void begin_iteration(std::function<std::size_t(const RankTransfer&)> bytes,
                         std::function<void(Delivery)> deliver) override {
        if (begun_++ == leaves_in) die_where(Dies::in_iteration);
        inner_.begin_iteration(std::move(bytes), std::move(deliver));
    }
    void send(Delivery message) override { inner_.send(std::move(message)); }
    void end_iteration() override { inner_.end_iteration(); }
    void all_reduce(int stage, std::span<float> values) override { inner_.all_reduce(stage, values); }
    std::vector<std::vector<double>> gather_stage(int stage, const std::vector<double>& values) override {
        return inner_.gather_stage(stage, values);
    }
    std::vector<std::vector<double>> all_gather(const std::vector<double>& values) override {
        auto all = inner_.all_gather(values);
        if (std::exchange(knows_, false)) {
            die_where(Dies::once_all_know);
            all_know_ = true;
        }
        return all;
    }
    std::vector<std::string> gather(const std::string& text) override { return inner_.gather(text); }
    std::string broadcast(const std::string& text) override {
        auto said = inner_.broadcast(text);
        knows_ = said.starts_with("[[");  // who moves
        if (knows_) die_where(Dies::as_it_hears);
        return said;
    }
    void send_to(int rank, std::span<const std::byte> bytes) override {
        if (knows_ && given_++ == of_weights) die_where(Dies::as_it_gives);
        inner_.send_to(rank, bytes);
    }
    void receive_from(int rank, std::span<std::byte> bytes) override {
        if (knows_ && fetched_++ == of_weights) die_where(Dies::as_it_fetches);
        inner_.receive_from(rank, bytes);
    }
    std::unique_ptr<LineBook> line_book(std::size_t lines) override { return inner_.line_book(lines); }
    void die() { inner_.die(); }

private:
    void die_where(Dies here) {
        if (dies_ != here) return;
        inner_.die();
        throw LeftTraining();
    }
    static constexpr int of_weights = 2;  ///< messages until a stage's weights are over
    ThreadTransport inner_;
    Dies dies_;
    int begun_ = 0, given_ = 0, fetched_ = 0;
    bool knows_ = false, all_know_ = false;
};

class HeardOfMoves final : public TrainingListener, public TrainingController {
public:
    /// Long enough that there is a plan before the training is over.
    TrainingCommand next() override {
        std::this_thread::sleep_for(std::chrono::milliseconds(30));
        return {};
    }
    void validated(int, double, double, std::int64_t, const ValidationResult& result) override {
        losses.push_back(result.loss_nats);
    }
    void iterated(const IterationReport& report) override {
        losses.push_back(report.result.loss_sum_nats / static_cast<double>(report.result.tokens));
        for (const auto& span : report.timeline->spans) down += span.kind == SpanKind::down;
    }
    void plan_switched(int, const Plan& plan, const std::string& why) override {
        plans.push_back(plan);
        reasons.push_back(why);
        ++switched;
    }
    void regrouped(const RegroupReport& report) override { reports.push_back(report); }
    std::vector<double> losses;
    std::vector<Plan> plans;
    std::vector<std::string> reasons;
    std::vector<RegroupReport> reports;
    int down = 0;
    std::atomic<int> switched = 0;
};

/// A training of theirs, to its end.
template <class Backend>
struct MovedRanks {
    using Make =
        std::function<std::unique_ptr<Backend>(const Problem& problem, const RankSchedule& schedule, int rank)>;
    /// A transport of the rank beside one that then has no transfers of the schedule.
    using Beside =
        std::function<std::unique_ptr<RankTransport>(RankTransport& control, const RankSchedule& schedule, int rank)>;
    /// `deaths`: of ranks; rank 3 is there again after the first switch where it `returns`. `beside`: none where empty.
    MovedRanks(const Experiment& experiment, const Make& make, const std::map<int, Dies>& deaths, bool returns = false,
               const Beside& beside = {})
        : problem(make_problem(experiment)) {
        const auto schedule = make_schedule(problem, moving_plan(), rank_of_node, moving_ranks,
                                            beside ? TransferOrder::lanes : TransferOrder::pairs);
        auto of_control = schedule;
        if (beside) of_control.transfers.clear();
        PlannerRegistry planners;
        register_planners(planners);
        const TrainingStart start{.planner = planners.find("skippipe-joint")};
        Exchange exchange(moving_ranks);
        std::mutex mutex;
        const auto live = [&](int rank, bool again) {
            const auto death = deaths.find(rank);
            LeavingTransport control(exchange, of_control, rank, again,
                                     death == deaths.end() || again ? Dies::never : death->second);
            const auto lane = beside ? beside(control, schedule, rank) : nullptr;
            auto& transport = lane ? *lane : static_cast<RankTransport&>(control);
            auto compute = make(problem, schedule, rank);
            auto* first = rank == 0 ? &heard : nullptr;
            try {
                train(experiment, problem, schedule, *compute, transport, first, first, {}, start);
                const std::lock_guard lock(mutex);
                lives[rank] = std::move(compute);
            } catch (const LeftTraining&) {
                const std::lock_guard lock(mutex);
                ++died;
            } catch (const std::exception& error) {
                control.die();
                const std::lock_guard lock(mutex);
                fault += "rank " + std::to_string(rank) + ": " + error.what() + "; ";
            }
        };
        std::vector<std::jthread> threads;
        for (int rank = 0; rank < moving_ranks; ++rank) threads.emplace_back(live, rank, false);
        if (!returns) return;
        for (int patience = 0; heard.switched == 0 && patience < 3'000; ++patience)
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        live(3, true);
    }

    const Problem problem;
    std::map<int, std::unique_ptr<Backend>> lives;
    HeardOfMoves heard;
    std::string fault;
    int died = 0;
};

}  // namespace skippipe::testing
