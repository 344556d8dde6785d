// SPDX-License-Identifier: GPL-3.0-or-later
// The experiment: what the researcher draws, as one value. core/experiment/describe.h names every field for the reader,
// the writer, the JSON Schema and the window, so that they cannot drift apart.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace skippipe {

inline constexpr int experiment_format = 1;

struct Region {
    std::string id;
    double x = 0, y = 0;  ///< place on the canvas
    bool operator==(const Region&) const = default;
};

struct Node {
    std::string id;
    std::string region;
    double seconds_per_sample_per_block = 0.055;  ///< forward time of one sample through one block
    std::optional<int> memory_microbatches;       ///< M of TC1; overrides pipeline.memory_microbatches
    std::optional<double> memory_bytes;           ///< M is derived from it where memory_microbatches is absent
    std::string device = "cpu";                   ///< "cpu", "cuda", "cuda:1": where its tensors live
    std::optional<int> rank;  ///< process that hosts it under the wall clock; absent: dealt out in order
    double x = 0, y = 0;
    std::optional<double> up_bytes_per_s, down_bytes_per_s;  ///< of its uplink and its downlink; absent: no limit
    std::optional<double> price_per_hour;                    ///< absent: that of prices.node_hour
    bool operator==(const Node&) const = default;
};

/// Between two nodes (two lines, one a direction) or two regions (two lines, shared by all pairs without a link of
/// their own).
struct Link {
    std::string from, to;
    double latency_s = 0;
    double bandwidth_bytes_per_s = 1e9;
    bool both_ways = true;
    bool operator==(const Link&) const = default;
};

struct WithinRegion {
    double latency_s = 0.001;
    double bandwidth_bytes_per_s = 2147483648.0;
    bool operator==(const WithinRegion&) const = default;
};

struct Topology {
    std::vector<Region> regions;
    std::vector<Node> nodes;
    std::vector<Link> links;
    WithinRegion within_region;
    std::string measured_at;  ///< when speeds and links were measured (UTC, "2026-01-31T12:00:00Z"); empty: drawn
    bool on_map = false;      ///< places are those of the world map, which the canvas shows behind them
    std::vector<std::vector<double>> hop_matrix_s;  ///< explicit seconds [from][to]; empty: from the links
    bool operator==(const Topology&) const = default;
};

struct ModelSpec {
    int blocks = 6;              ///< L
    int width = 128;             ///< D
    int heads = 4;               ///< H; D / H is even (rotary pairs)
    int kv_heads = 0;            ///< heads of keys and values, a divisor of H (grouped-query attention); 0: H
    int ffn_width = 0;           ///< SwiGLU hidden width; 0: 8 D / 3 rounded up to a multiple of 8
    int vocabulary = 256;        ///< byte-level tokens
    int sequence = 128;          ///< tokens a sample
    double rotary_base = 10000;  ///< of the rotary frequencies
    bool operator==(const ModelSpec&) const = default;
};

enum class MemoryRule { enforce, ignore };

struct Constraints {
    bool uniform_execution = true;            ///< CC2
    bool bounded_disorder = true;             ///< CC3
    int max_swaps = 2;                        ///< CC3: hops to a stage below the furthest reached, a path
    int max_swap_distance = 1;                ///< CC3: how far below
    int max_passed_over = 3;                  ///< CC3: stages a forward hop may pass over
    MemoryRule memory = MemoryRule::enforce;  ///< TC1
    bool operator==(const Constraints&) const = default;
};

struct Pipeline {
    int stages = 6;                                   ///< S
    std::vector<int> stage_sizes;                     ///< nodes of each stage; empty: the planner's choice
    std::vector<std::vector<std::string>> placement;  ///< node ids of each stage, fixed by hand; empty: planned
    std::vector<int> blocks_per_stage;                ///< empty: L / S each
    bool plan_blocks =
        false;  ///< the planner may move blocks from stage to stage; blocks_per_stage is what it starts from
    int microbatches = 30;  ///< T, of one iteration
    int microbatch_samples = 8;
    std::vector<int>
        microbatch_sizes;   ///< samples of microbatch m: entry m modulo their number; empty: microbatch_samples each
    double skip_ratio = 0;  ///< k; p = S (1 - k) rounded, a half upwards
    int memory_microbatches = 3;     ///< M where a node has none of its own
    bool balance_data_nodes = true;  ///< every data node starts T / |stage 0| microbatches
    bool split_backward = false;
    Constraints constraints;
    std::string planner = "skippipe-joint";
    std::int64_t plan_steps = 0;  ///< search steps; 0: the planner's default
    bool operator==(const Pipeline&) const = default;
};

enum class LinkRule { shared, unlimited };
/// charged: as a ring in the order of the stage, beside everything else. planned: transfers that the plan names.
enum class AllReduceRule { charged, free, planned };
enum class WireType { fp32, bf16, int8 };

struct Costs {
    double backward_factor = 1.5;
    double loss_factor = 0.25;
    double overhead_s = 0;    ///< added to every transfer
    double step_seconds = 0;  ///< optimizer step of a stage
    LinkRule links = LinkRule::shared;
    AllReduceRule all_reduce = AllReduceRule::charged;
    WireType wire = WireType::fp32;
    std::optional<double>
        forward_bytes;  ///< measured with microbatch_samples; replaces samples x sequence x width x wire bytes
    std::optional<double> backward_bytes;
    std::vector<double> gradient_bytes;  ///< of each stage, measured; empty: the model's own
    double transfer_cpu_s = 0,
           transfer_cpu_s_per_byte = 0;   ///< work of a core for a message between ranks, both ends together
    double reduction_cpu_s_per_byte = 0;  ///< the same for a byte of a part or sum: adding and rounding it
    bool operator==(const Costs&) const = default;
};

