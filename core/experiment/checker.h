// SPDX-License-Identifier: GPL-3.0-or-later
// The parts of `validate`.
#pragma once
#include <initializer_list>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/base/fault.h"
#include "core/experiment/document.h"
#include "core/experiment/text.h"

namespace skippipe {

inline constexpr int max_nodes = 4096;

/// `validate` for a document read from `at`, of which `faults` are known: nothing is concluded from a field that has
/// one.
void validate_meaning(const Experiment& experiment, const std::string& at, Faults& faults);

/// Nodes and regions by name, and which ways are drawn between them. Names that do not exist or occur twice are
/// tolerated.
class TopologyIndex {
public:
    explicit TopologyIndex(const Topology& topology);

    bool is_node(const std::string& id) const { return nodes_.contains(id); }
    bool is_region(const std::string& id) const { return regions_.contains(id); }
    /// Index of a node in `nodes`, -1 where there is none.
    int node(const std::string& id) const;
    /// Whether something is sent over what is called "from->to": the line from one node to another, or that of a link
    /// drawn between two regions, where not each pair of their nodes has a link of its own.
    bool is_line(const std::string& from, const std::string& to) const;
    /// Whether a node has a line to (out) or from any other.
    bool has_way(const Node& node, bool out) const;

private:
    bool linked(const std::string& from, const std::string& to) const;
    bool is_shared_line(const std::string& from, const std::string& to) const;

    const Topology& topology_;
    std::unordered_map<std::string, int> nodes_;
    std::unordered_map<std::string, std::vector<std::size_t>> regions_;  ///< the nodes that stand in each
    std::unordered_map<std::string, std::unordered_set<std::string>> to_, from_;
    /// Of each link between two regions, once asked for: a document may have many failures of one.
    mutable std::map<std::pair<std::string, std::string>, bool> shared_;
};

/// What the parts of `validate` share.
struct Checker {
    const Experiment& experiment;
    const TopologyIndex& index;
    const std::string& at;
    const std::set<std::string, std::less<>>& unsound;  ///< pointers that have a fault already
    Faults& faults;

    /// No fault is known at this pointer, above it or below it.
    bool sound(std::string_view pointer) const;
    /// No fault is known at a list, its elements or these members of them; other members may have some.
    bool list_sound(std::string_view list, std::initializer_list<std::string_view> members) const;
    /// The names of nodes and regions can be relied on.
    bool ids_sound() const {
        return list_sound("/topology/nodes", {"/id"}) && list_sound("/topology/regions", {"/id"});
    }
    bool full() const { return is_full(faults); }
    void error(const std::string& pointer, std::string what, std::string why, std::string remedy);
    void warning(const std::string& pointer, std::string what, std::string why, std::string remedy);
};

void check_topology(Checker& check);
void check_links(Checker& check);
void check_pipeline(Checker& check);
void check_placement(Checker& check);
void check_run(Checker& check);

}  // namespace skippipe
