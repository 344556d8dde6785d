// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/planner/replan/progress.h"

#include <algorithm>
#include <unordered_map>

#include <fmt/format.h>

#include "core/base/index.h"
#include "core/planner/replan/replan.h"
#include "core/planner/timeline/simulator.h"

namespace skippipe {

namespace {

constexpr int none = -1;

/// The spans of a timeline by operation, and the order in which the events behind them were created.
class Cut {
public:
    Cut(const Problem& problem, const Plan& plan, const Timeline& timeline, double at_s)
        : problem_(problem),
          spans_(timeline.spans),
          at_s_(at_s),
          length_(static_cast<int>(plan.paths.front().nodes.size())),
          split_(plan.split_backward),
          flat_(flatten(problem, plan)),
          place_(spans_.size()),
          before_(spans_.size(), none) {
        steps_ = 2 * length_ + 1;
        for (const auto& nodes : plan.stages) nodes_of_stage_.push_back(nodes.size());
        compute_.assign(at(flat_.count()) * at(steps_) * 2, none);
        transfer_.assign(at(flat_.count()) * at(steps_), none);
        std::unordered_map<MicrobatchIndex, ReleaseIndex> index_of;
        for (ReleaseIndex i = 0; i < flat_.count(); ++i) index_of[flat_.microbatches[i]] = i;
        PerNode<int> last(at(problem.nodes()), none);
        for (int k = 0; k < static_cast<int>(spans_.size()); ++k) {
            const auto& span = spans_[at(k)];
            const bool compute = is_compute(span.kind);
            if (!compute && !is_transfer(span.kind)) continue;
            const auto found = index_of.find(span.microbatch);
            if (found == index_of.end()) continue;
            const int step = step_of(found->second, span);
            if (step < 0) continue;
            place_[at(k)] = {found->second, step, span.kind == SpanKind::weight_gradient};
            (compute ? compute_[slot(place_[at(k)])] : transfer_[at(found->second * steps_ + step)]) = k;
            if (!compute) continue;
            before_[at(k)] = last[span.node];  // on one node the spans stand in the order in which they ran
            last[span.node] = k;
        }
    }

    IterationProgress progress() {
        IterationProgress progress{.at_s = at_s_, .stage_end_s = PerStage<double>(at(problem_.stages), -1.0)};
        for (ReleaseIndex i = 0; i < flat_.count(); ++i) add(i, progress);
        std::sort(open_.begin(), open_.end(),
                  [&](const Open& a, const Open& b) { return earlier(event_of(a), event_of(b)); });
        for (const auto& open : open_) progress.open.push_back(open.operation);
        if (problem_.shared_links) progress.line_free_s = lines();
        if (problem_.plan_reductions) progress.stage_stepped_s = stepped();
        return progress;
    }

private:
    struct Place {
        ReleaseIndex index = 0;
        int step = 0;
        bool weight = false;
    };
    struct Open {
        OpenOperation operation;
        int compute = none;  ///< its span, where it runs
    };
    /// What created an event, at `time_s`: handing over (first) or starting what is at `place`.
    struct Event {
        double time_s = 0;
        bool start = false;
        Place place;
    };

    std::size_t slot(const Place& place) const {
        return (at(place.index) * at(steps_) + at(place.step)) * 2 + (place.weight ? 1 : 0);
    }
    NodeIndex node_of(ReleaseIndex index, int step) const { return step_node(flat_.path(index), length_, step); }
    bool ended(int k) const { return k != none && spans_[at(k)].end_s <= at_s_; }

    int step_of(ReleaseIndex index, const Span& span) const {
        const NodeIndex* path = flat_.path(index);
        const NodeIndex node = is_transfer(span.kind) ? span.to_node : span.node;
        const int hop = static_cast<int>(std::find(path, path + length_, node) - path);
        if (hop == length_) return none;
        if (span.kind == SpanKind::loss) return length_;
        if (span.kind == SpanKind::forward) return hop;
        if (span.kind == SpanKind::transfer_forward) return hop == 0 ? length_ : hop;
        return 2 * length_ - hop;
    }

