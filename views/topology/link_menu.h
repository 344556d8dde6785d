// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <functional>
#include <string>

class QMenu;

namespace skippipe {

struct Experiment;

/// Adds a menu of what a node, or a region, can be linked to and is not yet, by name: other nodes, or other regions.
/// Many nodes stand below their regions. Nothing is added where there is none, or where hop times replace links.
void add_link_menu(QMenu& menu, const Experiment& experiment, const std::string& from,
                   const std::function<void(const std::string& to)>& link);

}  // namespace skippipe
