// SPDX-License-Identifier: GPL-3.0-or-later
// Reads the rules afresh (README, "What a plan means"), apart from planners and evaluator, so that it can catch both.
#include "core/planner/plan/validator.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "core/base/index.h"

namespace skippipe {

namespace {

using Violations = std::vector<Violation>;

const std::string& id(const Problem& problem, int node) { return problem.node_ids[at(node)]; }

void check_blocks(const Problem& problem, const Plan& plan, Violations& found) {
    const auto all = [](const std::vector<int>& blocks) { return std::accumulate(blocks.begin(), blocks.end(), 0LL); };
    if (!problem.plan_blocks && plan.blocks != problem.blocks)
        found.push_back({"structure", "the blocks of its stages are not those of the experiment"});
    if (!problem.plan_blocks) return;
    if (plan.blocks.size() != at(problem.stages))
        return found.push_back({"structure", fmt::format("blocks of {} stages, the experiment has {}",
                                                         plan.blocks.size(), problem.stages)});
    for (std::size_t s = 0; s < plan.blocks.size(); ++s)
        if (plan.blocks[s] < 1)
            found.push_back({"structure", fmt::format("stage {} holds {} blocks, every stage holds at least one", s,
                                                      plan.blocks[s])});
    if (all(plan.blocks) != all(problem.blocks))
        found.push_back({"structure", fmt::format("its stages hold {} blocks, the model has {}", all(plan.blocks),
                                                  all(problem.blocks))});
}

bool check_stages(const Problem& problem, const Plan& plan, Violations& found) {
    const auto before = found.size();
    if (static_cast<int>(plan.stages.size()) != problem.stages) {
        found.push_back({"structure",
                         fmt::format("the plan has {} stages, the experiment {}", plan.stages.size(), problem.stages)});
        return false;
    }
    std::vector<int> seen(at(problem.nodes()), -1);
    for (std::size_t s = 0; s < plan.stages.size(); ++s) {
        if (plan.stages[s].empty()) found.push_back({"structure", fmt::format("stage {} has no node", s)});
        for (const int node : plan.stages[s]) {
            if (node < 0 || node >= problem.nodes()) {
                found.push_back({"structure", fmt::format("stage {} names a node that does not exist", s)});
            } else if (seen[at(node)] >= 0) {
                found.push_back({"structure", fmt::format("node {} stands in stages {} and {}", id(problem, node),
                                                          seen[at(node)], s)});
            } else {
                seen[at(node)] = static_cast<int>(s);
            }
        }
    }
    check_blocks(problem, plan, found);
    return found.size() == before;
}

void check_path(const Problem& problem, const Path& path, const std::vector<int>& stage_of, Violations& found) {
    const auto say = [&](const char* rule, const std::string& what) {
        found.push_back({rule, fmt::format("microbatch {}: {}", path.microbatch, what)});
    };
    std::set<int> stages;
    for (std::size_t hop = 0; hop < path.nodes.size(); ++hop) {
        const int node = path.nodes[hop];
        if (node < 0 || node >= problem.nodes() || stage_of[at(node)] < 0)
            return say("structure", fmt::format("hop {} goes to a node that holds no stage", hop));
        const int stage = stage_of[at(node)];
        if (hop == 0 && stage != 0)
            return say("CC1", fmt::format("starts on {}, which is no data node (stage {})", id(problem, node), stage));
        if (hop > 0 && stage == 0)
            return say("CC1", fmt::format("visits data node {} as a middle hop", id(problem, node)));
        if (!stages.insert(stage).second) return say("CC2", fmt::format("runs stage {} twice", stage));
    }
    const std::size_t length = path.nodes.size();
    for (std::size_t hop = 0; length > 1 && hop < length; ++hop) {
        const int from = path.nodes[hop], to = path.nodes[(hop + 1) % length];
        if (!problem.reachable(from, to))
            say("reach", fmt::format("no line from {} to {}", id(problem, from), id(problem, to)));
        if (!problem.reachable(to, from))
            say("reach", fmt::format("no line from {} to {}, for the gradient", id(problem, to), id(problem, from)));
    }
}

/// The operations each node must run, from the paths alone.
std::map<int, std::multiset<std::string>> expected_operations(const Plan& plan) {
    std::map<int, std::multiset<std::string>> expected;
    for (const auto& path : plan.paths)
        for (std::size_t hop = 0; hop < path.nodes.size(); ++hop) {
            auto& mine = expected[path.nodes[hop]];
            const auto m = std::to_string(path.microbatch);
            mine.insert("F" + m);
            if (hop == 0) mine.insert("L" + m);
            if (!plan.split_backward) mine.insert("B" + m);
            if (plan.split_backward) mine.insert({"I" + m, "W" + m});
        }
    return expected;
}

void check_order(const Problem& problem, const Plan& plan, Violations& found) {
    if (plan.order.empty()) return;
    const auto expected = expected_operations(plan);
    for (int node = 0; node < problem.nodes(); ++node) {
        std::multiset<std::string> given;
        if (at(node) < plan.order.size())
            for (const auto& operation : plan.order[at(node)]) given.insert(to_string(operation));
        const auto mine = expected.find(node);
        const std::multiset<std::string> wanted = mine == expected.end() ? std::multiset<std::string>{} : mine->second;
        if (given == wanted) continue;
        std::vector<std::string> missing, surplus;
        std::set_difference(wanted.begin(), wanted.end(), given.begin(), given.end(), std::back_inserter(missing));
        std::set_difference(given.begin(), given.end(), wanted.begin(), wanted.end(), std::back_inserter(surplus));
        std::string what = fmt::format("order of {}:", id(problem, node));
        if (!missing.empty()) what += fmt::format(" lacks {}", fmt::join(missing, ", "));
        if (!surplus.empty())
            what += fmt::format("{} names {}, which it does not run or names twice", missing.empty() ? "" : ";",
                                fmt::join(surplus, ", "));
        found.push_back({"order", what});
    }
}

void check_rings(const Problem& problem, const Plan& plan, const std::vector<int>& stage_of, Violations& found) {
    if (!problem.charge_all_reduce) return;
    std::set<int> visited;
    for (const auto& path : plan.paths)
        for (const int node : path.nodes) visited.insert(stage_of[at(node)]);
    for (const int stage : visited) {
        const auto& ring = plan.stages[at(stage)];
        for (std::size_t i = 0; ring.size() > 1 && i < ring.size(); ++i) {
            const int from = ring[i], to = ring[(i + 1) % ring.size()];
            if (!problem.reachable(from, to))
                found.push_back({"reach", fmt::format("all-reduce of stage {}: no line from {} to {}", stage,
                                                      id(problem, from), id(problem, to))});
        }
    }
}

void check_counts(const Problem& problem, const Plan& plan, const std::vector<int>& stage_of, int length, bool balanced,
                  int cap, Violations& found) {
    if (length != problem.path_length && length != problem.stages)
        found.push_back(
            {"skip-ratio", fmt::format("paths visit {} stages; the skip ratio asks for {}, a full pipeline for {}",
                                       length, problem.path_length, problem.stages)});
    std::vector<int> visits(at(problem.stages), 0);
    std::map<int, int> starts;
    for (const int node : plan.stages[0]) starts[node] = 0;
    for (const auto& path : plan.paths) {
        ++starts[path.nodes.front()];
        for (const int node : path.nodes) ++visits[at(stage_of[at(node)])];
    }
    if (balanced)
        for (const auto& [node, count] : starts)
            if (count * static_cast<int>(starts.size()) != problem.microbatches)
                found.push_back(
                    {"CC1", fmt::format("data node {} starts {} of {} microbatches; {} data nodes share them equally",
                                        id(problem, node), count, problem.microbatches, starts.size())});
    if (!problem.constraints.uniform_execution) return;
    for (int stage = 1; stage < problem.stages; ++stage)
        if (visits[at(stage)] > cap)
            found.push_back({"CC2", fmt::format("stage {} runs {} microbatches, at most {} are allowed", stage,
                                                visits[at(stage)], cap)});
}

void check_disorder(const Problem& problem, const Plan& plan, const std::vector<int>& stage_of, Violations& found) {
    const auto& rules = problem.constraints;
    if (!rules.bounded_disorder) return;
    for (const auto& path : plan.paths) {
        int furthest = 0, swaps = 0;
        for (std::size_t hop = 1; hop < path.nodes.size(); ++hop) {
            const int stage = stage_of[at(path.nodes[hop])];
            if (stage < furthest) {
                ++swaps;
                if (furthest - stage > rules.max_swap_distance)
                    found.push_back(
                        {"CC3", fmt::format("microbatch {} goes back from stage {} to {}, at most {} is allowed",
                                            path.microbatch, furthest, stage, rules.max_swap_distance)});
            } else if (stage - furthest - 1 > rules.max_passed_over) {
                found.push_back(
                    {"CC3",
                     fmt::format("microbatch {} passes over {} stages between {} and {}, at most {} are allowed",
                                 path.microbatch, stage - furthest - 1, furthest, stage, rules.max_passed_over)});
            }
            furthest = std::max(furthest, stage);
        }
        if (swaps > rules.max_swaps)
            found.push_back({"CC3", fmt::format("microbatch {} swaps {} times, at most {} are allowed", path.microbatch,
                                                swaps, rules.max_swaps)});
    }
}

/// TC1 and TC2 from what was executed: microbatches held at once, and one operation at a time. `held_before`:
/// microbatches that nodes held at the start (of the rest of an iteration, which runs the last part of an order).
void check_nodes(const Problem& problem, const Plan& plan, const Timeline& timeline,
                 const std::map<int, int>& held_before, bool rest, Violations& found) {
    struct Change {
        double time_s;
        int delta;
    };
    std::map<int, std::vector<const Span*>> work;
    std::map<int, std::vector<Change>> held;
    const auto last = plan.split_backward ? SpanKind::weight_gradient : SpanKind::backward;
    for (const auto& span : timeline.spans) {
        if (!is_compute(span.kind)) continue;
        work[span.node].push_back(&span);
        if (span.kind == SpanKind::forward) held[span.node].push_back({span.start_s, +1});
        if (span.kind == last) held[span.node].push_back({span.end_s, -1});
    }
    for (auto& [node, changes] : held) {
        // Memory is released before the node dispatches, so at one instant releases come first.
        std::sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) {
            return a.time_s != b.time_s ? a.time_s < b.time_s : a.delta < b.delta;
        });
        const auto before = held_before.find(node);
        int now = before == held_before.end() ? 0 : before->second, most = 0;
        for (const auto& change : changes) most = std::max(most, now += change.delta);
        if (most > problem.memory[at(node)])
            found.push_back({"TC1", fmt::format("{} holds {} microbatches, its memory takes {}", id(problem, node),
                                                most, problem.memory[at(node)])});
    }
    for (auto& [node, spans] : work) {
        std::sort(spans.begin(), spans.end(), [](const Span* a, const Span* b) {
            return a->start_s != b->start_s ? a->start_s < b->start_s : a->end_s < b->end_s;
        });
        for (std::size_t i = 1; i < spans.size(); ++i)
            if (spans[i]->start_s < spans[i - 1]->end_s)
                found.push_back(
                    {"TC2", fmt::format("{} runs microbatches {} and {} at once at {:.6g} s", id(problem, node),
                                        spans[i - 1]->microbatch, spans[i]->microbatch, spans[i]->start_s)});
        if (plan.order.empty()) continue;
        const auto& order = plan.order[at(node)];
        const std::size_t first = rest && order.size() > spans.size() ? order.size() - spans.size() : 0;
        for (std::size_t i = 0; i < std::min(order.size() - first, spans.size()); ++i)
            if (order[first + i].microbatch != spans[i]->microbatch) {
                found.push_back({"order", fmt::format("{} ran microbatch {} where its order says {}", id(problem, node),
                                                      spans[i]->microbatch, to_string(order[first + i]))});
                break;
            }
    }
}

