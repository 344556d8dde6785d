// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/explaining.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "app/cli/verbs.h"
#include "core/base/format.h"
#include "core/planner/timeline/evaluator.h"
#include "core/planner/plan/validator.h"

namespace skippipe::cli {

namespace {

using Json = nlohmann::ordered_json;
constexpr std::size_t most_rows = 8;

/// Rounding of sums of many differences is no time.
constexpr double least_s = 1e-9;

std::string seconds(double s) { return std::abs(s) < least_s ? "" : format_seconds(s); }

class Words {
public:
    Words(const Explanation& why, const Problem& problem, const Plan& plan)
        : why_(why), problem_(problem), stage_of_(stage_of_nodes(plan, problem.nodes())) {}

    std::string text(const std::string& planner) const {
        return fmt::format("\nWhy {} takes {}\n\n{}.\n\n", planner, format_seconds(why_.iteration_s),
                           why_.placed_words(problem_)) +
               chain() + '\n' + nodes() + links() + microbatches() + places() + what_ifs();
    }

private:
    std::string node(int index) const { return index < 0 ? "" : problem_.node_ids[static_cast<std::size_t>(index)]; }
    std::string line(int index) const {
        return index == no_line ? "" : problem_.line_names[static_cast<std::size_t>(index)];
    }
    std::string share(double s) const { return format_percent(why_.iteration_s > 0 ? s / why_.iteration_s : 0); }

    /// What the upgrade changes, or nothing where it was not asked.
    std::string gain(Upgrade::Kind kind, int node, const std::vector<int>& lines) const {
        for (const auto& what_if : why_.what_ifs)
            if (what_if.upgrade.kind == kind && what_if.upgrade.node == node && what_if.upgrade.lines == lines)
                return change(what_if);
        return "";
    }
    static std::string change(const WhatIf& what_if) {
        if (!what_if.complete) return "deadlock";
        return std::abs(what_if.change) < 5e-7 ? "no change" : format_change(what_if.change);
    }

    /// "F on n9, memory, 40.0 s (28)": in brackets the microbatches, or parts of gradients, that it waited for.
    std::string words(const Wait& wait) const {
        const std::string place = wait.cause == WaitCause::link ? line(wait.line) : node(wait.node);
        return fmt::format("{} on {}, {}, {} ({})", to_string(Operation{wait.operation, 0}).substr(0, 1), place,
                           to_string(wait.cause), format_seconds(wait.seconds()), wait.ahead(problem_));
    }

    std::string chain() const {
        std::string text = "What its end waited for, back to the start (the critical path):\n";
        const auto part = [&](const char* what, double s, const std::string& most) {
            if (s >= least_s)
                text += fmt::format("  {:<10}  {:>9}  {:>7}{}\n", what, format_seconds(s), share(s), most);
        };
        const auto most = [&](const char* what, const std::string& name, double s) {
            return fmt::format("  critical {}: {}, {} ({})", what, name, format_seconds(s), share(s));
        };
        part("compute", why_.compute_s(),
             why_.nodes.empty() ? "" : most("node", node(why_.nodes.front().node), why_.nodes.front().seconds));
        part("links", why_.links_s(), "");
        part("all-reduce", why_.all_reduce_s, "");
        part("step", why_.step_s, "");
        if (!why_.links.empty()) text += most("link", why_.links.front().name, why_.links.front().seconds()) + '\n';
        return text;
    }

    std::string nodes() const {
        std::vector<std::vector<std::string>> rows{{"node", "stage", "on the chain", "share", "twice as fast"}};
        for (std::size_t i = 0; i < std::min(why_.nodes.size(), most_rows); ++i) {
            const auto& n = why_.nodes[i];
            rows.push_back({node(n.node), std::to_string(stage_of_[static_cast<std::size_t>(n.node)]),
                            format_seconds(n.seconds), share(n.seconds), gain(Upgrade::Kind::node_speed, n.node, {})});
        }
        return rows.size() > 1 ? table(rows) + '\n' : "";
    }

    std::string links() const {
        std::vector<std::vector<std::string>> rows{{"link", "queue", "latency", "bytes", "all-reduce", "share",
                                                    "twice as fast", "latency / 2", "bandwidth x 2"}};
        for (std::size_t i = 0; i < std::min(why_.links.size(), most_rows); ++i) {
            const auto& l = why_.links[i];
            rows.push_back({l.name, seconds(l.queue_s), seconds(l.latency_s), seconds(l.transfer_s),
                            seconds(l.all_reduce_s), share(l.seconds()), gain(Upgrade::Kind::link, -1, l.lines),
                            gain(Upgrade::Kind::link_latency, -1, l.lines),
                            gain(Upgrade::Kind::link_bandwidth, -1, l.lines)});
        }
        return rows.size() > 1 ? table(rows) + '\n' : "";
    }

