// SPDX-License-Identifier: GPL-3.0-or-later
// How a plan fares when nodes and links are not quite as drawn: the iteration time over many randomly varied networks.
#pragma once
#include <cstdint>
#include <functional>
#include <vector>

#include "core/base/rng.h"
#include "core/planner/plan/plan.h"

namespace skippipe {

/// How far a network varies from iteration to iteration. In each drawn network every node has one factor, by which all
/// its operations take longer or shorter, and every line one, by which latency and seconds per byte do (the all-reduce
/// over it too): what is slow stays slow for the whole iteration. Factors are independent and lognormal with mean 1, so
/// that the drawn network is the mean one, times stay positive and a slow-down has the longer tail. Overhead,
/// `step_seconds`, memory and a binding order stay.
struct Jitter {
    double compute =
        0;  ///< standard deviation of a node's factor, as a share of 1 (0.2: two thirds of the nodes within about 20 %)
    double links = 0;  ///< the same of a line's factor
    bool operator==(const Jitter&) const = default;
};

/// Fills `factors` with lognormal numbers of mean 1 and standard deviation `share`.
void draw_lognormal(double share, Rng& rng, std::vector<double>& factors);

/// How many times longer everything takes on each node and each line in one drawn network.
struct Factors {
    PerNode<double> node;
    std::vector<double> line;
};

/// Draws a number for every node, then for every line, whatever the shares are.
void draw_factors(const Problem& problem, const Jitter& jitter, Rng& rng, Factors& factors);

/// A network drawn at random around the given one.
Problem sample_problem(const Problem& problem, const Jitter& jitter, Rng& rng);

/// The iteration time of a plan over drawn networks, seconds. A drawn network in which the plan deadlocks on memory (it
/// can where dispatch decides; a binding order that runs once runs under any jitter) counts as infinitely long.
struct Distribution {
    Jitter jitter;
    int samples = 0;
    std::uint64_t seed = 0;
    int deadlocks = 0;                            ///< drawn networks in which the plan is incomplete
    double nominal_s = 0;                         ///< without jitter
    double mean_s = 0, standard_deviation_s = 0;  ///< the deviation of the sample (n - 1); 0 for a single one
    double least_s = 0, p5_s = 0, p50_s = 0, p95_s = 0, most_s = 0;  ///< percentiles: linear between neighbours
};

/// Iteration time of each sample, seconds; infinite where the plan deadlocks. Sample i of a seed is the same network
/// for every plan of the problem (common random numbers: plans are compared on equal terms). Threads never change the
/// result. `plan` must have passed check_structure. `is_stopped`, where given, is asked before each sample, from any of
/// the threads: what was not sampled stays 0 then.
std::vector<double> sampled_iteration_s(const Problem& problem, const Plan& plan, const Jitter& jitter, int samples,
                                        std::uint64_t seed, int threads, const std::function<bool()>& is_stopped = {});

/// The same, summed up; samples > 0. Where it was stopped it means nothing.
Distribution distribution(const Problem& problem, const Plan& plan, const Jitter& jitter, int samples,
                          std::uint64_t seed, int threads, const std::function<bool()>& is_stopped = {});

}  // namespace skippipe