/// Every operation ran once, after its input had arrived.
void check_causes(const Plan& plan, const Timeline& timeline, Violations& found) {
    std::size_t expected = 0, ran = 0;
    for (const auto& [node, operations] : expected_operations(plan)) expected += operations.size();
    for (const auto& span : timeline.spans) {
        if (!is_compute(span.kind)) continue;
        ++ran;
        if (span.start_s < span.ready_s)
            found.push_back({"structure", fmt::format("{} of microbatch {} began before its input arrived",
                                                      to_string(span.kind), span.microbatch)});
    }
    if (timeline.complete && ran != expected)
        found.push_back({"structure", fmt::format("{} operations ran, the paths ask for {}", ran, expected)});
}

/// What ran after the cut against what had run before it.
class ResidualCheck {
public:
    ResidualCheck(const Problem& problem, const Plan& before, const IterationProgress& progress,
                  const std::set<int>& lost, const Plan& after, const Timeline& rest)
        : problem_(problem),
          before_(before),
          progress_(progress),
          lost_(lost),
          after_(after),
          rest_(rest),
          length_(static_cast<int>(after.paths.front().nodes.size())) {
        for (const auto& span : rest.spans)
            if (is_compute(span.kind)) ran_[{span.microbatch, kind_of(span.kind), span.node}].push_back(&span);
        for (const auto& open : progress.open) {
            if (open.weight || open.running) open_.insert({open.index, open.step, open.weight});
            const bool here = open.running || open.ready_s <= progress.at_s;
            if (!open.weight && !open.redo && here) here_.insert(open.index);
        }
        pending_.insert(progress.redo.begin(), progress.redo.end());
    }

