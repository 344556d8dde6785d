// SPDX-License-Identifier: GPL-3.0-or-later
// Ranks as threads that die where a test says so, with real tensors.
#pragma once
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/engine/piece_sums.h"
#include "tests/engine/forwarding_compute.h"
#include "tests/engine/thread_transport.h"
#include "tests/nccl/lanes_in_process.h"
#include "tests/model/training_fixture.h"

namespace skippipe::testing {

constexpr int dies_in = 1;

struct Died {};

inline void add_to(std::vector<double>& sum, const std::vector<float>& values, double factor = 1) {
    sum.resize(values.size(), 0);
    for (std::size_t i = 0; i < values.size(); ++i) sum[i] += factor * values[i];
}

/// When a rank dies: as its n-th operation of the iteration is to start, as its n-th sum is to be made, or as it steps.
struct Death {
    enum class In { operation, sum, step, piece } in = In::operation;
    int n = 0;
};

/// Sums of pieces by which a rank dies, as its n-th is touched.
class MortalPieces final : public PieceSums {
public:
    MortalPieces(PieceSums& inner, std::function<void()> pass) : inner_(inner), pass_(std::move(pass)) {}
    void begin(const RankSchedule& schedule) override { inner_.begin(schedule); }
    std::size_t message_bytes(int stage, int piece) const override { return inner_.message_bytes(stage, piece); }
    Buffer part(int stage, int piece, int place) override { return pass_(), inner_.part(stage, piece, place); }
    void take_part(int stage, int piece, int place, int from, Buffer message) override {
        pass_();
        inner_.take_part(stage, piece, place, from, std::move(message));
    }
    void hand_part(int stage, int piece, int from, int to) override {
        pass_();
        inner_.hand_part(stage, piece, from, to);
    }
    Buffer sum(int stage, int piece, int place) override { return pass_(), inner_.sum(stage, piece, place); }
    void take_sum(int stage, int piece, int place, Buffer message) override {
        pass_();
        inner_.take_sum(stage, piece, place, std::move(message));
    }
    void hand_sum(int stage, int piece, int place) override { pass_(), inner_.hand_sum(stage, piece, place); }
    StageSum finish(int stage) override { return pass_(), inner_.finish(stage); }

private:
    PieceSums& inner_;
    std::function<void()> pass_;
};

/// A back end that dies as told, and remembers what the others decided about those that did.
class Mortal final : public ForwardingCompute {
public:
    /// `stages`: whose gradients are remembered.
    Mortal(TorchCompute& inner, std::vector<int> stages, std::optional<Death> death, std::function<void()> die,
           std::function<void()> begins)
        : ForwardingCompute(inner),
          inner_(inner),
          pieces_(*inner.piece_sums(),
                  [this] {
                      if (now_) pass(Death::In::piece, touched_++);
                  }),
          stages_(std::move(stages)),
          death_(death),
          die_(std::move(die)),
          begins_(std::move(begins)) {}

    void begin_iteration(int iteration) override {
        now_ = iteration == dies_in;
        operations_ = sums_ = touched_ = 0;
        inner_.begin_iteration(iteration);
    }
    void submit(const ComputeTask& task, Buffer input, Completion completed) override {
        if (now_ && operations_ == 0) begins_();
        if (now_) pass(Death::In::operation, operations_++);
        inner_.submit(task, std::move(input), std::move(completed));
    }
    void go_on(const Replan& rest) override {
        inner_.go_on(rest);
        rests.push_back(rest);
    }
    StageSum reduce(int stage, RankTransport& transport) override {
        if (now_) pass(Death::In::sum, sums_++);
        return inner_.reduce(stage, transport);
    }
    PieceSums* piece_sums() override { return &pieces_; }
    void step(int iteration, const std::vector<StageSum>& sums) override {
        if (now_) pass(Death::In::step, 0);
        inner_.step(iteration, sums);
        for (const int stage : stages_)
            add_to(stepped[stage], inner_.reduced_gradient(stage),
                   static_cast<double>(sums[static_cast<std::size_t>(stage)].tokens));
        if (iteration == dies_in)
            for (const int stage : stages_) gradients[stage] = inner_.reduced_gradient(stage);
    }

