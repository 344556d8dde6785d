// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/runs/parameters.h"

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
    experiments.reserve(runs.size());
    for (const auto* run : runs) experiments.push_back(comparable_document(run->experiment));
    std::vector<Parameter> found;
    for (const auto& parameter : differing_parameters(experiments)) {
        if (is_canvas_place(parameter.pointer)) continue;
        found.push_back({parameter.pointer, place_words(parameter.pointer), {}});
        for (const auto& text : parameter.values)
            found.back().values << (text ? words_of(nlohmann::ordered_json::parse(*text)) : QObject::tr("none"));
    }
    return found;
}

QStringList told_apart(const std::vector<const RunData*>& runs) {
    using Words = QString (*)(const RunData&);
    constexpr Words planner = [](const RunData& run) { return QString::fromStdString(run.info.planner); };
    constexpr Words all[] = {
        [](const RunData& run) { return QString::fromStdString(run.info.name); },
        planner,
        [](const RunData& run) {
            return QObject::tr("skip ratio %1").arg(three_digits(run.experiment.pipeline.skip_ratio));
        },
        [](const RunData& run) { return QObject::tr("seed %1").arg(run.experiment.seed); },
    };
    const auto in_words = [&](Words say) {
        QStringList words;
        for (const auto* run : runs) words << say(*run);
        return words;
    };
    for (const Words say : all) {
        const QStringList words = in_words(say);
        if (words.count(words.value(0)) < words.size()) return words;
    }
    return in_words(planner);
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
