// SPDX-License-Identifier: GPL-3.0-or-later
// Every field of the document once: key, member, meaning, unit and limits. A visitor `v(key, member, Info)` reads it,
// writes it, makes the JSON Schema of it, or builds the window's property editor from it. A part may be const: then the
// members that the visitor is given are.
#pragma once
#include <array>
#include <concepts>
#include <limits>
#include <string_view>
#include <utility>

#include "core/experiment/document.h"

namespace skippipe {

struct Info {
    const char* doc = "";
    const char* unit = "";
    double min = -std::numeric_limits<double>::infinity();
    double max = std::numeric_limits<double>::infinity();
    bool above_min = false;  ///< min itself is not allowed
    bool required = false;
    bool file = false;  ///< names a file or folder: the window offers to choose one
};

template <class Enum>
using EnumName = std::pair<Enum, std::string_view>;

/// The words an enumeration has in files, on the command line and in the window.
constexpr auto names_of(MemoryRule*) {
    return std::to_array<EnumName<MemoryRule>>({{MemoryRule::enforce, "enforce"}, {MemoryRule::ignore, "ignore"}});
}
constexpr auto names_of(LinkRule*) {
    return std::to_array<EnumName<LinkRule>>({{LinkRule::shared, "shared"}, {LinkRule::unlimited, "unlimited"}});
}
constexpr auto names_of(AllReduceRule*) {
    return std::to_array<EnumName<AllReduceRule>>(
        {{AllReduceRule::charged, "charged"}, {AllReduceRule::free, "free"}, {AllReduceRule::planned, "planned"}});
}
constexpr auto names_of(WireType*) {
    return std::to_array<EnumName<WireType>>(
        {{WireType::fp32, "fp32"}, {WireType::bf16, "bf16"}, {WireType::int8, "int8"}});
}
constexpr auto names_of(DataSource*) {
    return std::to_array<EnumName<DataSource>>({{DataSource::bible_kjv, "bible-kjv"},
                                                {DataSource::jargon, "jargon"},
                                                {DataSource::text, "text"},
                                                {DataSource::jsonl, "jsonl"},
                                                {DataSource::tokens, "tokens"}});
}
constexpr auto names_of(ClipRule*) {
    return std::to_array<EnumName<ClipRule>>(
        {{ClipRule::global, "global"}, {ClipRule::per_stage, "per-stage"}, {ClipRule::none, "none"}});
}
constexpr auto names_of(FailureKind*) {
    return std::to_array<EnumName<FailureKind>>({{FailureKind::crash, "crash"},
                                                 {FailureKind::slow_down, "slow-down"},
                                                 {FailureKind::link_cut, "link-cut"},
                                                 {FailureKind::link_degraded, "link-degraded"},
                                                 {FailureKind::jitter, "jitter"},
                                                 {FailureKind::stage_loss, "stage-loss"},
                                                 {FailureKind::coordinator_loss, "coordinator-loss"}});
}
constexpr auto names_of(RecoveryPolicy*) {
    return std::to_array<EnumName<RecoveryPolicy>>({{RecoveryPolicy::reroute, "reroute"},
                                                    {RecoveryPolicy::skip, "skip"},
                                                    {RecoveryPolicy::drop, "drop"},
                                                    {RecoveryPolicy::replay, "replay"},
                                                    {RecoveryPolicy::restart, "restart"}});
}
constexpr auto names_of(StageRebuild*) {
    return std::to_array<EnumName<StageRebuild>>({{StageRebuild::disk, "disk"},
                                                  {StageRebuild::checkpoint, "checkpoint"},
                                                  {StageRebuild::neighbours, "neighbours"}});
}
constexpr auto names_of(Clock*) {
    return std::to_array<EnumName<Clock>>({{Clock::virtual_time, "virtual"}, {Clock::wall, "wall"}});
}
constexpr auto names_of(Compute*) {
    return std::to_array<EnumName<Compute>>({{Compute::torch, "torch"}, {Compute::cost, "cost"}});
}
constexpr auto names_of(ProductType*) {
    return std::to_array<EnumName<ProductType>>({{ProductType::fp32, "fp32"}, {ProductType::bf16, "bf16"}});
}
constexpr auto names_of(KeepSpans*) {
    return std::to_array<EnumName<KeepSpans>>(
        {{KeepSpans::all, "all"}, {KeepSpans::newest, "newest"}, {KeepSpans::every, "every"}});
}
constexpr auto names_of(Transport*) {
    return std::to_array<EnumName<Transport>>(
        {{Transport::local, "local"}, {Transport::gloo, "gloo"}, {Transport::nccl, "nccl"}});
}

template <class Enum>
constexpr std::string_view name_of(Enum value) {
    for (const auto& [candidate, name] : names_of(static_cast<Enum*>(nullptr)))
        if (candidate == value) return name;
    return "?";
}

/// A T that is read and written, or only read: a visitor that writes asks for the former.
template <class Part, class T>
concept PartOf = std::same_as<std::remove_const_t<Part>, T>;

template <class V, PartOf<Region> T>
void describe(V& v, T& r) {
    v("id", r.id, Info{.doc = "Name of the region; unique among regions and nodes", .required = true});
    v("x", r.x, Info{.doc = "Place on the canvas", .min = -1e6, .max = 1e6});
    v("y", r.y, Info{.doc = "Place on the canvas", .min = -1e6, .max = 1e6});
}

template <class V, PartOf<Node> T>
void describe(V& v, T& n) {
    v("id", n.id, Info{.doc = "Name of the node; unique among regions and nodes", .required = true});
    v("region", n.region, Info{.doc = "Region it stands in; empty: none"});
    v("seconds_per_sample_per_block", n.seconds_per_sample_per_block,
      Info{
          .doc = "Forward time of one sample through one block", .unit = "s", .min = 0, .max = 1e6, .above_min = true});
    v("memory_microbatches", n.memory_microbatches,
      Info{.doc = "Most microbatches held at once (TC1, SkipPipe's rule of memory); absent: derived from memory_bytes, "
                  "else the pipeline's",
           .min = 1,
           .max = 1e6});
    v("memory_bytes", n.memory_bytes,
      Info{.doc = "Memory of the node", .unit = "B", .min = 0, .max = 1e18, .above_min = true});
    v("up_bytes_per_s", n.up_bytes_per_s,
      Info{.doc = "Uplink that all it sends passes, one message after the other; absent: no limit",
           .unit = "B/s",
           .min = 0,
           .max = 1e15,
           .above_min = true});
    v("down_bytes_per_s", n.down_bytes_per_s,
      Info{.doc = "Downlink that all it receives passes, one message after the other; absent: no limit",
           .unit = "B/s",
           .min = 0,
           .max = 1e15,
           .above_min = true});
    v("price_per_hour", n.price_per_hour,
      Info{.doc =
               "Price of an hour of network time, in the currency of the experiment's prices; absent: its price of a "
               "node hour",
           .min = 0,
           .max = 1e6});
    v("device", n.device, Info{.doc = "Where its tensors live: cpu, cuda or cuda:N"});
    v("rank", n.rank,
      Info{.doc = "Process that hosts it under the wall clock; absent: dealt out in order", .min = 0, .max = 4095});
    v("x", n.x, Info{.doc = "Place on the canvas", .min = -1e6, .max = 1e6});
    v("y", n.y, Info{.doc = "Place on the canvas", .min = -1e6, .max = 1e6});
}

template <class V, PartOf<Link> T>
void describe(V& v, T& l) {
    v("from", l.from, Info{.doc = "A node or a region", .required = true});
    v("to", l.to,
      Info{.doc = "A node or a region, as `from` is; the same region: between its own nodes", .required = true});
    v("latency_s", l.latency_s, Info{.doc = "One-way latency", .unit = "s", .min = 0, .max = 1e5, .required = true});
    v("bandwidth_bytes_per_s", l.bandwidth_bytes_per_s,
      Info{.doc = "Bandwidth of one direction",
           .unit = "B/s",
           .min = 0,
           .max = 1e15,
           .above_min = true,
           .required = true});
    v("both_ways", l.both_ways, Info{.doc = "Also the other direction, with a line of its own"});
}

template <class V, PartOf<WithinRegion> T>
void describe(V& v, T& w) {
    v("latency_s", w.latency_s, Info{.doc = "Latency between nodes of one region", .unit = "s", .min = 0, .max = 1e5});
    v("bandwidth_bytes_per_s", w.bandwidth_bytes_per_s,
      Info{.doc = "Bandwidth between nodes of one region", .unit = "B/s", .min = 0, .max = 1e15, .above_min = true});
}

template <class V, PartOf<Topology> T>
void describe(V& v, T& t) {
    v("regions", t.regions, Info{.doc = "Places that share links"});
    v("nodes", t.nodes, Info{.doc = "Machines that hold a stage each", .required = true});
    v("links", t.links, Info{.doc = "Between two nodes or two regions; a pair without one is unreachable"});
    v("within_region", t.within_region, Info{.doc = "The switch inside a region"});
    v("measured_at", t.measured_at, Info{.doc = "When speeds and links were measured (UTC); empty: drawn by hand"});
    v("on_map", t.on_map, Info{.doc = "Nodes stand where they are in the world, whose map is drawn behind them"});
    v("hop_matrix_s", t.hop_matrix_s,
      Info{.doc = "Explicit seconds of a hop [from][to] in the order of `nodes`; replaces the links, unlimited, "
                  "all-reduce free",
           .unit = "s",
           .min = 0,
           .max = 1e6});
}

template <class V, PartOf<ModelSpec> T>
void describe(V& v, T& m) {
    v("blocks", m.blocks, Info{.doc = "Transformer blocks (L)", .min = 1, .max = 1024});
    v("width", m.width, Info{.doc = "Model width (D)", .min = 2, .max = 65536});
    v("heads", m.heads, Info{.doc = "Attention heads (H); width / heads is even", .min = 1, .max = 1024});
    v("kv_heads", m.kv_heads,
      Info{.doc = "Heads of keys and values, a divisor of heads (grouped-query attention); 0: as many as heads",
           .min = 0,
           .max = 1024});
    v("ffn_width", m.ffn_width,
      Info{.doc = "Hidden width of SwiGLU; 0: 8/3 of the width, rounded up to a multiple of 8",
           .min = 0,
           .max = 1 << 20});
    v("vocabulary", m.vocabulary, Info{.doc = "Token kinds; bytes need 256", .min = 2, .max = 1 << 20});
    v("sequence", m.sequence, Info{.doc = "Tokens a sample", .unit = "tokens", .min = 1, .max = 1 << 20});
    v("rotary_base", m.rotary_base,
      Info{.doc = "Base of the rotary frequencies; LLaMA 1 and 2: 10000, LLaMA 3: 500000",
           .min = 1,
           .max = 1e12,
           .above_min = true});
}

template <class V, PartOf<Constraints> T>
void describe(V& v, T& c) {
    v("uniform_execution", c.uniform_execution,
      Info{.doc = "CC2: every stage but 0 runs at most ceil(T (p-1)/(S-1)) microbatches"});
    v("bounded_disorder", c.bounded_disorder, Info{.doc = "CC3: limits swaps and how far a hop may jump"});
    v("max_swaps", c.max_swaps,
      Info{.doc = "CC3: hops back below the furthest stage reached, a path; 0: skipping alone", .min = 0, .max = 1024});
    v("max_swap_distance", c.max_swap_distance,
      Info{.doc = "CC3: how many stages below the furthest a swap may go", .unit = "stages", .min = 1, .max = 1024});
    v("max_passed_over", c.max_passed_over,
      Info{.doc = "CC3: stages a forward hop may pass over", .unit = "stages", .min = 0, .max = 1024});
    v("memory", c.memory, Info{.doc = "TC1: enforce the microbatches a node may hold, or ignore them"});
}

template <class V, PartOf<Pipeline> T>
void describe(V& v, T& p) {
    v("stages", p.stages, Info{.doc = "Stages of the model (S)", .min = 1, .max = 1024});
    v("stage_sizes", p.stage_sizes,
      Info{.doc = "Nodes of each stage; empty: the planner's choice", .min = 1, .max = 1e6});
    v("placement", p.placement, Info{.doc = "Node ids of each stage, fixed by hand; empty: planned"});
    v("blocks_per_stage", p.blocks_per_stage,
      Info{.doc = "Blocks of each stage; empty: equal shares", .min = 1, .max = 1024});
    v("plan_blocks", p.plan_blocks,
      Info{.doc = "The planner may move blocks from stage to stage (skippipe-joint does); blocks_per_stage is what it "
                  "starts from"});
    v("microbatches", p.microbatches, Info{.doc = "Microbatches of one iteration (T)", .min = 1, .max = 131'071});
    v("microbatch_samples", p.microbatch_samples,
      Info{.doc = "Samples of a microbatch", .unit = "samples", .min = 1, .max = 1e6});
    v("microbatch_sizes", p.microbatch_sizes,
      Info{.doc = "Samples of each microbatch, from the first again after the last; empty: microbatch_samples each",
           .unit = "samples",
           .min = 1,
           .max = 1e6});
    v("skip_ratio", p.skip_ratio, Info{.doc = "Share of the stages each microbatch skips (k)", .min = 0, .max = 1});
    v("memory_microbatches", p.memory_microbatches,
      Info{.doc =
               "Most microbatches a node holds (M of TC1, SkipPipe's rule of memory) where it has no limit of its own",
           .min = 1,
           .max = 1e6});
    v("balance_data_nodes", p.balance_data_nodes,
      Info{.doc = "Every data node starts the same number of microbatches"});
    v("split_backward", p.split_backward, Info{.doc = "Split every backward in input gradient and weight gradient"});
    v("constraints", p.constraints, Info{.doc = "Rules the planners keep"});
    v("planner", p.planner, Info{.doc = "Planner to use (see `skippipe planners`)"});
    v("plan_steps", p.plan_steps, Info{.doc = "Search steps; 0: the planner's default", .min = 0, .max = 1e12});
}

template <class V, PartOf<Costs> T>
void describe(V& v, T& c) {
    v("backward_factor", c.backward_factor,
      Info{.doc = "Backward time over forward time", .min = 0, .max = 1000, .above_min = true});
    v("loss_factor", c.loss_factor, Info{.doc = "Loss time over the data node's forward time", .min = 0, .max = 1000});
    v("overhead_s", c.overhead_s, Info{.doc = "Added to every transfer", .unit = "s", .min = 0, .max = 1e5});
    v("step_seconds", c.step_seconds, Info{.doc = "Optimizer step of a stage", .unit = "s", .min = 0, .max = 1e6});
    v("links", c.links, Info{.doc = "Messages queue for a shared line, or lines carry everything at once"});
    v("all_reduce", c.all_reduce,
      Info{.doc = "Charge the gradient all-reduce of each stage as a ring, count it as free, or plan it as transfers "
                  "over the lines"});
    v("wire", c.wire,
      Info{.doc = "Type of activations and gradients on the network; int8 has a scale a token, and what it rounds away "
                  "is added to the next message"});
    v("forward_bytes", c.forward_bytes,
      Info{.doc = "Bytes of an activation message of microbatch_samples samples; absent: samples x sequence x width x "
                  "bytes of the wire type",
           .unit = "B",
           .min = 0,
           .max = 1e15});
    v("backward_bytes", c.backward_bytes,
      Info{.doc = "Bytes of a gradient message; absent: as forward", .unit = "B", .min = 0, .max = 1e15});
    v("transfer_cpu_s", c.transfer_cpu_s,
      Info{.doc = "What a core works for a message between ranks, both ends together; counts in predictions where "
                  "ranks share cores",
           .unit = "s",
           .min = 0,
           .max = 1e3});
    v("transfer_cpu_s_per_byte", c.transfer_cpu_s_per_byte,
      Info{.doc = "The same for each byte of it", .unit = "s/B", .min = 0, .max = 1});
    v("reduction_cpu_s_per_byte", c.reduction_cpu_s_per_byte,
      Info{.doc =
               "What a core works to add and round each byte of a part or sum that replicas hand each other, both ends "
               "together; counts in predictions where reductions are planned",
           .unit = "s/B",
           .min = 0,
           .max = 1});
    v("gradient_bytes", c.gradient_bytes,
      Info{.doc = "Gradient bytes of each stage for its all-reduce; empty: the model's own",
           .unit = "B",
           .min = 0,
           .max = 1e15});
}

template <class V, PartOf<DataFile> T>
void describe(V& v, T& f) {
    v("path", f.path, Info{.doc = "File or folder, as the data's own path", .required = true, .file = true});
    v("weight", f.weight,
      Info{.doc = "Share of the samples that come from it, over the sum of all weights",
           .min = 0,
           .max = 1e9,
           .above_min = true});
}

template <class V, PartOf<DataSpec> T>
void describe(V& v, T& d) {
    v("source", d.source,
      Info{.doc = "bible-kjv and jargon are installed by apt; text, jsonl: your own files; tokens: nanoGPT's .bin, "
                  "Megatron's .idx/.bin, .npy"});
    v("path", d.path,
      Info{.doc = "Your file, or a folder of them, for text, jsonl and tokens; relative to the experiment file",
           .file = true});
    v("files", d.files, Info{.doc = "Several files or folders with weights, instead of `path`"});
    v("text_field", d.text_field, Info{.doc = "jsonl: the member of each line that holds the text"});
    v("tokenizer", d.tokenizer,
      Info{.doc = "sentencepiece model for text and jsonl; empty: tokens are bytes", .file = true});
    v("validation_fraction", d.validation_fraction,
      Info{.doc = "Share of the samples held out; a hash of its tokens says which sample is, so that none moves when "
                  "files are added",
           .min = 0,
           .max = 0.5,
           .above_min = true});
    v("validation_samples", d.validation_samples,
      Info{.doc = "Sequences a validation reads", .unit = "samples", .min = 1, .max = 1e6});
}

template <class V, PartOf<Training> T>
void describe(V& v, T& t) {
    v("iterations", t.iterations,
      Info{.doc = "Optimizer steps; 0: the model is validated (and saved) as it starts", .min = 0, .max = 1e9});
    v("learning_rate", t.learning_rate, Info{.doc = "AdamW's learning rate", .min = 0, .max = 10, .above_min = true});
    v("warmup_iterations", t.warmup_iterations, Info{.doc = "Linear warm-up", .min = 0, .max = 1e9});
    v("beta1", t.beta1, Info{.doc = "AdamW's first decay", .min = 0, .max = 0.999999});
    v("beta2", t.beta2, Info{.doc = "AdamW's second decay", .min = 0, .max = 0.9999999});
    v("epsilon", t.epsilon, Info{.doc = "AdamW's epsilon", .min = 0, .max = 1, .above_min = true});
    v("weight_decay", t.weight_decay, Info{.doc = "Decoupled weight decay of matrices", .min = 0, .max = 10});
    v("clip", t.clip, Info{.doc = "Gradient norm clipping: over all stages, each stage on its own, or none"});
    v("clip_norm", t.clip_norm, Info{.doc = "Largest gradient norm", .min = 0, .max = 1e9, .above_min = true});
    v("validate_every", t.validate_every,
      Info{.doc = "Iterations between validations; 0: before the first and after the last step", .min = 0, .max = 1e9});
    v("initial_weights", t.initial_weights,
      Info{.doc = "safetensors file with LLaMA's tensor names to start from; empty: drawn from the seed",
           .file = true});
    v("recompute", t.recompute,
      Info{.doc = "Keep a stage's input only and compute its forward again before the backward: less memory, "
                  "backward_factor + 1"});
    v("checkpoint_every", t.checkpoint_every,
      Info{.doc = "Iterations between checkpoints, and one where the training ends: `skippipe resume` goes on from the "
                  "newest after a crash or a stop; 0: none. Each takes 12 bytes a parameter on the disk and, while it "
                  "is written, in memory; with gradients in int8 4 more for each node's copy",
           .unit = "iterations",
           .min = 0,
           .max = 1e9});
    v("keep_checkpoints", t.keep_checkpoints,
      Info{.doc = "Checkpoints of a run that are kept, the newest; a second one is there should the newest be damaged",
           .min = 1,
           .max = 1e6});
    v("gradient_wire", t.gradient_wire,
      Info{.doc = "Type of the gradients that replicas sum, on the network: fp32 is exact. Where reductions are "
                  "planned, bf16 rounds every part and sum; int8 takes a quarter of fp32's bytes, and what rounding "
                  "takes away is added an iteration later. Neither is exact"});
}

template <class V, PartOf<Failure> T>
void describe(V& v, T& f) {
    v("kind", f.kind, Info{.doc = "What happens", .required = true});
    v("target", f.target,
      Info{.doc = "A node, a link as from->to, a stage's number, or \"any\": one of them, as the seed says; "
                  "\"any-data-node\": one of those. Nothing for a coordinator-loss"});
    v("at_s", f.at_s, Info{.doc = "At this network time", .unit = "s", .min = 0, .max = 1e12});
    v("at_iteration", f.at_iteration,
      Info{.doc = "In this iteration, at an instant that the seed fixes", .min = 0, .max = 1e9});
    v("probability_per_iteration", f.probability_per_iteration,
      Info{.doc = "Chance in each iteration", .min = 0, .max = 1});
    v("rate_per_hour", f.rate_per_hour, Info{.doc = "Exponential rate", .unit = "1/h", .min = 0, .max = 1e6});
    v("rejoin_after_s", f.rejoin_after_s,
      Info{.doc = "Back after this time; absent: for good", .unit = "s", .min = 0, .max = 1e12});
    v("factor", f.factor,
      Info{.doc = "slow-down, link-degraded: times slower; jitter: standard deviation of a duration, as a share of it",
           .min = 0,
           .max = 1e6});
}

template <class V, PartOf<Recovery> T>
void describe(V& v, T& r) {
    v("policy", r.policy,
      Info{.doc =
               "reroute: nodes of the same stage do again what a lost one had done, and paths go around a stage "
               "that has no node left; skip: paths go around a lost node's stage wherever they may skip it, and what "
               "it had done is left out; drop: microbatches that need a lost node are left out; replay: as reroute, "
               "but an iteration that needs a stage without nodes waits until one is back, so that nothing is ever "
               "left out; restart: everybody goes back to the last checkpoint"});
    v("rebuild", r.rebuild,
      Info{.doc = "Weights of a stage that lost its last node, once one is back. disk: its own, from its disk; "
                  "checkpoint: the run's last one; neighbours: mean of the stages before and after it, weighted by "
                  "their squared gradient norms (CheckFree)"});
    v("rebuilt_learning_rate", r.rebuilt_learning_rate,
      Info{.doc = "Factor of a stage's learning rate from then on, each time that its neighbours rebuild it",
           .min = 0,
           .max = 100,
           .above_min = true});
    v("heartbeat_s", r.heartbeat_s,
      Info{.doc = "A node says so often that it is there; ranks under the wall clock do every 0.2 s",
           .unit = "s",
           .min = 0,
           .max = 3600,
           .above_min = true});
    v("deadline_s", r.deadline_s,
      Info{.doc = "A node is taken for lost so long after its last word; more than the time between heartbeats. Under "
                  "the wall clock at least 5 s",
           .unit = "s",
           .min = 0,
           .max = 86400,
           .above_min = true});
    v("restore_s", r.restore_s,
      Info{.doc = "Network time that it takes to read a checkpoint and to start again: restart, coordinator-loss",
           .unit = "s",
           .min = 0,
           .max = 1e6});
    v("planning_s", r.planning_s,
      Info{.doc = "Network time after a loss until a plan made anew for those who are left is in force; until then the "
                  "repaired one is. 0: none is made",
           .unit = "s",
           .min = 0,
           .max = 1e6});
    v("move_nodes_s", r.move_nodes_s,
      Info{.doc = "Network time that nodes may take, for a plan made anew, to go to other stages: they fetch weights "
                  "and AdamW's state there. They go where an iteration is shorter by 2 % at least. 0: they stay",
           .unit = "s",
           .min = 0,
           .max = 1e6});
    v("wait_s", r.wait_s,
      Info{.doc = "Wall clock: how long ranks stand still at most for one that a stage cannot do without, besides the "
                  "longest time until a crash or a lost stage of this document is over; then the run ends. 0: where no "
                  "failure says that it comes back, at once, as under a launcher that starts nobody again",
           .unit = "s",
           .min = 0,
           .max = 1e6});
}

template <class V, PartOf<Execution> T>
void describe(V& v, T& e) {
    v("clock", e.clock, Info{.doc = "virtual: the drawn network's time; wall: this machine's"});
    v("compute", e.compute, Info{.doc = "torch: real tensors; cost: none, the simulator"});
    v("transport", e.transport, Info{.doc = "local: one process; gloo, nccl: many"});
    v("products", e.products,
      Info{.doc = "Type of matrix products; on the CPU bf16 needs a processor that has it. Weights, gradients and sums "
                  "stay fp32"});
    v("ranks", e.ranks, Info{.doc = "Processes", .min = 1, .max = 4096});
    v("threads", e.threads,
      Info{.doc = "Workers of a process; 0: this machine's cores, shared by its processes", .min = 0, .max = 1024});
    v("shape_links", e.shape_links,
      Info{.doc = "Wall clock: transfers take the drawn links' latency and bandwidth, queueing included"});
    v("link_jitter", e.link_jitter,
      Info{.doc = "Of shaped links: standard deviation of a transfer's time, as a share of it", .min = 0, .max = 10});
    v("keep_spans", e.keep_spans,
      Info{.doc = "Iterations whose spans the record keeps, for timelines and idle times. all; newest: the last "
                  "keep_spans_of; every: one in keep_spans_of, and the two newest. Losses and times are always kept"});
    v("keep_spans_of", e.keep_spans_of,
      Info{.doc = "What keep_spans counts; unused for `all`", .unit = "iterations", .min = 2, .max = 1e9});
}

template <class V, PartOf<Prices> T>
void describe(V& v, T& p) {
    v("node_hour", p.node_hour,
      Info{.doc = "Price of a node for an hour of network time, where it has none of its own, in any one currency; 0: "
                  "no price given",
           .min = 0,
           .max = 1e6});
    v("gigabyte", p.gigabyte,
      Info{.doc = "Price of 1e9 bytes that leave a region, or a node that stands in none, in the same currency; 0: no "
                  "price given",
           .min = 0,
           .max = 1e6});
    v("tokens", p.tokens,
      Info{.doc = "Tokens to train on: the plan says what all of it takes and costs; 0: no number given",
           .min = 0,
           .max = 1e18});
}

template <class V, PartOf<Experiment> T>
void describe(V& v, T& e) {
    v("name", e.name, Info{.doc = "Shown in lists"});
    v("description", e.description, Info{.doc = "What it asks, for people"});
    v("seed", e.seed, Info{.doc = "With the document it fixes everything", .min = 0, .max = 9007199254740991.0});
    v("seeds", e.seeds, Info{.doc = "Runs with seed, seed + 1, ...", .min = 1, .max = 1000});
    v("topology", e.topology, Info{.doc = "Nodes, links and regions", .required = true});
    v("model", e.model, Info{.doc = "The decoder-only LLaMA"});
    v("pipeline", e.pipeline, Info{.doc = "How the model is cut and which microbatch goes where"});
    v("costs", e.costs, Info{.doc = "What each operation and transfer takes"});
    v("data", e.data, Info{.doc = "The corpus"});
    v("training", e.training, Info{.doc = "Optimizer and schedule"});
    v("failures", e.failures, Info{.doc = "What goes wrong, and when"});
    v("recovery", e.recovery, Info{.doc = "What is done about lost nodes"});
    v("execution", e.execution, Info{.doc = "How it is run"});
    v("prices", e.prices, Info{.doc = "What machines and traffic cost"});
}

}  // namespace skippipe
