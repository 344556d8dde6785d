// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/record/evaluation_rows.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "core/record/values.h"

namespace skippipe::record {

namespace {

/// None where the text is no list of numbers.
std::vector<int> stages_of(const std::string& text) {
    std::vector<int> stages;
    const auto json = nlohmann::json::parse(text, nullptr, false);
    if (!json.is_array()) return stages;
    for (const auto& stage : json)
        if (stage.is_number_integer()) stages.push_back(stage.get<int>());
    return stages;
}

}  // namespace

std::optional<Evaluation> read_evaluation(SQLite::Database& database, RunId run) {
    SQLite::Statement head{database,
                           "SELECT evaluated_utc, weights, stages, tokens, bytes_per_token, seed, samples FROM "
                           "evaluations WHERE run = ?"};
    head.bind(1, run);
    if (!head.executeStep()) return std::nullopt;
    Evaluation evaluation{head.getColumn(0).getString(), head.getColumn(1).getString(),
                          head.getColumn(2).getInt(),    head.getColumn(3).getInt64(),
                          head.getColumn(4).getDouble(), static_cast<std::uint64_t>(head.getColumn(5).getInt64()),
                          head.getColumn(6).getInt(),    {}};
    SQLite::Statement rows{database, "SELECT omitted, loss FROM omissions WHERE run = ?"};
    rows.bind(1, run);
    while (rows.executeStep())
        evaluation.losses.push_back({stages_of(rows.getColumn(0).getString()), real(rows.getColumn(1))});
    std::sort(evaluation.losses.begin(), evaluation.losses.end(), [](const OmissionLoss& a, const OmissionLoss& b) {
        return a.omitted.size() != b.omitted.size() ? a.omitted.size() < b.omitted.size() : a.omitted < b.omitted;
    });
    return evaluation;
}

void write_evaluation(SQLite::Database& database, RunId run, const Evaluation& evaluation) {
    SQLite::Statement clear{database, "DELETE FROM evaluations WHERE run = ?"};
    clear.bind(1, run);
    clear.exec();
    SQLite::Statement head{database,
                           "INSERT INTO evaluations (run, evaluated_utc, weights, stages, tokens, bytes_per_token, "
                           "seed, samples) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"};
    SQLite::bind(head, run, evaluation.evaluated_utc.empty() ? utc_now() : evaluation.evaluated_utc, evaluation.weights,
                 evaluation.stages, evaluation.tokens, evaluation.bytes_per_token,
                 static_cast<std::int64_t>(evaluation.seed), evaluation.samples);
    head.exec();
    SQLite::Statement insert{database, "INSERT INTO omissions (run, omitted, loss) VALUES (?, ?, ?)"};
    for (const auto& one : evaluation.losses) {
        SQLite::bind(insert, run, nlohmann::json(one.omitted).dump(), one.loss_nats);
        insert.exec();
        insert.reset();
    }
}

}  // namespace skippipe::record
