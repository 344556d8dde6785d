// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/engine/stage_copies.h"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/base/fault.h"
#include "core/base/index.h"
#include "core/engine/peer_text.h"

namespace skippipe {

std::string to_text(const std::vector<CopyHash>& copies) {
    auto all = nlohmann::json::array();
    for (const auto& copy : copies) all.push_back({copy.stage, copy.node, copy.hash});
    return all.dump();
}

std::vector<CopyHash> read_copies(std::string_view text, const Problem& problem, int rank) {
    auto copies = read_from_peer(rank, std::string(text), [](const nlohmann::json& all) {
        std::vector<CopyHash> read;
        for (const auto& copy : all) read.push_back({copy.at(0), copy.at(1), copy.at(2)});
        return read;
    });
    for (const auto& copy : copies)
        if (copy.stage < 0 || copy.stage >= problem.stages || copy.node < 0 || copy.node >= problem.nodes())
            throw PeerFault(rank, fmt::format("has a copy of stage {} on node {}", copy.stage, copy.node));
    return copies;
}

void require_equal_copies(const Experiment& experiment, int iteration, const std::vector<CopyHash>& copies) {
    const auto& nodes = experiment.topology.nodes;
    std::map<std::pair<int, std::string>, std::map<std::uint64_t, std::vector<std::string>>> alike;
    for (const auto& copy : copies) {
        const auto& node = nodes.at(at(copy.node));
        alike[{copy.stage, node.device.substr(0, node.device.find(':'))}][copy.hash].push_back(node.id);
    }
    for (const auto& [stage_and_device, by_hash] : alike) {
        if (by_hash.size() < 2) continue;
        std::vector<std::string> groups;
        for (const auto& [hash, ids] : by_hash) groups.push_back(fmt::format("{}", fmt::join(ids, ", ")));
        const int stage = stage_and_device.first;
        throw InputError(fmt::format("stage {}", stage),
                         fmt::format("its copies differ after iteration {}: {}", iteration + 1,
                                     fmt::join(groups, " have other weights or AdamW moments than ")),
                         "all nodes of a stage step from the same state with the same gradient, so that one of them "
                         "computed, kept or fetched something wrong",
                         "`skippipe resume RUN` goes on from the newest checkpoint; where it comes again, look at "
                         "memory and processor of these nodes, and give a stage processors of one kind");
    }
}

}  // namespace skippipe
