// SPDX-License-Identifier: GPL-3.0-or-later
// A large network dealt out to small pipelines that always work together: of each place of a path a few nodes that no
// other pipeline uses. What one takes is then a sum and a maximum over its places, judged in a microsecond, so that
// millions of deals can be tried; paths that mix all nodes are better balanced, but wait for each other.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "core/base/rng.h"
#include "plugins/planners/common/network.h"
#include "plugins/planners/joint/pipelines/pipeline_routes.h"

namespace skippipe::planners::joint {

/// Nodes of each place of its microbatches' paths; of the first, its data nodes.
using FixedPipeline = std::vector<std::vector<NodeIndex>>;

/// The longer a pipeline takes compared with the others, the more it counts: by exp(steepness x its excess).
inline constexpr double pipeline_steepness = 45;

/// Of a place's nodes, by their speed: the one that best takes this share of the microbatches alone.
std::size_t diverted_node(const Problem& problem, const std::vector<NodeIndex>& nodes, double share);

/// What a pipeline's own share of the microbatches takes about, seconds: its slowest place, by work or by memory (held
/// from the F on until the B is done, a microbatch waits for `waiting` times as long as its way takes alone), and what
/// fills and drains the places before it.
double pipeline_seconds(const Problem& problem, const Network& network, const FixedPipeline& pipeline,
                        const PipelineRoute& route, double microbatches, double waiting);

/// Simulated annealing over which node serves where, minimising the longest pipelines.
class PipelineDesign {
public:
    /// `groups`: of near nodes, the number of each node's. `routes`: of each pipeline. Keeps references to problem
    /// and network.
    PipelineDesign(const Problem& problem, const Network& network, std::vector<int> groups, PipelineShape shape,
                   std::vector<PipelineRoute> routes, std::uint64_t seed, std::uint64_t stream);

    /// Tries so many changes; by the clock where `clock_fraction` is given. `go_on`: asked now and then with the
    /// fraction done.
    void run(std::int64_t changes, const std::function<double()>& clock_fraction,
             const std::function<bool(double fraction)>& go_on);
    const std::vector<FixedPipeline>& pipelines() const { return pipelines_; }
    const std::vector<PipelineRoute>& routes() const { return routes_; }
    const PipelineShape& shape() const { return shape_; }
    double longest_s() const;  ///< as seconds_of
    /// What a pipeline takes about: as pipelines usually wait, or if nothing did.
    double seconds_of(std::size_t pipeline) const;
    double least_seconds_of(std::size_t pipeline) const;

    /// A change that can be taken back.
    struct Exchange {
        NodeIndex first = -1, second = -1;
        std::size_t pipeline = 0;                    ///< with which; the same where it is within
        double first_said_s = 0, second_said_s = 0;  ///< what both took about before
    };
    /// Exchanges a node of a pipeline with any other, mostly a near one; nothing where both serve one place.
    std::optional<Exchange> exchange_with_any(std::size_t pipeline, Rng& rng);
    void take_back(const Exchange& exchange);

private:
    struct Place {
        std::size_t pipeline = 0, place = 0;
        bool operator==(const Place&) const = default;
    };

    void deal_out();
    NodeIndex partner_of(NodeIndex node, Rng& rng) const;
    double energy_of(double seconds) const;
    void aim();
    void change(double temperature);
    std::vector<NodeIndex>& nodes_at(Place place) { return pipelines_[place.pipeline][place.place]; }
    void exchange(NodeIndex u, NodeIndex v);
    void move(NodeIndex node, Place to);

    const Problem& problem_;
    const Network& network_;
    const std::vector<int> groups_;
    std::vector<std::vector<NodeIndex>> members_;  ///< of each group
    const PipelineShape shape_;
    const std::vector<PipelineRoute> routes_;
    const double microbatches_;  ///< of each pipeline
    Rng rng_;
    std::vector<FixedPipeline> pipelines_;
    PerNode<Place> place_of_;
    std::vector<double> seconds_;  ///< of each pipeline
    double aim_s_ = 1;             ///< energies are relative to it
};

}  // namespace skippipe::planners::joint
