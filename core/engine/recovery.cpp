// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/engine/recovery.h"

#include <fmt/format.h>

#include "core/base/format.h"
#include "core/base/index.h"
#include "core/experiment/describe.h"

namespace skippipe {

std::string name_of_line(const Problem& problem, const NetworkChange& change) {
    return problem.line_names[at(problem.hop(change.node, change.to).line)];
}

std::string describe(const RejoinReport& report, const Problem& problem) {
    return fmt::format("{} back, with weights and AdamW's state after {}", names_of(report.nodes, problem),
                       format_seconds(report.refetching_s));
}

std::string redone_words(int forwards, int backwards, int dropped, int lost_gradients) {
    const auto count = [](int n, const char* what) { return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s"); };
    auto text = count(forwards, "forward") + " and " + count(backwards, "backward") + " run again";
    if (dropped > 0) text += fmt::format(", {} microbatch{} left out", dropped, dropped > 1 ? "es are" : " is");
    if (lost_gradients > 0) text += fmt::format(", the gradients of {} are lost", lost_gradients);
    return text;
}

std::string describe(const RecoveryReport& report, const Problem& problem) {
    if (report.stands_still())
        return fmt::format("a standstill {} into the iteration, since something got slower: it begins again{}",
                           format_seconds(report.detected_s),
                           report.abandoned.empty() ? "" : " (" + report.abandoned.front().what + ")");
    auto nodes = names_of(report.nodes, problem);
    for (const auto& link : report.links) nodes += (nodes.empty() ? "the link " : ", the link ") + link;
    const bool between = report.lost_s == 0 && report.abandoned.empty() && report.changes.empty() &&
                         report.redone_forwards + report.redone_backwards + report.lost_gradients == 0;
    if (between)
        return fmt::format("{} lost between two iterations, known {} later", nodes, format_seconds(report.detected_s));
    auto text = fmt::format("{} lost {} into the iteration, known {} later: ", nodes, format_seconds(report.lost_s),
                            format_seconds(report.detected_s - report.lost_s));
    if (!report.abandoned.empty()) return text + "the iteration begins again (" + report.abandoned.front().what + ")";
    text += redone_words(report.redone_forwards, report.redone_backwards, report.dropped, report.lost_gradients);
    return text + fmt::format(", planned again in {}", format_seconds(report.replanning_s));
}

Replan ReplanController::recover(const Problem& network, const Plan& plan, const ReplanRequest& request) {
    auto asked = request;
    asked.operations = operations_;
    asked.keep_gradients = policy_ != RecoveryPolicy::skip && policy_ != RecoveryPolicy::drop;
    asked.losses = policy_ == RecoveryPolicy::skip   ? LossRule::pass_over
                   : policy_ == RecoveryPolicy::drop ? LossRule::drop
                                                     : LossRule::redo;
    auto rest = replan(network, plan, asked);
    const bool waits = policy_ == RecoveryPolicy::replay || policy_ == RecoveryPolicy::restart;
    for (std::size_t stage = 0; waits && stage < rest.plan.stages.size(); ++stage)
        if (rest.plan.stages[stage].empty() && !plan.stages[stage].empty())
            throw InputError(fmt::format("stage {}", stage), fmt::format("stage {} has no node left", stage),
                             fmt::format("the policy is {}: no microbatch passes over a stage", name_of(policy_)),
                             "Let a node of it come back (rejoin_after_s), or set recovery.policy to \"reroute\"");
    if (rest.residual.heads_alone > 0)
        throw InputError("stage 0", "head and body would step on different microbatches",
                         "their losses were run again, and then nodes were lost that had what their backwards need",
                         "The iteration begins again with the nodes that are left");
    return rest;
}

Replan RestartController::recover(const Problem&, const Plan&, const ReplanRequest&) {
    throw InputError("training", "everybody goes back to the last checkpoint", "the policy is restart",
                     "Set recovery.policy to \"reroute\" to go on");
}

Plan plan_without(const Problem& network, const Plan& base, const std::vector<NodeIndex>& absent,
                  RecoveryController& controller) {
    if (absent.empty()) return base;
    ReplanRequest request{.progress = progress_from_steps(network, base, PerRelease<int>(base.paths.size(), 0), 0)};
    for (const NodeIndex node : absent)
        request.changes.push_back({.kind = NetworkChange::Kind::node_down, .node = node});
    return controller.recover(network, base, request).plan;
}

}  // namespace skippipe