    void run(Violations& found) {
        for (const auto& span : rest_.spans) {
            if (!is_compute(span.kind) && !is_transfer(span.kind)) continue;
            if (lost_.contains(span.node) || (span.to_node >= 0 && lost_.contains(span.to_node)))
                found.push_back({"structure", fmt::format("{} of microbatch {} needs a node that is down",
                                                          to_string(span.kind), span.microbatch)});
            if (is_compute(span.kind) && (span.start_s < span.ready_s || span.end_s <= progress_.at_s))
                found.push_back(
                    {"structure", fmt::format("{} of microbatch {} began before its input arrived, or had ended",
                                              to_string(span.kind), span.microbatch)});
        }
        std::size_t expected = 0;
        for (std::size_t i = 0; i < after_.paths.size(); ++i) expected += check_microbatch(static_cast<int>(i), found);
        std::size_t ran = 0;
        for (const auto& [operation, spans] : ran_) ran += spans.size();
        if (ran != expected)
            found.push_back({"structure", fmt::format("{} operations ran, {} were left", ran, expected)});
        check_nodes(problem_, after_, rest_, held_, true, found);
    }

private:
    enum class Op { forward, loss, backward, weight };
    static Op kind_of(SpanKind kind) {
        return kind == SpanKind::forward           ? Op::forward
               : kind == SpanKind::loss            ? Op::loss
               : kind == SpanKind::weight_gradient ? Op::weight
                                                   : Op::backward;
    }

