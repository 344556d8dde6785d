// SPDX-License-Identifier: GPL-3.0-or-later
// What ranks tell of lost nodes, and what becomes of the run.
#include <fmt/format.h>

#include "core/experiment/io.h"
#include "core/run/run.h"

namespace skippipe {

/// Into the record and the log.
void Run::tell_event(RunEvent event) {
    recorder_.event(outcome_.run, event);
    const bool is_good = event.kind == RunEvent::Kind::back || event.kind == RunEvent::Kind::plan;
    const auto words = fmt::format("iteration {}: {}", event.iteration + 1, event.what);
    is_good ? log_.info(words) : log_.warn(words);
}

void Run::receive(const protocol::SpeedsChanged& m) {
    tell_event({.iteration = m.iteration, .kind = RunEvent::Kind::speeds, .network_s = m.at_s, .what = m.what});
    if (progress_.warned)
        progress_.warned({fmt::format("iteration {}", m.iteration + 1), m.what, "the document's failures say so", "",
                          Fault::Severity::warning});
}

void Run::receive(const protocol::Recovered& m) {
    const auto& report = m.report;
    for (const int node : report.nodes) require_node(node);
    const double end_s = m.offset_s + report.detected_s;
    const auto note = [&](const char* name, double value) {
        metric(m.iteration, name, value, end_s, outcome_.info.machine_s, 0);
    };
    note("nodes_lost", static_cast<double>(report.nodes.size()));
    note("detection_s", report.detected_s - report.lost_s);
    note("replanning_s", report.replanning_s);
    note("redone_operations", report.redone_forwards + report.redone_backwards);
    note("lost_gradients", report.lost_gradients);
    note("dropped_microbatches", report.dropped);
    outcome_.nodes_lost += static_cast<int>(report.nodes.size());
    outcome_.begun_again += report.abandoned.empty() ? 0 : 1;
    tell_event({.iteration = m.iteration,
                .kind = RunEvent::Kind::lost,
                .network_s = m.offset_s + report.lost_s,
                .lasted_s = report.detected_s - report.lost_s,
                .what = describe(report, job_.problem)});
    for (const auto& change : report.changes) log_.info("  " + change);
    if (progress_.recovered) progress_.recovered(m);
}

void Run::receive(const protocol::Rejoined& m) {
    const auto& report = m.report;
    for (const int node : report.nodes) require_node(node);
    metric(m.iteration, "refetching_s", report.refetching_s, m.at_s + report.refetching_s, outcome_.info.machine_s, 0);
    tell_event({.iteration = m.iteration,
                .kind = RunEvent::Kind::back,
                .network_s = m.at_s,
                .lasted_s = report.refetching_s,
                .what = describe(report, job_.problem)});
    if (progress_.rejoined) progress_.rejoined(m);
}

void Run::receive(const protocol::WentBack& m) {
    const auto& to = m.position;
    recorder_.go_back(outcome_.run, {to.iterations_done, to.validated, to.machine_s});
    network_s_ = to.network_s;
    idle_.forget_from(to.iterations_done);
    const auto note = [&](const char* name, double value) {
        metric(to.iterations_done, name, value, network_s_, to.machine_s, to.tokens);
    };
    note("lost_iterations", m.lost_iterations);
    note("lost_network_s", m.lost_s);
    auto& info = outcome_.info;
    info.iterations_done = to.iterations_done;
    info.machine_s = to.machine_s;
    ++outcome_.went_back;
    outcome_.lost_iterations += m.lost_iterations;
    tell_event({.iteration = to.iterations_done,
                .kind = RunEvent::Kind::went_back,
                .network_s = network_s_ - m.lost_s,
                .lasted_s = m.lost_s,
                .what = describe(m)});
    if (progress_.went_back) progress_.went_back(m);
}

void Run::receive(const protocol::Regrouped& m) {
    const auto& report = m.report;
    for (const auto* nodes : {&report.nodes_lost, &report.nodes_joined})
        for (const int node : *nodes) require_node(node);
    const auto note = [&](const char* name, double value) {
        metric(report.iterations_done, name, value, network_s_, outcome_.info.machine_s, 0);
    };
    note("nodes_lost", static_cast<double>(report.nodes_lost.size()));
    note("detection_s", report.detection_s);
    note("replanning_s", report.planning_s);
    note("recovery_s", report.total_s());
    if (!report.nodes_joined.empty()) note("refetching_s", report.fetching_s);
    if (report.goes_on) {
        note("redone_operations", report.redone_forwards + report.redone_backwards);
        note("lost_gradients", report.lost_gradients);
        note("dropped_microbatches", report.dropped);
    }
    outcome_.nodes_lost += static_cast<int>(report.nodes_lost.size());
    outcome_.begun_again += report.lost_work_s > 0 ? 1 : 0;
    const double lost_at_s = network_s_;
    if (!report.goes_on) network_s_ += report.total_s();
    const auto what = describe(report, job_.problem);
    if (!report.plan_json.empty()) {
        plan_ = plan_of(report.plan_json);
        failures_.follow(plan_.stages);
        recorder_.plan(outcome_.run, report.iterations_done, report.plan_json, what);
    }
    tell_event({.iteration = report.iterations_done,
                .kind = RunEvent::Kind::met_anew,
                .network_s = lost_at_s,
                .lasted_s = report.total_s(),
                .what = what});
    // It knows one plan, of all ranks.
    if (!report.plan_json.empty() && plan_.stages == job_.plan.stages && !machines_.empty())
        forecast_.emplace(job_.experiment, job_.problem, plan_, machines_, job_.calibrate);
    else
        forecast_.reset();
    ranks_.regrouped(report.lost, report.joined);
    if (progress_.regrouped) progress_.regrouped(m);
}

void Run::require_node(int node) const {
    if (node < 0 || node >= job_.problem.nodes())
        throw InputError("worker", fmt::format("node {} is lost", node), "the experiment has no such node",
                         "Build coordinator and worker anew with `./studio build`");
}

}  // namespace skippipe
