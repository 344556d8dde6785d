// SPDX-License-Identifier: GPL-3.0-or-later
// Paths as journeys are booked: one microbatch after another takes the nodes and lines that have it back soonest, at
// times that nobody else has taken, all the way there and back.
#pragma once
#include <cstdint>
#include <limits>
#include <vector>

#include "plugins/planners/common/network.h"
#include "plugins/planners/common/plan_candidate.h"
#include "plugins/planners/joint/starts/calendar.h"
#include "plugins/planners/joint/starts/sequence_tree.h"

namespace skippipe::planners::joint {

/// What paths are chosen by, beside when a microbatch can go on.
struct PathWeights {
    double home =
        0.6;  ///< how much of the seconds from a node to the microbatch's data node and back counts on the way
    double work = 0.02;  ///< how much more than once a node's F and B count
    double rest = 0.1;   ///< how much sooner a data node starts for each second that its other microbatches will take
    double width = 1;    ///< beginnings of a path that are followed, rounded down
};

/// How soon microbatches are back: when each sixteenth of them has been booked, the mean of all ends so far, seconds.
using Pace = std::vector<double>;

/// Reuses its memory from call to call; one a thread. Keeps references.
///
/// A data node's next microbatch starts when it may; the one that may first comes first. Its F, one hop after another,
/// and then its L and B take the first free time on each node and line. A node gives a place only once it is free for
/// good, so that holding a microbatch longer than thought never fills it over M. (List scheduling with insertion, as
/// HEFT's: Topcuoglu et al. 2002; with a width, a beam search over the beginnings of a path.)
class ReservedPaths {
public:
    /// `groups`: of near nodes, the number of each node's. Where there are many, a next node is looked for in the group
    /// where the microbatch is, in its data node's, and in some of the others in turn.
    /// `sequences`: where given, every microbatch, by its place in release order, visits these stages, each on a node
    /// of its data node's group.
    ReservedPaths(const Problem& problem, const Network& network, std::vector<int> groups,
                  std::vector<std::vector<StageIndex>> sequences = {});

    /// Fills the paths of a candidate whose placement is complete, and binds its order unless B is split. Returns when
    /// the last operation ends, seconds; infinite, and paths that are to be forgotten, where a microbatch finds no line
    /// to go on, the end is sure to reach `cutoff_s`, or microbatches come back later than `at_most` on the way.
    /// Uplinks and planned reductions are not heeded, and lines that are shared carry first what is booked first: the
    /// exact time is a little different.
    double fill(PlanCandidate& candidate, const PathWeights& weights,
                double cutoff_s = std::numeric_limits<double>::infinity(), const Pace& at_most = {});
    /// Of the last fill().
    const Pace& pace() const { return pace_; }

private:
    /// With more groups than that, some of them are looked at.
    static constexpr int many_groups = 10;

    struct Booking {
        double begin_s = 0;
        std::uint32_t operation = 0;  ///< packed
        bool operator<(const Booking& other) const { return begin_s < other.begin_s; }
    };
    struct Worker {
        Calendar calendar;
        std::vector<double> place_free_s;  ///< of each of its places, ascending
        std::vector<Booking> bookings;
        double forward_s = 0, backward_s = 0, loss_s = 0;
    };
    /// Of a node, what most of those looked at fail by, close together in memory.
    struct Promise {
        double free_s = 0;  ///< its next place
        double forward_s = 0, backward_s = 0;
    };
    /// A data node, and what it has still to start.
    struct Home {
        std::vector<ReleaseIndex> own;  ///< descending
        double round_trip_s = 0;        ///< of its microbatches so far, the last ones most
    };
    /// Which data node starts when.
    struct Turn {
        double key_s = 0;
        NodeIndex node = -1;
        bool operator<(const Turn& other) const {  // the last one first, as heaps go
            return key_s > other.key_s || (key_s == other.key_s && node > other.node);
        }
    };
    /// A beginning of a path: its last hop, and where the hop before stands.
    struct Step {
        int before = -1;
        NodeIndex node = -1;
        int branch = 0;
        double begin_s = 0, end_s = 0;  ///< of the F
        double back_s = 0;              ///< of all B so far and of the hops back
        double value_s = 0;             ///< when the microbatch promises to be back
    };
    /// When a line is taken.
    struct Passage {
        int line = 0;
        double begin_s = 0, seconds = 0;
    };
    /// A path and when each of its steps begins, there and back.
    struct Journey {
        std::vector<NodeIndex> nodes;
        std::vector<double> begin_s;
        std::vector<Passage> passages;
        double end_s = 0;
    };
    /// To a step, of a microbatch of so many times Problem::samples.
    struct Message {
        int step = 0;
        double size = 1, handed_s = 0;
    };

    void reset(PlanCandidate& candidate);
    double size_of(ReleaseIndex index) const;
    double start_s(NodeIndex home) const;
    void queue(NodeIndex home);
    double operation_s(NodeIndex node, int step) const;
    bool follow(ReleaseIndex index, NodeIndex home);
    void extend(int from, int hop, NodeIndex home, double size);
    void extend_in_group(int from, int hop, NodeIndex home, double size);
    bool looks_in_groups() const { return !sequences_.empty() || group_count_ > many_groups; }
    const std::vector<NodeIndex>& nodes_of(StageIndex stage, int group) const;
    bool promises_less(const Step& next, int hop, NodeIndex home, double size) const;
    void look(Step next, int hop, NodeIndex home, double size);
    double arrival_s(NodeIndex from, NodeIndex to, Message message, std::vector<Passage>* taken) const;
    void come_back(int last, double size);
    void book(ReleaseIndex index, double size);
    void bind_orders();

    const Problem& problem_;
    const Network& network_;
    const std::vector<std::vector<StageIndex>> sequences_;  ///< of each microbatch, where they are given
    const SequenceTree all_;
    const std::vector<int> groups_;
    const int group_count_;
    const int length_;
    PathWeights weights_;
    const std::vector<StageIndex>* sequence_ = nullptr;  ///< of the one that is followed
    SequenceTree left_;
    PlanCandidate* candidate_ = nullptr;
    PerNode<Worker> workers_;
    PerNode<Promise> promises_;
    PerNode<Home> homes_;
    std::vector<Calendar> lines_;
    std::vector<Turn> turns_;  ///< a heap
    std::vector<Step> steps_;
    std::vector<int> ends_;    ///< of those followed, of steps_
    std::vector<Step> grown_;  ///< the best next ones, the best first
    Journey journey_, best_;
    Pace pace_;
    std::vector<std::vector<NodeIndex>> in_group_;  ///< [stage x groups + group], where there are many
    int turn_ = 0;                                  ///< the next of the other groups
};

}  // namespace skippipe::planners::joint
