// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/planner/explain/explain.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <stdexcept>
#include <tuple>

#include <fmt/format.h>

#include "core/base/format.h"
#include "core/base/index.h"
#include "core/planner/explain/explain_ways.h"
#include "core/planner/explain/node_what_ifs.h"
#include "core/planner/timeline/executed_order.h"
#include "core/planner/timeline/simulator.h"

namespace skippipe {
namespace {

/// The two directions of what is drawn as one link.
class LinkNames {
public:
    LinkNames(const Problem& problem, const std::set<int>& lines) : problem_(problem), reverse_(reverse_of(lines)) {
        std::set<int> others;
        for (const auto& [line, other] : reverse_) others.insert(other);
        back_ = reverse_of(others);
    }

    /// The line that is this one's other direction, no_line where there is none.
    int other(int line) const {
        const auto there = reverse_.find(line);
        if (there == reverse_.end() || there->second == line) return no_line;
        const auto back = back_.find(there->second);
        return back != back_.end() && back->second == line ? there->second : no_line;
    }
    std::vector<int> lines(int line) const {
        const int back = other(line);
        return back == no_line ? std::vector{line} : std::vector{std::min(line, back), std::max(line, back)};
    }
    std::string name(const std::vector<int>& lines) const {
        std::string name = problem_.line_names[at(lines.front())];
        if (const auto arrow = name.find("->"); arrow != std::string::npos)
            name.replace(arrow, 2, lines.size() > 1 ? " ↔ " : " → ");
        return name;
    }

private:
    /// For each of the lines the one on which most of its pairs have their way back: some may have a link of their own.
    std::map<int, int> reverse_of(const std::set<int>& lines) const {
        std::map<int, std::map<int, int>> pairs;
        for (NodeIndex a = 0; a < problem_.nodes(); ++a)
            for (NodeIndex b = 0; b < problem_.nodes(); ++b) {
                if (a == b || !problem_.reachable(a, b) || !problem_.reachable(b, a)) continue;
                if (lines.contains(problem_.hop(a, b).line)) ++pairs[problem_.hop(a, b).line][problem_.hop(b, a).line];
            }
        std::map<int, int> reverse;
        for (const auto& [line, counts] : pairs)
            reverse[line] = std::max_element(counts.begin(), counts.end(), [](const auto& a, const auto& b) {
                                return a.second < b.second;
                            })->first;
        return reverse;
    }

