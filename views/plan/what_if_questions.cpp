// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/plan/what_if_questions.h"

#include <algorithm>
#include <cmath>

#include <QObject>

#include "core/experiment/counts.h"
#include "core/experiment/model_size.h"
#include "views/theme/numbers.h"

namespace skippipe {
namespace {

constexpr double factors[] = {0.125, 0.25, 0.5, 1, 2, 4, 8};
constexpr int most_skip_values = 24, memory_beyond = 4, most_one_by_one = 12;
constexpr double usual_connection_bytes_per_s = 1.25e8;  ///< of a node without a limit: 1 Gbit/s

std::vector<double> around(double now) {
    std::vector<double> values;
    for (const double factor : factors) values.push_back(now * factor);
    return values;
}

bool has_nodes_inside(const Experiment& e, const std::string& region) {
    return e.topology.hop_matrix_s.empty() && std::count_if(e.topology.nodes.begin(), e.topology.nodes.end(),
                                                            [&](const Node& n) { return n.region == region; }) > 1;
}

WhatIfQuestion about_skipping(const Experiment& e) {
    WhatIfQuestion question{QObject::tr("Skip ratio"), "", 0, {}, nullptr, false};
    const int stages = e.pipeline.stages;
    const auto ratio = [stages](int skipped) { return std::round(1e3 * skipped / stages) / 1e3; };
    const int skips = std::max(0, stages - path_length(stages, e.pipeline.skip_ratio));
    question.now = e.pipeline.skip_ratio;
    for (int skipped = 0; skipped <= std::min(stages - 2, most_skip_values); ++skipped)
        question.values.push_back(skipped == skips ? question.now : ratio(skipped));
    question.set = [](Experiment& x, double value) { x.pipeline.skip_ratio = value; };
    return question;
}

/// Up to a few more than it holds, one by one; of many about twice as many each time.
std::vector<double> memory_values(int holds, int most) {
    std::vector<double> values;
    if (holds <= most_one_by_one) {
        for (int m = 1; m <= holds + memory_beyond; ++m) values.push_back(m);
        return values;
    }
    for (int m = 1; m < std::min(2 * holds, most); m = std::max(m + 1, m * 3 / 2)) values.push_back(m);
    values.push_back(holds);
    values.push_back(std::min(2 * holds, std::max(holds, most)));
    std::sort(values.begin(), values.end());
    values.erase(std::unique(values.begin(), values.end()), values.end());
    return values;
}

void ask_of_node(std::vector<WhatIfQuestion>& all, const Experiment& e, const std::string& id,
                 const HeldMicrobatches& held) {
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
    all.push_back({QObject::tr("Time per sample per block of %1").arg(name), "s", node->seconds_per_sample_per_block,
                   around(node->seconds_per_sample_per_block),
                   change([](Node& n, double value) { n.seconds_per_sample_per_block = value; }), true});
    const auto planned = held.find(id);
    const int holds =
        std::min(planned == held.end() ? memory_limit(e, *node) : planned->second, e.pipeline.microbatches);
    if (holds >= 1 && e.pipeline.constraints.memory == MemoryRule::enforce)
        all.push_back({QObject::tr("Microbatches in memory of %1").arg(name), "", static_cast<double>(holds),
                       memory_values(holds, e.pipeline.microbatches),
                       change([](Node& n, double value) { n.memory_microbatches = static_cast<int>(value); }),
                       holds > most_one_by_one});
    if (!e.topology.hop_matrix_s.empty() || e.costs.links != LinkRule::shared) return;
    const auto connection = [&](const QString& words, std::optional<double> now, std::optional<double> Node::*limit) {
        all.push_back({words.arg(name), "B/s", now.value_or(0), around(now.value_or(usual_connection_bytes_per_s)),
                       change([limit](Node& n, double value) { n.*limit = value; }), true});
    };
    connection(QObject::tr("Uplink of %1"), node->up_bytes_per_s, &Node::up_bytes_per_s);
    connection(QObject::tr("Downlink of %1"), node->down_bytes_per_s, &Node::down_bytes_per_s);
}

/// A link of the region to itself takes the common switch's place in it alone.
void ask_of_region(std::vector<WhatIfQuestion>& all, const Experiment& e, const std::string& id) {
    if (!has_nodes_inside(e, id)) return;
    const auto inside = [id](const Experiment& x) {
        for (const auto& link : x.topology.links)
            if (link.from == id && link.to == id) return link;
        return Link{id, id, x.topology.within_region.latency_s, x.topology.within_region.bandwidth_bytes_per_s, true};
    };
    const auto change = [id, inside](auto put) {
        return [id, inside, put](Experiment& x, double value) {
            Link changed = inside(x);
            put(changed, value);
            std::erase_if(x.topology.links, [&](const Link& link) { return link.from == id && link.to == id; });
            x.topology.links.push_back(changed);
        };
    };
    const QString name = QString::fromStdString(id);
    const Link now = inside(e);
    all.push_back({QObject::tr("Bandwidth inside %1").arg(name), "B/s", now.bandwidth_bytes_per_s,
                   around(now.bandwidth_bytes_per_s),
                   change([](Link& l, double value) { l.bandwidth_bytes_per_s = value; }), true});
    if (now.latency_s > 0)
        all.push_back({QObject::tr("Latency inside %1").arg(name), "s", now.latency_s, around(now.latency_s),
                       change([](Link& l, double value) { l.latency_s = value; }), true});
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

QString value_text(const WhatIfQuestion& question, double value) {
    const QString unit = QString::fromUtf8(question.unit);
    return unit == "s"     ? duration_beside(value, question.values.back())
           : unit == "B/s" ? without_zeros(quantity(8 * value, "bit/s"))
                           : QString::number(value, 'g', value < 1 ? 2 : 4);
}

std::vector<WhatIfQuestion> what_if_questions(const Experiment& experiment, const Selection& selection,
                                              const HeldMicrobatches& held) {
    std::vector<WhatIfQuestion> all;
    if (selection.nodes.size() == 1) ask_of_node(all, experiment, *selection.nodes.begin(), held);
    if (selection.links.size() == 1) ask_of_link(all, experiment, *selection.links.begin());
    if (selection.regions.size() == 1) ask_of_region(all, experiment, *selection.regions.begin());
    if (experiment.pipeline.stages >= 2) all.insert(all.begin(), about_skipping(experiment));
    return all;
}

}  // namespace skippipe
