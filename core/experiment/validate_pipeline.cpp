// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <cmath>
#include <numeric>
#include <unordered_map>

#include <fmt/format.h>

#include "core/base/format.h"
#include "core/experiment/checker.h"
#include "core/experiment/counts.h"
#include "core/experiment/model_size.h"
#include "core/experiment/text.h"

namespace skippipe {

namespace {

std::int64_t sum(const std::vector<int>& values) {
    return std::accumulate(values.begin(), values.end(), std::int64_t{0});
}

bool stages_sound(const Checker& check) {
    return check.sound("/pipeline/stages") && check.experiment.pipeline.stages >= 1;
}

void check_length(Checker& check, const char* pointer, std::size_t length, const char* thing) {
    const int stages = check.experiment.pipeline.stages;
    if (length == 0 || length == static_cast<std::size_t>(stages) || !check.sound(pointer) || !stages_sound(check))
        return;
    check.error(pointer, fmt::format("{} {} for {} stages", length, thing, stages), "there is one for each stage",
                fmt::format("Give {} of them, or none", stages));
}

void check_model(Checker& check) {
    const auto& model = check.experiment.model;
    if (check.sound("/model/width") && check.sound("/model/heads") && model.heads > 0) {
        if (model.width % model.heads != 0)
            check.error("/model/heads", fmt::format("{} heads do not divide a width of {}", model.heads, model.width),
                        "every head has width / heads values", "Change the width or the heads");
        else if (model.width / model.heads % 2 != 0)
            check.error("/model/heads", fmt::format("{} values a head is odd", model.width / model.heads),
                        "rotary embedding turns pairs of values", "Change the width or the heads");
    }
    if (check.sound("/model/heads") && check.sound("/model/kv_heads") && model.kv_heads > 0 &&
        model.heads % model.kv_heads != 0)
        check.error("/model/kv_heads",
                    fmt::format("{} heads of keys and values for {} heads", model.kv_heads, model.heads),
                    "each serves the same number of heads", "Choose a divisor of the heads, or 0 for as many");
    const auto& data = check.experiment.data;
    const bool bytes = data.source != DataSource::tokens && data.tokenizer.empty();
    if (check.sound("/model/vocabulary") && check.sound("/data") && bytes && model.vocabulary < 256)
        check.error("/model/vocabulary", fmt::format("{} kinds of tokens", model.vocabulary),
                    "the text is read byte by byte", "Set it to 256, or name a tokenizer");
}

void check_blocks(Checker& check) {
    const auto& pipeline = check.experiment.pipeline;
    const int blocks = check.experiment.model.blocks;
    if (!check.sound("/model/blocks") || !stages_sound(check) || !check.sound("/pipeline/blocks_per_stage")) return;
    if (pipeline.plan_blocks && blocks < pipeline.stages)
        check.error("/model/blocks", fmt::format("{} blocks over {} stages", blocks, pipeline.stages),
                    "every stage holds at least one block",
                    fmt::format("Make it {} or more, or use fewer stages", pipeline.stages));
    if (pipeline.plan_blocks && !check.experiment.costs.gradient_bytes.empty())
        check.error("/costs/gradient_bytes", "they are given, and the blocks of the stages are to be planned",
                    "the bytes of a gradient follow from its stage's blocks",
                    "Leave them out, or switch off Planner chooses blocks (plan_blocks)");
    if (pipeline.blocks_per_stage.empty()) {
        if (blocks % pipeline.stages != 0 && !pipeline.plan_blocks)
            check.error(
                "/model/blocks", fmt::format("{} blocks over {} stages", blocks, pipeline.stages),
                "every stage holds the same number of whole blocks",
                "Make it a multiple, fill in Blocks per stage (blocks_per_stage), or switch on Planner chooses blocks "
                "(plan_blocks)");
        return;
    }
    if (pipeline.blocks_per_stage.size() == static_cast<std::size_t>(pipeline.stages) &&
        sum(pipeline.blocks_per_stage) != blocks)
        check.error("/pipeline/blocks_per_stage",
                    fmt::format("{} blocks in all, but the model has {}", sum(pipeline.blocks_per_stage), blocks),
                    "every block is in one stage", "Make the sum equal to the model's blocks");
}

void check_sizes(Checker& check) {
    const auto& pipeline = check.experiment.pipeline;
    if (!check.sound("/pipeline/microbatch_sizes") || !check.sound("/pipeline/microbatches")) return;
    const auto count = pipeline.microbatch_sizes.size();
    if (count > static_cast<std::size_t>(std::max(0, pipeline.microbatches)))
        check.error("/pipeline/microbatch_sizes",
                    fmt::format("{} sizes for {} microbatches", count, pipeline.microbatches),
                    "each is the size of a microbatch", fmt::format("Give {} or fewer", pipeline.microbatches));
}

void check_skipping(Checker& check) {
    const auto& pipeline = check.experiment.pipeline;
    if (!stages_sound(check) || !check.sound("/pipeline/skip_ratio")) return;
    const int length = path_length(pipeline.stages, pipeline.skip_ratio);
    if (pipeline.stages == 1 && pipeline.skip_ratio != 0)
        check.error("/pipeline/skip_ratio", fmt::format("{} with a single stage", number_text(pipeline.skip_ratio)),
                    "stage 0 is never skipped", "Set it to 0, or use more stages");
    else if (pipeline.stages > 1 && (length < 2 || length > pipeline.stages))
        check.error("/pipeline/skip_ratio",
                    fmt::format("{} leaves {} of {} stages", number_text(pipeline.skip_ratio), length, pipeline.stages),
                    "a path visits stage 0 (CC1) and at least one more",
                    fmt::format("Set it to {:.3g} or less, or use more stages",
                                std::floor(1000 * (1 - 1.5 / pipeline.stages)) / 1000));
}

void check_nodes_suffice(Checker& check) {
    const auto& pipeline = check.experiment.pipeline;
    const auto nodes = static_cast<std::int64_t>(check.experiment.topology.nodes.size());
    if (nodes == 0 || !check.ids_sound()) return;
    if (stages_sound(check) && pipeline.stages > nodes)
        check.error("/pipeline/stages", fmt::format("{} stages on {} nodes", pipeline.stages, nodes),
                    "a node holds one stage, and every stage needs a node",
                    fmt::format("Use {} stages or fewer, or add {} node{}", nodes, pipeline.stages - nodes,
                                pipeline.stages - nodes == 1 ? "" : "s"));
    else if (check.sound("/pipeline/stage_sizes") && sum(pipeline.stage_sizes) > nodes)
        check.error("/pipeline/stage_sizes",
                    fmt::format("they sum up to {}, but there are {} nodes", sum(pipeline.stage_sizes), nodes),
                    "a node holds one stage", "Make stages smaller or add nodes");
}

void check_balance(Checker& check) {
    const auto& pipeline = check.experiment.pipeline;
    if (!pipeline.balance_data_nodes) return;
    for (const char* field :
         {"/pipeline/microbatches", "/pipeline/stage_sizes", "/pipeline/placement", "/pipeline/balance_data_nodes"})
        if (!check.sound(field)) return;
    int data_nodes = 0;
    if (!pipeline.placement.empty())
        data_nodes = static_cast<int>(pipeline.placement.front().size());
    else if (!pipeline.stage_sizes.empty())
        data_nodes = pipeline.stage_sizes.front();
    if (data_nodes > 0 && pipeline.microbatches % data_nodes != 0)
        check.error(
            "/pipeline/microbatches",
            fmt::format("{} microbatches on {} data nodes", pipeline.microbatches, data_nodes),
            "every data node, a node of stage 0, starts the same number (CC1)",
            fmt::format("Make it {}, or another multiple of {}, give stage 0 another number of nodes, or switch "
                        "off Balance data nodes (balance_data_nodes)",
                        (pipeline.microbatches / data_nodes + 1) * data_nodes, data_nodes));
}

/// The least number of three digits that is no smaller.
double in_three_digits_up(double bytes) {
    if (!(bytes > 0) || !std::isfinite(bytes)) return bytes;
    const double step = std::pow(10, std::floor(std::log10(bytes)) - 2);
    return std::ceil(bytes / step * (1 - 1e-12)) * step;
}

void check_memory(Checker& check) {
    const auto& experiment = check.experiment;
    if (experiment.pipeline.constraints.memory == MemoryRule::ignore) return;
    for (const char* field : {"/model", "/pipeline/stages", "/pipeline/blocks_per_stage",
                              "/pipeline/microbatch_samples", "/pipeline/microbatch_sizes"})
        if (!check.sound(field)) return;
    for (std::size_t i = 0; i < experiment.topology.nodes.size(); ++i) {
        const Node& node = experiment.topology.nodes[i];
        const std::string pointer = fmt::format("/topology/nodes/{}/memory_bytes", i);
        if (memory_limit(experiment, node) >= 1 || !check.sound(pointer)) continue;
        check.error(
            pointer, fmt::format("{} hold no microbatch", format_si(node.memory_bytes.value_or(0), "B")),
            "weights, gradients and optimizer state of the largest stage and the activations of one microbatch must "
            "fit (TC1)",
            fmt::format(
                "Give it {} or more, make stages or microbatches smaller, or fill in its Microbatches in memory "
                "(memory_microbatches)",
                format_si(in_three_digits_up(memory_for_one(experiment)), "B")));
    }
}

}  // namespace

void check_pipeline(Checker& check) {
    const auto& experiment = check.experiment;
    check_length(check, "/pipeline/stage_sizes", experiment.pipeline.stage_sizes.size(), "sizes");
    check_length(check, "/pipeline/placement", experiment.pipeline.placement.size(), "lists of nodes");
    check_length(check, "/pipeline/blocks_per_stage", experiment.pipeline.blocks_per_stage.size(), "counts");
    check_length(check, "/costs/gradient_bytes", experiment.costs.gradient_bytes.size(), "sizes");
    check_model(check);
    check_blocks(check);
    check_sizes(check);
    check_skipping(check);
    check_nodes_suffice(check);
    check_balance(check);
    check_memory(check);
}

void check_placement(Checker& check) {
    const auto& pipeline = check.experiment.pipeline;
    std::unordered_map<std::string, std::string> placed;
    const bool ids_sound = check.ids_sound();
    for (std::size_t s = 0; s < pipeline.placement.size() && !check.full(); ++s) {
        const auto& stage = pipeline.placement[s];
        const std::string at_stage = fmt::format("/pipeline/placement/{}", s);
        if (stage.empty() && check.sound(at_stage))
            check.error(at_stage, fmt::format("stage {} has no node", s), "every stage needs at least one",
                        "Name its nodes");
        const bool both =
            pipeline.stage_sizes.size() == pipeline.placement.size() && check.sound("/pipeline/stage_sizes");
        if (!stage.empty() && both && check.sound(at_stage) &&
            stage.size() != static_cast<std::size_t>(pipeline.stage_sizes[s]))
            check.error(
                at_stage,
                fmt::format("{} nodes, but Stage sizes (stage_sizes) says {}", stage.size(), pipeline.stage_sizes[s]),
                "the two contradict each other", "Change one of them, or empty Stage sizes");
        for (std::size_t i = 0; i < stage.size(); ++i) {
            const std::string pointer = fmt::format("{}/{}", at_stage, i);
            if (!check.sound(pointer)) continue;
            if (!check.index.is_node(stage[i]) && ids_sound)
                check.error(pointer, fmt::format("there is no node {}", in_quotes(stage[i])),
                            "a stage stands on nodes of the topology", "Name a node");
            else if (const auto [first, is_new] = placed.emplace(stage[i], pointer); !is_new)
                check.error(pointer, fmt::format("node {} is placed twice", in_quotes(stage[i])),
                            fmt::format("{} has it too, and a node holds one stage", first->second),
                            "Remove it from one of them");
        }
    }
}

}  // namespace skippipe
