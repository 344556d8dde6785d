// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/topology/world_map.h"

#include <cctype>
#include <map>
#include <string_view>
#include <vector>

#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>

namespace skippipe {
namespace {

QJsonObject read_resource(const char* name) {
    QFile file(QString(":/world/") + name);
    return file.open(QIODevice::ReadOnly) ? QJsonDocument::fromJson(file.readAll()).object() : QJsonObject{};
}

const std::map<std::string, Point>& known_places() {
    static const auto places = [] {
        std::map<std::string, Point> all;
        const auto listed = read_resource("places.json")["places"].toObject();
        for (auto it = listed.begin(); it != listed.end(); ++it) {
            const auto pair = it.value().toArray();
            all[it.key().toStdString()] = {map_scale * pair.at(1).toDouble(), -map_scale * pair.at(0).toDouble()};
        }
        return all;
    }();
    return places;
}

/// Letters and digits alone, small.
std::string plain(std::string_view text) {
    std::string out;
    for (const char c : text)
        if (std::isalnum(static_cast<unsigned char>(c)))
            out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return out;
}

bool ends_in_digit(const std::string& text) {
    return !text.empty() && std::isdigit(static_cast<unsigned char>(text.back()));
}

/// The name, then without a zone's letter behind a number, then without its number.
std::optional<Point> find_word(std::string word) {
    const auto& places = known_places();
    const auto known = [&] { return places.find(word); };
    if (const auto it = known(); it != places.end()) return it->second;
    if (word.size() > 1 && !ends_in_digit(word) && ends_in_digit(word.substr(0, word.size() - 1))) {
        word.pop_back();
        if (const auto it = known(); it != places.end()) return it->second;
    }
    while (ends_in_digit(word)) word.pop_back();
    if (const auto it = known(); it != places.end()) return it->second;
    return {};
}

}  // namespace

const QPainterPath& land_outlines() {
    static const QPainterPath land = [] {
        QPainterPath path;
        for (const auto& ring : read_resource("land.json")["rings"].toArray()) {
            QPolygonF polygon;
            const auto tenths = ring.toArray();
            for (qsizetype i = 0; i + 1 < tenths.size(); i += 2)
                polygon << QPointF(tenths.at(i).toDouble(), -tenths.at(i + 1).toDouble()) * (map_scale / 10);
            path.addPolygon(polygon);
            path.closeSubpath();
        }
        return path;
    }();
    return land;
}

std::optional<Point> place_on_map(const std::string& name) {
    if (const auto whole = find_word(plain(name))) return whole;
    std::vector<std::string> words{""};
    for (const char c : name) {
        if (std::isalnum(static_cast<unsigned char>(c)))
            words.back() += c;
        else
            words.emplace_back();
    }
    for (const auto& word : words)
        if (word.size() > 1)
            if (const auto found = find_word(plain(word))) return found;
    return {};
}

}  // namespace skippipe
