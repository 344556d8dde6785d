// SPDX-License-Identifier: GPL-3.0-or-later
// `skippipe-worker` that kills or stops itself once, at the place that its environment names, or whose libraries print
// (tests/app/strike.h). For tests, which let `skippipe` find it in the worker's place.
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include <fcntl.h>
#include <unistd.h>

#include "app/worker/torch_backend.h"
#include "app/worker/worker.h"
#include "core/record/checkpoints.h"
#include "tests/app/strike.h"
#include "tests/engine/forwarding_compute.h"

namespace {

using namespace skippipe;

class Struck final : public skippipe::testing::ForwardingCompute {
public:
    Struck(std::unique_ptr<ComputeBackend> inner, Strike strike, std::filesystem::path checkpoints,
           const RankSchedule& schedule)
        : ForwardingCompute(*inner),
          inner_(std::move(inner)),
          strike_(std::move(strike)),
          checkpoints_(std::move(checkpoints)),
          stages_(schedule.plan.stages) {}

    void begin_iteration(int iteration) override {
        iteration_ = iteration;
        passed_ = 0;
        ForwardingCompute::begin_iteration(iteration);
    }
    /// The operation has computed, and nobody knows.
    void submit(const ComputeTask& task, Buffer input, Completion completed) override {
        const auto in = task.operation.kind == OpKind::F   ? Strike::In::forward
                        : task.operation.kind == OpKind::L ? Strike::In::loss
                                                           : Strike::In::backward;
        if (here(in))
            completed = [this, completed](const TaskEnd& end) {
                strike();
                if (completed) completed(end);
            };
        ForwardingCompute::submit(task, std::move(input), std::move(completed));
    }
    /// The others have begun to sum, and wait for this rank's part.
    StageSum reduce(int stage, RankTransport& transport) override {
        if (here(Strike::In::all_reduce)) strike();
        return ForwardingCompute::reduce(stage, transport);
    }
    /// All have committed the iteration; this rank has not stepped.
    void step(int iteration, const std::vector<StageSum>& sums) override {
        if (here(Strike::In::step)) strike();
        ForwardingCompute::step(iteration, sums);
    }
    /// Its stages are copied for a checkpoint; as a file of them appears, it is being written.
    StageState state(int node) const override {
        if (strike_.in == Strike::In::checkpoint && iteration_ >= strike_.iteration && !watches_.exchange(true))
            std::thread([this, node, folder = checkpoints_ / checkpoint_name(iteration_ + 1)] {
                strike_as_written(node, folder);
            }).detach();
        return ForwardingCompute::state(node);
    }

private:
    bool here(Strike::In in) { return strike_.in == in && iteration_ == strike_.iteration && passed_++ == strike_.n; }

    /// Once in a run: whoever is started again finds the mark.
    void strike() const {
        const int mark = ::open(strike_.mark.c_str(), O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (mark < 0) return;
        ::close(mark);
        ::kill(::getpid(), strike_.signal);
    }

    void strike_as_written(int node, const std::filesystem::path& folder) const {
        std::string file;
        for (std::size_t stage = 0; stage < stages_.size(); ++stage)
            for (const int of : stages_[stage])
                if (of == node) file = "stage-" + std::to_string(stage) + ".";
        for (std::error_code error;; std::this_thread::yield())
            for (const auto& entry : std::filesystem::directory_iterator(folder, error))
                if (entry.path().filename().string().starts_with(file)) return strike();
    }

    std::unique_ptr<ComputeBackend> inner_;
    Strike strike_;
    std::filesystem::path checkpoints_;
    PerStage<std::vector<NodeIndex>> stages_;
    std::atomic<int> iteration_ = -1, passed_ = 0;
    mutable std::atomic<bool> watches_ = false;
};

/// Prints as libraries do: on standard output, whole lines, what might be a message, and half of one.
class Chatty final : public skippipe::testing::ForwardingCompute {
public:
    explicit Chatty(std::unique_ptr<ComputeBackend> inner) : ForwardingCompute(*inner), inner_(std::move(inner)) {}

    void begin_iteration(int iteration) override {
        std::printf("%s\n{\"type\": \"done\"}\n{\"type\": \"iter", chatter);
        std::fflush(stdout);
        ForwardingCompute::begin_iteration(iteration);
    }

private:
    std::unique_ptr<ComputeBackend> inner_;
};

/// LibTorch, whose operations this rank does not outlive.
class StruckBackend final : public RankBackend {
public:
    std::string versions_json() const override { return torch_.versions_json(); }
    double blas_gflops() const override { return torch_.blas_gflops(); }
    std::int64_t peak_memory_bytes() const override { return torch_.peak_memory_bytes(); }
    Made make(const protocol::Job& job, const Work& work, const RankSchedule& schedule, int rank, int workers,
              const TellProgress& tell) override {
        auto made = torch_.make(job, work, schedule, rank, workers, tell);
        if (auto strike = read_strike(); strike && strike->rank == rank)
            made.compute =
                std::make_unique<Struck>(std::move(made.compute), std::move(*strike), job.checkpoints, schedule);
        if (std::getenv(chatter_variable) != nullptr) made.compute = std::make_unique<Chatty>(std::move(made.compute));
        return made;
    }
    void measure_nodes(const Work& work, const RankSchedule& schedule, int workers,
                       const std::function<void()>& together, int rank, RankProbe& probe) override {
        torch_.measure_nodes(work, schedule, workers, together, rank, probe);
    }
    void save_weights(const std::filesystem::path& file, const Work& work,
                      const std::function<std::vector<float>(int stage)>& weights_of_stage) override {
        torch_.save_weights(file, work, weights_of_stage);
    }

private:
    TorchBackend torch_;
};

}  // namespace

int main(int, char** arguments) {
    static StruckBackend backend;
    skippipe::be_worker(arguments, backend);
}
