// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/benchmarks/bench_planner/figures.h"

#include <algorithm>
#include <chrono>
#include <ctime>

#include <fmt/format.h>

namespace skippipe::bench {

double wall_s() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

double cpu_s() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

void print(const Figure& figure) {
    const bool compared = figure.baseline_value != 0;
    fmt::print(
        R"({{"name": "{}", "value": {:.6g}, "unit": "{}", "baseline": {}, "baseline_value": {}, "ratio": {}, "threads": {}, "ceiling": "{}", "repeat": {}}})"
        "\n",
        figure.name, figure.value, figure.unit, compared ? "\"" + figure.baseline + "\"" : "null",
        compared ? fmt::format("{:.6g}", figure.baseline_value) : "null",
        compared ? fmt::format("{:.4g}", figure.value / figure.baseline_value) : "null", figure.threads, figure.ceiling,
        figure.repeat);
    std::fflush(stdout);
}

Problem grown(const authors::Authors& authors, int nodes) {
    Problem problem = authors.problem;
    const int n = authors.problem.nodes();
    problem.node_ids.clear();
    problem.line_names.clear();
    problem.stage_sizes.clear();
    for (int a = 0; a < nodes; ++a) problem.node_ids.push_back("n" + std::to_string(a));
    problem.seconds_per_sample_per_block.assign(static_cast<std::size_t>(nodes), 0.055);
    problem.memory.assign(static_cast<std::size_t>(nodes), 3);
    const int groups = std::min(n, nodes);
    std::vector<int> group_of;
    for (int a = 0; a < nodes; ++a) group_of.push_back(a % n);
    std::vector<Hop> ways;
    const auto line = [&](int a, int b) {
        problem.line_names.push_back(problem.node_ids[static_cast<std::size_t>(a)] + "->" +
                                     problem.node_ids[static_cast<std::size_t>(b)]);
    };
    for (int a = 0; a < groups; ++a)
        for (int b = 0; b < groups; ++b) {
            Hop& hop = ways.emplace_back(authors.problem.hop(NodeIndex(a), NodeIndex(b)));
            hop.line = static_cast<int>(problem.line_names.size());
            if (a != b) {
                line(a, b);
                continue;
            }
            hop.latency_s = 0.36;
            for (int from = a; from < nodes; from += n)
                for (int to = a; to < nodes; to += n)
                    if (from != to) line(from, to);
        }
    problem.hops = Hops(std::move(group_of), std::move(ways));
    problem.microbatches = nodes * 3 / 2;
    problem.microbatches -= problem.microbatches % std::max(1, nodes / 4);
    return problem;
}

Plan dealt(const Problem& problem) {
    Plan plan{.planner = "dealt", .stages = PerStage<std::vector<NodeIndex>>(6), .blocks = problem.blocks};
    const int data_nodes = problem.nodes() / 4;
    for (NodeIndex n = 0; n < problem.nodes(); ++n)
        plan.stages[static_cast<std::size_t>(n < data_nodes ? 0 : 1 + (n - data_nodes) % 5)].push_back(n);
    const auto node = [&](int stage, int turn) {
        return plan.stages[static_cast<std::size_t>(stage)]
                          [static_cast<std::size_t>(turn) % plan.stages[static_cast<std::size_t>(stage)].size()];
    };
    int turn = 0;
    for (MicrobatchIndex m = 0; m < problem.microbatches; ++m) {
        Path path{m, {node(0, m)}};
        for (int hop = 0; hop < 3; ++hop, ++turn) path.nodes.push_back(node(1 + turn % 5, turn / 5));
        std::sort(path.nodes.begin() + 1, path.nodes.end(),
                  [&](int a, int b) { return (a - data_nodes) % 5 < (b - data_nodes) % 5; });
        plan.paths.push_back(path);
    }
    return plan;
}

}  // namespace skippipe::bench
