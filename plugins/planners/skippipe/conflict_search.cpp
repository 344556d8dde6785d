// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/planners/skippipe/conflict_search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "core/base/index.h"
#include "plugins/planners/skippipe/path_finder.h"

namespace skippipe::planners {

namespace {

constexpr std::size_t most_asked = 16, most_children = 3;

struct Agent {
    NodeIndex data_node = 0;
    double release_s = 0;
};

enum class Conflict { none, uniform_execution, memory, collision };

/// A node of the constraint tree: everyone's constraints and paths, and what is still in conflict.
struct Branch {
    std::vector<std::shared_ptr<const PathConstraints>> constraints;
    std::vector<std::shared_ptr<const TimedPath>> paths;
    double conflicts = 0, end_s = 0;
    Conflict kind = Conflict::none;  ///< the one to settle next
    StageIndex stage = -1;           ///< of it (CC2)
    NodeIndex node = -1;             ///< of it (TC1, TC2)
    std::vector<int> involved;       ///< agents
};

class ConflictSearch {
public:
    ConflictSearch(const Problem& problem, const Network& network, const PlanCandidate& base)
        : problem_(problem),
          base_(base),
          length_(base.schedule.length),
          path_finder_(problem, network, base.stages, length_),
          simulator_(problem) {
        choose_wave();
    }

    ConflictResult run(const ConflictRules& rules, const std::function<bool(double)>& go_on) {
        ConflictResult result;
        Branch root;
        for (const auto& agent : agents_) {
            root.constraints.push_back(std::make_shared<PathConstraints>());
            root.paths.push_back(std::make_shared<TimedPath>(
                path_finder_.best_path(agent.data_node, agent.release_s, *root.constraints.back())));
            if (root.paths.back()->nodes.empty()) return result;
        }
        find_conflicts(root);
        open_.push_back(std::move(root));
        const auto work = static_cast<std::int64_t>(agents_.size()) * problem_.nodes();
        // An expansion costs about agents x nodes x hops: fewer of them on large problems.
        const std::int64_t limit = std::min(
            rules.expansions, std::max<std::int64_t>(8, 4'000'000 / std::max<std::int64_t>(1, work * length_)));
        while (result.expansions < limit && !open_.empty() &&
               go_on(static_cast<double>(result.expansions) / static_cast<double>(limit))) {
            const auto worse = [](const Branch& a, const Branch& b) {
                return std::pair{a.conflicts, a.end_s} > std::pair{b.conflicts, b.end_s};
            };
            std::pop_heap(open_.begin(), open_.end(), worse);
            const Branch branch = std::move(open_.back());
            open_.pop_back();
            ++result.expansions;
            if (branch.kind != Conflict::uniform_execution) judge(branch, result);
            for (auto& child : children(branch)) {
                open_.push_back(std::move(child));
                std::push_heap(open_.begin(), open_.end(), worse);
            }
        }
        return result;
    }

private:
    /// As many agents a data node as it can hold at once, if their paths, repeated, are a plan; else one for every
    /// microbatch.
    void choose_wave() {
        const auto& data_nodes = base_.stages[0];
        const int each = problem_.microbatches / static_cast<int>(data_nodes.size());
        int wave = each;
        if (problem_.microbatches % static_cast<int>(data_nodes.size()) == 0)
            for (int w = std::min(each, problem_.memory[data_nodes.front()]); w >= 1; --w)
                if (each % w == 0 && repeats_evenly(w * static_cast<int>(data_nodes.size()))) {
                    wave = w;
                    break;
                }
        const bool repeats = wave < each || problem_.microbatches % static_cast<int>(data_nodes.size()) == 0;
        const int count = repeats ? wave * static_cast<int>(data_nodes.size()) : problem_.microbatches;
        rounds_ = problem_.microbatches / count;
        for (int i = 0; i < count; ++i) {
            const NodeIndex node = data_nodes[at(i) % data_nodes.size()];
            agents_.push_back({node, static_cast<double>(at(i) / data_nodes.size()) * problem_.forward_s(node, 0)});
        }
        cap_ = cap_of(count);
    }

    int cap_of(int count) const {
        if (!problem_.constraints.uniform_execution || problem_.stages == 1) return count;
        return (count * (length_ - 1) + problem_.stages - 2) / (problem_.stages - 1);
    }
    bool repeats_evenly(int count) const {
        return cap_of(count) * (problem_.microbatches / count) <= cap_of(problem_.microbatches);
    }

    StageIndex stage_of(NodeIndex node) const { return base_.schedule.stage_of[node]; }

