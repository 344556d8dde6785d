// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <unordered_map>
#include <vector>

#include "core/planner/plan/plan.h"
#include "core/planner/replan/residual.h"

namespace skippipe {

/// The path of each microbatch, looked up by number, and which of its operations run again; what every node knows of
/// the plan in force.
class RouteTable {
public:
    explicit RouteTable(const Plan& plan);
    /// What is left of an iteration after nodes were lost; `nodes` [T x p]: the paths it goes on with.
    RouteTable(const Residual& residual, const std::vector<NodeIndex>& nodes);

    /// Position of a node in the microbatch's path, 0 = its data node. Throws std::logic_error where it never visits.
    int hop(int microbatch, int node) const;
    int length() const { return length_; }
    bool split_backward() const { return split_backward_; }
    const std::vector<NodeIndex>& path(int microbatch) const { return routes_.at(microbatch).nodes; }

    struct Next {
        Operation operation;
        int node = -1;  ///< -1: the microbatch is done
        bool operator==(const Next&) const = default;
    };
    /// What follows an operation on a node, and where: F along the path, L on the data node, B (I) the way back. What
    /// is run again is followed only by what is run again too and has not got its input yet.
    Next after(const Operation& operation, int node) const;

    /// 0..p-1 forward, p loss, p+1..2p backward (I and W of a hop are one step).
    int step_of(const Operation& operation, int node) const;
    /// The operation of a step (never W).
    Operation operation_of(int microbatch, int step, std::uint8_t attempt = 0) const;
    int node_of(int microbatch, int step) const;
    /// Microbatches whose forward runs again on the node.
    std::vector<int> forwards_again(int node) const;

private:
    struct Route {
        std::vector<NodeIndex> nodes;
        std::vector<char> again, fed;  ///< [2p + 1] the step runs again; its input is there or on its way. Or empty
    };
    std::unordered_map<int, Route> routes_;
    int length_ = 1;
    bool split_backward_ = false;
};

}  // namespace skippipe
