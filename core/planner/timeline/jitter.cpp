// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/planner/timeline/jitter.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/base/index.h"
#include "core/base/parallel.h"
#include "core/base/statistics.h"
#include "core/planner/timeline/simulator.h"

namespace skippipe {

namespace {

/// Keeps these streams apart from those that planners draw from with the same seed.
constexpr std::uint64_t jitter_streams = 0x6A69'7474'6572'0000;

/// Draws network after network into the same problem, so that a sample copies no names and allocates nothing.
class Sampler {
public:
    Sampler(const Problem& problem, const Jitter& jitter) : nominal_(problem), jitter_(jitter), drawn_(problem) {}

    const Problem& draw(Rng& rng) {
        draw_factors(nominal_, jitter_, rng, factors_);
        for (NodeIndex n = 0; n < nominal_.nodes(); ++n)
            drawn_.seconds_per_sample_per_block[n] = nominal_.seconds_per_sample_per_block[n] * factors_.node[n];
        for (std::size_t h = 0; h < nominal_.hops.size(); ++h) {
            const Hop& hop = nominal_.hops[h];
            if (hop.line == no_line) continue;
            const double factor = factors_.line[at(hop.line)];
            drawn_.hops[h] = {hop.latency_s * factor, hop.bandwidth_bytes_per_s / factor,
                              hop.seconds_per_forward * factor, hop.seconds_per_backward * factor, hop.line};
        }
        if (nominal_.has_uplinks()) draw_connections();
        return drawn_;
    }
    Problem take() { return std::move(drawn_); }

private:
    /// Uplinks and downlinks are the last of the lines.
    void draw_connections() {
        const std::size_t nodes = nominal_.node_ids.size(), first = factors_.line.size() - 2 * nodes;
        for (NodeIndex n = 0; n < nominal_.nodes(); ++n) {
            drawn_.up_bytes_per_s[n] = nominal_.up_bytes_per_s[n] / factors_.line[first + at(n)];
            drawn_.down_bytes_per_s[n] = nominal_.down_bytes_per_s[n] / factors_.line[first + nodes + at(n)];
        }
    }

    const Problem& nominal_;
    Jitter jitter_;
    Problem drawn_;
    Factors factors_;
};

}  // namespace

// Two at a time by Box and Muller. The standard library's own would differ between implementations.
void draw_lognormal(double share, Rng& rng, std::vector<double>& factors) {
    const double variance = std::log1p(share * share), sigma = std::sqrt(variance);
    for (std::size_t i = 0; i < factors.size(); i += 2) {
        const double radius = sigma * std::sqrt(-2 * std::log(1 - rng.uniform())),
                     angle = 2 * std::numbers::pi * rng.uniform();
        factors[i] = std::exp(radius * std::cos(angle) - variance / 2);
        if (i + 1 < factors.size()) factors[i + 1] = std::exp(radius * std::sin(angle) - variance / 2);
    }
}

void draw_factors(const Problem& problem, const Jitter& jitter, Rng& rng, Factors& factors) {
    factors.node.resize(problem.node_ids.size());
    factors.line.resize(problem.line_names.size());
    draw_lognormal(jitter.compute, rng, factors.node);
    draw_lognormal(jitter.links, rng, factors.line);
}

Problem sample_problem(const Problem& problem, const Jitter& jitter, Rng& rng) {
    Sampler sampler(problem, jitter);
    sampler.draw(rng);
    return sampler.take();
}

std::vector<double> sampled_iteration_s(const Problem& problem, const Plan& plan, const Jitter& jitter, int samples,
                                        std::uint64_t seed, int threads, const std::function<bool()>& is_stopped) {
    const PlannedProblem planned(problem, plan.blocks);
    const FlatPlan flat = flatten(problem, plan);
    std::vector<double> seconds(at(samples));
    const auto sampler = [&] { return Sampler(planned.get(), jitter); };
    parallel_for(samples, threads, sampler, [&](Sampler& own, int i) {
        if (is_stopped && is_stopped()) return;
        Rng rng(seed, jitter_streams + at(i));
        const Problem& drawn = own.draw(rng);
        seconds[at(i)] = Simulator(drawn).times(flat, plan.stages).iteration_s;
    });
    return seconds;
}

Distribution distribution(const Problem& problem, const Plan& plan, const Jitter& jitter, int samples,
                          std::uint64_t seed, int threads, const std::function<bool()>& is_stopped) {
    const auto seconds = sampled_iteration_s(problem, plan, jitter, samples, seed, threads, is_stopped);
    Distribution result{.jitter = jitter, .samples = samples, .seed = seed};
    result.nominal_s =
        Simulator(PlannedProblem(problem, plan.blocks).get()).times(flatten(problem, plan), plan.stages).iteration_s;
    result.deadlocks =
        static_cast<int>(std::count_if(seconds.begin(), seconds.end(), [](double s) { return std::isinf(s); }));
    const auto [least, most] = std::minmax_element(seconds.begin(), seconds.end());
    result.least_s = *least;
    result.most_s = *most;
    result.p5_s = quantile(seconds, 0.05);
    result.p50_s = quantile(seconds, 0.5);
    result.p95_s = quantile(seconds, 0.95);
    // Of the differences, so that samples that do not differ have that mean, and deviation 0, to the last bit.
    auto differences = seconds;
    const double base_s = std::isfinite(result.nominal_s) ? result.nominal_s : result.p50_s;
    for (double& s : differences) s -= base_s;
    const bool finite = result.deadlocks == 0;
    result.mean_s = finite ? base_s + mean(differences) : *most;
    result.standard_deviation_s = !finite ? *most : samples > 1 ? standard_deviation(differences) : 0;
    return result;
}

}  // namespace skippipe
