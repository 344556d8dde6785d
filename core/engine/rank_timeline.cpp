// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/engine/rank_timeline.h"

#include <algorithm>
#include <string_view>

#include "core/base/index.h"
#include "core/engine/regroup.h"
#include "core/engine/span_codec.h"
#include "core/engine/stage_copies.h"

namespace skippipe {

std::vector<int> absent_ranks(const RankTransport& transport) {
    std::vector<int> absent;
    const auto members = transport.members();
    for (int rank = 0; rank < transport.ranks(); ++rank)
        if (!std::binary_search(members.begin(), members.end(), rank)) absent.push_back(rank);
    return absent;
}

void add_steps(const RankSchedule& schedule, int rank, const std::vector<StageSum>& sums, double start_s, double end_s,
               std::vector<Span>& spans) {
    for (const int stage : schedule.stages_of(rank))
        for (const NodeIndex node : schedule.plan.stages[at(stage)])
            if (sums[at(stage)].tokens > 0 && schedule.rank_of[at(node)] == rank)
                spans.push_back({SpanKind::step, node, -1, StageIndex(stage), -1, start_s, start_s, end_s, 0});
}

void add_absent(const RankSchedule& everybody, const PerNode<StageIndex>& held, const std::vector<int>& absent,
                const std::map<NodeIndex, double>& since_s, Timeline& timeline) {
    for (const NodeIndex node : nodes_of_ranks(everybody, absent)) {
        if (held[node] < 0) continue;
        const auto lost = since_s.find(node);
        const double from_s = lost == since_s.end() ? 0 : std::min(lost->second, timeline.iteration_s);
        timeline.spans.push_back({SpanKind::down, node, -1, held[node], -1, from_s, from_s, timeline.iteration_s, 0});
    }
}

void gather_ends(const Problem& problem, const Plan& plan, RankTransport& transport, Timeline& timeline,
                 std::vector<CopyHash>& copies) {
    // One message: the copies, and from the first "SPAN" on the spans.
    const auto told = transport.gather(to_text(copies) + encode_spans(timeline.spans));
    const SpanLimits limits{problem.nodes(), problem.stages, problem.microbatches};
    timeline = {};
    copies.clear();
    for (const int rank : transport.rank() == 0 ? transport.members() : std::vector<int>{}) {
        const std::string_view text = told.at(at(rank));
        const auto end = std::min(text.find("SPAN"), text.size());
        const auto own = read_copies(text.substr(0, end), problem, rank);
        copies.insert(copies.end(), own.begin(), own.end());
        const auto spans = decode_spans(text.substr(end), limits, rank);
        timeline.spans.insert(timeline.spans.end(), spans.begin(), spans.end());
    }
    add_totals(plan, timeline);
}

}  // namespace skippipe