    const Problem& problem_;
    std::map<int, int> reverse_, back_;
};

void add_to_shares(const ChainPiece& piece, const LinkNames& names, std::map<NodeIndex, double>& nodes,
                   std::map<int, LinkShare>& links, Explanation& why) {
    using Kind = ChainPiece::Kind;
    if (piece.kind == Kind::compute) nodes[piece.node] += piece.seconds();
    if (piece.kind == Kind::step) why.step_s += piece.seconds();
    if (piece.kind == Kind::all_reduce) why.all_reduce_s += piece.seconds();
    if (piece.line == no_line) return;
    const auto lines = names.lines(piece.line);
    auto& link = links[lines.front()];
    link.lines = lines;
    (piece.kind == Kind::queue      ? link.queue_s
     : piece.kind == Kind::latency  ? link.latency_s
     : piece.kind == Kind::transfer ? link.transfer_s
                                    : link.all_reduce_s) += piece.seconds();
}

void set_shares(const Problem& problem, Explanation& why) {
    std::set<int> lines;
    for (const auto& piece : why.chain)
        if (piece.line != no_line) lines.insert(piece.line);
    const LinkNames names(problem, lines);
    std::map<NodeIndex, double> nodes;
    std::map<int, LinkShare> links;
    for (const auto& piece : why.chain) add_to_shares(piece, names, nodes, links, why);
    for (const auto& [node, seconds] : nodes) why.nodes.push_back({node, seconds});
    for (auto& [line, link] : links) {
        link.name = names.name(link.lines);
        why.links.push_back(std::move(link));
    }
    std::stable_sort(why.nodes.begin(), why.nodes.end(),
                     [](const auto& a, const auto& b) { return a.seconds > b.seconds; });
    std::stable_sort(why.links.begin(), why.links.end(),
                     [](const auto& a, const auto& b) { return a.seconds() > b.seconds(); });
}

void set_places(Explanation& why) {
    std::map<std::tuple<WaitCause, NodeIndex, int>, WaitingPlace> places;
    for (const auto& costs : why.microbatches) {
        std::set<std::tuple<WaitCause, NodeIndex, int>> here;
        for (const auto& wait : costs.waits) {
            const NodeIndex node = wait.cause == WaitCause::link ? NodeIndex(-1) : wait.node;
            const auto key = std::tuple{wait.cause, node, wait.line};
            auto& place = places[key];
            place.cause = wait.cause;
            place.node = node;
            place.line = wait.line;
            place.seconds += wait.seconds();
            place.microbatches += here.insert(key).second ? 1 : 0;
        }
    }
    for (const auto& [key, place] : places) why.places.push_back(place);
    std::stable_sort(why.places.begin(), why.places.end(),
                     [](const auto& a, const auto& b) { return a.seconds > b.seconds; });
}

/// Of an uplink or downlink by its number among the lines; null of a line.
double* uplink_of(Problem& problem, int line) {
    const int nodes = problem.nodes(), first = static_cast<int>(problem.line_names.size()) - 2 * nodes;
    if (line < first) return nullptr;
    return line < first + nodes ? &problem.up_bytes_per_s[NodeIndex(line - first)]
                                : &problem.down_bytes_per_s[NodeIndex(line - first - nodes)];
}

void upgrade_in_place(Problem& problem, const Upgrade& upgrade) {
    using Kind = Upgrade::Kind;
    if (upgrade.kind == Kind::node_speed) problem.seconds_per_sample_per_block[upgrade.node] /= 2;
    if (upgrade.kind == Kind::node_memory && problem.memory[upgrade.node] != unlimited_memory)
        ++problem.memory[upgrade.node];
    if (upgrade.lines.empty()) return;
    if (problem.has_uplinks() && upgrade.kind != Kind::link_latency)
        for (const int line : upgrade.lines)
            if (double* rate = uplink_of(problem, line)) *rate *= 2;
    for (const int line : std::set<int>(upgrade.lines.begin(), upgrade.lines.end()))
        problem.hops.change_line(line, [&](Hop& hop) {
            if (upgrade.kind != Kind::link_bandwidth) hop.latency_s /= 2;
            if (upgrade.kind == Kind::link_latency) return;
            hop.bandwidth_bytes_per_s *= 2;
            hop.seconds_per_forward /= 2;
            hop.seconds_per_backward /= 2;
        });
}

/// What is worth asking: speed of the nodes and links that the chain spends most on, memory where microbatches wait for
/// it.
std::vector<WhatIf> questions(const Problem& problem, const Explanation& why, const ExplainOptions& options) {
    using Kind = Upgrade::Kind;
    std::vector<WhatIf> asked;
    const auto first = [](const auto& list, int count) { return std::min(list.size(), at(std::max(0, count))); };
    for (std::size_t i = 0; i < first(why.nodes, options.nodes); ++i)
        asked.push_back(
            {.upgrade = {Kind::node_speed, why.nodes[i].node, {}}, .name = problem.node_ids[why.nodes[i].node]});
    int left = options.nodes;
    for (const auto& place : why.places)
        if (place.cause == WaitCause::memory && left-- > 0)
            asked.push_back({.upgrade = {Kind::node_memory, place.node, {}}, .name = problem.node_ids[place.node]});
    for (std::size_t i = 0; i < first(why.links, options.links); ++i)
        for (const Kind kind : {Kind::link, Kind::link_latency, Kind::link_bandwidth})
            asked.push_back({.upgrade = {kind, -1, why.links[i].lines}, .name = why.links[i].name});
    return asked;
}

/// Those of the questions that were answered before `stop` asked for an end, most saved first.
std::vector<WhatIf> answers(const Problem& problem, const Plan& plan, const Timeline& timeline,
                            std::vector<WhatIf> questions, const std::stop_token& stop) {
    std::vector<WhatIf> all;
    const auto as_it_is = flatten(problem, plan),
               bound = flatten(problem, with_executed_order(plan, problem, timeline));
    Problem with = problem;
    for (auto& what_if : questions) {
        if (stop.stop_requested()) break;
        upgrade_in_place(with, what_if.upgrade);
        Simulator simulator(with);
        const double free_s = simulator.times(as_it_is, plan.stages).iteration_s;
        const double bound_s = plan.order.empty() ? simulator.times(bound, plan.stages).iteration_s : free_s;
        what_if.complete = std::isfinite(std::min(free_s, bound_s));
        if (what_if.complete) {
            what_if.order_kept = !plan.order.empty() || bound_s < free_s;
            what_if.iteration_s = std::min(free_s, bound_s);
            what_if.change_s = what_if.iteration_s - timeline.iteration_s;
            what_if.change = timeline.iteration_s > 0 ? what_if.change_s / timeline.iteration_s : 0;
        }
        all.push_back(std::move(what_if));
        with.seconds_per_sample_per_block = problem.seconds_per_sample_per_block;
        with.memory = problem.memory;
        if (all.back().upgrade.lines.empty()) continue;
        with.hops = problem.hops;
        with.up_bytes_per_s = problem.up_bytes_per_s;
        with.down_bytes_per_s = problem.down_bytes_per_s;
    }
    std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.change_s < b.change_s; });
    return all;
}

}  // namespace

std::string Wait::ahead(const Problem& problem) const {
    std::vector<std::string> words;
    for (const MicrobatchIndex other : others) words.push_back(std::to_string(other));
    for (const auto& [stage, sender] : reductions)
        words.push_back(fmt::format("the gradient of stage {} from {}", int{stage}, problem.node_ids[sender]));
    return fmt::format("{}", fmt::join(words, ", "));
}

