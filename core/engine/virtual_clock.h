// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "core/engine/compute.h"
#include "core/engine/node.h"
#include "core/planner/plan/timeline.h"

namespace skippipe {

/// How long an operation takes on a node that hosts `stage` (README, "What a plan means", Operations).
double operation_seconds(const Problem& problem, const Operation& operation, int node, int stage);

/// Messages of these go the way back.
inline bool is_backward(OpKind kind) { return kind == OpKind::B || kind == OpKind::I; }

/// What a timeline calls an operation.
SpanKind span_kind(OpKind kind);

/// The drawn network's lines: who may send when (README, "What a plan means", Lines).
class VirtualNetwork {
public:
    explicit VirtualNetwork(const Problem& problem) : problem_(problem), free_s_(problem.line_names.size(), 0.0) {}

    struct Transfer {
        double start_s = 0, arrival_s = 0;
    };
    /// Every line free, as at the start of an iteration.
    void reset() { free_s_.assign(free_s_.size(), 0.0); }
    /// `size`: relative (Problem::relative_size).
    Transfer send(int from, int to, bool backward, double size, double handed_over_s);

private:
    const Problem& problem_;
    std::vector<double> free_s_;  ///< of each line, where they are shared
};

/// Times to use instead of the cost model's.
class Durations {
public:
    virtual ~Durations() = default;
    virtual std::optional<double> operation_s(int node, const Operation& operation) const = 0;
    /// From hand-over to arrival, whatever else is on the line.
    virtual std::optional<double> transfer_s(int from, int to, const Operation& next) const = 0;
};

/// What an operation needs beside its node.
class Admission {
public:
    virtual ~Admission() = default;
    virtual bool enter(int node) = 0;
    virtual void leave(int node) = 0;
};

/// Drives the nodes' state machines through one iteration by an event queue, in the drawn network's time: the same to
/// the bit on every machine. Hands every operation to `compute` in the order in which they start. `clock: virtual`,
/// `transport: local`.
class VirtualDriver {
public:
    /// The plan must have passed check_structure. Problem, plan and compute outlive the driver.
    VirtualDriver(const Problem& problem, const Plan& plan, ComputeBackend& compute);

    /// From the next iteration on; null: the cost model, and nodes that wait for nothing but themselves. Both outlive
    /// the driver.
    void use(const Durations* durations, Admission* admission) {
        durations_ = durations;
        admission_ = admission;
    }

    /// One iteration from time 0. An incomplete one (deadlock) comes back with `complete` false and what is blocked.
    Timeline run_iteration();

private:
    struct Event {
        double time_s = 0;
        std::uint64_t number = 0;
        NodeInput::Kind kind = NodeInput::Kind::arrive;
        int node = 0;
        Operation operation;
        bool operator>(const Event& other) const {
            return time_s != other.time_s ? time_s > other.time_s : number > other.number;
        }
    };
    struct Running {
        double ready_s = 0, start_s = 0;
    };

    /// Handles events until none is left; counts `expected` operations down. Returns each stage's last end.
    std::vector<double> run_events(std::size_t& expected);
    void describe_blocked();
    void start(int node, const NodeAction& action, double now_s);
    void start_admitted(double now_s);
    void send(int node, const NodeAction& action, double now_s);
    void record(int node, const Operation& operation, double end_s);
    Event pop();
    void push(const Event& event);

    PlannedProblem planned_;
    const Problem& problem_;
    const Plan& plan_;
    ComputeBackend& compute_;
    Itinerary itinerary_;
    std::vector<int> stage_of_;
    VirtualNetwork network_;
    std::vector<NodeMachine> machines_;
    std::vector<Running> running_;
    std::vector<Event> queue_;  ///< a heap, earliest first
    std::uint64_t next_number_ = 0;
    Timeline timeline_;
    const Durations* durations_ = nullptr;
    Admission* admission_ = nullptr;
    std::deque<std::pair<int, NodeAction>> admitted_later_;
};

}  // namespace skippipe