    /// Operations of a microbatch that must have run; finds what is missing, twice there, or moved without need.
    std::size_t check_microbatch(int i, Violations& found) {
        const auto &was = before_.paths[at(i)].nodes, &is = after_.paths[at(i)].nodes;
        const int m = after_.paths[at(i)].microbatch, done = progress_.steps_done[at(i)];
        std::size_t expected = 0;
        const Span* last = nullptr;
        const auto fault = [&](const std::string& what) {
            found.push_back({"structure", fmt::format("microbatch {}: {}", m, what)});
        };
        for (int step = 0; step <= 2 * length_; ++step) {
            const int hop = step < length_ ? step : step == length_ ? 0 : 2 * length_ - step;
            const int node = is[at(hop)];
            const Op kind = step < length_ ? Op::forward : step == length_ ? Op::loss : Op::backward;
            const auto entry = ran_.find({m, kind, node});
            const std::size_t times = entry == ran_.end() ? 0 : entry->second.size();
            const bool was_lost = lost_.contains(was[at(hop)]), again = pending_.contains({i, step});
            const bool begun = (step < done && !again) || open_.contains({i, step, false});
            if (done == 2 * length_ + 1 && !was_lost && node != was[at(hop)])
                fault("had finished and has another path");
            if (begun && !was_lost && node != was[at(hop)])
                fault(
                    fmt::format("{} had run its hop {} and is no longer on its path", id(problem_, was[at(hop)]), hop));
            if (step < done && !was_lost && !again && times > 0)
                fault(fmt::format("ran again on {} what had ended there", id(problem_, node)));
            if (step >= done && times != 1)
                fault(fmt::format("step {} ran {} times on {}", step, times, id(problem_, node)));
            if (times > 1) fault(fmt::format("step {} ran {} times", step, times));
            expected += times;
            const Span* span = times > 0 ? entry->second.front() : nullptr;
            // What ran again gives the next step its input only where that had been lost.
            const bool follows = step > done || (step == done && (was_lost || !here_.contains(i)));
            if (follows && span != nullptr && last != nullptr && span->ready_s < last->end_s)
                fault(fmt::format("step {} began before the one before it had ended", step));
            last = span;
            if (step > length_) expected += check_backward(i, step, hop, times, was_lost, fault);
        }
        return expected;
    }

