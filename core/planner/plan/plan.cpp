// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/planner/plan/plan.h"

#include <charconv>
#include <unordered_map>

#include <fmt/format.h>

#include "core/experiment/json_reader.h"
#include "core/planner/plan/reduction_file.h"

namespace skippipe {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view op_letters = "FLBIW";

Json ids_of(const Problem& problem, const std::vector<NodeIndex>& nodes) {
    Json ids = Json::array();
    for (const NodeIndex node : nodes) ids.push_back(problem.node_ids[node]);
    return ids;
}

std::vector<std::string_view> node_names(const Problem& problem, const std::vector<NodeIndex>& nodes) {
    std::vector<std::string_view> names;
    for (const NodeIndex node : nodes) names.push_back(problem.node_ids[node]);
    return names;
}

std::optional<Operation> parse_operation(std::string_view text) {
    if (text.size() < 2) return std::nullopt;
    const auto kind = op_letters.find(text[0]);
    int microbatch = 0;
    const char* end_of_text = text.data() + text.size();
    const auto [end, error] = std::from_chars(text.data() + 1, end_of_text, microbatch);
    if (kind == std::string_view::npos || error != std::errc() || end != end_of_text || microbatch < 0)
        return std::nullopt;
    return Operation{static_cast<OpKind>(kind), MicrobatchIndex(microbatch)};
}

class PlanReader {
public:
    PlanReader(const Problem& problem, Faults& faults) : problem_(problem), reader_(faults) {
        for (NodeIndex n = 0; n < problem.nodes(); ++n) {
            index_.emplace(problem.node_ids[n], n);
            ids_.push_back(problem.node_ids[n]);
        }
    }

    Plan read(const Json& json) {
        plan_.blocks = problem_.blocks;
        if (!json.is_object()) {
            reader_.wrong_type(json, "an object", {.doc = "A plan is one JSON object"});
            return std::move(plan_);
        }
        for (const auto& [key, value] : json.items()) {
            const auto step = reader_.into(key);
            member(key, value);
        }
        if (const auto found = json.find("reductions"); found != json.end()) {
            const auto step = reader_.into("reductions");
            reductions(*found);  // whatever comes first in the file, they name nodes of the stages
        }
        unknown_keys(json, {"format", "planner", "seed", "steps", "experiment_hash", "split_backward", "stages",
                            "blocks", "paths", "order", "reductions", "note", "experiment"});
        for (const char* key : {"stages", "paths"})
            if (!json.contains(key)) {
                const auto step = reader_.into(key);
                reader_.missing(key, {.doc = "A plan needs it"});
            }
        return std::move(plan_);
    }

private:
    void unknown_keys(const Json& json, const std::vector<std::string_view>& known) {
        for (const auto& [key, value] : json.items())
            if (std::find(known.begin(), known.end(), key) == known.end()) reader_.unknown(key, known);
    }

    void member(const std::string& key, const Json& value) {
        if (key == "format") format(value);
        if (key == "planner") reader_.read(value, plan_.planner, {.doc = "Who made the plan"});
        if (key == "seed") reader_.read(value, plan_.seed, {.doc = "Seed of the planner", .min = 0});
        if (key == "steps") reader_.read(value, plan_.steps, {.doc = "Search steps", .min = 0});
        if (key == "experiment_hash") reader_.read(value, plan_.experiment_hash, {.doc = "What the plan was made for"});
        if (key == "split_backward")
            reader_.read(value, plan_.split_backward, {.doc = "Whether every backward is split"});
        if (key == "note") reader_.read(value, plan_.note, {.doc = "What the planner had to say"});
        if (key == "stages") stages(value);
        if (key == "blocks") blocks(value);
        if (key == "paths") paths(value);
        if (key == "order") order(value);
    }

    void format(const Json& value) {
        int number = 1;
        if (reader_.read(value, number, {.doc = "The version of the file's format"}) && number != 1)
            reader_.fault(fmt::format("format {} is not known", number), "this program reads format 1",
                          "Open it with a newer version of the program");
    }

    bool list(const Json& value, const char* doc) {
        if (!value.is_array()) reader_.wrong_type(value, "a list", {.doc = doc});
        return value.is_array();
    }

    std::vector<NodeIndex> nodes(const Json& value) {
        std::vector<NodeIndex> found;
        if (!list(value, "Nodes are named by their ids")) return found;
        for (std::size_t i = 0; i < value.size(); ++i) {
            const auto step = reader_.into(i);
            std::string id;
            if (!reader_.read(value[i], id, {.doc = "Nodes are named by their ids"})) continue;
            if (const auto node = index_.find(id); node != index_.end())
                found.push_back(node->second);
            else
                unknown_node(id);
        }
        return found;
    }

    void unknown_node(const std::string& id) {
        if (reader_.full()) return;
        const auto meant = closest(id, ids_);
        reader_.fault(fmt::format("there is no node {}", in_quotes(id)), "the plan is read for this experiment's nodes",
                      meant.empty()
                          ? std::string("Use the experiment that the plan was made for")
                          : fmt::format("Did you mean {}? Otherwise use the experiment that the plan was made for",
                                        in_quotes(meant)));
    }

    void stages(const Json& value) {
        if (!list(value, "The nodes of each stage")) return;
        for (std::size_t s = 0; s < value.size(); ++s) {
            const auto step = reader_.into(s);
            plan_.stages.push_back(nodes(value[s]));
        }
    }

    void blocks(const Json& value) {
        if (!list(value, "The blocks of each stage")) return;
        plan_.blocks.clear();
        for (std::size_t s = 0; s < value.size(); ++s) {
            const auto step = reader_.into(s);
            reader_.read(value[s], plan_.blocks.emplace_back(), {.doc = "Blocks of a stage", .min = 1, .max = 1024});
        }
    }

