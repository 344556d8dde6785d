// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/topology/link_menu.h"

#include <algorithm>
#include <map>
#include <vector>

#include <QMenu>

#include "core/experiment/document.h"
#include "views/topology/edits.h"

namespace skippipe {
namespace {

constexpr std::size_t most_in_one_menu = 16;

using LinkTo = std::function<void(const std::string& to)>;

void add_link_ends(QMenu& menu, const std::vector<std::string>& ends, const LinkTo& link) {
    for (const auto& id : ends)
        QObject::connect(menu.addAction(QString::fromStdString(id)), &QAction::triggered, &menu,
                         [link, id] { link(id); });
}

/// A menu of so many names at most: others follow in menus that say from which name to which.
void add_in_parts(QMenu& menu, const std::vector<std::string>& ends, const LinkTo& link) {
    if (ends.size() <= most_in_one_menu) return add_link_ends(menu, ends, link);
    for (std::size_t first = 0; first < ends.size(); first += most_in_one_menu) {
        const std::size_t after = std::min(first + most_in_one_menu, ends.size());
        auto* part = menu.addMenu(
            QObject::tr("%1 to %2").arg(QString::fromStdString(ends[first]), QString::fromStdString(ends[after - 1])));
        add_link_ends(
            *part,
            {ends.begin() + static_cast<std::ptrdiff_t>(first), ends.begin() + static_cast<std::ptrdiff_t>(after)},
            link);
    }
}

}  // namespace

void add_link_menu(QMenu& menu, const Experiment& experiment, const std::string& from, const LinkTo& link) {
    const Topology& t = experiment.topology;
    if (!t.hop_matrix_s.empty()) return;
    const auto is_free = [&](const std::string& id) { return id != from && !are_linked(experiment, from, id); };
    std::vector<std::string> ends;
    std::map<std::string, std::vector<std::string>> by_region;
    if (std::any_of(t.regions.begin(), t.regions.end(), [&](const Region& region) { return region.id == from; })) {
        for (const auto& region : t.regions)
            if (is_free(region.id)) ends.push_back(region.id);
    } else {
        for (const auto& node : t.nodes)
            if (is_free(node.id)) ends.push_back(node.id), by_region[node.region].push_back(node.id);
    }
    if (ends.empty()) return;
    auto* to = menu.addMenu(QObject::tr("Link to"));
    to->setObjectName("link_to");
    if (ends.size() <= most_in_one_menu || by_region.empty()) return add_in_parts(*to, ends, link);
    for (const auto& [region, nodes] : by_region)
        if (!region.empty()) add_in_parts(*to->addMenu(QString::fromStdString(region)), nodes, link);
    add_in_parts(*to, by_region[{}], link);
}

}  // namespace skippipe
