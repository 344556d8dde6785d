// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "core/planner/plan/plan.h"

namespace skippipe {

/// The path of each microbatch, looked up by number; what every node knows of the plan.
class RouteTable {
public:
    explicit RouteTable(const Plan& plan);

    /// Position of a node in the microbatch's path, 0 = its data node.
    int hop(int microbatch, int node) const;
    int length() const { return length_; }
    bool split_backward() const { return split_backward_; }

    struct Next {
        Operation operation;
        int node = -1;  ///< -1: the microbatch is done
        bool operator==(const Next&) const = default;
    };
    /// What follows an operation on a node, and where: F along the path, L on the data node, B (I) the way back.
    Next after(const Operation& operation, int node) const;

private:
    const std::vector<int>& path(int microbatch) const { return paths_.at(microbatch); }
    std::unordered_map<int, std::vector<int>> paths_;
    int length_ = 1;
    bool split_backward_ = false;
};

/// What a node sees: the input of an operation arrived, or what it ran ended.
struct NodeInput {
    enum class Kind { arrive, end };
    Kind kind = Kind::arrive;
    Operation operation;
    double time_s = 0;
    std::uint64_t number = 0;  ///< of the event that brings it
};

/// What a node answers: hand a result on, or start an operation.
struct NodeAction {
    enum class Kind { send, start };
    Kind kind = Kind::start;
    Operation operation;       ///< send: the operation the receiver will run
    int to = -1;               ///< send only
    std::uint64_t number = 0;  ///< of the event the action creates (arrival or end)
    double ready_s = 0;        ///< start only: when its input had arrived
    RouteTable::Next next;     ///< start only: where its result goes when it ends; whoever runs it does exactly that
};

/// A node as a deterministic state machine: it sees messages and time and answers with actions; it reads no clock, does
/// no I/O and draws no random number. Rules of dispatch, memory and order: docs/semantics.md, "Who goes first". One
/// iteration a machine.
class NodeMachine {
public:
    /// `memory`: M of TC1. `order`: binding; empty where `ordered` is false.
    NodeMachine(int node, int memory, bool ordered, std::vector<Operation> order, const RouteTable& routes);

    /// Handles one input completely, its dispatch included. Takes numbers for the events it creates from `next_number`.
    /// Throws std::logic_error where an operation ends that does not run here, or arrives twice.
    std::vector<NodeAction> handle(const NodeInput& input, std::uint64_t& next_number);

    int held() const { return held_; }
    bool busy() const { return running_.has_value(); }
    /// What it runs now.
    const std::optional<Operation>& running() const { return running_; }
    /// Operations whose input has come and which have not started.
    std::vector<Operation> waiting() const;

private:
    struct Ready {
        Operation operation;
        double arrival_s = 0;
        std::uint64_t number = 0;
    };
    void take(const NodeInput& input);
    void finish(const NodeInput& input, std::uint64_t& next_number, std::vector<NodeAction>& actions);
    void dispatch(std::uint64_t& next_number, std::vector<NodeAction>& actions);
    /// Index into ready_ of what runs next, or -1.
    int choose() const;
    bool admissible(const Operation& operation) const { return operation.kind != OpKind::F || held_ < memory_; }
    bool own_forward(const Operation& operation) const;
    bool before(const Ready& a, const Ready& b) const;

    /// What must hold after every input; throws std::logic_error.
    void check_invariants() const;

    int node_ = 0, memory_ = 0, held_ = 0;
    bool ordered_ = false;
    std::vector<Operation> order_;
    std::size_t order_next_ = 0;
    const RouteTable* routes_ = nullptr;
    std::optional<Operation> running_;
    std::vector<Ready> ready_;
};

}  // namespace skippipe
