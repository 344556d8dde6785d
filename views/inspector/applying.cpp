// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/inspector/applying.h"

#include <QObject>

#include "core/experiment/counts.h"
#include "core/experiment/model_size.h"
#include "views/inspector/inspector.h"
#include "views/theme/numbers.h"

namespace skippipe {

QString applying_key(const Experiment& e) {
    return QStringLiteral("/%1/%2/%3/%4/%5")
        .arg(static_cast<int>(e.data.source))
        .arg(static_cast<int>(e.execution.clock))
        .arg(static_cast<int>(e.execution.compute))
        .arg(e.pipeline.constraints.bounded_disorder)
        .arg(static_cast<int>(e.training.clip));
}

std::set<std::string> hidden_data_fields(const Experiment& e) {
    const auto source = e.data.source;
    std::set<std::string> hidden;
    if (source == DataSource::bible_kjv || source == DataSource::jargon) hidden.insert({"path", "files"});
    if (source != DataSource::jsonl) hidden.insert("text_field");
    if (source != DataSource::jsonl && source != DataSource::text) hidden.insert("tokenizer");
    return hidden;
}

std::set<std::string> hidden_node_fields(const Experiment& e) {
    std::set<std::string> hidden{"x", "y"};
    if (e.execution.clock != Clock::wall) hidden.insert("rank");
    return hidden;
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