    /// Those that wait longest.
    std::string microbatches() const {
        std::vector<const MicrobatchCosts*> worst;
        for (const auto& costs : why_.microbatches) worst.push_back(&costs);
        std::stable_sort(worst.begin(), worst.end(),
                         [](const auto* a, const auto* b) { return a->waiting_s() > b->waiting_s(); });
        if (worst.size() > most_rows) worst.resize(most_rows);
        std::vector<std::vector<std::string>> rows{{"microbatch", "ends at", "alone", "compute", "latency", "bytes",
                                                    "waits", "link", "memory", "collision", "order", "longest wait"}};
        for (const auto* costs : worst) {
            rows.push_back({std::to_string(costs->microbatch), format_seconds(costs->end_s),
                            format_seconds(costs->alone_s()), seconds(costs->compute_s + costs->loss_s),
                            seconds(costs->latency_s), seconds(costs->transfer_s), seconds(costs->waiting_s())});
            for (const double wait_s : costs->waits_s) rows.back().push_back(seconds(wait_s));
            const auto longest =
                std::max_element(costs->waits.begin(), costs->waits.end(),
                                 [](const Wait& a, const Wait& b) { return a.seconds() < b.seconds(); });
            rows.back().push_back(longest == costs->waits.end() ? "" : words(*longest));
        }
        return fmt::format("The {} of {} microbatches that wait longest:\n", worst.size(), why_.microbatches.size()) +
               table(rows) + '\n';
    }

    std::string places() const {
        if (why_.places.empty()) return "";
        std::vector<std::vector<std::string>> rows{{"waiting at", "cause", "microbatches", "together"}};
        for (std::size_t i = 0; i < std::min(why_.places.size(), most_rows); ++i) {
            const auto& p = why_.places[i];
            rows.push_back({p.cause == WaitCause::link ? line(p.line) : node(p.node), std::string(to_string(p.cause)),
                            std::to_string(p.microbatches), format_seconds(p.seconds)});
        }
        return table(rows) + '\n';
    }

    std::string what_ifs() const {
        std::string text =
            "If this were faster (placement and paths kept; in the order they ran, or by dispatch where that is "
            "shorter):\n";
        std::vector<std::vector<std::string>> rows;
        for (const auto& what_if : why_.what_ifs)
            if (what_if.upgrade.kind != Upgrade::Kind::link_latency &&
                what_if.upgrade.kind != Upgrade::Kind::link_bandwidth)
                rows.push_back({"  " + what_if.words(), what_if.complete ? format_seconds(what_if.iteration_s) : "",
                                change(what_if)});
        return rows.empty() ? "" : text + table(rows);
    }

    const Explanation& why_;
    const Problem& problem_;
    PerNode<StageIndex> stage_of_;
};

/// Names instead of indices.
class Writer {
public:
    explicit Writer(const Problem& problem) : problem_(problem) {}

    Json node(int index) const {
        return index < 0 ? Json(nullptr) : Json(problem_.node_ids[static_cast<std::size_t>(index)]);
    }
    Json line(int index) const {
        return index == no_line ? Json(nullptr) : Json(problem_.line_names[static_cast<std::size_t>(index)]);
    }
    Json lines(const std::vector<int>& indices) const {
        auto names = Json::array();
        for (const int index : indices) names.push_back(line(index));
        return names;
    }

    Json microbatch(const MicrobatchCosts& costs) const {
        Json waits = Json::array(), by_cause;
        for (const auto& wait : costs.waits) {
            auto reductions = Json::array();
            for (const auto& [stage, sender] : wait.reductions)
                reductions.push_back({{"stage", int{stage}}, {"from", node(sender)}});
            waits.push_back({{"cause", to_string(wait.cause)},
                             {"operation", to_string({wait.operation, costs.microbatch})},
                             {"node", node(wait.node)},
                             {"line", line(wait.line)},
                             {"start_s", wait.start_s},
                             {"end_s", wait.end_s},
                             {"seconds", wait.seconds()},
                             {"others", wait.others},
                             {"reductions", std::move(reductions)}});
        }
        for (std::size_t cause = 0; cause < wait_causes; ++cause)
            by_cause[std::string(to_string(static_cast<WaitCause>(cause)))] = costs.waits_s[cause];
        return {{"microbatch", costs.microbatch},
                {"end_s", costs.end_s},
                {"alone_s", costs.alone_s()},
                {"compute_s", costs.compute_s},
                {"loss_s", costs.loss_s},
                {"latency_s", costs.latency_s},
                {"transfer_s", costs.transfer_s},
                {"weight_gradient_s", costs.weight_gradient_s},
                {"waits_s", by_cause},
                {"waits", waits}};
    }

