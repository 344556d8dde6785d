// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/engine/interrupted_iteration.h"

#include <algorithm>
#include <utility>

#include "core/base/index.h"
#include "core/engine/wall_clock.h"
#include "core/experiment/io.h"

namespace skippipe {

void InterruptedIteration::begin(const Plan& plan) {
    plan_ = plan;
    rests_to_begin_ = 0;
}

void InterruptedIteration::forget() {
    interrupted_.reset();
    rests_.clear();
    rests_begun_ = RankPosition::not_begun;
    rests_to_begin_ = 0;
    looks_on_ = false;
    down_since_s_.clear();
}

void InterruptedIteration::interrupt(PlanExecution& execution, const RankIteration* computed) {
    const auto* wall = execution.wall();
    if (!wall || !execution.begun() || (!computed && !wall->under_way())) return;
    rests_begun_ = rests_to_begin_;
    origin_s_ = wall->origin_s();
    interrupted_ = execution.interrupt();
    if (!interrupted_) {
        rests_begun_ = RankPosition::not_known;
        return;
    }
    if (computed) interrupted_->timeline = computed->timeline;
    std::erase_if(interrupted_->timeline.spans,  // what was reduced is reduced again
                  [](const Span& span) {
                      return span.kind == SpanKind::all_reduce || span.kind == SpanKind::transfer_reduction;
                  });
}

void InterruptedIteration::say(RankPosition& position) const {
    position.rests = looks_on_ ? RankPosition::looks_on : rests_begun_;
    if (position.rests < 0) return;
    position.progress = to_text(interrupted_.value().progress);
    position.origin_s = origin_s_;
}

std::optional<PlannedRest> InterruptedIteration::plan_rest(const Problem& problem, const RankSchedule& everybody,
                                                           const Regrouping& met, const Agreement& agreement,
                                                           bool is_new, RecoveryController& controller,
                                                           RankTransport& transport) const {
    if (agreement.rests < 0) return std::nullopt;
    std::optional<PlannedRest> rest;
    std::string found;
    const bool looks_on = is_new || looks_on_;
    if (!looks_on) {
        if (at(agreement.rests) > rests_.size())
            throw PeerFault(0, "goes on with a rest of the iteration that this rank was never told of");
        const auto* before = agreement.rests == 0 ? nullptr : &rests_[at(agreement.rests - 1)];
        const auto& plan = before ? before->plan : plan_;
        try {
            rest = rest_of(problem, everybody, plan, before, met.members, agreement, controller);
            found = to_json(rest->replan.plan, problem, nullptr).dump();
        } catch (const PeerFault&) {
            throw;
        } catch (const InputError&) {
            // There is no way on: begun again, the iteration has one.
        }
    }
    const auto agreed = transport.broadcast(found);
    if (agreed.empty()) return std::nullopt;
    if (looks_on) rest = PlannedRest{{}, schedule_of_rest(problem, everybody, met.members, nullptr)};
    if (!rest || (!looks_on && agreed != found)) throw PeerFault(0, "goes on by another plan than this rank");
    return rest;
}

RankSchedule InterruptedIteration::go_on(PlannedRest rest, const Agreement& agreement, bool is_new,
                                         RegroupReport& report) {
    origin_s_ = agreement.origin_s;
    if (is_new) looks_on_ = true;
    if (!looks_on_) {
        rests_.resize(at(agreement.rests));
        const int lost_before = rests_.empty() ? 0 : rests_.back().lost_gradients;
        report.redone_forwards = rest.replan.redone_forwards;
        report.redone_backwards = rest.replan.redone_backwards;
        report.lost_gradients = rest.replan.lost_gradients - lost_before;
        report.dropped = rest.replan.dropped;
        rests_.push_back(std::move(rest.replan));
    }
    if (!interrupted_) interrupted_.emplace();  // it had not even begun
    rests_to_begin_ = agreement.rests + 1;
    return std::move(rest.schedule);
}

RankIteration InterruptedIteration::run_rest(int iteration, PlanExecution& execution) {
    return execution.run_rest(iteration, {rests_.empty() ? nullptr : &rests_.back(), origin_s_}, interrupted_.value());
}

void InterruptedIteration::note_lost(const std::vector<NodeIndex>& nodes, double since_s) {
    for (const NodeIndex node : nodes) down_since_s_.emplace(node, std::max(0.0, since_s));
}

}  // namespace skippipe