    /// A backward that runs needs its node's own forward; counts what a node holds, and the weight gradient where it is
    /// split.
    template <class Report>
    std::size_t check_backward(int i, int step, int hop, std::size_t times, bool was_lost, const Report& fault) {
        const int m = after_.paths[at(i)].microbatch, node = after_.paths[at(i)].nodes[at(hop)],
                  done = progress_.steps_done[at(i)];
        const auto forward = ran_.find({m, Op::forward, node}), backward = ran_.find({m, Op::backward, node});
        const bool had_run = hop < done && !was_lost && !pending_.contains({i, hop});
        if (times > 0 && !had_run &&
            (forward == ran_.end() || forward->second.front()->end_s > backward->second.front()->start_s))
            fault(fmt::format("{} runs the backward without having run the forward", id(problem_, node)));
        const bool weight_open = open_.contains({i, step, true}) && !was_lost;
        if (had_run && (times > 0 || weight_open)) ++held_[node];
        if (!after_.split_backward) return 0;
        const auto weight = ran_.find({m, Op::weight, node});
        const std::size_t weights = weight == ran_.end() ? 0 : weight->second.size(),
                          wanted = times > 0 || weight_open ? 1 : 0;
        if (weights != wanted)
            fault(fmt::format("{} weight gradients on {}, {} are left", weights, id(problem_, node), wanted));
        return weights;
    }

    const Problem& problem_;
    const Plan& before_;
    const IterationProgress& progress_;
    const std::set<int>& lost_;
    const Plan& after_;
    const Timeline& rest_;
    int length_;
    std::map<std::tuple<int, Op, int>, std::vector<const Span*>> ran_;
    std::set<std::tuple<int, int, bool>> open_;  ///< running, or a weight gradient still to run
    std::set<std::pair<int, int>> pending_;      ///< steps that were still to be redone
    std::set<int> here_;                         ///< the input of the next step had arrived
    std::map<int, int> held_;
};

}  // namespace

std::vector<Violation> check_structure(const Problem& problem, const Plan& plan) {
    Violations found;
    if (!check_stages(problem, plan, found)) return found;
    const auto stage_of = stage_of_nodes(plan, problem.nodes());
    if (static_cast<int>(plan.paths.size()) != problem.microbatches)
        found.push_back(
            {"structure", fmt::format("{} paths for {} microbatches", plan.paths.size(), problem.microbatches)});
    std::set<int> microbatches;
    std::set<std::size_t> lengths;
    for (const auto& path : plan.paths) {
        if (path.microbatch < 0 || !microbatches.insert(path.microbatch).second)
            found.push_back(
                {"structure", fmt::format("microbatch {} has two paths, or its number is negative", path.microbatch)});
        lengths.insert(path.nodes.size());
        check_path(problem, path, stage_of, found);
    }
    if (lengths.size() > 1 || lengths.count(0) > 0 || lengths.empty())
        found.push_back({"structure", "the paths are not all of one length of at least 1"});
    if (found.empty()) check_order(problem, plan, found);
    if (found.empty()) check_rings(problem, plan, stage_of, found);
    return found;
}

