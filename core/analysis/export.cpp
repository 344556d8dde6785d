// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/analysis/export.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <fmt/ostream.h>
#include <nlohmann/json.hpp>

namespace skippipe {
namespace {

/// Shortest text that reads back as the same number; empty for what is none.
std::string exact(double value) { return std::isfinite(value) ? fmt::format("{}", value) : std::string{}; }

std::string csv_field(const std::string& text) {
    if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
    std::string out = "\"";
    for (const char c : text) c == '"' ? out += "\"\"" : out += c;
    return out + '"';
}

std::string id_of(const Problem& problem, int node) {
    if (node < 0) return {};
    return node < problem.nodes() ? problem.node_ids[static_cast<std::size_t>(node)] : "node " + std::to_string(node);
}

/// Writes trace events one by one: a run has millions, a JSON document of them all would not fit.
class Trace {
public:
    explicit Trace(std::ostream& out) : out_(out) { out_ << "{\"displayTimeUnit\":\"ms\",\"traceEvents\":["; }
    void event(const nlohmann::ordered_json& event) {
        out_ << (first_ ? "\n" : ",\n") << event.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
        first_ = false;
    }
    void end() { out_ << "\n]}\n"; }

private:
    std::ostream& out_;
    bool first_ = true;
};

double microseconds(double seconds) { return std::round(seconds * 1e9) / 1e3; }

using Json = nlohmann::ordered_json;

class TraceWriter {
public:
    TraceWriter(std::ostream& out, const Problem& problem, const std::map<int, Plan>& plans)
        : trace_(out), problem_(problem) {
        for (const auto& [iteration, plan] : plans) {
            stage_of_.emplace(iteration, stage_of_nodes(plan, problem.nodes()));
            stages_ = std::max(stages_, static_cast<int>(plan.stages.size()));
        }
    }

    void write(const std::vector<RecordedSpan>& spans, const std::string& title) {
        for (const auto& span : spans) note(span);
        names(title, spans);
        for (const auto& span : spans) {
            if (!std::isfinite(span.offset_s + span.span.start_s + span.span.end_s + span.span.ready_s)) continue;
            is_transfer(span.span.kind) ? transfer(span) : complete(span);
        }
        trace_.end();
    }

private:
    using Key = std::tuple<int, int, int, double>;  // iteration, microbatch, node, time

    /// An operation that a box shows: when it began, and in which process it stands.
    struct Box {
        double start_s = 0;
        int process = 0;
    };

    /// Of a node by the plan in force.
    int process(int node, int iteration) const {
        auto plan = stage_of_.upper_bound(iteration);
        if (plan != stage_of_.begin()) --plan;
        if (plan == stage_of_.end() || node < 0 || at(node) >= plan->second.size()) return stages_;
        const int stage = plan->second[NodeIndex(node)];
        return stage >= 0 ? stage : stages_;
    }

    int process(const RecordedSpan& recorded) const {
        const auto& span = recorded.span;
        const bool says = !is_transfer(span.kind) && span.stage >= 0 && span.stage < stages_;
        return says ? int{span.stage} : process(span.node, recorded.iteration);
    }

    void metadata(const char* name, int pid, int tid, Json args) {
        trace_.event({{"ph", "M"}, {"name", name}, {"pid", pid}, {"tid", tid}, {"args", std::move(args)}});
    }

    /// A lane for each node where it stands at first, and wherever else it works.
    void names(const std::string& title, const std::vector<RecordedSpan>& spans) {
        std::set<std::pair<int, int>> lanes;  // node, process
        for (int node = 0; node < problem_.nodes(); ++node)
            lanes.emplace(node, process(node, spans.empty() ? 0 : spans.front().iteration));
        for (const auto& span : spans)
            if (const int node = span.span.node; node >= 0 && node < problem_.nodes())
                lanes.emplace(node, process(span));
        for (int stage = 0; stage < stages_; ++stage) {
            metadata("process_name", stage, 0,
                     {{"name",
                       title.empty() ? fmt::format("Stage {}", stage) : fmt::format("Stage {} of {}", stage, title)}});
            metadata("process_sort_index", stage, 0, {{"sort_index", stage}});
        }
        if (std::any_of(lanes.begin(), lanes.end(), [&](const auto& lane) { return lane.second == stages_; }))
            metadata("process_name", stages_, 0, {{"name", "Nodes in no stage"}});
        for (const auto& [node, process] : lanes) {
            metadata("thread_name", process, node, {{"name", id_of(problem_, node)}});
            metadata("thread_sort_index", process, node, {{"sort_index", node}});
        }
    }

