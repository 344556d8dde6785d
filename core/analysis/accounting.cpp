// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/analysis/accounting.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include <nlohmann/json.hpp>

#include "core/analysis/price.h"
#include "core/experiment/counts.h"
#include "core/experiment/model_size.h"
#include "core/planner/plan/validator.h"
#include "core/planner/timeline/evaluator.h"

namespace skippipe {

NodeIndex receiver_of(const Plan& plan, const Span& span) {
    if (is_on_line(span.kind)) return span.to_node;
    if (span.kind != SpanKind::all_reduce || at(span.stage) >= plan.stages.size()) return -1;
    const auto& ring = plan.stages[span.stage];
    const auto found = std::find(ring.begin(), ring.end(), span.node);
    if (found == ring.end()) return -1;
    return std::next(found) == ring.end() ? ring.front() : *std::next(found);
}

namespace {

std::map<int, LineBytes> bytes_of_lines(const Problem& problem, const Plan& plan, const Timeline& timeline) {
    std::map<int, LineBytes> lines;
    for (const auto& span : timeline.spans) {
        if (span.bytes == 0 || !(is_on_line(span.kind) || span.kind == SpanKind::all_reduce)) continue;
        const NodeIndex to = receiver_of(plan, span);
        if (to < 0 || !problem.reachable(span.node, to)) continue;
        auto& line = lines[problem.hop(span.node, to).line];
        if (span.kind == SpanKind::transfer_forward) line.forward_bytes += span.bytes;
        if (span.kind == SpanKind::transfer_backward) line.backward_bytes += span.bytes;
        if (span.kind == SpanKind::all_reduce || span.kind == SpanKind::transfer_reduction)
            line.all_reduce_bytes += span.bytes;
    }
    for (auto& [number, line] : lines) line.name = problem.line_names[static_cast<std::size_t>(number)];
    return lines;
}

struct Source {
    const char *name, *unit;
    Better better;
    double (*get)(const Accounting&);
};

constexpr std::array sources{
    Source{"microbatches", "", Better::neither,
           [](const Accounting& a) { return static_cast<double>(a.microbatches); }},
    Source{"tokens", "", Better::neither, [](const Accounting& a) { return static_cast<double>(a.tokens); }},
    Source{"block_executions", "", Better::neither,
           [](const Accounting& a) { return static_cast<double>(a.block_executions); }},
    Source{"block_flops", "FLOP", Better::neither, [](const Accounting& a) { return a.block_flops(); }},
    Source{"head_flops", "FLOP", Better::neither, [](const Accounting& a) { return a.head_flops; }},
    Source{"transfer_bytes", "B", Better::smaller, [](const Accounting& a) { return a.transfer_bytes; }},
    Source{"all_reduce_bytes", "B", Better::smaller, [](const Accounting& a) { return a.all_reduce_bytes; }},
    Source{"bytes", "B", Better::smaller, [](const Accounting& a) { return a.bytes(); }},
    Source{"busiest_line_bytes", "B", Better::smaller,
           [](const Accounting& a) { return a.busiest_line() ? a.busiest_line()->bytes() : 0; }},
    Source{"network_s", "s", Better::smaller, [](const Accounting& a) { return a.network_s; }},
    Source{"machine_s", "s", Better::smaller, [](const Accounting& a) { return a.machine_s; }},
    Source{"used_nodes", "", Better::neither, [](const Accounting& a) { return static_cast<double>(a.used_nodes); }},
    Source{"working_nodes", "", Better::neither,
           [](const Accounting& a) { return static_cast<double>(a.working_nodes); }},
    Source{"busy_node_s", "s", Better::neither, [](const Accounting& a) { return a.busy_node_s; }},
    Source{"idle_node_s", "s", Better::smaller, [](const Accounting& a) { return a.idle_node_s; }},
};

}  // namespace

double block_flops_per_token(const ModelSpec& model) {
    const double d = model.width;
    const double kv = d / model.heads * kv_heads(model);
    return 4 * d * d + 4 * d * kv + 6 * d * ffn_width(model) + 4 * d * model.sequence;
}

double head_flops_per_token(const ModelSpec& model) { return 2.0 * model.width * model.vocabulary; }

const LineBytes* Accounting::busiest_line() const {
    const auto most = std::max_element(lines.begin(), lines.end(),
                                       [](const LineBytes& a, const LineBytes& b) { return a.bytes() < b.bytes(); });
    return most == lines.end() ? nullptr : &*most;
}

Accounting account_iteration(const ModelSpec& model, const Problem& problem, const Plan& plan,
                             const Timeline& timeline) {
    Accounting one{.iterations = 1,
                   .microbatches = static_cast<std::int64_t>(plan.paths.size()),
                   .nodes = problem.nodes(),
                   .used_nodes = timeline.used_nodes};
    double samples = 0, block_samples = 0;  // and samples through each block of their way
    const auto stage_of = stage_of_nodes(plan, problem.nodes());
    std::set<int> working;
    for (const auto& path : plan.paths) {
        int blocks = 0;
        for (const int node : path.nodes) {
            blocks += plan.blocks[static_cast<std::size_t>(stage_of[static_cast<std::size_t>(node)])];
            working.insert(node);
        }
        const double own = problem.samples_of(path.microbatch);
        one.block_executions += blocks;
        samples += own;
        block_samples += own * blocks;
    }
    one.samples = std::llround(samples);
    one.tokens = one.samples * model.sequence;
    one.working_nodes = static_cast<int>(working.size());
    one.forward_block_flops = block_samples * model.sequence * block_flops_per_token(model);
    one.backward_block_flops = backward_flops_factor * one.forward_block_flops;
    one.head_flops = (1 + backward_flops_factor) * static_cast<double>(one.tokens) * head_flops_per_token(model);
    for (auto& [number, line] : bytes_of_lines(problem, plan, timeline)) {
        one.transfer_bytes += line.forward_bytes + line.backward_bytes;
        one.all_reduce_bytes += line.all_reduce_bytes;
        one.lines.push_back(std::move(line));
    }
    one.network_s = timeline.iteration_s;
    one.busy_node_s = timeline.busy_s;
    one.idle_node_s = timeline.used_nodes * timeline.iteration_s - timeline.busy_s;
    return one;
}

std::optional<Accounting> account_plan(const ModelSpec& model, const Problem& problem, const Plan& plan) {
    if (!check_structure(problem, plan).empty()) return std::nullopt;
    const auto timeline = evaluate(problem, plan);
    if (!timeline.complete) return std::nullopt;
    return account_iteration(model, problem, plan, timeline);
}

std::optional<Accounting> account_plan(const Experiment& experiment, const Problem& problem, const Plan& plan) {
    if (!check_structure(problem, plan).empty()) return std::nullopt;
    const auto timeline = evaluate(problem, plan);
    if (!timeline.complete) return std::nullopt;
    auto one = account_iteration(experiment.model, problem, plan, timeline);
    if (has_prices(experiment)) one.money = price_of(experiment, problem, plan, timeline).total();
    return one;
}

Accounting account_run(const Accounting& iteration, const RunInfo& run) {
    Accounting all = iteration;
    const auto n = static_cast<std::int64_t>(std::max(0, run.iterations_done - run.first_iteration));
    const auto times = static_cast<double>(n);
    for (auto* count : {&all.iterations, &all.microbatches, &all.samples, &all.tokens, &all.block_executions})
        *count *= n;
    for (auto* amount : {&all.forward_block_flops, &all.backward_block_flops, &all.head_flops, &all.transfer_bytes,
                         &all.all_reduce_bytes, &all.busy_node_s})
        *amount *= times;
    for (auto& line : all.lines)
        for (auto* amount : {&line.forward_bytes, &line.backward_bytes, &line.all_reduce_bytes}) *amount *= times;
    all.network_s = times * run.iteration_s.value_or(iteration.network_s);
    all.idle_node_s = all.used_nodes * all.network_s - all.busy_node_s;
    all.machine_s = run.machine_s - (iteration.before ? iteration.before->machine_s : 0);
    if (all.money) *all.money *= times;
    return all;
}

std::vector<Figure> accounting_figures(const std::vector<std::optional<Accounting>>& runs, std::size_t baseline) {
    std::vector<Figure> figures;
    if (std::none_of(runs.begin(), runs.end(), [](const auto& run) { return run.has_value(); })) return figures;
    for (const auto& source : sources) {
        Figure figure{source.name, source.unit, source.better, {}, {}, {}};
        for (const auto& run : runs) figure.values.push_back(run ? std::optional{source.get(*run)} : std::nullopt);
        add_deltas(figure, baseline < runs.size() ? baseline : 0);
        figures.push_back(std::move(figure));
    }
    return figures;
}

nlohmann::ordered_json bytes_by_line(const Accounting& accounting) {
    auto json = nlohmann::ordered_json::object();
    for (const auto& line : accounting.lines) json[line.name] = json.value(line.name, 0.0) + line.bytes();
    return json;
}

nlohmann::ordered_json to_json(const Accounting& a) {
    nlohmann::ordered_json json{{"iterations", a.iterations},
                                {"microbatches", a.microbatches},
                                {"samples", a.samples},
                                {"tokens", a.tokens},
                                {"block_executions", a.block_executions},
                                {"forward_block_flops", a.forward_block_flops},
                                {"backward_block_flops", a.backward_block_flops},
                                {"block_flops", a.block_flops()},
                                {"head_flops", a.head_flops},
                                {"transfer_bytes", a.transfer_bytes},
                                {"all_reduce_bytes", a.all_reduce_bytes},
                                {"bytes", a.bytes()},
                                {"nodes", a.nodes},
                                {"used_nodes", a.used_nodes},
                                {"working_nodes", a.working_nodes},
                                {"busy_node_seconds", a.busy_node_s},
                                {"idle_node_seconds", a.idle_node_s},
                                {"network_seconds", a.network_s},
                                {"machine_seconds", a.machine_s},
                                {"busiest_line", a.busiest_line() ? nlohmann::ordered_json(a.busiest_line()->name)
                                                                  : nlohmann::ordered_json(nullptr)},
                                {"bytes_by_line", bytes_by_line(a)}};
    if (a.money) json["money"] = *a.money;
    return json;
}

}  // namespace skippipe