std::vector<Violation> check_plan(const Problem& problem, const Plan& plan, const Timeline& timeline) {
    auto found = check_structure(problem, plan);
    if (!found.empty()) return found;
    const auto stage_of = stage_of_nodes(plan, problem.nodes());
    const int length = static_cast<int>(plan.paths.front().nodes.size());
    check_counts(problem, plan, stage_of, length, problem.balance_data_nodes, problem.visits_cap(length), found);
    check_disorder(problem, plan, stage_of, found);
    if (!timeline.complete) {
        std::string what = "events run out before all operations ran";
        for (const auto& blocked : timeline.blocked) what += "; " + blocked;
        found.push_back({"deadlock", what});
    }
    check_causes(plan, timeline, found);
    check_nodes(PlannedProblem(problem, plan.blocks).get(), plan, timeline, {}, false, found);
    return found;
}

std::vector<Violation> check_residual(const Problem& network, const Plan& before, const IterationProgress& progress,
                                      const std::vector<int>& down, const Plan& after, const Timeline& rest) {
    Violations found;
    // Lost nodes stand in the paths of what they have finished.
    Plan whole = after;
    std::set<int> lost(down.begin(), down.end());
    for (const auto& [node, stage] : progress.lost) {
        lost.insert(node);
        whole.stages[at(stage)].push_back(node);
    }
    bool same_data_nodes = true;
    int living_stages = 0;
    for (std::size_t s = 0; s < before.stages.size() && s < whole.stages.size(); ++s) {
        for (const int node : before.stages[s])
            if (lost.contains(node)) whole.stages[s].push_back(node);
        if (s > 0)
            living_stages += after.stages[s].empty() ? 0 : 1;
        else
            same_data_nodes = after.stages[s] == before.stages[s];
    }
    same_data_nodes = same_data_nodes && std::none_of(progress.lost.begin(), progress.lost.end(),
                                                      [](const auto& node) { return node.second == 0; });
    if (!check_stages(network, whole, found)) return found;
    const auto stage_of = stage_of_nodes(whole, network.nodes());
    for (std::size_t s = 0; s < after.stages.size(); ++s)
        for (const int node : after.stages[s])
            if (lost.contains(node))
                found.push_back({"structure", fmt::format("{} is down and stands in stage {}", id(network, node), s)});
    if (after.paths.size() != before.paths.size()) found.push_back({"structure", "microbatches were added or lost"});
    for (std::size_t i = 0; i < after.paths.size() && found.empty(); ++i) {
        if (after.paths[i].microbatch != before.paths[i].microbatch ||
            after.paths[i].nodes.size() != before.paths[i].nodes.size())
            found.push_back(
                {"structure", fmt::format("microbatch {} changed its place or length", after.paths[i].microbatch)});
        check_path(network, after.paths[i], stage_of, found);
    }
    if (!found.empty()) return found;
    check_order(network, whole, found);
    check_rings(network, after, stage_of, found);
    const int length = static_cast<int>(after.paths.front().nodes.size());
    living_stages = std::max(1, living_stages);
    const int cap = (network.microbatches * (length - 1) + living_stages - 1) / living_stages;
    check_counts(network, whole, stage_of, length, network.balance_data_nodes && same_data_nodes, cap, found);
    check_disorder(network, whole, stage_of, found);
    if (!rest.complete) found.push_back({"deadlock", "events run out before all operations ran"});
    const PlannedProblem planned(network, after.blocks);
    ResidualCheck(planned.get(), before, progress, lost, after, rest).run(found);
    return found;
}

}  // namespace skippipe
