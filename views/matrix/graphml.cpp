// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/matrix/graphml.h"

#include <cmath>
#include <map>
#include <numbers>
#include <set>

#include <QObject>
#include <QXmlStreamReader>
#include <QXmlStreamWriter>

#include "views/topology/world_map.h"

namespace skippipe {
namespace {

constexpr double unknown_latency_s = 0.01;
constexpr double earth_radius_m = 6.371e6, light_in_fibre_m_per_s = 2e8;

struct Values {
    std::map<QString, QString> by_name;
    std::optional<double> number(const char* name) const {
        const auto it = by_name.find(name);
        bool ok = false;
        const double value = it == by_name.end() ? 0 : it->second.toDouble(&ok);
        return ok ? std::optional(value) : std::nullopt;
    }
    std::string text(const char* name) const {
        const auto it = by_name.find(name);
        return it == by_name.end() ? std::string{} : it->second.trimmed().toStdString();
    }
};

struct Globe {
    double latitude, longitude;
};

/// Along a great circle.
double distance_m(Globe a, Globe b) {
    constexpr double degree = std::numbers::pi / 180;
    const double u = std::sin((b.latitude - a.latitude) * degree / 2),
                 v = std::sin((b.longitude - a.longitude) * degree / 2);
    const double h = u * u + std::cos(a.latitude * degree) * std::cos(b.latitude * degree) * v * v;
    return 2 * earth_radius_m * std::asin(std::min(1.0, std::sqrt(h)));
}

/// The <data> of a node or edge, up to its end.
Values read_values(QXmlStreamReader& xml, const std::map<QString, QString>& keys) {
    Values values;
    while (xml.readNextStartElement()) {
        if (xml.name() != QStringLiteral("data")) {
            xml.skipCurrentElement();
            continue;
        }
        const auto key = keys.find(xml.attributes().value("key").toString());
        const QString text = xml.readElementText(QXmlStreamReader::IncludeChildElements);
        if (key != keys.end()) values.by_name[key->second] = text;
    }
    return values;
}

class GraphReader {
public:
    explicit GraphReader(const QByteArray& text) : xml_(text) {}

    NetworkFile read() {
        while (!xml_.atEnd()) {
            if (xml_.readNext() != QXmlStreamReader::StartElement) continue;
            if (xml_.name() == QStringLiteral("key")) {
                keys_[xml_.attributes().value("id").toString()] = xml_.attributes().value("attr.name").toString();
            } else if (xml_.name() == QStringLiteral("graph")) {
                is_graph_ = true;
                directed_ = xml_.attributes().value("edgedefault") == QStringLiteral("directed");
            } else if (xml_.name() == QStringLiteral("node")) {
                read_node();
            } else if (xml_.name() == QStringLiteral("edge")) {
                read_edge();
            }
        }
        if (xml_.hasError()) return failed(QObject::tr("Line %1: %2").arg(xml_.lineNumber()).arg(xml_.errorString()));
        if (!is_graph_) return failed(QObject::tr("There is no <graph> in it: is it GraphML?"));
        return file_;
    }

private:
    static NetworkFile failed(const QString& why) {
        NetworkFile file;
        file.fault = why;
        return file;
    }

    void read_node() {
        const QString id = xml_.attributes().value("id").toString();
        const Values values = read_values(xml_, keys_);
        FileThing thing;
        thing.id = values.text("label").empty() ? id.toStdString() : values.text("label");
        // Labels of other people's files need not be unique.
        if (!names_used_.insert(thing.id).second) names_used_.insert(thing.id += " " + id.toStdString());
        thing.is_region = values.text("kind") == "region";
        thing.region = values.text("region");
        thing.x = values.number("x"), thing.y = values.number("y");
        thing.seconds_per_sample_per_block = values.number("seconds_per_sample_per_block");
        const auto latitude = values.number("Latitude"), longitude = values.number("Longitude");
        if (latitude && longitude && std::abs(*latitude) <= 90 && std::abs(*longitude) <= 180) {
            globe_[id] = {*latitude, *longitude};
            thing.x = map_scale * *longitude, thing.y = -map_scale * *latitude;
            file_.on_map = true;
        }
        names_[id] = thing.id;
        is_region_[thing.id] = thing.is_region;
        file_.things.push_back(thing);
    }

