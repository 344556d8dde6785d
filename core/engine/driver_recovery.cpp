// SPDX-License-Identifier: GPL-3.0-or-later
// The driver when things go wrong in the middle of an iteration: what is left is taken from the machines and from what
// is on its way, planned again, and the machines go on with that. What it means: core/planner/replan/residual.h.
#include <algorithm>
#include <chrono>
#include <stdexcept>

#include "core/base/index.h"
#include "core/base/infinite.h"
#include "core/engine/driver.h"

namespace skippipe {

namespace {

/// What of the disturbances is next, and when: they happen in the order of their times, losses become known later.
class Calendar {
public:
    explicit Calendar(const std::vector<Disturbance>& disturbances) : disturbances_(disturbances) {}

    double next_s() const {
        double next_s = happened_ < disturbances_.size() ? disturbances_[happened_].at_s : infinite;
        for (const auto& unknown : unknown_) next_s = std::min(next_s, unknown.detected_s);
        return next_s;
    }
    /// What happens at next_s(), one by one; nothing once only knowledge is left of that instant.
    const Disturbance* happens() {
        if (happened_ == disturbances_.size() || disturbances_[happened_].at_s > next_s()) return nullptr;
        const auto& now = disturbances_[happened_++];
        if (now.loses()) unknown_.push_back(now);
        return &now;
    }
    /// The losses that become known at `now_s`.
    std::vector<Disturbance> known(double now_s) {
        std::vector<Disturbance> known;
        std::erase_if(unknown_, [&](const Disturbance& unknown) {
            if (unknown.detected_s > now_s) return false;
            known.push_back(unknown);
            return true;
        });
        return known;
    }
    bool waits_for_knowledge() const { return !unknown_.empty(); }
    std::size_t happened() const { return happened_; }

private:
    const std::vector<Disturbance>& disturbances_;
    std::size_t happened_ = 0;
    std::vector<Disturbance> unknown_;  ///< losses that nobody knows of yet
};

}  // namespace

RankIteration Driver::run_iteration(int iteration, const std::vector<Disturbance>& disturbances,
                                    RecoveryController& controller) {
    auto* source = events_.interruptible();
    if (!disturbances.empty() && source == nullptr)
        throw std::logic_error("a real clock's iteration cannot be planned again in its middle");
    begin(iteration);
    RankIteration result;
    try {
        run_disturbed(disturbances, controller, result);
    } catch (const InputError& error) {
        result.abandoned = error.faults();
        if (recoveries_.empty()) throw;
        recoveries_.back().abandoned = error.faults();
        result.recoveries = std::move(recoveries_);
        timeline_.complete = false;
        result.timeline = std::move(timeline_);
        return result;
    }
    auto finished = rest_ ? RankIteration{} : finish();
    if (rest_) {
        finished.sums = source->reduce();
        timeline_.complete = left_ == 0;
        if (!timeline_.complete) describe_blocked();
        timeline_.iteration_s =
            problem_.plan_reductions
                ? end_s()
                : rest_->end(source->network()).iteration_s(source->stage_end_s(), last_end_s(), &timeline_);
        for (const auto& stage : schedule_.plan.stages) timeline_.used_nodes += static_cast<int>(stage.size());
        for (const auto& span : timeline_.spans) timeline_.bytes += span.bytes;
        finished.timeline = std::move(timeline_);
    }
    finished.recoveries = std::move(recoveries_);
    finished.disturbances = result.disturbances;
    if (source != nullptr) finished.refused = source->refused();
    return finished;
}

void Driver::run_disturbed(const std::vector<Disturbance>& disturbances, RecoveryController& controller,
                           RankIteration& result) {
    auto* source = events_.interruptible();
    Calendar calendar(disturbances);
    double slowed_s = -1;  // since what is left was planned; below 0: nothing was
    for (;;) {
        const double disturbed_s = calendar.next_s();
        if (source != nullptr) source->settle(disturbed_s, next_number_);
        const double next_s = source == nullptr ? infinite : source->next_s();
        const bool over = next_s == infinite && !calendar.waits_for_knowledge() && disturbed_s >= end_s();
        if (disturbed_s == infinite || disturbed_s >= next_s || over) {
            auto event = over ? std::nullopt : events_.next(next_number_);
            if (!event) break;
            handle(std::move(*event));
            continue;
        }
        if (const auto* disturbance = calendar.happens()) {
            ++result.disturbances;
            if (!disturbance->loses()) slowed_s = disturbed_s;
            if (!disturbance->loses())
                source->slow(*disturbance);
            else if (disturbance->change.kind == NetworkChange::Kind::line_cut)
                source->cut(disturbance->change);
            else
                lose(disturbance->change.node, disturbed_s, disturbance->lives_on);
            continue;
        }
        RecoveryReport report{.lost_s = disturbed_s, .detected_s = disturbed_s};
        for (const auto& loss : calendar.known(disturbed_s)) {
            report.lost_s = std::min(report.lost_s, loss.at_s);
            if (loss.change.kind == NetworkChange::Kind::node_down)
                report.nodes.push_back(loss.change.node);
            else if (needs(loss.change))
                report.links.push_back(name_of_line(problem_, loss.change));
            else if (const int line = problem_.hop(loss.change.node, loss.change.to).line; line != no_line)
                cut_lines_.insert(line);
        }
        if (report.nodes.empty() && report.links.empty()) continue;
        recoveries_.push_back(report);
        if (!report.links.empty())
            throw InputError("the link " + report.links.front(), "the link is cut",
                             "what was on its way, and what was to go there, does not arrive",
                             "The iteration begins again, around it");
        recover(report.nodes, disturbed_s, controller);
        slowed_s = -1;
    }
    if (left_ == 0 || slowed_s < 0) return;
    // Without an order that binds, what gets slower after it was planned may let memory block it.
    describe_blocked();
    recoveries_.push_back({.lost_s = slowed_s, .detected_s = std::max(slowed_s, timeline_.makespan_s)});
    throw InputError("the plan", timeline_.blocked.empty() ? "it comes to a standstill" : timeline_.blocked.front(),
                     "something got slower after it was planned", "The iteration begins again, in a bound order");
}

/// Whether the plan in force goes over a line that is cut: with a path while operations are left, or with a reduction.
bool Driver::needs(const NetworkChange& cut) const {
    const int line = problem_.hop(cut.node, cut.to).line;
    if (line == no_line) return false;  // it was cut before
    return any_way(problem_, plan(), left_ > 0,
                   [&](NodeIndex from, NodeIndex to) { return problem_.hop(from, to).line == line; });
}

void Driver::lose(int node, double now_s, bool lives_on) {
    lost_[at(node)] = 1;
    machines_[at(node)].reset();
    std::erase_if(inputs_, [&](const auto& input) { return std::get<0>(input.first) == node; });
    events_.interruptible()->lose(node, now_s, lives_on);
}

PerStage<double> Driver::last_ends() const {
    auto ends = events_.interruptible()->stage_end_s();
    const int length = routes_.length(), steps = 2 * length + 1;
    const auto left = [&](int microbatch, int step) {
        ends[at(stage_of_[at(routes_.node_of(microbatch, step))])] = infinite;
    };
    for (const auto& [microbatch, index] : index_of_) {
        for (int step = steps_done_[at(index)]; step < steps; ++step) left(microbatch, step);
        for (int step = 0; step < steps && !again_.empty(); ++step)
            if (again_[at(index * steps + step)] != 0) left(microbatch, step);
    }
    for (const int n : nodes_)
        if (const auto& machine = machines_[at(n)]; machine && (machine->busy() || !machine->waiting().empty()))
            ends[at(stage_of_[at(n)])] = infinite;
    return ends;
}

/// Of the last operation, or where that is later when a stage's all-reduce began anew.
double Driver::last_end_s() const {
    double last_s = timeline_.makespan_s;
    for (const double end_s : events_.interruptible()->stage_end_s()) last_s = std::max(last_s, end_s);
    return last_s;
}

double Driver::end_s() const {
    if (left_ > 0) return infinite;
    const auto& source = *events_.interruptible();
    if (problem_.plan_reductions) {
        double last_s = timeline_.makespan_s;
        for (const double stepped_s : source.stage_stepped_s()) last_s = std::max(last_s, stepped_s);
        return last_s;
    }
    if (rest_) return rest_->end(source.network()).iteration_s(source.stage_end_s(), last_end_s(), nullptr);
    Timeline end;
    end.makespan_s = timeline_.makespan_s;
    skippipe::finish_iteration(source.network(), schedule_.plan, source.stage_end_s(), end);
    return end.iteration_s;
}

OpenOperation Driver::open_of(const Operation& operation, int node, double ready_s) const {
    return {.index = index_of_.at(operation.microbatch),
            .step = routes_.step_of(operation, node),
            .weight = operation.kind == OpKind::W,
            .redo = operation.attempt > 0,
            .ready_s = ready_s};
}

/// In the order in which their events were created.
std::vector<OpenOperation> Driver::open_operations(double at_s) const {
    std::vector<std::pair<std::uint64_t, OpenOperation>> open;
    for (const auto& event : events_.interruptible()->pending()) {
        auto operation = open_of(event.operation, event.node, event.time_s);
        if (event.kind == NodeInput::Kind::end) {
            operation.running = true;
            operation.ready_s = event.ready_s;
            operation.start_s = event.start_s;
            operation.end_s = event.time_s;
        }
        open.emplace_back(event.number, operation);
    }
    std::vector<OpenOperation> parked;
    for (const int n : nodes_) {
        if (!machines_[at(n)]) continue;
        for (const auto& waiting : machines_[at(n)]->waiting()) {
            const auto operation = open_of(waiting.operation, n, waiting.arrival_s);
            const bool never_moved = operation.step == 0 && !operation.redo && waiting.arrival_s == 0;
            if (!never_moved) open.emplace_back(waiting.number, operation);
        }
        for (const auto& waiting : machines_[at(n)]->parked()) parked.push_back(open_of(waiting.operation, n, at_s));
    }
    std::stable_sort(open.begin(), open.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    std::sort(parked.begin(), parked.end(), [](const auto& a, const auto& b) {
        return a.index != b.index ? a.index < b.index : a.step > b.step;  // by hop
    });
    std::vector<OpenOperation> result;
    for (const auto& [number, operation] : open) result.push_back(operation);
    result.insert(result.end(), parked.begin(), parked.end());
    return result;
}

IterationProgress Driver::progress(double at_s) const {
    const auto& source = *events_.interruptible();
    IterationProgress progress{.at_s = at_s,
                               .steps_done = steps_done_,
                               .open = open_operations(at_s),
                               .line_free_s = source.line_free_s(),
                               .stage_end_s = source.stage_end_s()};
    if (problem_.plan_reductions) progress.stage_stepped_s = source.stage_stepped_s();
    if (!rest_) return progress;
    const auto& residual = rest_->replan.residual;
    const int steps = residual.steps();
    for (ReleaseIndex i = 0; i < residual.count(); ++i)
        for (int step = 0; step < steps; ++step)
            if (again_[at(i * steps + step)] != 0)
                progress.redo.push_back({i, step});
            else if (residual.gone[at(i * steps + step)] != 0)
                progress.gone.push_back({i, step});
    for (NodeIndex n = 0; n < problem_.nodes(); ++n)
        if (residual.down[at(n)] != 0 && stage_of_[at(n)] >= 0) progress.lost.push_back({n, stage_of_[at(n)]});
    progress.available_s = residual.available_s;
    if (!problem_.plan_reductions) rest_->end(source.network()).capture(last_ends(), progress);
    return progress;
}

void Driver::recover(const std::vector<int>& down, double now_s, RecoveryController& controller) {
    auto& source = *events_.interruptible();
    source.end_passages();
    ReplanRequest request{.progress = progress(now_s)};
    for (const int node : down)
        request.changes.push_back({.kind = NetworkChange::Kind::node_down, .node = NodeIndex(node)});
    auto& report = recoveries_.back();
    for (const auto& span : timeline_.spans)
        if (is_compute(span.kind) && std::find(down.begin(), down.end(), span.node) != down.end())
            report.lost_work_s += span.end_s - span.start_s;
    const auto began = std::chrono::steady_clock::now();
    auto replan = controller.recover(source.network(), plan(), request);
    report.replanning_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    report.redone_forwards = replan.redone_forwards;
    report.redone_backwards = replan.redone_backwards;
    report.lost_gradients = note_lost_gradients(replan.residual);
    report.dropped = replan.dropped;
    report.changes = replan.changes;
    const auto cut = [&](NodeIndex from, NodeIndex to) { return cut_lines_.contains(problem_.hop(from, to).line); };
    if (any_way(problem_, replan.plan, replan.residual.operations_left() > 0, cut))
        throw InputError("links", "what is left of the iteration would go over a link that is cut",
                         "it was cut while no message needed it", "The iteration begins again, around it");
    rest_ = std::make_unique<Rest>(Rest{plan(), source.network(), std::move(replan)});
    go_on(now_s);
}

/// How many more gradients are lost than before; fewer, where a microbatch begins anew.
int Driver::note_lost_gradients(const Residual& residual) {
    int more = 0;
    lost_gradients_.resize(residual.lost.size(), 0);
    for (int i = 0; i < residual.count(); ++i)
        for (int hop = 0; hop < residual.length; ++hop) {
            auto& lost = lost_gradients_[at(i * residual.length + hop)];
            const bool runs_anew = 2 * residual.length - hop >= residual.next_step[at(i)];
            const bool is = residual.lost[at(i * residual.length + hop)] != 0 || (lost != 0 && !runs_anew);
            more += (is ? 1 : 0) - lost;
            lost = is ? 1 : 0;
        }
    return more;
}

/// What every node is in the midst of, and what is on its way.
std::vector<NodeRest> Driver::take_up(std::vector<PendingEvent>& pending) const {
    const auto& residual = rest_->replan.residual;
    std::vector<NodeRest> nodes(at(problem_.nodes()));
    for (std::size_t n = 0; n < nodes.size(); ++n) nodes[n].held = residual.held[n];
    for (std::size_t k = 0; k < residual.open.size(); ++k) {
        const auto& open = residual.open[k];
        const MicrobatchIndex microbatch = residual.microbatches[open.index];
        const int node = routes_.node_of(microbatch, open.step);
        auto operation = routes_.operation_of(microbatch, open.step, open.redo ? 1 : 0);
        if (open.weight) operation = {OpKind::W, microbatch};
        if (open.running) {
            nodes[at(node)].running = operation;
            pending.push_back({NodeInput::Kind::end, node, operation, open.end_s, k, open.ready_s, open.start_s, -1});
        } else if (open.ready_s <= residual.at_s) {
            nodes[at(node)].waiting.push_back({operation, open.ready_s, k});
        } else {
            pending.push_back({NodeInput::Kind::arrive, node, operation, open.ready_s, k, 0, 0,
                               open.step > 0 ? routes_.node_of(microbatch, open.step - 1) : -1});
        }
    }
    for (ReleaseIndex i = 0; i < residual.count(); ++i) {
        if (residual.begin[at(i)] != Residual::Begin::fresh) continue;
        const MicrobatchIndex microbatch = residual.microbatches[i];
        const int node = routes_.node_of(microbatch, 0);
        const bool moved = node != residual.before[at(i * residual.length)];
        nodes[at(node)].waiting.push_back(
            {{OpKind::F, microbatch}, moved ? residual.at_s : residual.fresh_s[at(i)], static_cast<std::uint64_t>(i)});
    }
    return nodes;
}

void Driver::go_on(double now_s) {
    const auto& replan = rest_->replan;
    const auto& residual = replan.residual;
    routes_ = RouteTable(residual, replan.residual_plan.nodes);
    stage_of_ = replan.residual_plan.stage_of;
    steps_done_ = residual.next_step;
    again_.assign(residual.redo.begin(), residual.redo.end());
    left_ = residual.operations_left();
    next_number_ = std::max(residual.open.size(), residual.begin.size());
    std::vector<PendingEvent> pending;
    auto nodes = take_up(pending);
    events_.go_on(replan, pending);
    std::vector<std::pair<int, NodeAction>> sends;
    for (const auto& input : inputs_again(residual, routes_)) {
        const auto operation = routes_.operation_of(input.microbatch, input.step, input.attempt);
        const int to = routes_.node_of(input.microbatch, input.step);
        const auto number = next_number_++;
        if (input.from == to || input.from < 0)
            nodes[at(to)].waiting.push_back({operation, now_s, number});
        else if (lost_[at(input.from)] == 0 && hosts(input.from))  // nobody may know yet that it is lost
            sends.push_back({input.from, {NodeAction::Kind::send, operation, to, number, 0, {}}});
    }
    const auto& order = replan.order_left;
    for (const int n : nodes_) {
        machines_[at(n)].reset();
        if (lost_[at(n)] != 0) continue;
        machines_[at(n)].emplace(n, problem_.memory[at(n)], !order.empty(),
                                 order.empty() ? std::vector<Operation>{} : order[at(n)], routes_,
                                 std::move(nodes[at(n)]));
    }
    // From here on what there is of the iteration is in the machines, whatever the transport says.
    for (const auto& [from, send] : sends) events_.send_again(from, send, now_s);
    for (const int n : nodes_)
        if (machines_[at(n)]) act(n, machine(n).begin(next_number_), now_s);
}

/// What has ended or come meanwhile is taken in; nothing new starts.
Interrupted Driver::interrupt() {
    interrupted_ = true;
    while (auto event = events_.happened(next_number_)) handle(std::move(*event));
    interrupted_ = false;
    RankProgress progress{steps_done_, again_, {}};
    for (const int n : nodes_) {
        if (!machines_[at(n)]) continue;
        const auto has = [&](const Operation& operation) {
            auto open = open_of(operation, n, 0);
            const bool fresh = open.step == 0 && !open.redo && !open.weight;  // as if it had not been released
            if (!fresh) progress.open.push_back(open);
        };
        for (const auto& waiting : machine(n).waiting()) has(waiting.operation);
        for (const auto& waiting : machine(n).parked()) has(waiting.operation);
        if (machine(n).busy()) has(*machine(n).running());  // it would have started
    }
    return {std::move(progress), std::move(inputs_), std::move(timeline_)};
}

RankIteration Driver::run_rest(int iteration, const RestOfIteration& rest, Interrupted& before) {
    machines_.assign(at(problem_.nodes()), std::nullopt);
    recoveries_.clear();
    lost_gradients_.clear();
    timeline_ = {};
    begun_ = false;
    events_.begin_rest(iteration, rest.origin_s, timeline_.spans);
    begun_ = true;
    timeline_ = std::move(before.timeline);
    if (rest.replan != nullptr) {
        const auto& residual = rest.replan->residual;
        rest_ = std::make_unique<Rest>(Rest{schedule_.plan, problem_, *rest.replan});
        lost_.assign(residual.down.begin(), residual.down.end());
        inputs_.clear();
        const RouteTable routes(residual, rest.replan->residual_plan.nodes);
        for (const auto& open : residual.open) {
            const int microbatch = residual.microbatches[open.index];
            if (open.weight) continue;
            const auto kind = routes.operation_of(microbatch, open.step).kind;
            if (auto kept = before.inputs.extract({routes.node_of(microbatch, open.step), microbatch, kind}))
                inputs_.insert(std::move(kept));
        }
        go_on(timeline_.makespan_s);
    }
    left_ = operations_;
    while (auto event = events_.next(next_number_)) handle(std::move(*event));
    return finish();
}

}  // namespace skippipe
