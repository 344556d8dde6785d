// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/compare/differences.h"

#include <algorithm>
#include <numeric>

#include <nlohmann/json.hpp>

#include "core/analysis/compare.h"
#include "core/experiment/io.h"
#include "views/theme/numbers.h"

namespace skippipe {
namespace {

using Number = std::optional<double>;

void finish(DifferenceRow& row) {
    row.differs =
        std::any_of(row.values.begin(), row.values.end(), [&](const QString& v) { return v != row.values.front(); });
    while (row.deltas.size() < row.values.size()) row.deltas << QString{};
}

/// How a value is compared with the baseline's: as a ratio, or where both are shares as points of them.
enum class Compared { ratio, points };

template <class Value, class Words>
DifferenceRow metric(const QString& name, const std::vector<const RunData*>& runs, const Value& value,
                     const Words& words, Compared compared = Compared::ratio) {
    DifferenceRow row;
    row.name = name;
    row.is_metric = true;
    const Number base = value(*runs.front());
    for (const auto* run : runs) {
        const Number now = value(*run);
        row.values << (now ? words(*now) : QString{});
        const bool differs = run != runs.front() && now && base && *now != *base;
        row.deltas << (!differs                       ? QString{}
                       : compared == Compared::points ? change_in_points(*now - *base)
                       : *base != 0                   ? change(*now / *base - 1)
                                                      : QString{});
    }
    finish(row);
    return row;
}

Number last_metric(const RunData& run, const std::string& name) {
    const auto it =
        std::find_if(run.metrics.rbegin(), run.metrics.rend(), [&](const Metric& m) { return m.name == name; });
    return it == run.metrics.rend() ? Number{} : Number{it->value};
}

/// What the runs did and sent, whole runs; none where no plan could be accounted for.
void add_accounting(const std::vector<const RunData*>& runs, std::vector<DifferenceRow>& rows) {
    std::vector<std::pair<const RunData*, Accounting>> totals;
    for (const auto* run : runs)
        if (run->iteration) totals.push_back({run, account_run(*run->iteration, run->info)});
    if (totals.empty()) return;
    const auto of = [&](double (*get)(const Accounting&)) {
        return [&totals, get](const RunData& run) {
            const auto found =
                std::find_if(totals.begin(), totals.end(), [&](const auto& total) { return total.first == &run; });
            return found == totals.end() ? Number{} : Number{get(found->second)};
        };
    };
    const auto count = [](double n) { return n < 1e6 ? QString::number(n, 'f', 0) : quantity(n, {}); };
    const auto unit = [](const char* name) { return [name](double value) { return quantity(value, name); }; };
    const auto add = [&](const QString& name, double (*get)(const Accounting&), const auto& words) {
        rows.push_back(metric(name, runs, of(get), words));
        rows.back().always_shown = true;
    };
    add(
        QObject::tr("Microbatches"), [](const Accounting& a) { return static_cast<double>(a.microbatches); }, count);
    add(
        QObject::tr("Tokens"), [](const Accounting& a) { return static_cast<double>(a.tokens); }, count);
    add(
        QObject::tr("Block FLOPs"), [](const Accounting& a) { return a.block_flops(); }, unit("FLOP"));
    add(
        QObject::tr("Bytes sent"), [](const Accounting& a) { return a.bytes(); }, unit("B"));
    add(
        QObject::tr("Busiest line, bytes"),
        [](const Accounting& a) { return a.busiest_line() ? a.busiest_line()->bytes() : 0; }, unit("B"));
    DifferenceRow line;
    line.name = QObject::tr("Busiest line");
    line.is_metric = true;
    for (const auto* run : runs) {
        const auto* busiest = run->iteration ? run->iteration->busiest_line() : nullptr;
        line.values << (busiest ? QString::fromStdString(busiest->name).replace("->", " → ") : QString{});
    }
    finish(line);
    rows.push_back(std::move(line));
}

/// "/pipeline/skip_ratio" as "pipeline, skip ratio".
QString parameter_name(const std::string& pointer) {
    QString name = QString::fromStdString(pointer.substr(1));
    return name.replace('/', ", ").replace('_', ' ');
}

bool is_canvas_place(const std::string& pointer) { return pointer.ends_with("/x") || pointer.ends_with("/y"); }

QString value_words(const nlohmann::ordered_json& json) {
    return QString::fromStdString(json.is_string() ? json.get<std::string>() : json.dump());
}

/// Single values and plain lists below `json`, each with its pointer.
void flatten(const nlohmann::ordered_json& json, const std::string& at,
             std::vector<std::pair<std::string, QString>>& out) {
    if (json.is_structured() && !json.empty() && !(json.is_array() && json.front().is_primitive())) {
        for (const auto& [key, value] : json.items()) flatten(value, at + '/' + key, out);
        return;
    }
    out.push_back({at, value_words(json)});
}

void add_parameters(const std::vector<const RunData*>& runs, std::vector<DifferenceRow>& rows) {
    std::vector<nlohmann::ordered_json> experiments;
    for (const auto* run : runs) experiments.push_back(to_json(run->experiment));
    for (const auto& parameter : differing_parameters(experiments)) {
        if (is_canvas_place(parameter.pointer)) continue;
        DifferenceRow row;
        row.name = parameter_name(parameter.pointer);
        for (const auto& text : parameter.values)
            row.values << (text ? value_words(nlohmann::ordered_json::parse(*text)) : QObject::tr("absent"));
        finish(row);
        row.differs = true;
        rows.push_back(std::move(row));
    }
    std::vector<std::pair<std::string, QString>> all;
    flatten(experiments.front(), {}, all);
    for (const auto& [pointer, value] : all) {
        const QString name = parameter_name(pointer);
        const bool told =
            std::any_of(rows.begin(), rows.end(), [&](const DifferenceRow& row) { return row.name == name; });
        if (told || is_canvas_place(pointer)) continue;
        DifferenceRow row;
        row.name = name;
        for (std::size_t i = 0; i < runs.size(); ++i) row.values << value;
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
    rows.push_back(metric(
        QObject::tr("Iteration, network time"), runs, [](const RunData& r) { return r.info.iteration_s; }, seconds));
    rows.push_back(metric(
        QObject::tr("Predicted iteration"), runs,
        [](const RunData& r) {
            return r.info.predicted_iteration_s > 0 ? Number{r.info.predicted_iteration_s} : Number{};
        },
        seconds));
    rows.push_back(metric(
        QObject::tr("Idle share"), runs,
        [](const RunData& r) {
            return r.explained_iterations > 0 ? Number{std::accumulate(r.idle_share.begin(), r.idle_share.end(), 0.0)}
                                              : Number{};
        },
        [](double share) { return percent(share); }, Compared::points));
    for (std::size_t c = 0; c < idle_causes; ++c) {
        const auto words = describe(static_cast<IdleCause>(c));
        auto row = metric(
            QObject::tr("Idle: %1").arg(QString::fromUtf8(words.data(), static_cast<qsizetype>(words.size()))), runs,
            [c](const RunData& r) { return r.explained_iterations > 0 ? Number{r.idle_share[c]} : Number{}; },
            [](double share) { return percent(share); }, Compared::points);
        if (std::any_of(runs.begin(), runs.end(), [c](const RunData* r) { return r->idle_share[c] > 5e-6; }))
            rows.push_back(std::move(row));
    }
    rows.push_back(metric(
        QObject::tr("First validation loss"), runs, [](const RunData& r) { return r.info.first_validation_loss; },
        plain));
    rows.push_back(metric(
        QObject::tr("Last validation loss"), runs, [](const RunData& r) { return r.info.last_validation_loss; },
        plain));
    rows.push_back(metric(
        QObject::tr("Bits per byte"), runs, [](const RunData& r) { return last_metric(r, "bits_per_byte"); }, plain));
    rows.push_back(metric(
        QObject::tr("Tokens/s of this machine"), runs, [](const RunData& r) { return r.info.tokens_per_second; },
        plain));
    add_accounting(runs, rows);
    rows.push_back(metric(
        QObject::tr("Network time"), runs, [](const RunData& r) { return Number{r.network_s}; }, seconds));
    rows.push_back(metric(
        QObject::tr("Machine time"), runs, [](const RunData& r) { return Number{r.info.machine_s}; }, seconds));
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
