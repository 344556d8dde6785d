// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/runs/parameters.h"

#include <set>

#include <QObject>

#include <nlohmann/json.hpp>

#include "core/analysis/compare.h"
#include "core/experiment/failure_text.h"
#include "core/experiment/io.h"
#include "views/theme/words.h"

namespace skippipe {
namespace {

/// The document with each of its failures as one line: field by field they say nothing.
nlohmann::ordered_json comparable(const Experiment& experiment) {
    auto json = to_json(experiment);
    auto& failures = json["failures"] = nlohmann::ordered_json::array();
    for (const auto& failure : experiment.failures) failures.push_back(failure_line(failure));
    return json;
}

bool is_canvas_place(const std::string& pointer) { return pointer.ends_with("/x") || pointer.ends_with("/y"); }

QString value_words(const nlohmann::ordered_json& json) {
    if (json.is_structured() && json.empty()) return QObject::tr("none");
    if (json.is_array() && json.front().is_string()) {
        QStringList lines;
        for (const auto& line : json) lines << QString::fromStdString(line.get<std::string>());
        return lines.join(QStringLiteral("; "));
    }
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

}  // namespace

std::vector<Parameter> differing(const std::vector<const RunData*>& runs) {
    std::vector<nlohmann::ordered_json> experiments;
    for (const auto* run : runs) experiments.push_back(comparable(run->experiment));
    std::vector<Parameter> found;
    for (const auto& parameter : differing_parameters(experiments)) {
        if (is_canvas_place(parameter.pointer)) continue;
        found.push_back({parameter.pointer, place_words(parameter.pointer), {}});
        for (const auto& text : parameter.values)
            found.back().values << (text ? value_words(nlohmann::ordered_json::parse(*text)) : QObject::tr("none"));
    }
    return found;
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
    flatten(comparable(runs.front()->experiment), {}, all);
    for (const auto& [pointer, value] : all) {
        const QString name = place_words(pointer);
        if (told.count(name) > 0 || is_canvas_place(pointer)) continue;
        found.push_back({pointer, name, QStringList(static_cast<qsizetype>(runs.size()), value)});
    }
    return found;
}

}  // namespace skippipe