    void read_edge() {
        const auto attributes = xml_.attributes();
        const QString from = attributes.value("source").toString(), to = attributes.value("target").toString();
        const QString directed = attributes.value("directed").toString();
        const Values values = read_values(xml_, keys_);
        if (from == to || !names_.contains(from) || !names_.contains(to)) return;
        Link link{names_[from], names_[to], unknown_latency_s, Link{}.bandwidth_bytes_per_s,
                  directed.isEmpty() ? !directed_ : directed != QStringLiteral("true")};
        if (const auto latency_s = values.number("latency_s"))
            link.latency_s = *latency_s;
        else if (globe_.contains(from) && globe_.contains(to))
            link.latency_s = distance_m(globe_[from], globe_[to]) / light_in_fibre_m_per_s;
        if (const auto rate = values.number("bandwidth_bytes_per_s"))
            link.bandwidth_bytes_per_s = *rate;
        else if (const auto bits = values.number("LinkSpeedRaw"); bits && *bits > 0)
            link.bandwidth_bytes_per_s = *bits / 8;
        file_.links.push_back(link);
        file_.links_regions.push_back(is_region_[link.from]);
    }

    QXmlStreamReader xml_;
    NetworkFile file_;
    std::map<QString, QString> keys_;
    std::map<QString, std::string> names_;
    std::map<QString, Globe> globe_;
    std::map<std::string, bool> is_region_;
    std::set<std::string> names_used_;
    bool directed_ = false, is_graph_ = false;
};

}  // namespace

std::string to_graphml(const Topology& t) {
    QByteArray text;
    QXmlStreamWriter xml(&text);
    xml.setAutoFormatting(true);
    xml.writeStartDocument();
    xml.writeStartElement("graphml");
    xml.writeDefaultNamespace("http://graphml.graphdrawing.org/xmlns");
    const std::pair<const char*, const char*> of_nodes[] = {{"kind", "string"},
                                                            {"region", "string"},
                                                            {"x", "double"},
                                                            {"y", "double"},
                                                            {"seconds_per_sample_per_block", "double"}};
    const auto key = [&](const char* name, const char* type, const char* what) {
        xml.writeEmptyElement("key");
        xml.writeAttribute("id", name);
        xml.writeAttribute("for", what);
        xml.writeAttribute("attr.name", name);
        xml.writeAttribute("attr.type", type);
    };
    for (const auto& [name, type] : of_nodes) key(name, type, "node");
    for (const char* name : {"latency_s", "bandwidth_bytes_per_s"}) key(name, "double", "edge");
    const auto data = [&](const char* name, const QString& value) {
        xml.writeStartElement("data");
        xml.writeAttribute("key", name);
        xml.writeCharacters(value);
        xml.writeEndElement();
    };
    const auto number = [](double value) { return QString::number(value, 'g', 17); };
    xml.writeStartElement("graph");
    xml.writeAttribute("edgedefault", "directed");
    for (const auto& region : t.regions) {
        xml.writeStartElement("node");
        xml.writeAttribute("id", QString::fromStdString(region.id));
        data("kind", "region");
        data("x", number(region.x)), data("y", number(region.y));
        xml.writeEndElement();
    }
    for (const auto& node : t.nodes) {
        xml.writeStartElement("node");
        xml.writeAttribute("id", QString::fromStdString(node.id));
        data("kind", "node");
        if (!node.region.empty()) data("region", QString::fromStdString(node.region));
        data("x", number(node.x)), data("y", number(node.y));
        data("seconds_per_sample_per_block", number(node.seconds_per_sample_per_block));
        xml.writeEndElement();
    }
    for (const auto& link : t.links) {
        xml.writeStartElement("edge");
        xml.writeAttribute("source", QString::fromStdString(link.from));
        xml.writeAttribute("target", QString::fromStdString(link.to));
        xml.writeAttribute("directed", link.both_ways ? "false" : "true");
        data("latency_s", number(link.latency_s)), data("bandwidth_bytes_per_s", number(link.bandwidth_bytes_per_s));
        xml.writeEndElement();
    }
    xml.writeEndElement();
    xml.writeEndElement();
    xml.writeEndDocument();
    return text.toStdString();
}

NetworkFile from_graphml(const QByteArray& text) { return GraphReader(text).read(); }

}  // namespace skippipe
