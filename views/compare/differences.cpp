// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/compare/differences.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "core/experiment/io.h"
#include "views/theme/numbers.h"

namespace skippipe {
namespace {

using Number = std::optional<double>;

void finish(DifferenceRow& row) {
    row.differs = std::any_of(row.values.begin(), row.values.end(), [&](const QString& v) { return v != row.values.front(); });
    while (row.deltas.size() < row.values.size()) row.deltas << QString{};
}

template <class Value, class Words>
DifferenceRow metric(const QString& name, const std::vector<const RunData*>& runs, const Value& value, const Words& words) {
    DifferenceRow row;
    row.name = name;
    row.is_metric = true;
    const Number base = value(*runs.front());
    for (const auto* run : runs) {
        const Number now = value(*run);
        row.values << (now ? words(*now) : QString{});
        row.deltas << (run != runs.front() && now && base && *base != 0 ? change(*now / *base - 1) : QString{});
    }
    finish(row);
    return row;
}

Number last_metric(const RunData& run, const std::string& name) {
    const auto it = std::find_if(run.metrics.rbegin(), run.metrics.rend(), [&](const Metric& m) { return m.name == name; });
    return it == run.metrics.rend() ? Number{} : Number{it->value};
}

/// "/pipeline/skip_ratio" as "pipeline, skip ratio".
QString parameter_name(const std::string& pointer) {
    QString name = QString::fromStdString(pointer.substr(1));
    return name.replace('/', ", ").replace('_', ' ');
}

void flatten(const nlohmann::ordered_json& json, const std::string& at, std::map<std::string, QString>& out, std::vector<std::string>& order) {
    if (json.is_structured() && !json.empty() && !(json.is_array() && json.front().is_primitive())) {
        for (const auto& [key, value] : json.items()) flatten(value, at + '/' + key, out, order);
        return;
    }
    if (at.ends_with("/x") || at.ends_with("/y")) return;
    order.push_back(at);
    out[at] = json.is_string() ? QString::fromStdString(json.get<std::string>()) : QString::fromStdString(json.dump());
}

void add_parameters(const std::vector<const RunData*>& runs, std::vector<DifferenceRow>& rows) {
    std::vector<std::map<std::string, QString>> values(runs.size());
    std::vector<std::string> order;
    for (std::size_t i = 0; i < runs.size(); ++i) flatten(to_json(runs[i]->experiment), {}, values[i], order);
    std::map<std::string, bool> seen;
    for (const auto& pointer : order) {
        if (std::exchange(seen[pointer], true)) continue;
        DifferenceRow row;
        row.name = parameter_name(pointer);
        for (const auto& of_run : values) {
            const auto it = of_run.find(pointer);
            row.values << (it == of_run.end() ? QObject::tr("absent") : it->second);
        }
        finish(row);
        rows.push_back(std::move(row));
    }
}

}  // namespace

std::vector<DifferenceRow> differences(const std::vector<const RunData*>& runs) {
    std::vector<DifferenceRow> rows;
    if (runs.empty()) return rows;
    const auto seconds = [](double s) { return duration(s); };
    const auto plain = [](double v) { return three_digits(v); };
    rows.push_back(metric(QObject::tr("Iteration, network time"), runs, [](const RunData& r) { return r.info.iteration_s; }, seconds));
    rows.push_back(metric(QObject::tr("Predicted iteration"), runs,
                          [](const RunData& r) { return r.info.predicted_iteration_s > 0 ? Number{r.info.predicted_iteration_s} : Number{}; }, seconds));
    rows.push_back(metric(QObject::tr("Idle share"), runs, [](const RunData& r) {
        return r.explained_iterations > 0 ? Number{std::accumulate(r.idle_share.begin(), r.idle_share.end(), 0.0)} : Number{};
    }, [](double share) { return percent(share); }));
    for (std::size_t c = 0; c < idle_causes; ++c) {
        const auto words = describe(static_cast<IdleCause>(c));
        auto row = metric(QObject::tr("Idle: %1").arg(QString::fromUtf8(words.data(), static_cast<qsizetype>(words.size()))), runs, [c](const RunData& r) {
            return r.explained_iterations > 0 ? Number{r.idle_share[c]} : Number{};
        }, [](double share) { return percent(share); });
        if (std::any_of(runs.begin(), runs.end(), [c](const RunData* r) { return r->idle_share[c] > 5e-6; })) rows.push_back(std::move(row));
    }
    rows.push_back(metric(QObject::tr("First validation loss"), runs, [](const RunData& r) { return r.info.first_validation_loss; }, plain));
    rows.push_back(metric(QObject::tr("Last validation loss"), runs, [](const RunData& r) { return r.info.last_validation_loss; }, plain));
    rows.push_back(metric(QObject::tr("Bits per byte"), runs, [](const RunData& r) { return last_metric(r, "bits_per_byte"); }, plain));
    rows.push_back(metric(QObject::tr("Tokens/s of this machine"), runs, [](const RunData& r) { return r.info.tokens_per_second; }, plain));
    rows.push_back(metric(QObject::tr("Network time"), runs, [](const RunData& r) { return Number{r.network_s}; }, seconds));
    rows.push_back(metric(QObject::tr("Machine time"), runs, [](const RunData& r) { return Number{r.info.machine_s}; }, seconds));
    DifferenceRow state;
    state.name = QObject::tr("State");
    state.is_metric = true;
    for (const auto* run : runs) {
        const auto words = to_string(run->info.state);
        state.values << QString::fromUtf8(words.data(), static_cast<qsizetype>(words.size()));
    }
    finish(state);
    rows.push_back(std::move(state));
    add_parameters(runs, rows);
    return rows;
}

}  // namespace skippipe
