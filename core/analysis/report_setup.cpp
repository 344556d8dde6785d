// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/analysis/report_setup.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <string_view>

#include <nlohmann/json.hpp>

#include "core/analysis/compare.h"
#include "core/base/format.h"

namespace skippipe {
namespace {

using Json = nlohmann::ordered_json;

/// "memory_bytes" as people call it.
std::string name_of(const std::string& key) {
    static const std::map<std::string_view, std::string_view> known{
        {"memory_bytes", "Memory"}, {"skippipe", "SkipPipe"}, {"blas_gflops", "Matrix products"},
        {"libtorch", "LibTorch"},   {"cuda", "CUDA"},         {"started_utc", "Started"},
    };
    if (const auto found = known.find(key); found != known.end()) return std::string{found->second};
    auto words = key;
    std::replace(words.begin(), words.end(), '_', ' ');
    if (!words.empty()) words[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(words[0])));
    return words;
}

std::string words_of(const std::string& key, const Json& value) {
    constexpr double giga = 1e9;
    if (key == "memory_bytes" && value.is_number()) return format_si(value.get<double>(), "B");
    if (key == "blas_gflops" && value.is_number()) return format_si(giga * value.get<double>(), "FLOPS");
    return value_words(value);
}

class SetupRows {
public:
    explicit SetupRows(std::size_t runs) : runs_(runs) {}

    void add(std::size_t run, const std::string& name, std::string words) {
        const auto found = std::find_if(rows_.begin(), rows_.end(), [&](const auto& row) { return row.name == name; });
        auto& row = found != rows_.end() ? *found : rows_.emplace_back(SetupRow{name, std::vector<std::string>(runs_)});
        row.values[run] = std::move(words);
    }
    /// What is within another thing is named after it: "Origin, run".
    void add_all(std::size_t run, const Json& json, const std::string& within) {
        for (const auto& [key, value] : json.items())
            if (value.is_object() && !value.empty())
                add_all(run, value, within + name_of(key) + ", ");
            else
                add(run, within + name_of(key), words_of(key, value));
    }
    std::vector<SetupRow> rows() && {
        for (auto& row : rows_)
            row.is_same = std::all_of(row.values.begin(), row.values.end(),
                                      [&](const std::string& value) { return value == row.values.front(); });
        return std::move(rows_);
    }

private:
    std::size_t runs_;
    std::vector<SetupRow> rows_;
};

}  // namespace

std::vector<SetupRow> setup_rows(const std::vector<ReportRun>& runs) {
    SetupRows rows(runs.size());
    for (const auto& [what, text] :
         {std::pair{"Machine", &ReportRun::machine_json}, std::pair{"Versions", &ReportRun::versions_json}})
        for (std::size_t i = 0; i < runs.size(); ++i) {
            const auto& written = runs[i].*text;
            const auto json = Json::parse(written.empty() ? "null" : written, nullptr, false);
            if (json.is_object())
                rows.add_all(i, json, "");
            else if (!json.is_null())
                rows.add(i, what, written);
        }
    return std::move(rows).rows();
}

}  // namespace skippipe
