// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/planners/joint/pipelines/pipeline_design.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/base/index.h"

namespace skippipe::planners::joint {

namespace {

/// How much longer a microbatch is held than it works and travels (found by trial: 0.2 to 0.5 do about as well).
constexpr double usual_waiting = 0.4;
/// Beyond which an exponential tells nothing apart.
constexpr double most_excess = 50;
constexpr double first_temperature = 30, last_temperature = 3e-4;
constexpr std::int64_t changes_between_looks = 256, looks_between_aims = 16;
constexpr double exchanges_share = 0.7, near_share = 0.5;

/// Seconds of F and B, and at a data node of L.
double work_s(const Problem& problem, NodeIndex node, StageIndex stage) {
    const double loss_s = stage == 0 ? problem.loss_s(node) : 0;
    return problem.forward_s(node, stage) * (1 + problem.backward_factor) + loss_s;
}

/// There and back, of all pairs of two places' nodes.
double mean_round_s(const Network& network, const std::vector<NodeIndex>& from, const std::vector<NodeIndex>& to) {
    double sum_s = 0;
    for (const NodeIndex a : from)
        for (const NodeIndex b : to) sum_s += network.round_s(a, b);
    return sum_s / static_cast<double>(from.size() * to.size());
}

}  // namespace

std::size_t diverted_node(const Problem& problem, const std::vector<NodeIndex>& nodes, double share) {
    double all = 0;
    for (const NodeIndex node : nodes) all += 1 / problem.seconds_per_sample_per_block[node];
    const auto longest = [&](NodeIndex node) {
        const double rate = 1 / problem.seconds_per_sample_per_block[node];
        return std::max(share / rate, (1 - share) / (all - rate));
    };
    std::size_t best = 0;
    for (std::size_t k = 1; k < nodes.size(); ++k)
        if (longest(nodes[k]) < longest(nodes[best])) best = k;
    return best;
}

namespace {

/// How many microbatches a place serves in a second, where some of them are for one of its nodes alone.
double rate_of(const Problem& problem, const std::vector<NodeIndex>& nodes, const std::vector<double>& rates,
               double diverted_share) {
    const double all = std::accumulate(rates.begin(), rates.end(), 0.0);
    if (diverted_share <= 0) return all;
    if (rates.size() < 2) return 1 / unreachable_s;
    const double own = rates[diverted_node(problem, nodes, diverted_share)];
    return 1 / std::max(diverted_share / own, (1 - diverted_share) / (all - own));
}

double diverted_share(const PipelineRoute& route, std::size_t place, double microbatches) {
    for (const Diversion& diversion : route.diversions)
        if (diversion.place == place) return diversion.visits / microbatches;
    return 0;
}

}  // namespace

double pipeline_seconds(const Problem& problem, const Network& network, const FixedPipeline& pipeline,
                        const PipelineRoute& route, double microbatches, double waiting) {
    const std::size_t places = pipeline.size();
    std::vector<double> mean_work_s(places), hop_s(places), rates;
    for (std::size_t p = 0; p < places; ++p) {
        double rate = 0;
        for (const NodeIndex node : pipeline[p]) rate += 1 / work_s(problem, node, route.stages[p]);
        mean_work_s[p] = static_cast<double>(pipeline[p].size()) / rate;
        hop_s[p] = mean_round_s(network, pipeline[p], pipeline[(p + 1) % places]);
    }
    double before_s = 0, after_s = hop_s.back(), longest_s = 0;
    for (std::size_t p = 0; p + 1 < places; ++p) after_s += mean_work_s[p + 1] + hop_s[p];
    for (std::size_t p = 0; p < places; ++p) {
        rates.clear();
        for (const NodeIndex node : pipeline[p]) {
            const double work = work_s(problem, node, route.stages[p]);
            const double held_s = work + after_s * (1 + waiting);
            rates.push_back(1 / std::max(work, held_s / problem.memory[node]));
        }
        const double rate = p > 0 ? rate_of(problem, pipeline[p], rates, diverted_share(route, p, microbatches))
                                  : *std::min_element(rates.begin(), rates.end()) *  // each starts as many
                                        static_cast<double>(rates.size());
        longest_s = std::max(longest_s, microbatches / rate + before_s);
        before_s += mean_work_s[p] + hop_s[p];
        if (p + 1 < places) after_s -= mean_work_s[p + 1] + hop_s[p];
    }
    return longest_s;
}

PipelineDesign::PipelineDesign(const Problem& problem, const Network& network, std::vector<int> groups,
                               PipelineShape shape, std::vector<PipelineRoute> routes, std::uint64_t seed,
                               std::uint64_t stream)
    : problem_(problem),
      network_(network),
      groups_(std::move(groups)),
      members_(at(*std::max_element(groups_.begin(), groups_.end()) + 1)),
      shape_(shape),
      routes_(std::move(routes)),
      microbatches_(static_cast<double>(problem.microbatches) / shape.pipelines),
      rng_(seed, stream),
      place_of_(at(problem.nodes())) {
    for (NodeIndex n = 0; n < problem.nodes(); ++n) members_[at(groups_[at(n)])].push_back(n);
    deal_out();
    for (std::size_t k = 0; k < pipelines_.size(); ++k) seconds_.push_back(seconds_of(k));
    aim();
}

/// Near nodes of about one speed together, those with the most memory first on the way.
void PipelineDesign::deal_out() {
    std::vector<NodeIndex> nodes(at(problem_.nodes()));
    std::iota(nodes.begin(), nodes.end(), NodeIndex(0));
    std::stable_sort(nodes.begin(), nodes.end(), [&](NodeIndex a, NodeIndex b) {
        if (groups_[at(a)] != groups_[at(b)]) return groups_[at(a)] < groups_[at(b)];
        return problem_.seconds_per_sample_per_block[a] < problem_.seconds_per_sample_per_block[b];
    });
    const std::size_t count = at(shape_.pipelines), places = at(problem_.path_length);
    for (std::size_t k = 0; k < count; ++k) {
        const auto begin = k * nodes.size() / count, end = (k + 1) * nodes.size() / count;
        std::vector<NodeIndex> own(nodes.begin() + static_cast<std::ptrdiff_t>(begin),
                                   nodes.begin() + static_cast<std::ptrdiff_t>(end));
        std::stable_sort(own.begin(), own.end(),
                         [&](NodeIndex a, NodeIndex b) { return problem_.memory[a] > problem_.memory[b]; });
        FixedPipeline pipeline(places);
        for (std::size_t n = 0; n < own.size(); ++n) {
            const std::size_t each = at(shape_.data_nodes_each);
            const std::size_t place =
                n < each ? 0 : 1 + (n - each) * (places - 1) / std::max(own.size() - each, std::size_t{1});
            pipeline[place].push_back(own[n]);
            place_of_[own[n]] = {k, place};
        }
        pipelines_.push_back(std::move(pipeline));
    }
}

double PipelineDesign::seconds_of(std::size_t pipeline) const {
    return pipeline_seconds(problem_, network_, pipelines_[pipeline], routes_[pipeline], microbatches_, usual_waiting);
}

double PipelineDesign::least_seconds_of(std::size_t pipeline) const {
    return pipeline_seconds(problem_, network_, pipelines_[pipeline], routes_[pipeline], microbatches_, 0);
}

double PipelineDesign::longest_s() const { return *std::max_element(seconds_.begin(), seconds_.end()); }

/// Beyond what an exponential can tell apart, by a straight line, so that what is far off is still led back.
double PipelineDesign::energy_of(double seconds) const {
    const double excess = pipeline_steepness * (seconds / aim_s_ - 1);
    return std::exp(std::min(excess, most_excess)) * std::max(1.0, excess - most_excess + 1);
}

void PipelineDesign::aim() {
    aim_s_ = std::accumulate(seconds_.begin(), seconds_.end(), 0.0) / static_cast<double>(seconds_.size());
}

void PipelineDesign::run(std::int64_t changes, const std::function<double()>& clock_fraction,
                         const std::function<bool(double)>& go_on) {
    double fraction = 0;
    for (std::int64_t done = 0, looks = 0; fraction < 1; ++looks) {
        const double temperature = first_temperature * std::pow(last_temperature / first_temperature, fraction);
        for (std::int64_t k = 0; k < changes_between_looks; ++k) change(temperature);
        done += changes_between_looks;
        fraction = clock_fraction ? clock_fraction() : static_cast<double>(done) / static_cast<double>(changes);
        if (looks % looks_between_aims == 0) {
            aim();
            if (!go_on(std::min(fraction, 1.0))) return;
        }
    }
}

NodeIndex PipelineDesign::partner_of(NodeIndex node, Rng& rng) const {
    if (rng.uniform() >= near_share) return NodeIndex(rng.below(at(problem_.nodes())));
    const auto& near = members_[at(groups_[at(node)])];
    return near[rng.below(near.size())];
}

std::optional<PipelineDesign::Exchange> PipelineDesign::exchange_with_any(std::size_t pipeline, Rng& rng) {
    const auto& nodes = pipelines_[pipeline][rng.below(pipelines_[pipeline].size())];
    const NodeIndex u = nodes[rng.below(nodes.size())], v = partner_of(u, rng);
    if (place_of_[u] == place_of_[v]) return std::nullopt;
    const std::size_t other = place_of_[v].pipeline;
    const Exchange made{u, v, other, seconds_of(pipeline), seconds_of(other)};
    exchange(u, v);
    return made;
}

void PipelineDesign::take_back(const Exchange& made) { exchange(made.first, made.second); }

/// Two nodes take each other's place, or one goes where the other is. No place is left empty, and data nodes stay as
/// many.
void PipelineDesign::change(double temperature) {
    const NodeIndex u(rng_.below(at(problem_.nodes()))), v = partner_of(u, rng_);
    const Place a = place_of_[u], b = place_of_[v];
    if (a == b) return;
    const bool exchanges = rng_.uniform() < exchanges_share;
    if (!exchanges && (a.place == 0 || b.place == 0 || nodes_at(a).size() < 2)) return;
    exchanges ? exchange(u, v) : move(u, b);
    const bool both = a.pipeline != b.pipeline;
    const double first_s = seconds_of(a.pipeline), second_s = both ? seconds_of(b.pipeline) : first_s;
    const double more = energy_of(first_s) - energy_of(seconds_[a.pipeline]) +
                        (both ? energy_of(second_s) - energy_of(seconds_[b.pipeline]) : 0);
    if (more <= 0 || rng_.uniform() < std::exp(-more / temperature)) {
        seconds_[a.pipeline] = first_s;
        seconds_[b.pipeline] = second_s;
        return;
    }
    exchanges ? exchange(u, v) : move(u, a);
}

void PipelineDesign::exchange(NodeIndex u, NodeIndex v) {
    const auto in_u = std::ranges::find(nodes_at(place_of_[u]), u), in_v = std::ranges::find(nodes_at(place_of_[v]), v);
    std::swap(*in_u, *in_v);
    std::swap(place_of_[u], place_of_[v]);
}

void PipelineDesign::move(NodeIndex node, Place to) {
    std::erase(nodes_at(place_of_[node]), node);
    nodes_at(to).push_back(node);
    place_of_[node] = to;
}

}  // namespace skippipe::planners::joint
