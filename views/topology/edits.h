// SPDX-License-Identifier: GPL-3.0-or-later
// What the canvas does to a topology, as functions on the experiment: no widget, so that each can be tested alone.
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/experiment/document.h"
#include "views/document/selection.h"

namespace skippipe {

struct Point {
    double x = 0, y = 0;
};

/// "node-7" or "region-2": the first number free among nodes and regions.
std::string free_id(const Experiment& experiment, const std::string& stem);
/// Adds a node; returns its id.
std::string add_node(Experiment& experiment, Point at, const std::string& region = {});
/// Adds a region; returns its id.
std::string add_region(Experiment& experiment, Point at);
/// The place of one of so many nodes that stand round another place, the first of them below it.
Point place_round(Point at, int place, int nodes);
/// Adds so many nodes of a region round that place.
void add_nodes_round(Experiment& experiment, const std::string& region, Point at, int nodes);
/// Adds a region with so many nodes round its middle; returns its id.
std::string add_region_of_nodes(Experiment& experiment, Point at, int nodes);
/// Adds a link where none joins the two yet; false where one does, or both are the same node.
bool add_link(Experiment& experiment, const std::string& from, const std::string& to);
/// Puts a node into another region, beside its nodes.
void move_to_region(Experiment& experiment, const std::string& node, const std::string& region);
/// Removes what is selected, with the links, placements and failures that speak of it.
void remove_selected(Experiment& experiment, const Selection& selection);
/// Renames a node or region everywhere it is named.
void rename(Experiment& experiment, const std::string& from, const std::string& to);
void move_nodes(Experiment& experiment, const std::vector<std::pair<std::string, Point>>& places);
/// Selected nodes and regions, with the links between them, as JSON text.
std::string copy_text(const Experiment& experiment, const Selection& selection);
/// Adds what `copy_text` gave, moved by `offset`, under names that are free: "london-2" where there is a "london".
/// Returns what was added. Empty where the text is something else.
Selection paste_text(Experiment& experiment, std::string_view text, Point offset);

/// Whether a link leads from one to the other.
bool are_linked(const Experiment& experiment, const std::string& a, const std::string& b);
/// Links every two of the selected regions, and every two of the selected nodes that cannot reach each other yet: nodes
/// of one region do by its switch, those of linked regions by that link. Returns how many links were added.
int link_all(Experiment& experiment, const Selection& selection);
/// What is left of a selection when `before` became `now`: things that went are left out, renamed ones have their new
/// names. What was not in `before` stays, since it is another view's.
Selection still_there(const Selection& selection, const Topology& before, const Topology& now);

}  // namespace skippipe
