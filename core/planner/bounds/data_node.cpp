// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/planner/bounds/data_node.h"

#include <algorithm>
#include <vector>

#include "core/base/index.h"
#include "core/base/infinite.h"

namespace skippipe::bounds {

/// Let S(1) <= S(2) .. be the starts of the node's F, E(1) <= E(2) .. the ends of its last B (of W, where split), m the
/// microbatches that it holds at a time. Then, as the node runs one operation at a time,
///   S(j) >= S(j-1) + F,  E(j) >= E(j-1) + B  and  E(j) >= S(j) + loop (of the j that end first, one is at least the
///   j-th to start).
/// At S(j) at least j - m have ended, so S(j) >= E(j-m). More: let i <= j - m. F number i+m and later start after E(i),
/// for the same reason, and those before F number j are through by S(j): j-m-i of them. Of the j-m that have ended by
/// S(j), j-m-i ended after E(i): so many B lie between. And as only i+m-1 started before E(i), at least (j-m) - (i+m-1)
/// of those that ended by S(j) have their L in between too. Hence
///   S(j) >= E(i) + (j-m-i) (F + B) + max(0, j-i-2m+1) L.
/// `work_s` and `work_loss_s` are the greatest of these right sides over i, without and with L, carried from j to j+1.
double data_node_s(const Problem& problem, NodeIndex node, int own, double loop_s) {
    const int m = std::min(problem.memory[node], own);
    if (m < 1) return 0;
    const double forward_s = problem.forward_s(node, 0), loss_s = problem.loss_s(node);
    const double backward_s =
        problem.backward_s(node, 0) * (problem.split_backward ? 0.5 : 1);  // of W; the I may be past
    const double pair_s = forward_s + backward_s;
    std::vector<double> end_s(at(own) + 1, 0);
    double start_s = 0, work_s = -infinite, work_loss_s = -infinite;
    for (int j = 1; j <= own; ++j) {
        if (j > 1) start_s += forward_s;
        if (j > m) work_s = std::max(work_s + pair_s, end_s[at(j - m)]);
        if (j > 2 * m)
            work_loss_s = std::max(work_loss_s + pair_s + loss_s, end_s[at(j - 2 * m)] + m * pair_s + loss_s);
        start_s = std::max({start_s, work_s, work_loss_s});
        end_s[at(j)] = std::max(start_s + loop_s, j > 1 ? end_s[at(j - 1)] + backward_s : 0);
    }
    return end_s[at(own)];
}

}  // namespace skippipe::bounds