std::string_view to_string(WaitCause cause) {
    constexpr std::array<std::string_view, wait_causes> names{"link", "memory", "collision", "order"};
    return names.at(static_cast<std::size_t>(cause));
}

std::string_view to_string(ChainPiece::Kind kind) {
    constexpr std::array<std::string_view, 6> names{"compute", "queue", "latency", "transfer", "all-reduce", "step"};
    return names.at(static_cast<std::size_t>(kind));
}

std::string_view to_string(ChainPiece::Start start) {
    constexpr std::array<std::string_view, 6> names{"release", "input", "node", "memory", "line", "before"};
    return names.at(static_cast<std::size_t>(start));
}

std::string_view to_string(Upgrade::Kind kind) {
    constexpr std::array<std::string_view, 5> names{"node-speed", "node-memory", "link", "link-latency",
                                                    "link-bandwidth"};
    return names.at(static_cast<std::size_t>(kind));
}

double MicrobatchCosts::waiting_s() const { return std::accumulate(waits_s.begin(), waits_s.end(), 0.0); }

std::string WhatIf::words() const {
    switch (upgrade.kind) {
        case Upgrade::Kind::node_speed:
        case Upgrade::Kind::link: return name + " twice as fast";
        case Upgrade::Kind::node_memory: return name + " with room for one microbatch more";
        case Upgrade::Kind::link_latency: return name + " at half the latency";
        case Upgrade::Kind::link_bandwidth: return name + " at twice the bandwidth";
    }
    return name;
}

double Explanation::compute_s() const {
    return std::accumulate(nodes.begin(), nodes.end(), 0.0,
                           [](double sum, const NodeShare& node) { return sum + node.seconds; });
}

double Explanation::links_s() const {
    return std::accumulate(links.begin(), links.end(), 0.0, [](double sum, const LinkShare& link) {
        return sum + link.queue_s + link.latency_s + link.transfer_s;
    });
}

std::string Explanation::summary(const Problem& problem) const {
    const auto share = [&](double seconds) { return format_percent(iteration_s > 0 ? seconds / iteration_s : 0); };
    std::string text;
    if (!nodes.empty())
        text +=
            fmt::format("critical node {} ({})", problem.node_ids[nodes.front().node], share(nodes.front().seconds));
    if (!links.empty())
        text += fmt::format("{}critical link {} ({})", text.empty() ? "" : ", ", links.front().name,
                            share(links.front().seconds()));
    if (!what_ifs.empty() && what_ifs.front().complete && what_ifs.front().change_s < 0)
        text += fmt::format("{}{}: iteration {}", text.empty() ? "" : "; ", what_ifs.front().words(),
                            format_change(what_ifs.front().change));
    return text;
}

double Explanation::placed_gap() const {
    constexpr double rounding = 1e-9;
    const double gap = placed.seconds > 0 ? iteration_s / placed.seconds - 1 : 0;
    return gap > rounding ? gap : 0;
}

std::string Explanation::placed_words(const Problem& problem) const {
    const std::string node = placed.node < 0 ? "" : problem.node_ids[placed.node] + ": ";
    const auto above = placed_gap() > 0 ? format_percent(placed_gap()) + " above" : "as short";
    return fmt::format("With every node in its stage no plan is shorter than {} ({}{}); this one is {}",
                       format_seconds(placed.seconds), node, placed.which, above);
}

Problem upgraded(Problem problem, const Upgrade& upgrade) {
    upgrade_in_place(problem, upgrade);
    return problem;
}

Explanation explain(const Problem& given, const Plan& plan, const Timeline& timeline, const ExplainOptions& options) {
    if (!timeline.complete) throw std::invalid_argument("an incomplete timeline has no end to explain");
    const PlannedProblem planned(given, plan.blocks);
    const Problem& problem = planned.get();
    const Ways ways(problem, plan, timeline);
    Explanation why;
    why.iteration_s = timeline.iteration_s;
    why.makespan_s = timeline.makespan_s;
    why.microbatches = microbatch_costs(ways, plan);
    why.chain = critical_chain(ways, plan, timeline);
    set_places(why);
    set_shares(problem, why);
    why.placed = placed_bound(given, plan);
    why.what_ifs = answers(problem, plan, timeline, questions(problem, why, options), options.stop);
    return why;
}

std::vector<WhatIf> node_what_ifs(const Problem& given, const Plan& plan, const Timeline& timeline, NodeIndex node) {
    const PlannedProblem planned(given, plan.blocks);
    const Problem& problem = planned.get();
    std::vector<WhatIf> asked{{.upgrade = {Upgrade::Kind::node_speed, node, {}}, .name = problem.node_ids[node]}};
    if (problem.memory[node] != unlimited_memory)
        asked.push_back({.upgrade = {Upgrade::Kind::node_memory, node, {}}, .name = problem.node_ids[node]});
    auto all = answers(problem, plan, timeline, std::move(asked), {});
    std::stable_sort(all.begin(), all.end(),
                     [](const auto& a, const auto& b) { return a.upgrade.kind < b.upgrade.kind; });
    return all;
}

}  // namespace skippipe
