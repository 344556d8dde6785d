// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <string>

#include <QByteArray>

#include "views/matrix/network_files.h"

namespace skippipe {

/// All nodes, regions and links, with their values under the names of the experiment's fields.
std::string to_graphml(const Topology& topology);
/// See read_network.
NetworkFile from_graphml(const QByteArray& text);

}  // namespace skippipe