    /// Operations by their end (what handed over) and by arrival (what waited), so that flows find both.
    void note(const RecordedSpan& span) {
        if (!is_compute(span.span.kind)) return;
        const Box box{span.span.start_s, process(span)};
        ended_[{span.iteration, span.span.microbatch, span.span.node, span.span.end_s}] = box;
        arrived_[{span.iteration, span.span.microbatch, span.span.node, span.span.ready_s}] = box;
    }

    static Json event(const char* phase, std::string name, const char* category, int process, int node, double time_s) {
        return {{"ph", phase}, {"name", std::move(name)},   {"cat", category}, {"pid", process},
                {"tid", node}, {"ts", microseconds(time_s)}};
    }

    void complete(const RecordedSpan& recorded) {
        const auto& [kind, node, to, stage, microbatch, ready_s, start_s, end_s, bytes] = recorded.span;
        const std::string what{to_string(kind)};
        auto one = event("X", microbatch < 0 ? what : fmt::format("{} {}", what, microbatch),
                         is_compute(kind) ? "compute" : "stage", process(recorded), node, recorded.offset_s + start_s);
        one["dur"] = microseconds(end_s - start_s);
        one["args"] = {{"iteration", recorded.iteration}, {"stage", stage}};
        if (microbatch >= 0) one["args"].update({{"microbatch", microbatch}, {"waited_s", start_s - ready_s}});
        if (bytes > 0) one["args"]["bytes"] = bytes;
        trace_.event(one);
    }

    void transfer(const RecordedSpan& recorded) {
        const auto& span = recorded.span;
        const auto name = fmt::format("{}->{}", id_of(problem_, span.node), id_of(problem_, span.to_node));
        const auto id = std::to_string(++flows_);
        const int process = this->process(recorded);
        auto begin = event("b", name, "transfer", process, span.node, recorded.offset_s + span.start_s);
        begin["id"] = id;
        begin["args"] = {{"iteration", recorded.iteration},
                         {"microbatch", span.microbatch},
                         {"bytes", span.bytes},
                         {"queued_s", span.start_s - span.ready_s}};
        trace_.event(begin);
        auto end = event("e", name, "transfer", process, span.node, recorded.offset_s + span.end_s);
        end["id"] = id;
        trace_.event(end);
        flow(recorded, id);
    }

    /// From the middle of the operation that handed over to the start of the one that waited: both inside their boxes,
    /// as viewers ask.
    void flow(const RecordedSpan& recorded, const std::string& id) {
        const auto& span = recorded.span;
        const auto from = ended_.find({recorded.iteration, span.microbatch, span.node, span.ready_s});
        const auto to = arrived_.find({recorded.iteration, span.microbatch, span.to_node, span.end_s});
        if (from == ended_.end() || to == arrived_.end()) return;
        auto start = event("s", "microbatch", "flow", from->second.process, span.node,
                           recorded.offset_s + (from->second.start_s + span.ready_s) / 2);
        start["id"] = id;
        trace_.event(start);
        auto finish =
            event("f", "microbatch", "flow", to->second.process, span.to_node, recorded.offset_s + to->second.start_s);
        finish["id"] = id;
        finish["bp"] = "e";
        trace_.event(finish);
    }

    Trace trace_;
    const Problem& problem_;
    std::map<int, PerNode<StageIndex>> stage_of_;  ///< by the first iteration of the plan
    int stages_ = 0;
    std::int64_t flows_ = 0;
    std::map<Key, Box> ended_, arrived_;
};

}  // namespace

void write_spans_csv(std::ostream& out, const std::vector<RecordedSpan>& spans, const Problem& problem) {
    out << "iteration,iteration_start_s,kind,node,to_node,stage,microbatch,ready_s,start_s,end_s,bytes\n";
    const auto number = [](int value) { return value < 0 ? std::string{} : std::to_string(value); };
    for (const auto& [row, iteration, offset_s, span] : spans)
        fmt::print(out, "{},{},{},{},{},{},{},{},{},{},{}\n", iteration, exact(offset_s), to_string(span.kind),
                   csv_field(id_of(problem, span.node)), csv_field(id_of(problem, span.to_node)), number(span.stage),
                   number(span.microbatch), exact(span.ready_s), exact(span.start_s), exact(span.end_s),
                   exact(span.bytes));
}

void write_metrics_csv(std::ostream& out, const std::vector<Metric>& metrics) {
    out << "iteration,name,value,network_s,machine_s,tokens\n";
    for (const auto& metric : metrics)
        fmt::print(out, "{},{},{},{},{},{}\n", metric.iteration, csv_field(metric.name), exact(metric.value),
                   exact(metric.network_s), exact(metric.machine_s), metric.tokens);
}

void write_chrome_trace(std::ostream& out, const std::vector<RecordedSpan>& spans, const Problem& problem,
                        const std::map<int, Plan>& plans, const std::string& title) {
    TraceWriter{out, problem, plans}.write(spans, title);
}

}  // namespace skippipe
