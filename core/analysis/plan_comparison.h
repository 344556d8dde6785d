// SPDX-License-Identifier: GPL-3.0-or-later
// What is different between two plans, and between the networks that they are of. Nodes are the same where their names
// are.
#pragma once
#include <string>
#include <vector>

#include "core/experiment/document.h"
#include "core/planner/plan/plan.h"
#include "core/planner/plan/problem.h"

namespace skippipe {

/// A node that is not in the same stage, or that only one of the two networks has.
struct NodeChange {
    static constexpr int in_no_stage = -1, not_there = -2;
    std::string node;
    int stage_a = in_no_stage, stage_b = in_no_stage;
    bool operator==(const NodeChange&) const = default;
};

/// One stage in both; zeros where a plan has not so many.
struct StageChange {
    int stage = 0;
    int nodes_a = 0, nodes_b = 0, blocks_a = 0, blocks_b = 0, visits_a = 0, visits_b = 0;
    bool differs() const { return nodes_a != nodes_b || blocks_a != blocks_b || visits_a != visits_b; }
};

struct PlanComparison {
    std::vector<NodeChange> nodes;    ///< those that differ, in the order of the first network
    std::vector<StageChange> stages;  ///< all
    int microbatches_a = 0, microbatches_b = 0;
    int same_paths = 0;   ///< microbatches that visit the same nodes in the same order in both
    int same_stages = 0;  ///< microbatches that visit the same stages
    bool same_orders = false;
};
PlanComparison compare_plans(const Problem& a, const Plan& plan_a, const Problem& b, const Plan& plan_b);

/// Something that differs between two networks: "n3", "time per sample and block", "55 ms", "110 ms"; "" where it is
/// not there.
struct NetworkChange {
    std::string thing, field, value_a, value_b;
    bool operator==(const NetworkChange&) const = default;
};
/// Nodes, then links, as the first network has them, then what the second one has beside; what has no effect on a plan
/// (places) is left out.
std::vector<NetworkChange> network_difference(const Topology& a, const Topology& b);

}  // namespace skippipe
