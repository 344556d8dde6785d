// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/planner/memory.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>

#include <fmt/format.h>

#include "core/base/format.h"
#include "core/experiment/validate.h"

namespace skippipe {

namespace {

constexpr double state_bytes_per_parameter = 16;

std::string bytes_text(double bytes) { return format_si(bytes, "B"); }

/// The first number of a file, after `key` where one is given; infinite where there is none.
double number_in(const char* path, const std::string& key = {}) {
    std::ifstream file(path);
    double number = 0;
    if (key.empty()) return file >> number ? number : std::numeric_limits<double>::infinity();
    for (std::string line; std::getline(file, line);)
        if (line.starts_with(key)) return std::stod(line.substr(key.size()));
    return std::numeric_limits<double>::infinity();
}

}  // namespace

std::vector<NodeMemory> memory_needed(const Experiment& experiment, const Problem& problem, const Plan& plan) {
    const auto& model = experiment.model;
    std::vector<int> visits(problem.node_ids.size());
    for (const auto& path : plan.paths)
        for (const int node : path.nodes) ++visits[static_cast<std::size_t>(node)];
    const double logits = 4.0 * experiment.pipeline.microbatch_samples * model.sequence * model.vocabulary;
    std::vector<NodeMemory> needs;
    for (std::size_t stage = 0; stage < plan.stages.size(); ++stage)
        for (const int node : plan.stages[stage]) {
            const auto at = static_cast<std::size_t>(node);
            const int blocks = plan.blocks[stage], held = std::min(problem.memory[at], visits[at]);
            needs.push_back({node, state_bytes_per_parameter * stage_parameters(model, blocks, stage == 0),
                             held * activation_bytes(experiment, blocks), stage == 0 ? 3 * logits : 0});
        }
    return needs;
}

Faults check_memory_fits(const Experiment& experiment, const Problem& problem, const Plan& plan, double available) {
    NodeMemory sum, largest;
    int count = 0;
    for (const auto& need : memory_needed(experiment, problem, plan)) {
        if (experiment.topology.nodes[static_cast<std::size_t>(need.node)].device != "cpu") continue;
        ++count;
        sum.state += need.state;
        sum.activations += need.activations + need.loss;
        if (need.total() > largest.total()) largest = need;
    }
    if (sum.total() <= available) return {};
    const double once = state_bytes_per_parameter * model_parameters(experiment.model);
    return {{"/model",
             fmt::format("{} parameters do not fit: {} nodes need {} (weights, gradients and AdamW state {}, activations about {}; the largest, {}, {}), and {} are available: {} are missing",
                         format_si(model_parameters(experiment.model), ""), count, bytes_text(sum.total()), bytes_text(sum.state), bytes_text(sum.activations),
                         problem.node_ids[static_cast<std::size_t>(largest.node)], bytes_text(largest.total()), bytes_text(available), bytes_text(sum.total() - available)),
             "every node drawn has its own copy of its stage, and all of them share this machine's memory",
             fmt::format("Choose a smaller model (`skippipe models`), fewer nodes (one a stage: {} of state), smaller microbatches or memory_microbatches, or use --ignore-memory", bytes_text(once))}};
}

double available_memory() {
    const double kibibytes = number_in("/proc/meminfo", "MemAvailable:");
    const double group = number_in("/sys/fs/cgroup/memory.max") - number_in("/sys/fs/cgroup/memory.current");  // NaN where neither is there
    const double machine = 1024 * kibibytes;
    return group >= 0 ? std::min(machine, group) : machine;
}

}  // namespace skippipe
