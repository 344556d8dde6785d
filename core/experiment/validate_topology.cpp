// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <charconv>
#include <cstring>
#include <map>

#include <fmt/format.h>

#include "core/experiment/checker.h"
#include "core/experiment/regions.h"
#include "core/experiment/text.h"

namespace skippipe {

namespace {

bool printable(const std::string& id) {
    const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; };
    return !id.empty() && id.size() <= 128 && std::none_of(id.begin(), id.end(), is_control) && id.front() != ' ' &&
           id.back() != ' ' && id.find("->") == std::string::npos;
}

std::string member(const char* list, std::size_t i, const char* key = "") {
    return fmt::format("/topology/{}/{}{}", list, i, key);
}

/// "cpu", "cuda" or "cuda:N".
bool device_is_known(std::string_view device) {
    if (device == "cpu" || device == "cuda") return true;
    if (!device.starts_with("cuda:")) return false;
    const auto number = device.substr(5);
    int value = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
    return error == std::errc() && end == number.data() + number.size() && value >= 0 && value < 1024;
}

class IdCheck {
public:
    explicit IdCheck(Checker& check) : check_(check) {}

    void add(const std::string& id, const char* list, std::size_t i) {
        const std::string pointer = member(list, i, "/id");
        if (!check_.sound(pointer)) return;
        if (!printable(id))
            check_.error(pointer, fmt::format("{} is no name", in_quotes(id)),
                         "links and plans refer to nodes and regions by name",
                         "Give 1 to 128 printable characters without \"->\" and without a space at either end");
        const auto [first, is_new] = seen_.emplace(id, member(list, i));
        if (!is_new && !id.empty())
            check_.error(pointer, fmt::format("the name {} is taken", in_quotes(id)),
                         fmt::format("{} has it too, and names are unique among nodes and regions", first->second),
                         "Rename one of them");
    }

private:
    Checker& check_;
    std::map<std::string, std::string> seen_;
};

void check_nodes(Checker& check) {
    const auto& topology = check.experiment.topology;
    if (topology.nodes.empty() && check.sound("/topology/nodes"))
        check.error("/topology/nodes", "there is no node", "every stage needs at least one", "Add nodes");
    const bool ids_sound = check.ids_sound();
    for (std::size_t i = 0; i < topology.nodes.size() && !check.full(); ++i) {
        const Node& node = topology.nodes[i];
        if (!node.region.empty() && !check.index.is_region(node.region) && check.sound(member("nodes", i, "/region")) &&
            ids_sound) {
            std::vector<std::string_view> ids;
            for (const auto& region : topology.regions) ids.push_back(region.id);
            const auto meant = closest(node.region, ids);
            check.error(member("nodes", i, "/region"), fmt::format("there is no region {}", in_quotes(node.region)),
                        "its links are those of its region",
                        meant.empty() ? std::string("Add the region, or leave Region empty")
                                      : fmt::format("Did you mean {}? Otherwise add the region", in_quotes(meant)));
        }
        if (!device_is_known(node.device) && check.sound(member("nodes", i, "/device")))
            check.error(member("nodes", i, "/device"), fmt::format("{} is no device", in_quotes(node.device)),
                        "its tensors live there", "Give \"cpu\", \"cuda\" or \"cuda:N\"");
    }
}

void check_matrix(Checker& check) {
    const auto& topology = check.experiment.topology;
    const auto& matrix = topology.hop_matrix_s;
    if (matrix.empty() || !check.sound("/topology/hop_matrix_s") || !check.ids_sound()) return;
    const std::size_t nodes = topology.nodes.size();
    if (matrix.size() != nodes)
        check.error("/topology/hop_matrix_s", fmt::format("{} rows for {} nodes", matrix.size(), nodes),
                    "it gives the seconds from each node to each other", "Give one row a node");
    for (std::size_t i = 0; i < matrix.size(); ++i) {
        const std::string pointer = fmt::format("/topology/hop_matrix_s/{}", i);
        if (matrix[i].size() != nodes)
            check.error(pointer, fmt::format("{} values for {} nodes", matrix[i].size(), nodes),
                        "it gives the seconds from this node to each node", "Give one value a node");
        else if (i < nodes && matrix[i][i] != 0)
            check.error(fmt::format("{}/{}", pointer, i),
                        fmt::format("{} from a node to itself", number_text(matrix[i][i])), "nothing is sent there",
                        "Set it to 0");
    }
    for (std::size_t i = 0; i < nodes && !check.full(); ++i)
        for (const auto& [key, rate] : {std::pair("/up_bytes_per_s", topology.nodes[i].up_bytes_per_s),
                                        std::pair("/down_bytes_per_s", topology.nodes[i].down_bytes_per_s)})
            if (rate && check.sound(member("nodes", i, key)))
                check.warning(member("nodes", i, key), fmt::format("{} B/s have no effect", number_text(*rate)),
                              "the hop matrix gives the whole time of each transfer", "Leave it out");
    if (check.experiment.costs.overhead_s != 0)
        check.warning("/costs/overhead_s",
                      fmt::format("{} s has no effect", number_text(check.experiment.costs.overhead_s)),
                      "the hop matrix gives the whole time of each transfer", "Set it to 0, or add it to the matrix");
}

/// Why a node without links matters for this document; empty where nothing is ever sent.
bool sends_anything(const Experiment& experiment) {
    return experiment.pipeline.stages > 1 || experiment.costs.all_reduce != AllReduceRule::free;
}

/// "a, b | c, d, e, f and 3 more"
std::string groups_text(const Topology& topology, const std::vector<std::vector<std::size_t>>& groups) {
    constexpr std::size_t most = 4;
    std::string text;
    for (std::size_t g = 0; g < std::min(groups.size(), most); ++g) {
        if (g > 0) text += " | ";
        for (std::size_t k = 0; k < std::min(groups[g].size(), most); ++k)
            text += (k > 0 ? ", " : "") + topology.nodes[groups[g][k]].id;
        if (groups[g].size() > most) text += fmt::format(" and {} more", groups[g].size() - most);
    }
    return groups.size() > most ? text + " | ..." : text;
}

/// Each node has a way to some others, but not all are joined: seldom meant, though a plan of one group may be found.
void check_groups(Checker& check) {
    const auto& topology = check.experiment.topology;
    const auto is_link = [&](const Link& link) {
        return check.index.is_node(link.from) ? check.index.is_node(link.to)
                                              : check.index.is_region(link.from) && check.index.is_region(link.to);
    };
    if (!std::all_of(topology.links.begin(), topology.links.end(), is_link)) return;  // told where links are checked
    if (const auto groups = linked_groups(topology); groups.size() > 1)
        check.warning("/topology/links",
                      fmt::format("the nodes fall into {} groups with no link between them: {}", groups.size(),
                                  groups_text(topology, groups)),
                      "no path leaves its group, and no stage sums gradients over two: a plan does with one group "
                      "while the others idle, or there is none",
                      "Link the groups, or remove those that are not meant");
}

void check_reach(Checker& check) {
    const auto& topology = check.experiment.topology;
    if (!topology.hop_matrix_s.empty() || topology.nodes.size() < 2 || !sends_anything(check.experiment)) return;
    if (!check.ids_sound() || !check.list_sound("/topology/links", {"/from", "/to", "/both_ways"}) ||
        !check.list_sound("/topology/nodes", {"/region"}) || !check.sound("/topology/hop_matrix_s"))
        return;
    bool all_have_ways = true;
    for (std::size_t i = 0; i < topology.nodes.size(); ++i) {
        const Node& node = topology.nodes[i];
        if (!node.region.empty() && !check.index.is_region(node.region)) {  // told already
            all_have_ways = false;
            continue;
        }
        const bool out = check.index.has_way(node, true), in = check.index.has_way(node, false);
        if (out && in) continue;
        all_have_ways = false;
        const char* missing = out ? "no way leads to" : in ? "no way leads from" : "no link reaches";
        check.error(member("nodes", i), fmt::format("{} node {}", missing, in_quotes(node.id)),
                    "messages are not routed over other nodes, so it can take no part",
                    "Draw a link to or from it, put it in a region that has links, or remove it");
    }
    if (all_have_ways) check_groups(check);
}

}  // namespace

void check_topology(Checker& check) {
    IdCheck ids(check);
    const auto& topology = check.experiment.topology;
    for (std::size_t i = 0; i < topology.regions.size(); ++i) ids.add(topology.regions[i].id, "regions", i);
    for (std::size_t i = 0; i < topology.nodes.size(); ++i) ids.add(topology.nodes[i].id, "nodes", i);
    check_nodes(check);
    check_matrix(check);
    check_reach(check);
}

}  // namespace skippipe
