// SPDX-License-Identifier: GPL-3.0-or-later
// The six hand-computed timelines (docs/semantics.md, The end of an iteration) and problems like them, for evaluator,
// engine and validator.
#pragma once
#include <string>
#include <vector>

#include "core/planner/plan/plan.h"
#include "core/planner/plan/problem.h"

namespace skippipe::examples {

/// Nodes with F = 1, B = 2, L = 0.5 s; lines of latency 1 s, messages of 0 bytes, unlimited; M = 3; all-reduce free,
/// step 0.
inline Problem toy(std::vector<std::string> ids, int stages, int length, int microbatches) {
    Problem problem;
    problem.node_ids = PerNode<std::string>(std::move(ids));
    const int n = problem.nodes();
    problem.stages = stages;
    problem.path_length = length;
    problem.microbatches = microbatches;
    problem.seconds_per_sample_per_block.assign(static_cast<std::size_t>(n), 1.0);
    problem.blocks.assign(static_cast<std::size_t>(stages), 1);
    problem.memory.assign(static_cast<std::size_t>(n), 3);
    problem.backward_factor = 2;
    problem.loss_factor = 0.5;
    problem.gradient_bytes.assign(static_cast<std::size_t>(stages), 0);
    problem.shared_links = false;
    problem.charge_all_reduce = false;
    std::vector<Hop> pairs;
    for (int a = 0; a < n; ++a)
        for (int b = 0; b < n; ++b) {
            pairs.push_back({1.0, 1.0, 0, 0, a * n + b});
            problem.line_names.push_back(problem.node_ids[static_cast<std::size_t>(a)] + "->" +
                                         problem.node_ids[static_cast<std::size_t>(b)]);
        }
    problem.hops = std::move(pairs);
    return problem;
}

struct Example {
    std::string name;
    Problem problem;
    Plan plan;
    double makespan_s = 0, iteration_s = 0;
    bool complete = true;
};

inline std::vector<Operation> order(const std::string& text) {
    std::vector<Operation> operations;
    for (std::size_t i = 0; i + 1 < text.size(); i += 3)
        operations.push_back({text[i] == 'F'   ? OpKind::F
                              : text[i] == 'L' ? OpKind::L
                                               : OpKind::B,
                              MicrobatchIndex(text[i + 1] - '0')});
    return operations;
}

inline Example collision() {
    return {"collision", toy({"D", "A"}, 2, 2, 2),
            Plan{.stages = {{0}, {1}}, .blocks = {1, 1}, .paths = {{0, {0, 1}}, {1, {0, 1}}}}, 12.5, 12.5};
}

inline Example memory() {
    auto example = collision();
    example.name = "memory";
    example.problem.memory = {3, 1};
    example.makespan_s = example.iteration_s = 17;
    return example;
}

inline Example deadlock(int m) {
    Example example{m == 1 ? "deadlock" : "no deadlock",
                    toy({"D", "E", "A", "B"}, 3, 3, 2),
                    Plan{.stages = {{0, 1}, {2}, {3}}, .blocks = {1, 1, 1}, .paths = {{0, {0, 2, 3}}, {1, {1, 3, 2}}}},
                    15.5,
                    15.5,
                    m != 1};
    example.problem.memory.assign(4, m);
    return example;
}

inline Example shared_line(bool shared) {
    Example example{shared ? "shared line" : "unlimited line", toy({"D", "E", "A"}, 2, 2, 2),
                    Plan{.stages = {{0, 1}, {2}}, .blocks = {1, 1}, .paths = {{0, {0, 2}}, {1, {1, 2}}}},
                    shared ? 23.5 : 22.5, shared ? 23.5 : 22.5};
    example.problem.shared_links = shared;
    for (int a = 0; a < 3; ++a)
        for (int b = 0; b < 3; ++b) {
            auto& hop = example.problem.hops[static_cast<std::size_t>(a * 3 + b)];
            hop = {0.5, 1.0, 3.0, 3.0, b == 2 ? 0 : a == 2 ? 1 : 2 + a};
        }
    return example;
}

inline Example all_reduce() {
    Example example{
        "all-reduce", toy({"D", "A", "B", "C"}, 2, 2, 3),
        Plan{.stages = {{0}, {1, 2, 3}}, .blocks = {1, 1}, .paths = {{0, {0, 1}}, {1, {0, 2}}, {2, {0, 3}}}}, 14.5,
        21.75};
    auto& problem = example.problem;
    problem.charge_all_reduce = true;
    problem.step_seconds = 0.25;
    problem.gradient_bytes = {0, 12};
    for (auto& hop : problem.hops) hop.bandwidth_bytes_per_s = 4;
    problem.hops[2 * 4 + 3].bandwidth_bytes_per_s = 2;
    return example;
}

inline Example ordered(const char* d, const char* a, double seconds) {
    auto example = collision();
    example.name = std::string("order ") + a;
    example.plan.order = {order(d), order(a)};
    example.makespan_s = example.iteration_s = seconds;
    return example;
}

/// As the collision, but microbatch 1 has two samples. D: F0 0-1, F1 1-3, L0 4-4.5, L1 7-8, B0 9-11, B1 14-18; A: F0
/// 2-3, F1 4-6, B0 6-8, B1 9-13.
inline Example two_sizes() {
    auto example = collision();
    example.name = "two sizes";
    example.problem.sizes = {1, 2};
    example.makespan_s = example.iteration_s = 18;
    return example;
}

/// As the collision, but the plan has given D two of three blocks. D: F0 0-2, F1 2-4, L0 5-6, L1 7-8, B0 10-14, B1
/// 14-18; A: F0 3-4, F1 5-6, B0 7-9, B1 9-11.
inline Example moved_block() {
    auto example = collision();
    example.name = "moved block";
    example.problem.plan_blocks = true;
    example.problem.blocks = {1, 2};
    example.plan.blocks = {2, 1};
    example.makespan_s = example.iteration_s = 18;
    return example;
}

/// All six, the variants that the page gives times for included, and uneven ones.
inline std::vector<Example> all() {
    return {collision(),
            memory(),
            deadlock(1),
            deadlock(2),
            shared_line(true),
            shared_line(false),
            all_reduce(),
            ordered("F1 F0 L1 L0 B1 B0 ", "F1 F0 B1 B0 ", 12.5),
            ordered("F1 F0 L1 L0 B1 B0 ", "F0 F1 B1 B0 ", 14.5),
            two_sizes(),
            moved_block()};
}

}  // namespace skippipe::examples
