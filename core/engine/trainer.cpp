// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/engine/trainer.h"

#include <chrono>
#include <cmath>
#include <stdexcept>

#include "core/engine/virtual_clock.h"

namespace skippipe {

namespace {
/// Machine time while it runs; validation is not part of training.
class Stopwatch {
public:
    void resume() { since_ = std::chrono::steady_clock::now(); }
    void pause() { total_s_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - since_).count(); }
    double total_s() const { return total_s_; }

private:
    std::chrono::steady_clock::time_point since_{};
    double total_s_ = 0;
};
}  // namespace

void train(const Experiment& experiment, const Problem& problem, const Plan& plan, ComputeBackend& compute,
           TrainingListener& listener) {
    const bool computes = experiment.execution.compute == Compute::torch;
    VirtualDriver driver(problem, plan, compute);
    Stopwatch watch;
    double network_s = 0;
    std::int64_t tokens = 0;
    int done = 0, validated_at = -1;
    const auto validate = [&] {
        if (!computes || validated_at == done) return;
        validated_at = done;
        listener.validated(done, network_s, watch.total_s(), tokens, compute.validate());
    };
    validate();
    while (done < experiment.training.iterations && !listener.stop()) {
        watch.resume();
        compute.begin_iteration(done);
        const auto timeline = driver.run_iteration();
        if (!timeline.complete)
            throw std::runtime_error("the plan comes to a deadlock: " +
                                     (timeline.blocked.empty() ? std::string{} : timeline.blocked.front()));
        auto result = compute.finish_iteration();
        watch.pause();
        if (!std::isfinite(result.loss_sum_nats) || !std::isfinite(result.gradient_norm))
            throw std::runtime_error(
                "the loss is no longer a finite number in iteration " + std::to_string(done + 1) +
                ": training diverged; lower training.learning_rate or raise training.warmup_iterations");
        tokens += result.tokens;
        listener.iterated({done, network_s, &timeline, std::move(result), watch.total_s(), tokens});
        network_s += timeline.iteration_s;
        ++done;
        const int every = experiment.training.validate_every;
        if (every > 0 && done % every == 0) validate();
    }
    validate();
}

}  // namespace skippipe