    void find_conflicts(Branch& branch) const {
        branch.conflicts = 0;
        branch.end_s = 0;
        branch.kind = Conflict::none;
        for (const auto& path : branch.paths) branch.end_s = std::max(branch.end_s, path->end_s);
        find_stage_conflicts(branch);
        struct Use {
            double from_s, to_s;
            int agent;
            bool holds;  ///< from the start of F to the end of B
        };
        PerNode<std::vector<Use>> uses(at(problem_.nodes()));
        for (std::size_t a = 0; a < branch.paths.size(); ++a) {
            const auto& path = *branch.paths[a];
            for (const auto& work : path.works)
                uses[work.node].push_back({work.from_s, work.to_s, static_cast<int>(a), false});
            for (int hop = 0; hop < length_; ++hop)
                uses[path.nodes[at(hop)]].push_back(
                    {path.works[at(hop)].from_s, path.works[at(2 * length_ - hop)].to_s, static_cast<int>(a), true});
        }
        for (NodeIndex n = 0; n < problem_.nodes(); ++n) {
            auto& node = uses[n];
            std::sort(node.begin(), node.end(), [](const Use& x, const Use& y) {
                return x.from_s != y.from_s ? x.from_s < y.from_s : x.agent < y.agent;
            });
            for (std::size_t i = 0; i < node.size(); ++i) {
                std::vector<int> together{node[i].agent};
                for (std::size_t j = i; j-- > 0;)
                    if (node[j].holds == node[i].holds && node[j].to_s > node[i].from_s)
                        together.push_back(node[j].agent);
                const bool memory = node[i].holds && static_cast<int>(together.size()) > problem_.memory[n];
                // Own microbatches are started one after the other anyway: dispatch settles those.
                const bool collision = !node[i].holds && together.size() > 1 && stage_of(n) != 0;
                if (memory && stage_of(n) != 0) note(branch, {Conflict::memory, -1, n}, together, 10);
                if (collision) note(branch, {Conflict::collision, -1, n}, {together[0], together[1]}, 1);
            }
        }
    }

    void find_stage_conflicts(Branch& branch) const {
        PerStage<std::vector<int>> visitors(at(problem_.stages));
        for (std::size_t a = 0; a < branch.paths.size(); ++a)
            for (int hop = 1; hop < length_; ++hop)
                visitors[stage_of(branch.paths[a]->nodes[at(hop)])].push_back(static_cast<int>(a));
        for (StageIndex s = 1; s < problem_.stages; ++s)
            if (const int excess = static_cast<int>(visitors[s].size()) - cap_; excess > 0)
                note(branch, {Conflict::uniform_execution, s, -1}, visitors[s], 100.0 * excess);
    }

    struct Contested {
        Conflict kind;
        StageIndex stage;
        NodeIndex node;
    };
    static void note(Branch& branch, const Contested& conflict, const std::vector<int>& involved, double weight) {
        branch.conflicts += weight;
        if (branch.kind != Conflict::none && branch.kind <= conflict.kind) return;
        branch.kind = conflict.kind;
        branch.stage = conflict.stage;
        branch.node = conflict.node;
        branch.involved = involved;
    }

    /// The branches that settle the conflict: each constrains one agent; those that cost least.
    std::vector<Branch> children(const Branch& branch) {
        struct Choice {
            double delay_s;
            int agent;
            PathConstraints constraints;
            TimedPath path;
        };
        std::vector<Choice> choices;
        for (std::size_t k = 0; k < std::min(most_asked, branch.involved.size()) && branch.kind != Conflict::none;
             ++k) {
            const int agent = branch.involved[k];
            PathConstraints constraints = *branch.constraints[at(agent)];
            if (branch.kind == Conflict::uniform_execution) constraints.stages.push_back(branch.stage);
            if (branch.kind == Conflict::memory) constraints.nodes.push_back(branch.node);
            if (branch.kind == Conflict::collision) reserve(branch, branch.involved[1 - k], branch.node, constraints);
            TimedPath path =
                path_finder_.best_path(agents_[at(agent)].data_node, agents_[at(agent)].release_s, constraints);
            if (path.nodes.empty()) continue;
            choices.push_back(
                {path.end_s - branch.paths[at(agent)]->end_s, agent, std::move(constraints), std::move(path)});
        }
        std::stable_sort(choices.begin(), choices.end(),
                         [](const Choice& a, const Choice& b) { return a.delay_s < b.delay_s; });
        std::vector<Branch> result;
        for (std::size_t k = 0; k < std::min(most_children, choices.size()); ++k) {
            Branch child = branch;
            child.constraints[at(choices[k].agent)] =
                std::make_shared<PathConstraints>(std::move(choices[k].constraints));
            child.paths[at(choices[k].agent)] = std::make_shared<TimedPath>(std::move(choices[k].path));
            find_conflicts(child);
            result.push_back(std::move(child));
        }
        return result;
    }

    void reserve(const Branch& branch, int other, NodeIndex node, PathConstraints& constraints) const {
        for (const auto& work : branch.paths[at(other)]->works)
            if (work.node == node) constraints.reservations.push_back({node, work.from_s, work.to_s});
    }

    /// The exact timeline of the branch's paths, used again in each round.
    void judge(const Branch& branch, ConflictResult& result) {
        PlanCandidate candidate = base_;
        candidate.schedule.order.clear();
        for (ReleaseIndex i = 0; i < candidate.schedule.count(); ++i) {
            const auto& nodes = branch.paths[at(i) % branch.paths.size()]->nodes;
            std::copy(nodes.begin(), nodes.end(), candidate.schedule.path(i));
        }
        const double best_s = result.found ? result.iteration_s : std::numeric_limits<double>::infinity();
        const double seconds = simulator_.times(candidate.schedule, candidate.stages, best_s).iteration_s;
        if (!(seconds < best_s)) return;
        result.found = true;
        result.candidate = std::move(candidate);
        result.iteration_s = seconds;
    }

    const Problem& problem_;
    const PlanCandidate& base_;
    int length_;
    PathFinder path_finder_;
    Simulator simulator_;
    std::vector<Agent> agents_;
    std::vector<Branch> open_;
    int rounds_ = 1, cap_ = 0;
};

}  // namespace

ConflictResult conflict_search(const Problem& problem, const Network& network, const PlanCandidate& base,
                               const ConflictRules& rules, const std::function<bool(double)>& go_on) {
    if (base.schedule.length < 2) return {};
    return ConflictSearch(problem, network, base).run(rules, go_on);
}

}  // namespace skippipe::planners