    void add(ReleaseIndex i, IterationProgress& progress) {
        int done = 0;
        while (done < steps_ && ended(compute_[slot({i, done, false})])) {
            auto& end_s = progress.stage_end_s[flat_.stage_of[node_of(i, done)]];
            end_s = std::max(end_s, spans_[at(compute_[slot({i, done, false})])].end_s);
            if (split_ && done > length_) add_weight(i, done, progress);
            ++done;
        }
        progress.steps_done.push_back(done);
        if (done == steps_) return;
        const int next = compute_[slot({i, done, false})];
        const bool runs = next != none && spans_[at(next)].start_s <= at_s_;
        if (done == 0 && !runs) return;
        OpenOperation open{.index = i, .step = done, .running = runs};
        const int transfer = transfer_[at(i * steps_ + done)];
        if (transfer != none)
            open.ready_s = spans_[at(transfer)].end_s;
        else if (done > 0)
            open.ready_s = spans_[at(compute_[slot({i, done - 1, false})])].end_s;
        add_open(open, next);
    }

    void add_weight(ReleaseIndex i, int step, IterationProgress& progress) {
        const int k = compute_[slot({i, step, true})];
        if (ended(k)) {
            auto& end_s = progress.stage_end_s[flat_.stage_of[node_of(i, step)]];
            end_s = std::max(end_s, spans_[at(k)].end_s);
            return;
        }
        OpenOperation open{
            .index = i, .step = step, .weight = true, .ready_s = spans_[at(compute_[slot({i, step, false})])].end_s};
        open.running = k != none && spans_[at(k)].start_s <= at_s_;
        add_open(open, k);
    }

    void add_open(OpenOperation open, int k) {
        if (open.running) {
            open.start_s = spans_[at(k)].start_s;
            open.end_s = spans_[at(k)].end_s;
        }
        open_.push_back({open, open.running ? k : none});
    }

    Event event_of(const Open& open) const {
        const auto& o = open.operation;
        if (o.running) return {o.start_s, true, {o.index, o.step, o.weight}};
        return handed_over({o.index, o.step, o.weight});
    }

    /// The event that brings an operation's input, created when what comes before it ended (at the start, for a first
    /// forward).
    Event handed_over(const Place& place) const {
        if (place.step == 0) return {0, false, place};
        const int k = compute_[slot({place.index, place.weight ? place.step : place.step - 1, false})];
        return {spans_[at(k)].end_s, false, place};
    }

    /// The event during which a node started an operation: the end of what it ran before, or the arrival of the input,
    /// whichever was handled later.
    Event cause_of_start(const Place& place) const {
        const int k = compute_[slot(place)];
        const double start_s = spans_[at(k)].start_s;
        const int previous = before_[at(k)];
        const bool after_end = previous != none && spans_[at(previous)].end_s == start_s;
        const bool on_arrival = spans_[at(k)].ready_s == start_s && node_before(place) != spans_[at(k)].node;
        const Event arrival = handed_over(place);
        if (!after_end) return arrival;
        const Event end{spans_[at(previous)].start_s, true, place_[at(previous)]};
        return on_arrival && earlier(end, arrival) ? arrival : end;
    }

    NodeIndex node_before(const Place& place) const {
        return place.weight      ? node_of(place.index, place.step)
               : place.step == 0 ? NodeIndex(none)
                                 : node_of(place.index, place.step - 1);
    }

    /// Whether event `a` was created before `b`: by time; at one instant by the order of the events during which they
    /// were created.
    bool earlier(const Event& a, const Event& b) const {
        if (a.time_s != b.time_s) return a.time_s < b.time_s;
        const bool root_a = !a.start && a.place.step == 0, root_b = !b.start && b.place.step == 0;
        if (root_a || root_b) return root_a && (!root_b || a.place.index < b.place.index);
        const Event cause_a = cause(a), cause_b = cause(b);
        if (same(cause_a, cause_b)) return rank(a) < rank(b);
        return earlier(cause_a, cause_b);
    }

    Event cause(const Event& event) const {
        if (event.start) return cause_of_start(event.place);
        const Place by{event.place.index, event.place.weight ? event.place.step : event.place.step - 1, false};
        return {spans_[at(compute_[slot(by)])].start_s, true, by};
    }

    static bool same(const Event& a, const Event& b) {
        return a.start == b.start && a.place.index == b.place.index && a.place.step == b.place.step &&
               a.place.weight == b.place.weight;
    }
    /// During one event: the transfer is handed over, then the weight gradient, then the node dispatches.
    static int rank(const Event& event) { return event.start ? 2 : event.place.weight ? 1 : 0; }

