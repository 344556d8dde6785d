// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "core/engine/route_table.h"

namespace skippipe {

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

/// An operation whose input has come to a node.
struct WaitingOperation {
    Operation operation;
    double arrival_s = 0;
    std::uint64_t number = 0;  ///< of the event that brought it
};

/// What a node is in the midst of.
struct NodeRest {
    int held = 0;  ///< microbatches
    std::optional<Operation> running;
    std::vector<WaitingOperation> waiting;
};

/// A node as a deterministic state machine: it sees messages and time and answers with actions; it reads no clock, does
/// no I/O and draws no random number. Rules of dispatch, memory and order: docs/semantics.md, "Who goes first". One
/// iteration a machine, or what is left of one after nodes were lost (core/planner/replan/residual.h): a backward whose
/// forward runs again here waits for that.
class NodeMachine {
public:
    /// `memory`: M of TC1. `order`: binding; empty where `ordered` is false.
    NodeMachine(int node, int memory, bool ordered, std::vector<Operation> order, const RouteTable& routes,
                NodeRest rest = {});

    /// Handles one input completely, its dispatch included. Takes numbers for the events it creates from `next_number`.
    /// Throws std::logic_error where an operation ends that does not run here, or arrives twice.
    std::vector<NodeAction> handle(const NodeInput& input, std::uint64_t& next_number);
    /// The dispatch alone, of what it was made with.
    std::vector<NodeAction> begin(std::uint64_t& next_number);

    int held() const { return held_; }
    bool busy() const { return running_.has_value(); }
    /// What it runs now.
    const std::optional<Operation>& running() const { return running_; }
    /// Operations whose input has come and which have not started.
    const std::vector<WaitingOperation>& waiting() const { return ready_; }
    /// Those of them that wait for their forward to be run again.
    const std::vector<WaitingOperation>& parked() const { return parked_; }

private:
    void take(const WaitingOperation& input);
    void finish(const NodeInput& input, std::uint64_t& next_number, std::vector<NodeAction>& actions);
    void dispatch(std::uint64_t& next_number, std::vector<NodeAction>& actions);
    /// Index into ready_ of what runs next, or -1.
    int choose() const;
    bool admissible(const Operation& operation) const { return operation.kind != OpKind::F || held_ < memory_; }
    bool own_forward(const Operation& operation) const;
    bool before(const WaitingOperation& a, const WaitingOperation& b) const;
    void forward_ran_again(const Operation& forward, double now_s, std::uint64_t& next_number);

    /// What must hold after every input; throws std::logic_error.
    void check_invariants() const;

    int node_ = 0, memory_ = 0, held_ = 0;
    bool ordered_ = false;
    std::vector<Operation> order_;
    std::size_t order_next_ = 0;
    const RouteTable* routes_ = nullptr;
    std::optional<Operation> running_;
    std::vector<WaitingOperation> ready_, parked_;
    std::set<int> forwards_again_;  ///< microbatches whose forward is to run again here and has not
};

}  // namespace skippipe
