// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/runs/parameters.h"

#include <algorithm>
#include <set>

#include <QObject>

#include <nlohmann/json.hpp>

#include "core/analysis/compare.h"
#include "core/experiment/io.h"
#include "views/theme/numbers.h"
#include "views/theme/words.h"

namespace skippipe {
namespace {

nlohmann::ordered_json comparable_document(const Experiment& experiment) {
    return comparable(to_json(experiment), experiment.failures);
}

bool is_canvas_place(const std::string& pointer) { return pointer.ends_with("/x") || pointer.ends_with("/y"); }

QString words_of(const nlohmann::ordered_json& value) { return QString::fromStdString(value_words(value)); }

/// Single values and plain lists below `json`, each with its pointer.
void flatten(const nlohmann::ordered_json& json, const std::string& at,
             std::vector<std::pair<std::string, QString>>& out) {
    if (json.is_structured() && !json.empty() && !(json.is_array() && json.front().is_primitive())) {
        for (const auto& [key, value] : json.items()) flatten(value, at + '/' + key, out);
        return;
    }
    out.emplace_back(at, words_of(json));
}

}  // namespace

std::vector<Parameter> differing(const std::vector<const RunData*>& runs) {
    std::vector<nlohmann::ordered_json> experiments;
    std::vector<const Plan*> plans;
    experiments.reserve(runs.size());
    for (const auto* run : runs) {
        experiments.push_back(comparable_document(run->experiment));
        plans.push_back(&run->plan);
    }
    std::vector<Parameter> found;
    for (const auto& parameter : differing_parameters(experiments, plans)) {
        if (is_canvas_place(parameter.pointer)) continue;
        auto& one = found.emplace_back(Parameter{parameter.pointer, place_words(parameter.pointer), {}});
        QStringList unused(static_cast<qsizetype>(runs.size()));
        for (std::size_t i = 0; i < parameter.values.size(); ++i) {
            const auto& text = parameter.values[i];
            one.values << (text ? words_of(nlohmann::ordered_json::parse(*text)) : QObject::tr("none"));
            if (!is_unused(parameter, i, runs[i]->plan)) continue;
            unused[static_cast<qsizetype>(i)] =
                QObject::tr("%1 in the experiment, but %2 visits all stages")
                    .arg(one.values.back(), QString::fromStdString(runs[i]->info.planner));
            one.values.back() = QStringLiteral("0");
        }
        if (unused.join(QString{}).isEmpty()) continue;
        one.details = unused;
        if (one.values.count(one.values.front()) == one.values.size()) found.pop_back();
    }
    return found;
}

QStringList told_apart(const std::vector<const RunData*>& runs) {
    using Words = QString (*)(const RunData&);
    constexpr Words planner = [](const RunData& run) { return QString::fromStdString(run.info.planner); };
    constexpr Words all[] = {
        [](const RunData& run) { return QString::fromStdString(run.info.name); },
        planner,
        [](const RunData& run) { return QObject::tr("skip ratio %1").arg(skip_ratio_of(run)); },
        [](const RunData& run) { return QObject::tr("seed %1").arg(run.experiment.seed); },
    };
    const auto in_words = [&](Words say) {
        QStringList words;
        for (const auto* run : runs) words << say(*run);
        return words;
    };
    // One after the other, until no two runs are called the same.
    QStringList apart;
    const auto is_told = [&] { return std::set<QString>(apart.begin(), apart.end()).size() == runs.size(); };
    for (const Words say : all) {
        const QStringList words = in_words(say);
        if (words.count(words.value(0)) == words.size()) continue;
        if (apart.isEmpty()) apart = QStringList(words.size());
        for (qsizetype i = 0; i < words.size(); ++i)
            apart[i] += (apart[i].isEmpty() || words[i].isEmpty() ? QString{} : QStringLiteral(", ")) + words[i];
        if (is_told()) break;
    }
    return apart.isEmpty() ? in_words(planner) : apart;
}

double skip_ratio_of(const RunData& run) { return used_skip_ratio(run.plan, run.experiment.pipeline.skip_ratio); }

QString run_numbers(const std::vector<RunId>& runs) {
    constexpr std::size_t most_named = 6;
    QStringList numbers;
    for (std::size_t i = 0; i < std::min(runs.size(), most_named); ++i) numbers << QString::number(runs[i]);
    const QString last = runs.size() > most_named ? QObject::tr("%1 more").arg(runs.size() - most_named)
                         : numbers.size() > 1     ? numbers.takeLast()
                                                  : QString{};
    const QString words = (runs.size() == 1 ? QObject::tr("run %1") : QObject::tr("runs %1")).arg(numbers.join(", "));
    return last.isEmpty() ? words : QObject::tr("%1 and %2").arg(words, last);
}

QString in_sentence(const QString& name) {
    QString last = name.section(QStringLiteral(", "), -1);
    if (last.size() > 1 && last[1].isLower()) last[0] = last[0].toLower();
    return last;
}

std::vector<Parameter> in_common(const std::vector<const RunData*>& runs) {
    std::vector<Parameter> found;
    if (runs.empty()) return found;
    std::set<QString> told;
    for (const auto& parameter : differing(runs)) told.insert(parameter.name);
    std::vector<std::pair<std::string, QString>> all;
    flatten(comparable_document(runs.front()->experiment), {}, all);
    for (const auto& [pointer, value] : all) {
        const QString name = place_words(pointer);
        if (told.count(name) > 0 || is_canvas_place(pointer)) continue;
        found.push_back({pointer, name, QStringList(static_cast<qsizetype>(runs.size()), value)});
    }
    return found;
}

}  // namespace skippipe