    std::vector<double> lines() const {
        std::vector<double> free_s(problem_.line_names.size(), 0.0);
        for (const auto& span : spans_) {
            if (!is_on_line(span.kind) || span.ready_s > at_s_) continue;
            const Hop& hop = problem_.hop(span.node, span.to_node);
            auto& free = free_s[at(hop.line)];
            if (span.kind == SpanKind::transfer_reduction) {
                free = std::max(free, span.start_s + span.bytes / hop.bandwidth_bytes_per_s);
                continue;
            }
            const double transfer_s =
                span.kind == SpanKind::transfer_forward ? hop.seconds_per_forward : hop.seconds_per_backward;
            free = std::max(free, span.start_s + transfer_s * problem_.relative_size(span.microbatch));
        }
        return free_s;
    }

    /// Of stages all of whose nodes have the sums.
    PerStage<double> stepped() const {
        PerStage<double> stepped_s(at(problem_.stages), -1.0);
        PerStage<std::size_t> have(at(problem_.stages), 0);
        for (const auto& span : spans_) {
            if (span.kind == SpanKind::all_reduce && span.end_s <= at_s_) ++have[span.stage];
            if (span.kind == SpanKind::step) stepped_s[span.stage] = std::max(stepped_s[span.stage], span.end_s);
        }
        for (StageIndex s = 0; s < problem_.stages; ++s)
            if (have[s] < nodes_of_stage_[s]) stepped_s[s] = -1;
        return stepped_s;
    }

    const Problem& problem_;
    const std::vector<Span>& spans_;
    double at_s_;
    int length_, steps_ = 0;
    bool split_;
    FlatPlan flat_;
    PerStage<std::size_t> nodes_of_stage_;
    std::vector<Place> place_;   ///< of each span
    std::vector<int> before_;    ///< of each compute span: the one before it on its node
    std::vector<int> compute_;   ///< span of each operation
    std::vector<int> transfer_;  ///< span that brought each step's input
    std::vector<Open> open_;
};

}  // namespace

IterationProgress progress_at(const Problem& problem, const Plan& plan, const Timeline& timeline, double at_s) {
    if (plan.paths.empty()) return {.at_s = at_s, .stage_end_s = PerStage<double>(at(problem.stages), -1.0)};
    if (!problem.has_uplinks()) return Cut(problem, plan, timeline, at_s).progress();
    // A timeline does not say where heads are: gone through anew.
    const ReplanRequest begin{.progress = progress_from_steps(problem, plan, PerRelease<int>(plan.paths.size(), 0), 0)};
    return progress_at(problem, plan, begin, replan(problem, plan, begin), at_s);
}

IterationProgress progress_from_steps(const Problem& problem, const Plan& plan, const PerRelease<int>& steps_done,
                                      double at_s) {
    const int steps = plan.paths.empty() ? 1 : 2 * static_cast<int>(plan.paths.front().nodes.size()) + 1;
    if (steps_done.size() != plan.paths.size())
        throw InputError("progress",
                         fmt::format("{} numbers of steps for {} microbatches", steps_done.size(), plan.paths.size()),
                         "each microbatch has one", "Give them in the order of the plan's paths");
    IterationProgress progress{
        .at_s = at_s, .steps_done = steps_done, .stage_end_s = PerStage<double>(at(problem.stages), -1.0)};
    const auto stage_of = stage_of_nodes(plan, problem.nodes());
    for (ReleaseIndex i = 0; at(i) < steps_done.size(); ++i) {
        const int done = steps_done[i];
        if (done < 0 || done > steps)
            throw InputError(
                "progress",
                fmt::format("microbatch {} has {} of {} steps done", plan.paths[at(i)].microbatch, done, steps), "",
                "Give 0 to 2p + 1 steps");
        if (done > 0 && done < steps) progress.open.push_back({.index = i, .step = done, .ready_s = at_s});
        const auto& nodes = plan.paths[at(i)].nodes;
        for (int step = 0; step < done; ++step)
            progress.stage_end_s[stage_of[step_node(nodes.data(), static_cast<int>(nodes.size()), step)]] = at_s;
    }
    return progress;
}

}  // namespace skippipe
