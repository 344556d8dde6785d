// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/transports/meeting_text.h"

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace skippipe::meeting_text {
namespace {

nlohmann::json write(const Faults& faults) {
    auto json = nlohmann::json::array();
    for (const auto& f : faults) json.push_back({f.pointer, f.what, f.why, f.remedy});
    return json;
}

Faults read_faults(const nlohmann::json& json) {
    Faults faults;
    if (!json.is_array()) return faults;
    for (const auto& f : json)
        if (f.is_array() && f.size() == 4 &&
            std::all_of(f.begin(), f.end(), [](const auto& t) { return t.is_string(); }))
            faults.push_back(
                {f[0].get<std::string>(), f[1].get<std::string>(), f[2].get<std::string>(), f[3].get<std::string>()});
    return faults;
}

}  // namespace

std::string beat_key(int rank) { return fmt::format("beat/{}", rank); }
std::string lost_key(int meeting) { return fmt::format("lost/{}", meeting); }
std::string return_key(int rank) { return fmt::format("returned/{}", rank); }

int meeting_of_beat(const std::string& beat) {
    const auto space = beat.find(' ');
    return space == std::string::npos ? 0 : static_cast<int>(std::strtol(beat.c_str() + space, nullptr, 10));
}

std::string write(const LostRank& loss) {
    nlohmann::json json{{"rank", loss.rank}, {"how", loss.how}, {"unnoticed_s", loss.unnoticed_s}};
    if (!loss.faults.empty()) json["faults"] = write(loss.faults);
    return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

LostRank read_loss(const std::string& text, int world_size) {
    LostRank loss;
    const auto json = nlohmann::json::parse(text, nullptr, false);
    if (!json.is_object()) return loss;
    if (const auto rank = json.find("rank"); rank != json.end() && rank->is_number_integer())
        loss.rank = rank->get<std::int64_t>() >= 0 && rank->get<std::int64_t>() < world_size ? rank->get<int>() : -1;
    if (const auto how = json.find("how"); how != json.end() && how->is_string()) loss.how = how->get<std::string>();
    if (const auto s = json.find("unnoticed_s"); s != json.end() && s->is_number())
        loss.unnoticed_s = std::clamp(s->get<double>(), 0.0, 86400.0);
    if (const auto faults = json.find("faults"); faults != json.end()) loss.faults = read_faults(*faults);
    return loss;
}

std::string write(const Meeting& meeting) {
    return nlohmann::json{{"number", meeting.number}, {"members", meeting.members}, {"loss", write(meeting.loss)}}.dump(
        -1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Meeting read_meeting(const std::string& text, int world_size) {
    const auto json = nlohmann::json::parse(text, nullptr, false);
    try {
        Meeting meeting{json.at("number"), json.at("members"), read_loss(json.at("loss"), world_size)};
        for (const int rank : meeting.members)
            if (rank < 0 || rank >= world_size) return {};
        return meeting;
    } catch (const nlohmann::json::exception&) {
        return {};
    }
}

}  // namespace skippipe::meeting_text
