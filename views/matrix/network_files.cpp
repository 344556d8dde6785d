// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/matrix/network_files.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <QFileInfo>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QObject>
#include <QStringList>

#include <fmt/format.h>

#include "views/matrix/graphml.h"
#include "views/matrix/matrix_values.h"

namespace skippipe {
namespace {

constexpr double authors_gigabyte = 1073741824;

/// A cell as CSV has it: quoted where it would end too soon.
std::string quoted(const std::string& text) {
    if (text.find_first_of(",;\"\n") == std::string::npos) return text;
    std::string out = "\"";
    for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
    return out + '"';
}

QStringList cells_of(const QString& line, QChar mark) {
    QStringList cells{{}};
    bool inside = false;
    for (qsizetype i = 0; i < line.size(); ++i) {
        const QChar c = line[i];
        if (c == '"' && inside && i + 1 < line.size() && line[i + 1] == '"')
            cells.back() += line[++i];
        else if (c == '"')
            inside = !inside;
        else if (c == mark && !inside)
            cells << QString{};
        else
            cells.back() += c;
    }
    for (auto& cell : cells) cell = cell.trimmed();
    return cells;
}

std::string to_csv(const Topology& t) {
    std::set<std::string> regions;
    for (const auto& region : t.regions) regions.insert(region.id);
    std::string text = "from,to,latency_s,bandwidth_bytes_per_s,both_ways,between\n";
    for (const auto& link : t.links)
        text += fmt::format("{},{},{},{},{},{}\n", quoted(link.from), quoted(link.to), link.latency_s,
                            link.bandwidth_bytes_per_s, link.both_ways ? "yes" : "no",
                            regions.contains(link.from) ? "regions" : "nodes");
    return text;
}

NetworkFile from_csv(const QString& text) {
    NetworkFile file;
    const QStringList lines = text.split('\n');
    const QString head = lines.value(0).trimmed();
    const QChar mark = head.contains('\t') ? '\t' : head.contains(';') ? ';' : ',';
    const QStringList columns = cells_of(head.toLower(), mark);
    const auto column = [&](const char* name) { return columns.indexOf(QString(name)); };
    const bool in_ms = column("latency_s") < 0, in_bits = column("bandwidth_bytes_per_s") < 0;
    const auto latency = in_ms ? column("latency_ms") : column("latency_s");
    const auto bandwidth = in_bits ? column("bandwidth_bit_per_s") : column("bandwidth_bytes_per_s");
    if (column("from") < 0 || column("to") < 0 || latency < 0) {
        file.fault = QObject::tr("The first line needs the columns from, to and latency_s (or latency_ms)");
        return file;
    }
    for (qsizetype i = 1; i < lines.size(); ++i) {
        if (lines[i].trimmed().isEmpty()) continue;
        const QStringList cells = cells_of(lines[i], mark);
        bool fine = true, number = true;
        const auto value = [&](qsizetype at, double otherwise) {
            if (at < 0 || cells.value(at).isEmpty()) return otherwise;
            const double read = cells.value(at).toDouble(&number);
            fine = fine && number;
            return read;
        };
        Link link{cells.value(column("from")).toStdString(), cells.value(column("to")).toStdString(), 0, 0, true};
        link.latency_s = value(latency, -1) * (in_ms ? 1e-3 : 1);
        link.bandwidth_bytes_per_s =
            value(bandwidth, Link{}.bandwidth_bytes_per_s * (in_bits ? 8 : 1)) / (in_bits ? 8 : 1);
        const QString ways = cells.value(column("both_ways"), "yes").toLower();
        link.both_ways = ways != "no" && ways != "false" && ways != "0";
        if (!fine) {
            file = {};
            file.fault = QObject::tr("Line %1: a number is expected").arg(i + 1);
            return file;
        }
        file.links.push_back(link);
        file.links_regions.push_back(cells.value(column("between")).toLower() == "regions");
    }
    return file;
}

std::string to_authors_json(const Topology& t) {
    QJsonArray regions, links;
    std::set<std::string> known;
    const auto line = [](double latency_s, double bandwidth_bytes_per_s) {
        return QJsonObject{{"latency_ms", 1e3 * latency_s},
                           {"bandwidth_GBps", bandwidth_bytes_per_s / authors_gigabyte}};
    };
    for (const auto& region : t.regions) {
        regions.append(QString::fromStdString(region.id));
        known.insert(region.id);
    }
    for (const auto& link : t.links) {
        if (!known.contains(link.from) || !known.contains(link.to)) continue;
        auto written = line(link.latency_s, link.bandwidth_bytes_per_s);
        written["a"] = QString::fromStdString(link.from);
        written["b"] = QString::fromStdString(link.to);
        links.append(written);
    }
    return QJsonDocument(
               QJsonObject{{"bytes_per_GB", authors_gigabyte},
                           {"same_region", line(t.within_region.latency_s, t.within_region.bandwidth_bytes_per_s)},
                           {"regions", regions},
                           {"links", links}})
        .toJson()
        .toStdString();
}

NetworkFile from_authors_json(const QByteArray& text) {
    const auto refused = [](const QString& why) {
        NetworkFile file;
        file.fault = QObject::tr("This is not the authors' JSON of regions and links: %1").arg(why);
        return file;
    };
    QJsonParseError error{};
    const auto document = QJsonDocument::fromJson(text, &error);
    if (error.error != QJsonParseError::NoError) return refused(error.errorString());
    const QJsonObject all = document.object();
    if (!all["regions"].isArray() || !all["links"].isArray())
        return refused(QObject::tr("it has no lists of these names"));
    NetworkFile file;
    for (const auto& region : all["regions"].toArray()) {
        if (!region.isString()) return refused(QObject::tr("a region is no name"));
        file.things.push_back({region.toString().toStdString(), true, {}, {}, {}, {}});
    }
    const double gigabyte = all["bytes_per_GB"].toDouble(authors_gigabyte);
    for (const auto& value : all["links"].toArray()) {
        const auto link = value.toObject();
        if (!link["a"].isString() || !link["b"].isString() || !link["latency_ms"].isDouble() ||
            !link["bandwidth_GBps"].isDouble())
            return refused(
                QObject::tr("link %1 has no a, b, latency_ms and bandwidth_GBps").arg(file.links.size() + 1));
        file.links.push_back({link["a"].toString().toStdString(), link["b"].toString().toStdString(),
                              link["latency_ms"].toDouble() * 1e-3, link["bandwidth_GBps"].toDouble() * gigabyte,
                              true});
        file.links_regions.push_back(true);
    }
    return file;
}

bool lies_in(const Info& info, double value) {
    return std::isfinite(value) && value <= info.max && (info.above_min ? value > info.min : value >= info.min);
}

/// Why a place or a speed cannot be a node's or a region's, or nothing.
QString thing_fault(const FileThing& thing) {
    for (const auto& [value, key] : {std::pair{thing.x, "x"}, std::pair{thing.y, "y"},
                                     std::pair{thing.seconds_per_sample_per_block, "seconds_per_sample_per_block"}})
        if (value && !lies_in(node_info(key), *value))
            return QObject::tr("%1: its %2 of %3 is outside what it can be")
                .arg(QString::fromStdString(thing.id), QString::fromLatin1(key))
                .arg(*value);
    return {};
}

/// Why a value cannot be a link's, or nothing.
QString link_fault(const Link& link) {
    for (const auto& [value, shows, name] :
         {std::tuple{link.latency_s, MatrixShows::latency, "latency"},
          std::tuple{link.bandwidth_bytes_per_s, MatrixShows::bandwidth, "bandwidth"}}) {
        if (!lies_in(matrix_info(shows), value))
            return QObject::tr("%1 to %2: its %3 of %4 is outside what a link can have")
                .arg(QString::fromStdString(link.from), QString::fromStdString(link.to), QObject::tr(name))
                .arg(value);
    }
    if (link.from.empty() || link.to.empty() || link.from == link.to)
        return QObject::tr("A link from \"%1\" to \"%2\" joins nothing")
            .arg(QString::fromStdString(link.from), QString::fromStdString(link.to));
    return {};
}

}  // namespace

std::optional<NetworkFormat> network_format_of(const QString& file_name) {
    const QString ending = QFileInfo(file_name).suffix().toLower();
    if (ending == "csv" || ending == "tsv") return NetworkFormat::csv;
    if (ending == "graphml" || ending == "xml") return NetworkFormat::graphml;
    if (ending == "json") return NetworkFormat::authors_json;
    return {};
}

std::string network_text(const Topology& topology, NetworkFormat format) {
    return format == NetworkFormat::csv       ? to_csv(topology)
           : format == NetworkFormat::graphml ? to_graphml(topology)
                                              : to_authors_json(topology);
}

NetworkFile read_network(const QByteArray& text, NetworkFormat format) {
    return format == NetworkFormat::csv       ? from_csv(QString::fromUtf8(text))
           : format == NetworkFormat::graphml ? from_graphml(text)
                                              : from_authors_json(text);
}

MergedNetwork merge_network(Topology& topology, const NetworkFile& file) {
    MergedNetwork done;
    if (done.fault = file.fault; !done.fault.isEmpty()) return done;
    for (const auto& thing : file.things)
        if (done.fault = thing_fault(thing); !done.fault.isEmpty()) return done;
    for (const auto& link : file.links)
        if (done.fault = link_fault(link); !done.fault.isEmpty()) return done;
    std::set<std::string> regions, nodes;
    for (const auto& region : topology.regions) regions.insert(region.id);
    for (const auto& node : topology.nodes) nodes.insert(node.id);
    const bool is_empty = topology.nodes.empty();
    const auto add = [&](const FileThing& thing) {
        if (regions.contains(thing.id) || nodes.contains(thing.id)) return;
        if (thing.is_region) {
            regions.insert(thing.id);
            ++done.added_regions;
            topology.regions.push_back({thing.id, thing.x.value_or(0), thing.y.value_or(0)});
            return;
        }
        nodes.insert(thing.id);
        ++done.added_nodes;
        Node node{.id = thing.id, .region = thing.region};
        node.x = thing.x.value_or(0), node.y = thing.y.value_or(0);
        if (thing.seconds_per_sample_per_block) node.seconds_per_sample_per_block = *thing.seconds_per_sample_per_block;
        topology.nodes.push_back(node);
    };
    for (const auto& thing : file.things) add(thing);
    for (std::size_t i = 0; i < file.links.size(); ++i) {
        const Link& link = file.links[i];
        for (const auto& end : {link.from, link.to}) add({end, file.links_regions[i], {}, {}, {}, {}});
        const auto same = std::find_if(topology.links.begin(), topology.links.end(), [&](const Link& known) {
            return (known.from == link.from && known.to == link.to) ||
                   (known.both_ways && link.both_ways && known.from == link.to && known.to == link.from);
        });
        if (same == topology.links.end()) {
            topology.links.push_back(link);
            ++done.added_links;
        } else if (same->latency_s != link.latency_s || same->bandwidth_bytes_per_s != link.bandwidth_bytes_per_s) {
            same->latency_s = link.latency_s;
            same->bandwidth_bytes_per_s = link.bandwidth_bytes_per_s;
            ++done.changed_links;
        }
    }
    if (is_empty) topology.on_map = file.on_map;
    return done;
}

}  // namespace skippipe
