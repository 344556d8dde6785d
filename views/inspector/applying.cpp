// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/inspector/applying.h"

#include <algorithm>
#include <iterator>

#include <QObject>

#include "core/experiment/counts.h"
#include "core/experiment/io.h"
#include "core/experiment/model_size.h"
#include "views/inspector/field_text.h"
#include "views/inspector/inspector.h"
#include "views/theme/numbers.h"

namespace skippipe {

namespace {

using Keys = std::set<std::string>;

Keys of_pipeline(const Experiment& e) {
    const Pipeline& p = e.pipeline;
    Keys hidden;
    // Bytes of messages are those of so many samples.
    if (!p.microbatch_sizes.empty() && !e.costs.forward_bytes && !e.costs.backward_bytes)
        hidden.insert("microbatch_samples");
    if (!p.placement.empty()) hidden.insert("stage_sizes");
    const auto has_own = [](const Node& n) { return n.memory_microbatches || n.memory_bytes; };
    const auto& nodes = e.topology.nodes;
    if (p.constraints.memory == MemoryRule::ignore ||
        (!nodes.empty() && std::all_of(nodes.begin(), nodes.end(), has_own)))
        hidden.insert("memory_microbatches");
    return hidden;
}

Keys of_training(const Experiment& e) {
    Keys hidden;
    if (e.training.clip == ClipRule::none) hidden.insert("clip_norm");
    if (e.training.checkpoint_every == 0) hidden.insert("keep_checkpoints");
    if (e.execution.compute == Compute::cost)
        hidden.insert({"learning_rate", "warmup_iterations", "beta1", "beta2", "epsilon", "weight_decay", "clip",
                       "clip_norm", "validate_every", "initial_weights"});
    return hidden;
}

Keys of_data(const Experiment& e) {
    const auto source = e.data.source;
    Keys hidden;
    if (source == DataSource::bible_kjv || source == DataSource::jargon) hidden.insert({"path", "files"});
    if (source != DataSource::jsonl) hidden.insert("text_field");
    if (source != DataSource::jsonl && source != DataSource::text) hidden.insert("tokenizer");
    return hidden;
}

Keys of_costs(const Experiment& e) {
    Keys hidden;
    if (!e.topology.hop_matrix_s.empty())  // it gives each hop whole, unlimited, and sums gradients for free
        hidden.insert({"overhead_s", "links", "all_reduce", "gradient_bytes"});
    if (e.costs.all_reduce == AllReduceRule::free || e.pipeline.plan_blocks) hidden.insert("gradient_bytes");
    if (e.execution.clock != Clock::wall) hidden.insert({"transfer_cpu_s", "transfer_cpu_s_per_byte"});
    if (e.execution.clock != Clock::wall || e.costs.all_reduce != AllReduceRule::planned)
        hidden.insert("reduction_cpu_s_per_byte");
    return hidden;
}

Keys of_recovery(const Experiment& e) {
    const auto any = [&](auto is) { return std::any_of(e.failures.begin(), e.failures.end(), is); };
    const bool restores = e.recovery.policy == RecoveryPolicy::restart ||
                          any([](const Failure& f) { return f.kind == FailureKind::coordinator_loss; });
    Keys hidden;
    if (e.recovery.rebuild != StageRebuild::neighbours || e.execution.compute == Compute::cost)
        hidden.insert("rebuilt_learning_rate");
    if (!restores) hidden.insert("restore_s");
    if (e.recovery.planning_s == 0) hidden.insert("move_nodes_s");
    if (e.execution.clock != Clock::wall) hidden.insert("wait_s");
    return hidden;
}

Keys of_execution(const Experiment& e) {
    Keys hidden;
    if (e.execution.clock != Clock::wall) hidden.insert({"shape_links", "link_jitter"});
    if (!e.execution.shape_links) hidden.insert("link_jitter");
    if (e.execution.compute == Compute::cost) hidden.insert("products");
    return hidden;
}

Keys of_node(const Experiment& e) {
    Keys hidden{"x", "y"};
    if (e.execution.clock != Clock::wall) hidden.insert("rank");
    if (e.execution.compute == Compute::cost) hidden.insert("device");
    if (!e.topology.hop_matrix_s.empty()) hidden.insert({"up_bytes_per_s", "down_bytes_per_s"});
    if (e.pipeline.constraints.memory == MemoryRule::ignore) hidden.insert("memory_microbatches");
    return hidden;
}

struct PartOfForm {
    FormPart part;
    const char* pointer;
};
constexpr PartOfForm parts[] = {{FormPart::pipeline, "/pipeline/"},   {FormPart::constraints, "/pipeline/constraints/"},
                                {FormPart::training, "/training/"},   {FormPart::data, "/data/"},
                                {FormPart::costs, "/costs/"},         {FormPart::recovery, "/recovery/"},
                                {FormPart::execution, "/execution/"}, {FormPart::node, "/topology/nodes/"}};

Keys without_meaning(FormPart part, const Experiment& e) {
    switch (part) {
        case FormPart::pipeline: return of_pipeline(e);
        case FormPart::constraints:
            return e.pipeline.constraints.bounded_disorder ? Keys{}
                                                           : Keys{"max_swaps", "max_swap_distance", "max_passed_over"};
        case FormPart::training: return of_training(e);
        case FormPart::data: return of_data(e);
        case FormPart::costs: return of_costs(e);
        case FormPart::recovery: return of_recovery(e);
        case FormPart::execution: return of_execution(e);
        case FormPart::node: return of_node(e);
    }
    return {};
}

}  // namespace

std::set<std::string> hidden_fields(FormPart part, const Experiment& e, const Faults& faults) {
    Keys hidden = without_meaning(part, e);
    const std::string start =
        std::find_if(std::begin(parts), std::end(parts), [&](const PartOfForm& p) { return p.part == part; })->pointer;
    for (const auto& fault : faults) {
        if (!fault.pointer.starts_with(start)) continue;
        std::string key = fault.pointer.substr(start.size());
        if (part == FormPart::node) key = key.substr(std::min(key.size(), key.find('/') + 1));
        hidden.erase(key.substr(0, key.find('/')));
    }
    return hidden;
}

bool has_switch(const Experiment& e) { return e.topology.hop_matrix_s.empty() && !e.topology.regions.empty(); }

QString applying_key(const Experiment& e, const Faults& faults) {
    std::string key = has_switch(e) ? "/switch" : "/";
    if (e.execution.compute == Compute::cost) key += "cost";
    for (const auto& [part, pointer] : parts) {
        key += '/';
        for (const auto& field : hidden_fields(part, e, faults)) key += field + ' ';
    }
    return QString::fromStdString(key);
}

const std::set<std::string>& seldom_fields() {
    static const std::set<std::string> fields{"stage_sizes",    "placement",        "blocks_per_stage",
                                              "plan_blocks",    "microbatch_sizes", "balance_data_nodes",
                                              "split_backward", "plan_steps"};
    return fields;
}

int seldom_set(const Pipeline& pipeline) {
    const auto json_of = [](const Pipeline& p) {
        Experiment e;
        e.pipeline = p;
        return to_json(e)["pipeline"];
    };
    const auto now = json_of(pipeline), usual = json_of({});
    return static_cast<int>(std::count_if(seldom_fields().begin(), seldom_fields().end(),
                                          [&](const std::string& key) { return now[key] != usual[key]; }));
}

QString constraint_words(const std::string& key, const Experiment& e) {
    const Pipeline& p = e.pipeline;
    const Constraints& c = p.constraints;
    if (key == "uniform_execution") {
        if (!c.uniform_execution) return QObject::tr("Off (CC2): a stage may run any number of microbatches");
        const int length = path_length(p.stages, p.skip_ratio);
        if (p.stages < 2 || length < 2 || length > p.stages)
            return QObject::tr("CC2: all stages but 0 run about as many microbatches");
        return QObject::tr(
                   "CC2: each stage but 0 runs at most %1 of the %2 microbatches, so that all are trained alike")
            .arg(uniform_cap(p.microbatches, length, p.stages))
            .arg(p.microbatches);
    }
    if (key == "bounded_disorder") {
        if (!c.bounded_disorder) return QObject::tr("Off (CC3): a microbatch may visit stages in any order");
        const QString back = c.max_swaps == 0 ? QObject::tr("never goes back to an earlier stage")
                             : c.max_swaps == 1
                                 ? QObject::tr("goes back to an earlier stage once at most")
                                 : QObject::tr("goes back to an earlier stage %1 times at most").arg(c.max_swaps);
        return QObject::tr("CC3: a microbatch visits stages nearly in order: it %1, and passes over at most %2 at once")
            .arg(back)
            .arg(c.max_passed_over);
    }
    if (key == "memory")
        return c.memory == MemoryRule::enforce
                   ? QObject::tr(
                         "TC1: a node starts a forward only while it holds fewer microbatches than fit into its "
                         "memory (M)")
                   : QObject::tr("Off (TC1): nodes hold as many microbatches as come, whatever their memory");
    return {};
}

QString memory_words(const Experiment& e, const Node& node) {
    const StageBytes bytes = stage_bytes(e);
    const auto blocks = stage_blocks(e);
    const QString needs = QObject::tr(
                              "The largest stage needs %1 for weights, gradients, AdamW and scratch, and %2 a "
                              "microbatch")
                              .arg(quantity(bytes.state(blocks), "B"), quantity(bytes.activations(blocks), "B"));
    const int holds = memory_limit(e, node);
    return node.memory_microbatches || !node.memory_bytes
               ? QObject::tr("%1. It holds %2, as it is set").arg(needs).arg(holds)
               : QObject::tr("%1. It holds %2").arg(needs).arg(holds);
}

std::map<std::string, QString> values_in_force(const Experiment& e, const Node& node, bool has_errors) {
    const QString no_limit = QObject::tr("no limit (default)");
    std::map<std::string, QString> values{
        {"memory_bytes", no_limit},
        {"up_bytes_per_s", no_limit},
        {"down_bytes_per_s", no_limit},
        {"rank", QObject::tr("in order (default)")},
        {"price_per_hour", e.prices.node_hour > 0 ? QObject::tr("%1 (of all nodes)").arg(to_field(e.prices.node_hour))
                                                  : QObject::tr("no price given")}};
    if (!node.memory_bytes)
        values["memory_microbatches"] = QObject::tr("%1 (of pipeline)").arg(e.pipeline.memory_microbatches);
    else
        values["memory_microbatches"] =
            has_errors ? QObject::tr("by memory") : QObject::tr("%1 (by memory)").arg(memory_limit(e, node));
    return values;
}

QString skip_words(int stages, double skip_ratio) {
    const int visited = path_length(stages, skip_ratio);
    if (stages < 1 || visited > stages || visited < std::min(stages, 2))
        return QObject::tr("Leaves %1 of %2 stages: a microbatch needs at least 2").arg(visited).arg(stages);
    if (visited == stages) return QObject::tr("Every microbatch visits all %1 stages").arg(stages);
    return QObject::tr("Visits %1 of %2 stages: drops %3 of all, %4 of those that may be skipped")
        .arg(visited)
        .arg(stages)
        .arg(percent(1 - static_cast<double>(visited) / stages),
             percent(static_cast<double>(stages - visited) / (stages - 1)));
}

QString skip_words(const Pipeline& pipeline, const PlannerRegistry& planners) {
    const Planner* planner = planners.find(pipeline.planner);
    if (planner == nullptr || !planner->full_pipeline()) return skip_words(pipeline.stages, pipeline.skip_ratio);
    return QObject::tr("%1 ignores the skip ratio: every microbatch visits all %2 stages")
        .arg(QString::fromStdString(pipeline.planner))
        .arg(pipeline.stages);
}

QString all_reduce_words(const Experiment& experiment) {
    if (!experiment.topology.hop_matrix_s.empty() && experiment.costs.all_reduce != AllReduceRule::free)
        return QObject::tr("A hop matrix has no bandwidth to sum gradients over: they are summed for free");
    switch (experiment.costs.all_reduce) {
        case AllReduceRule::charged:
            return QObject::tr(
                "Each stage sums its gradients round a ring of its nodes, once all of them are done, "
                "beside all other traffic");
        case AllReduceRule::free: return QObject::tr("Gradients are summed at no cost: what pipelines alone take");
        case AllReduceRule::planned:
            return QObject::tr(
                "Parts and sums of gradients are transfers over the same lines as activations, as soon as each node is "
                "done; the planner chooses who sends what to whom");
    }
    return {};
}

}  // namespace skippipe
