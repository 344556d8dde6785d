// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/plan/what_if_questions.h"

#include <algorithm>
#include <cmath>

#include <QObject>

#include "core/experiment/counts.h"
#include "core/experiment/model_size.h"

namespace skippipe {
namespace {

constexpr double factors[] = {0.125, 0.25, 0.5, 1, 2, 4, 8};
constexpr int most_skip_values = 24, memory_beyond = 4;

std::vector<double> around(double now) {
    std::vector<double> values;
    for (const double factor : factors) values.push_back(now * factor);
    return values;
}

WhatIfQuestion about_skipping(const Experiment& e) {
    WhatIfQuestion question{QObject::tr("Skip ratio"), "", 0, {}, nullptr, false};
    const int stages = e.pipeline.stages;
    const auto ratio = [stages](int skipped) { return std::round(1e3 * skipped / stages) / 1e3; };
    for (int skipped = 0; skipped <= std::min(stages - 2, most_skip_values); ++skipped)
        question.values.push_back(ratio(skipped));
    question.now = ratio(std::max(0, stages - path_length(stages, e.pipeline.skip_ratio)));
    question.set = [](Experiment& x, double value) { x.pipeline.skip_ratio = value; };
    return question;
}

void ask_of_node(std::vector<WhatIfQuestion>& all, const Experiment& e, const std::string& id) {
    const auto node =
        std::find_if(e.topology.nodes.begin(), e.topology.nodes.end(), [&](const Node& n) { return n.id == id; });
    if (node == e.topology.nodes.end()) return;
    const QString name = QString::fromStdString(id);
    const auto change = [id](auto put) {
        return [id, put](Experiment& x, double value) {
            for (auto& n : x.topology.nodes)
                if (n.id == id) put(n, value);
        };
    };
    all.push_back({QObject::tr("Seconds a sample and block of %1").arg(name), "s", node->seconds_per_sample_per_block,
                   around(node->seconds_per_sample_per_block),
                   change([](Node& n, double value) { n.seconds_per_sample_per_block = value; }), true});
    const int holds = std::min(memory_limit(e, *node), e.pipeline.microbatches);
    WhatIfQuestion memory{QObject::tr("Microbatches in memory of %1").arg(name),
                          "",
                          static_cast<double>(holds),
                          {},
                          change([](Node& n, double value) { n.memory_microbatches = static_cast<int>(value); }),
                          false};
    for (int m = 1; m <= std::min(holds + memory_beyond, 12 + memory_beyond); ++m) memory.values.push_back(m);
    if (holds >= 1 && holds <= 12) all.push_back(std::move(memory));
}

void ask_of_link(std::vector<WhatIfQuestion>& all, const Experiment& e, const LinkKey& key) {
    const auto link = std::find_if(e.topology.links.begin(), e.topology.links.end(),
                                   [&](const Link& l) { return l.from == key.from && l.to == key.to; });
    if (link == e.topology.links.end()) return;
    const QString name =
        QString::fromStdString(key.from) + (link->both_ways ? " ↔ " : " → ") + QString::fromStdString(key.to);
    const auto change = [key](auto put) {
        return [key, put](Experiment& x, double value) {
            for (auto& l : x.topology.links)
                if (l.from == key.from && l.to == key.to) put(l, value);
        };
    };
    all.push_back({QObject::tr("Bandwidth of %1").arg(name), "B/s", link->bandwidth_bytes_per_s,
                   around(link->bandwidth_bytes_per_s),
                   change([](Link& l, double value) { l.bandwidth_bytes_per_s = value; }), true});
    if (link->latency_s > 0)
        all.push_back({QObject::tr("Latency of %1").arg(name), "s", link->latency_s, around(link->latency_s),
                       change([](Link& l, double value) { l.latency_s = value; }), true});
}

}  // namespace

std::vector<WhatIfQuestion> what_if_questions(const Experiment& experiment, const Selection& selection) {
    std::vector<WhatIfQuestion> all;
    if (selection.nodes.size() == 1) ask_of_node(all, experiment, *selection.nodes.begin());
    if (selection.links.size() == 1) ask_of_link(all, experiment, *selection.links.begin());
    if (experiment.pipeline.stages >= 2) all.insert(all.begin(), about_skipping(experiment));
    return all;
}

}  // namespace skippipe