    Json piece(const ChainPiece& p) const {
        Json json{{"kind", to_string(p.kind)}, {"started_by", to_string(p.start)}};
        if (p.kind == ChainPiece::Kind::compute) json["operation"] = to_string({p.operation, p.microbatch});
        if (p.microbatch >= 0) json["microbatch"] = p.microbatch;
        if (p.node >= 0) json["node"] = node(p.node);
        if (p.line != no_line) json["line"] = line(p.line);
        if (p.stage >= 0) json["stage"] = p.stage;
        json["start_s"] = p.start_s;
        json["end_s"] = p.end_s;
        return json;
    }

    Json what_if(const WhatIf& w) const {
        Json json{{"upgrade", to_string(w.upgrade.kind)},
                  {"name", w.name},
                  {"words", w.words()},
                  {"complete", w.complete},
                  {"order_kept", w.order_kept}};
        if (w.upgrade.node >= 0) json["node"] = node(w.upgrade.node);
        if (!w.upgrade.lines.empty()) json["lines"] = lines(w.upgrade.lines);
        json["iteration_seconds"] = w.complete ? Json(w.iteration_s) : Json(nullptr);
        json["change_seconds"] = w.complete ? Json(w.change_s) : Json(nullptr);
        json["change"] = w.complete ? Json(w.change) : Json(nullptr);
        return json;
    }

private:
    const Problem& problem_;
};

}  // namespace

std::optional<Explanation> explain_plan(const Problem& problem, const Plan& plan) {
    if (!check_structure(problem, plan).empty()) return std::nullopt;
    const auto timeline = evaluate(problem, plan);
    if (!timeline.complete) return std::nullopt;
    return explain(problem, plan, timeline);
}

std::string explanation_text(const Explanation& why, const Problem& problem, const Plan& plan) {
    return Words(why, problem, plan).text(plan.planner.empty() ? "the plan" : plan.planner);
}

Json to_json(const Explanation& why, const Problem& problem) {
    const Writer write(problem);
    Json chain = Json::array(), nodes = Json::array(), links = Json::array(), microbatches = Json::array(),
         places = Json::array(), what_ifs = Json::array();
    for (const auto& n : why.nodes) nodes.push_back({{"node", write.node(n.node)}, {"seconds", n.seconds}});
    for (const auto& l : why.links)
        links.push_back({{"link", l.name},
                         {"lines", write.lines(l.lines)},
                         {"seconds", l.seconds()},
                         {"queue_s", l.queue_s},
                         {"latency_s", l.latency_s},
                         {"transfer_s", l.transfer_s},
                         {"all_reduce_s", l.all_reduce_s}});
    for (const auto& piece : why.chain) chain.push_back(write.piece(piece));
    for (const auto& costs : why.microbatches) microbatches.push_back(write.microbatch(costs));
    for (const auto& place : why.places)
        places.push_back({{"cause", to_string(place.cause)},
                          {"node", write.node(place.node)},
                          {"line", write.line(place.line)},
                          {"seconds", place.seconds},
                          {"microbatches", place.microbatches}});
    for (const auto& what_if : why.what_ifs) what_ifs.push_back(write.what_if(what_if));
    return {{"iteration_seconds", why.iteration_s},
            {"summary", why.summary(problem)},
            {"placed_bound_seconds", why.placed.seconds},
            {"placed_gap", why.placed_gap()},
            {"placed_bound", why.placed.which},
            {"placed_bound_node", write.node(why.placed.node)},
            {"critical_node", why.nodes.empty() ? Json(nullptr) : write.node(why.nodes.front().node)},
            {"critical_link", why.links.empty() ? Json(nullptr) : Json(why.links.front().name)},
            {"compute_s", why.compute_s()},
            {"links_s", why.links_s()},
            {"all_reduce_s", why.all_reduce_s},
            {"step_s", why.step_s},
            {"nodes", nodes},
            {"links", links},
            {"what_ifs", what_ifs},
            {"places", places},
            {"chain", chain},
            {"microbatches", microbatches}};
}

}  // namespace skippipe::cli