    void paths(const Json& value) {
        if (!list(value, "The way of each microbatch, in release order")) return;
        for (std::size_t i = 0; i < value.size(); ++i) {
            const auto step = reader_.into(i);
            if (value[i].is_object())
                plan_.paths.push_back(path(value[i]));
            else
                reader_.wrong_type(value[i], "an object", {.doc = "A path has a microbatch and its nodes"});
        }
    }

    Path path(const Json& value) {
        Path path;
        int microbatch = 0;
        unknown_keys(value, {"microbatch", "nodes"});
        for (const char* key : {"microbatch", "nodes"}) {
            const auto step = reader_.into(key);
            const auto found = value.find(key);
            if (found == value.end())
                reader_.missing(key, {.doc = "A path has a microbatch and its nodes"});
            else if (std::string_view(key) == "nodes")
                path.nodes = nodes(*found);
            else
                reader_.read(*found, microbatch, {.doc = "Number of the microbatch, from 0", .min = 0, .max = 1e6});
        }
        path.microbatch = MicrobatchIndex(microbatch);
        return path;
    }

    void order(const Json& value) {
        if (!value.is_object())
            return reader_.wrong_type(value, "an object", {.doc = "The operations of each node, by its id"});
        plan_.order.resize(problem_.node_ids.size());
        for (const auto& [id, operations] : value.items()) {
            const auto step = reader_.into(id);
            const auto node = index_.find(id);
            if (node == index_.end())
                unknown_node(id);
            else if (list(operations, "The operations of a node, in order"))
                read_operations(operations, plan_.order[node->second]);
        }
    }

    void reductions(const Json& value) {
        if (!list(value, "The pieces of each stage's reduction")) return;
        if (value.size() != plan_.stages.size())
            return reader_.fault(
                fmt::format("reductions of {} stages, the plan has {}", value.size(), plan_.stages.size()),
                "each stage sums its own gradient",
                "Give a list of pieces for every stage; an empty one is the direct exchange");
        for (std::size_t s = 0; s < value.size(); ++s) {
            const auto step = reader_.into(s);
            plan_.reductions.push_back(read_pieces(reader_, value[s], node_names(problem_, plan_.stages[s])));
        }
    }

    void read_operations(const Json& value, std::vector<Operation>& operations) {
        for (std::size_t i = 0; i < value.size(); ++i) {
            const auto step = reader_.into(i);
            std::string text;
            if (!reader_.read(value[i], text, {.doc = "An operation is a letter and a microbatch, as \"F3\""}))
                continue;
            if (const auto operation = parse_operation(text))
                operations.push_back(*operation);
            else
                reader_.fault(fmt::format("{} is no operation", in_quotes(text)), "an order lists operations",
                              "Give F, L, B, I or W and the microbatch's number, as \"F3\"");
        }
    }

    const Problem& problem_;
    JsonReader reader_;
    std::unordered_map<std::string, NodeIndex> index_;
    std::vector<std::string_view> ids_;
    Plan plan_;
};

}  // namespace

std::string to_string(const Operation& operation) {
    return op_letters[static_cast<std::size_t>(operation.kind)] + std::to_string(operation.microbatch) +
           (operation.attempt > 0 ? "#" + std::to_string(operation.attempt) : "");
}

bool visits_all_stages(const Plan& plan) {
    return !plan.paths.empty() && plan.paths.front().nodes.size() == plan.stages.size();
}

double used_skip_ratio(const Plan& plan, double asked) { return visits_all_stages(plan) ? 0 : asked; }

PerNode<StageIndex> stage_of_nodes(const Plan& plan, int nodes) {
    PerNode<StageIndex> stage_of(at(nodes), -1);
    for (StageIndex s = 0; at(s) < plan.stages.size(); ++s)
        for (const NodeIndex node : plan.stages[s])
            if (node >= 0 && node < nodes) stage_of[node] = s;
    return stage_of;
}

Json to_json(const Plan& plan, const Problem& problem, const Json& experiment) {
    Json json = {{"format", 1},
                 {"planner", plan.planner},
                 {"seed", plan.seed},
                 {"steps", plan.steps},
                 {"experiment_hash", plan.experiment_hash},
                 {"split_backward", plan.split_backward},
                 {"stages", Json::array()},
                 {"blocks", plan.blocks},
                 {"paths", Json::array()}};
    for (const auto& stage : plan.stages) json["stages"].push_back(ids_of(problem, stage));
    for (const auto& path : plan.paths)
        json["paths"].push_back({{"microbatch", path.microbatch}, {"nodes", ids_of(problem, path.nodes)}});
    if (!plan.order.empty()) {
        Json& order = json["order"] = Json::object();
        for (std::size_t n = 0; n < plan.order.size(); ++n) {
            if (plan.order[n].empty()) continue;
            Json operations = Json::array();
            for (const auto& operation : plan.order[n]) operations.push_back(to_string(operation));
            order[problem.node_ids[n]] = std::move(operations);
        }
    }
    if (!plan.reductions.empty()) {
        Json& reductions = json["reductions"] = Json::array();
        for (std::size_t s = 0; s < plan.reductions.size(); ++s)
            reductions.push_back(to_json(plan.reductions[s], node_names(problem, plan.stages[s])));
    }
    if (!plan.note.empty()) json["note"] = plan.note;
    if (!experiment.is_null()) json["experiment"] = experiment;
    return json;
}

Plan parse_plan(const Json& json, const Problem& problem, Faults& faults) {
    return PlanReader(problem, faults).read(json);
}

}  // namespace skippipe
