// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/analysis/link_use.h"

#include <algorithm>

namespace skippipe {

LinkUse::LinkUse(const Link& link, const Problem& problem) {
    const auto add_way = [&](const std::string& from, const std::string& to) {
        const auto& names = problem.line_names;
        const auto found = std::find(names.begin(), names.end(), from + "->" + to);
        LineUse way;
        way.to = to;
        if (found != names.end()) way.line = static_cast<int>(found - names.begin());
        ways.push_back(std::move(way));
    };
    add_way(link.from, link.to);
    if (link.both_ways) add_way(link.to, link.from);
}

LineUse* LinkUse::way_of(int line) {
    const auto found = std::find_if(ways.begin(), ways.end(), [&](const LineUse& way) { return way.line == line; });
    return line == no_line || found == ways.end() ? nullptr : &*found;
}

void LinkUse::add(const LinkTransfer& transfer, const Problem& problem) {
    const Hop hop = problem.hop(transfer.from, transfer.to);
    LineUse* way = way_of(hop.line);
    if (way == nullptr) return;
    ++(transfer.kind == SpanKind::transfer_forward    ? way->activations
       : transfer.kind == SpanKind::transfer_backward ? way->gradients
                                                      : way->parts);
    way->bytes += transfer.bytes;
    way->busy_s += transfer.bytes / hop.bandwidth_bytes_per_s;
    if (transfer.waited_s > way->longest.waited_s) way->longest = transfer;
    ++pairs[{transfer.from, transfer.to}];
    if (transfer.microbatch >= 0) microbatches.insert(transfer.microbatch);
    if (transfer.kind == SpanKind::transfer_reduction) reductions[transfer.stage] += transfer.bytes;
}

std::vector<std::pair<std::pair<NodeIndex, NodeIndex>, int>> LinkUse::busiest_pairs() const {
    std::vector<std::pair<std::pair<NodeIndex, NodeIndex>, int>> most(pairs.begin(), pairs.end());
    std::stable_sort(most.begin(), most.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
    return most;
}

}  // namespace skippipe