enum class DataSource { bible_kjv, jargon, text, jsonl, tokens };

/// One of several files or folders to train on.
struct DataFile {
    std::string path;
    double weight = 1;  ///< share of the samples, over the sum of the weights
    bool operator==(const DataFile&) const = default;
};

struct DataSpec {
    DataSource source = DataSource::bible_kjv;
    std::string path;                   ///< file or folder, for `text`, `jsonl` and `tokens`
    std::vector<DataFile> files;        ///< several of them, weighted, instead of `path`
    std::string text_field = "text";    ///< `jsonl`: the member that holds a document's text
    std::string tokenizer;              ///< sentencepiece model; empty: tokens are bytes
    double validation_fraction = 0.05;  ///< share of the samples that is held out, chosen by a hash of their tokens
    int validation_samples = 32;        ///< sequences a validation reads
    bool operator==(const DataSpec&) const = default;
};

enum class ClipRule { global, per_stage, none };

struct Training {
    int iterations = 20;
    double learning_rate = 1e-3;
    int warmup_iterations = 0;  ///< linear
    double beta1 = 0.9, beta2 = 0.95, epsilon = 1e-8;
    double weight_decay = 0.1;  ///< on matrices, not on norms
    ClipRule clip = ClipRule::global;
    double clip_norm = 1.0;
    int validate_every = 0;       ///< iterations; 0: before the first and after the last step only
    std::string initial_weights;  ///< safetensors file to start from; empty: drawn from the seed
    bool recompute = false;       ///< nodes keep a stage's input only and compute its forward again before the backward
    int checkpoint_every = 0;     ///< iterations; 0: none
    int keep_checkpoints = 2;     ///< the newest of a run
    WireType gradient_wire = WireType::fp32;  ///< of gradients that replicas sum
    bool operator==(const Training&) const = default;
};

enum class FailureKind { crash, slow_down, link_cut, link_degraded, jitter, stage_loss, coordinator_loss };

struct Failure {
    FailureKind kind = FailureKind::crash;
    std::string target;          ///< node id, "a->b" for a link, a stage's number, any_target or any_data_node; of a
                                 ///< coordinator_loss none
    std::optional<double> at_s;  ///< network time
    std::optional<int> at_iteration;
    std::optional<double> probability_per_iteration;
    std::optional<double> rate_per_hour;
    std::optional<double> rejoin_after_s;  ///< absent: for good
    double factor = 2;  ///< slow_down, link_degraded: how many times slower; jitter: standard deviation of a
                        ///< duration, as a share of it
    bool operator==(const Failure&) const = default;
};

/// Targets of a failure that happens to one or another, as the seed says.
inline const std::string any_target = "any";
inline const std::string any_data_node = "any-data-node";  ///< crash, slow_down: one that holds stage 0

enum class RecoveryPolicy { reroute, skip, drop, replay, restart };

/// Where a stage that has lost its last node gets weights from, when a node of it is back.
enum class StageRebuild { disk, checkpoint, neighbours };

/// What is done about losses.
struct Recovery {
    RecoveryPolicy policy = RecoveryPolicy::reroute;
    StageRebuild rebuild = StageRebuild::disk;
    double rebuilt_learning_rate = 1.1;  ///< factor of a stage's learning rate, each time its neighbours rebuild it
    double heartbeat_s = 0.05;           ///< a node says so often that it is there
    double deadline_s = 0.2;             ///< it is lost so long after its last word
    double restore_s =
        30;  ///< network time until a checkpoint is read and training goes on (restart, coordinator_loss)
    double planning_s = 5;  ///< network time until a plan made anew for those who are left is in force; 0: none is made
    double move_nodes_s = 0;  ///< network time that nodes may take to go to other stages for it; 0: they stay
    double wait_s = 600;      ///< wall clock: longest wait for a rank that a stage needs, beside what failures last
    bool operator==(const Recovery&) const = default;
};

enum class Clock { virtual_time, wall };
enum class Compute { torch, cost };
enum class Transport { local, gloo, nccl };
enum class ProductType { fp32, bf16 };
/// Of which iterations the record keeps spans.
enum class KeepSpans { all, newest, every };

struct Execution {
    Clock clock = Clock::virtual_time;
    Compute compute = Compute::torch;
    Transport transport = Transport::local;
    ProductType products = ProductType::fp32;  ///< of matrix products; weights, gradients and sums stay fp32
    int ranks = 1;
    int threads = 0;           ///< workers of a rank; 0: this machine's cores, shared by its ranks
    bool shape_links = false;  ///< wall clock: transfers take the drawn links' time, queueing included
    double link_jitter = 0;    ///< of shaped links: standard deviation of a transfer's time, as a share of it
    KeepSpans keep_spans = KeepSpans::all;
    int keep_spans_of = 100;  ///< newest: so many iterations; every: each one of so many, and the two newest
    bool operator==(const Execution&) const = default;
};

/// What machines and traffic cost, in whatever money is meant.
struct Prices {
    double node_hour = 0;  ///< of a node without a price of its own
    double gigabyte = 0;   ///< of 1e9 bytes that leave a region, or a node that stands in none
    double tokens = 0;     ///< to train on, for the price and the time of all of it; 0: not said
    bool operator==(const Prices&) const = default;
};

struct Experiment {
    std::string name = "Untitled experiment";
    std::string description;
    std::uint64_t seed = 1;
    int seeds = 1;  ///< runs with seed, seed + 1, ...
    Topology topology;
    ModelSpec model;
    Pipeline pipeline;
    Costs costs;
    DataSpec data;
    Training training;
    std::vector<Failure> failures;
    Recovery recovery;
    Execution execution;
    Prices prices;
    bool operator==(const Experiment&) const = default;
};

}  // namespace skippipe