    std::vector<Replan> rests;
    std::map<int, std::vector<float>> gradients;  ///< of dies_in, by stage
    std::map<int, std::vector<double>> stepped;   ///< with: all iterations' sums over tokens, by stage

private:
    void pass(Death::In in, int n) {
        // Operations and sums are passed by threads of their own.
        if (!death_ || death_->in != in || death_->n != n || dead_.exchange(true)) return;
        die_();
        throw Died();
    }
    TorchCompute& inner_;
    MortalPieces pieces_;
    std::vector<int> stages_;
    std::optional<Death> death_;
    std::function<void()> die_, begins_;
    std::atomic<bool> now_ = false, dead_ = false;
    int operations_ = 0;
    std::atomic<int> sums_ = 0, touched_ = 0;
};

class HeardOfRanks final : public TrainingListener {
public:
    void validated(int, double, double, std::int64_t, const ValidationResult& result) override {
        validations.push_back(result.loss_nats);
    }
    void iterated(const IterationReport& report) override {
        results.push_back(report.result);
        operations = 0;
        for (const auto& span : report.timeline->spans) {
            operations += is_compute(span.kind);
            down += span.kind == SpanKind::down;
        }
    }
    void regrouped(const RegroupReport& report) override { reports.push_back(report); }
    std::vector<double> validations;
    std::vector<IterationResult> results;
    std::vector<RegroupReport> reports;
    int operations = 0, down = 0;
};

/// One rank's life.
struct Life {
    std::unique_ptr<TorchCompute> compute;
    std::unique_ptr<Mortal> mortal;
};

struct TrainedRanks {
    std::map<int, Life> lives;
    HeardOfRanks heard;
    std::string fault;
    std::map<int, std::vector<double>> lost;  ///< what the dead owed of their gradients, by stage
};

/// Trains on so many ranks, node n on rank n mod `ranks`, while they die in iteration `dies_in`; `returns`: who died is
/// there again at the very same meeting. `by_lanes`: messages and sums go over a NCCL in memory.
inline TrainedRanks train_mortals(const Experiment& experiment, const Plan& plan, int ranks,
                                  const std::map<int, Death>& deaths, bool returns, bool by_lanes = false) {
    const auto problem = make_problem(experiment);
    std::vector<int> rank_of;
    for (int node = 0; node < problem.nodes(); ++node) rank_of.push_back(node % ranks);
    const auto schedule =
        make_schedule(problem, plan, rank_of, ranks, by_lanes ? TransferOrder::lanes : TransferOrder::pairs);
    TrainedRanks trained;
    Exchange exchange(ranks);
    std::mutex mutex;
    std::vector<std::jthread> threads;
    std::atomic<unsigned> begun = 0;  ///< a bit for each rank that has begun the iteration
    const std::function<void(int, bool)> live = [&](int rank, bool again) {
        ThreadTransport control(exchange, by_lanes ? without_transfers(schedule) : schedule, rank, again);
        std::optional<NcclTransport> lane;
        if (by_lanes) lane.emplace(control, fake_table(), queue_of(rank), schedule);
        RankTransport& transport = by_lanes ? static_cast<RankTransport&>(*lane) : control;
        Life life;
        life.compute = std::make_unique<TorchCompute>(experiment, schedule, rank, make_batches(experiment), 1);
        const auto death = deaths.find(rank);
        bool died = false;
        const auto die = [&] {
            died = true;
            while (begun != (1U << ranks) - 1) std::this_thread::yield();
            control.die(returns);
            const std::lock_guard lock(mutex);
            if (returns) threads.emplace_back([&live, rank] { live(rank, true); });
        };
        life.mortal =
            std::make_unique<Mortal>(*life.compute, schedule.stages_of(rank),
                                     death == deaths.end() || again ? std::nullopt : std::optional(death->second), die,
                                     [&begun, rank] { begun |= 1U << rank; });
        const auto note_lost = [&] {
            const std::lock_guard lock(mutex);
            for (const auto& owed : life.compute->residuals().gradients) add_to(trained.lost[owed.stage], owed.values);
        };
        try {
            train(experiment, problem, schedule, *life.mortal, transport, rank == 0 ? &trained.heard : nullptr,
                  nullptr);
        } catch (const Died&) {
            note_lost();
            return;
        } catch (const std::exception& error) {
            if (died) return note_lost();
            const std::lock_guard lock(mutex);
            trained.fault += "rank " + std::to_string(rank) + ": " + error.what() + "; ";
            control.die();
            return;
        }
        const std::lock_guard lock(mutex);
        trained.lives[rank] = std::move(life);
    };
    {
        const std::lock_guard lock(mutex);
        for (int rank = 0; rank < ranks; ++rank) threads.emplace_back([&live, rank] { live(rank, false); });
    }
    for (std::size_t k = 0;; ++k) {
        std::jthread next;
        {
            const std::lock_guard lock(mutex);
            if (k == threads.size()) break;
            next = std::move(threads[k]);
        }
    }
    return trained;
}

}  // namespace skippipe::testing
