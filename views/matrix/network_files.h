// SPDX-License-Identifier: GPL-3.0-or-later
// Networks as files of other programs: links as CSV, as GraphML, and as the SkipPipe authors' JSON. No widget.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include <QByteArray>
#include <QString>

#include "core/experiment/document.h"

namespace skippipe {

enum class NetworkFormat { csv, graphml, authors_json };

/// What a file says of a node or region.
struct FileThing {
    std::string id;
    bool is_region = false;
    std::string region;  ///< of a node
    std::optional<double> x, y;
    std::optional<double> seconds_per_sample_per_block;
};

/// A network as read: nothing in it is checked against an experiment yet.
struct NetworkFile {
    std::vector<FileThing> things;
    std::vector<Link> links;
    std::vector<bool> links_regions;  ///< of each link: it joins regions that `things` need not name
    bool on_map = false;              ///< places are those of the world map
    QString fault;                    ///< why it cannot be read, with its line; the rest is empty then
};

/// By the file's ending: csv, graphml, json.
std::optional<NetworkFormat> network_format_of(const QString& file_name);

/// Links and what they join, all of it in s and bytes/s; nodes and regions too where the format has them.
std::string network_text(const Topology& topology, NetworkFormat format);

/// CSV needs the columns from, to, latency_s (or latency_ms) and may have bandwidth_bytes_per_s (or
/// bandwidth_bit_per_s), both_ways, between ("nodes" or "regions"). GraphML may be anybody's: names from "label",
/// places from "Latitude" and "Longitude" (the Topology Zoo's), latency from the distance where it is missing.
NetworkFile read_network(const QByteArray& text, NetworkFormat format);

/// What an import did.
struct MergedNetwork {
    int added_nodes = 0, added_regions = 0, added_links = 0, changed_links = 0;
    QString fault;  ///< nothing was done: why
};
/// Adds the things that are missing and gives links their values; nothing is removed. A link whose ends are known
/// nowhere joins nodes, which are added.
MergedNetwork merge_network(Topology& topology, const NetworkFile& file);

}  // namespace skippipe
