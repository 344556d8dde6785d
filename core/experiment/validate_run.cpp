// SPDX-License-Identifier: GPL-3.0-or-later
#include <charconv>
#include <cstdint>

#include <fmt/format.h>

#include "core/experiment/checker.h"
#include "core/experiment/describe.h"
#include "core/experiment/text.h"

namespace skippipe {

namespace {

bool is_line(const Checker& check, const std::string& target) {
    const auto arrow = target.find("->");
    if (arrow == std::string::npos) return false;
    return check.index.is_line(target.substr(0, arrow), target.substr(arrow + 2));
}

/// Why what looks like a link is no line that could fail; empty: it is not between two regions, or a node and itself.
std::string why_no_line(const Checker& check, const std::string& target) {
    const auto arrow = target.find("->");
    if (arrow == std::string::npos) return {};
    const auto from = target.substr(0, arrow), to = target.substr(arrow + 2);
    if (from == to && check.index.is_node(from)) return "nothing is sent from a node to itself";
    if (!check.index.is_region(from) || !check.index.is_region(to)) return {};
    if (!check.experiment.topology.hop_matrix_s.empty())
        return "with hop_matrix_s each pair of nodes has a line of its own";
    return from == to ? "within a region each pair of nodes has a line of its own"
                      : "no transfer takes it: it is not drawn, or each pair of their nodes has a link of its own";
}

bool is_stage(const Checker& check, const std::string& target) {
    int stage = -1;
    const auto [end, error] = std::from_chars(target.data(), target.data() + target.size(), stage);
    return error == std::errc() && end == target.data() + target.size() && stage >= 0 &&
           stage < check.experiment.pipeline.stages;
}

bool target_exists(const Checker& check, const Failure& failure) {
    switch (failure.kind) {
        case FailureKind::crash:
        case FailureKind::slow_down:
            return failure.target == any_target || failure.target == any_data_node ||
                   check.index.is_node(failure.target);
        case FailureKind::link_cut:
        case FailureKind::link_degraded: return is_line(check, failure.target);
        case FailureKind::jitter: return check.index.is_node(failure.target) || is_line(check, failure.target);
        case FailureKind::stage_loss: return failure.target == any_target || is_stage(check, failure.target);
        case FailureKind::coordinator_loss: return failure.target.empty();
    }
    return false;
}

std::string wanted_target(const Checker& check, FailureKind kind) {
    switch (kind) {
        case FailureKind::crash:
        case FailureKind::slow_down: return "a node, \"any\" or \"any-data-node\"";
        case FailureKind::link_cut:
        case FailureKind::link_degraded: return "a link as \"from->to\"";
        case FailureKind::jitter: return "a node, or a link as \"from->to\"";
        case FailureKind::stage_loss:
            return fmt::format("a stage's number from 0 to {}, as text, or \"any\"",
                               check.experiment.pipeline.stages - 1);
        case FailureKind::coordinator_loss: return "no target: there is one coordinator";
    }
    return "";
}

void check_failure(Checker& check, std::size_t i) {
    const Failure& failure = check.experiment.failures[i];
    const std::string pointer = fmt::format("/failures/{}", i);
    const bool known = check.sound(pointer + "/kind") && check.sound(pointer + "/target") && check.ids_sound() &&
                       check.sound("/topology/links") && check.sound("/pipeline/stages");
    if (known && !target_exists(check, failure)) {
        const bool of_lines = failure.kind == FailureKind::link_cut || failure.kind == FailureKind::link_degraded ||
                              failure.kind == FailureKind::jitter;
        const std::string no_line = of_lines ? why_no_line(check, failure.target) : std::string();
        const std::string wanted = wanted_target(check, failure.kind);
        check.error(pointer + "/target", fmt::format("{} is not there to fail", in_quotes(failure.target)),
                    no_line.empty() ? fmt::format("a {} happens to {}", name_of(failure.kind), wanted) : no_line,
                    no_line.empty() ? fmt::format("Name {}", wanted) : "Name two nodes, as \"from->to\"");
    }
    const int triggers = failure.at_s.has_value() + failure.at_iteration.has_value() +
                         failure.probability_per_iteration.has_value() + failure.rate_per_hour.has_value();
    if (triggers != 1 && check.sound(pointer))
        check.error(pointer, fmt::format("{} of its four triggers are given", triggers), "one says when it happens",
                    "Fill in one alone: Network time (at_s), Iteration (at_iteration), Chance an iteration "
                    "(probability_per_iteration) or Rate per hour (rate_per_hour)");
}

/// What a real clock cannot make fail.
void check_wall_failure(Checker& check, std::size_t i) {
    const Failure& failure = check.experiment.failures[i];
    const auto& how = check.experiment.execution;
    const std::string pointer = fmt::format("/failures/{}/kind", i);
    const auto under_wall = fmt::format("{} under the wall clock", name_of(failure.kind));
    const bool of_link = failure.kind == FailureKind::link_degraded ||
                         (failure.kind == FailureKind::jitter && is_line(check, failure.target));
    if (failure.kind == FailureKind::link_cut)
        check.error(pointer, under_wall, "there a rank that cannot be reached is taken for lost, with all its nodes",
                    "Set execution.clock to \"virtual\", or let a node behind the link crash");
    else if (of_link && !how.shape_links)
        check.error(pointer, under_wall + ", and links are as quick as this machine's",
                    "only links that are held to the drawn network can be made slower",
                    "Set execution.shape_links to true, or execution.clock to \"virtual\"");
    else if (how.ranks == 1 && (failure.kind == FailureKind::crash || failure.kind == FailureKind::stage_loss))
        check.error(pointer, under_wall + ", with one rank", "a node is lost with its rank, and rank 0 decides for all",
                    "Set execution.clock to \"virtual\", or execution.ranks to 2 or more");
}

/// What is asked for together and cannot be executed together.
void check_execution(Checker& check) {
    const auto& e = check.experiment;
    const auto& how = e.execution;
    for (const char* field : {"/execution/clock", "/execution/compute", "/execution/transport", "/execution/ranks",
                              "/execution/shape_links"})
        if (!check.sound(field)) return;
    if (how.transport == Transport::nccl && how.compute == Compute::cost)
        check.error("/execution/transport", "NCCL, and nothing is computed", "NCCL carries messages between GPUs",
                    "Set it to \"gloo\", or execution.compute to \"torch\"");
    if (how.ranks > 1 && how.clock == Clock::virtual_time)
        check.error("/execution/ranks", fmt::format("{} ranks under the virtual clock", how.ranks),
                    "the drawn network's time passes in one process",
                    "Set execution.clock to \"wall\", or ranks to 1; execution.threads uses more cores");
    if (how.ranks > 1 && how.clock == Clock::wall && how.transport == Transport::local)
        check.error("/execution/transport", fmt::format("{} ranks, but the local transport", how.ranks),
                    "it joins the nodes of one process", "Set it to \"gloo\"");
    for (std::size_t i = 0; how.ranks > 1 && i < e.topology.nodes.size() && !check.full(); ++i) {
        const auto& rank = e.topology.nodes[i].rank;
        const auto place = fmt::format("/topology/nodes/{}/rank", i);
        if (rank && *rank >= how.ranks && check.sound(place))
            check.error(place, fmt::format("rank {} is not there", *rank),
                        fmt::format("the run has ranks 0 to {}", how.ranks - 1),
                        "Name one of these, or leave it out, or raise execution.ranks");
    }
    for (std::size_t i = 0; how.clock == Clock::wall && i < e.failures.size() && !check.full(); ++i)
        if (check.sound(fmt::format("/failures/{}", i))) check_wall_failure(check, i);
}

/// What goes back to a checkpoint needs one.
void check_checkpoints(Checker& check) {
    const auto& e = check.experiment;
    if (e.failures.empty() || e.training.checkpoint_every > 0 || !check.sound("/training/checkpoint_every")) return;
    const auto need = [&](const char* pointer, const std::string& what) {
        check.error(pointer, what, "and training.checkpoint_every is 0: there would be none but the start",
                    "Give training.checkpoint_every, in iterations");
    };
    if (e.recovery.policy == RecoveryPolicy::restart && check.sound("/recovery/policy"))
        need("/recovery/policy", "\"restart\" goes back to the last checkpoint");
    if (e.recovery.rebuild != StageRebuild::disk && check.sound("/recovery/rebuild"))
        need("/recovery/rebuild", e.recovery.rebuild == StageRebuild::checkpoint
                                      ? "a stage that is lost starts from the last checkpoint"
                                      : "stage 0, whose embedding no neighbour has, starts from the last checkpoint");
    for (std::size_t i = 0; i < e.failures.size() && !check.full(); ++i)
        if (e.failures[i].kind == FailureKind::coordinator_loss)
            need(fmt::format("/failures/{}", i).c_str(),
                 "after the loss of the coordinator training goes back to the last checkpoint");
}

/// Nodes that go to other stages after a loss.
void check_moves(Checker& check) {
    const auto& e = check.experiment;
    if (!check.sound("/recovery/move_nodes_s") || !(e.recovery.move_nodes_s > 0)) return;
    if (!e.pipeline.placement.empty() && check.sound("/pipeline/placement"))
        check.error("/recovery/move_nodes_s", "nodes may go to other stages",
                    "and pipeline.placement says where each of them is",
                    "Set it to 0, or leave out pipeline.placement");
    if (e.recovery.planning_s == 0 && check.sound("/recovery/planning_s"))
        check.warning("/recovery/move_nodes_s", "no node ever goes to another stage",
                      "they go for plans made anew, and recovery.planning_s is 0: none is made",
                      "Give planning_s, in seconds of network time, or set this to 0");
}

/// Only pieces that are handed from replica to replica are rounded.
void check_gradient_wire(Checker& check) {
    const auto wire = check.experiment.training.gradient_wire;
    if (wire == WireType::fp32 || !check.sound("/training/gradient_wire")) return;
    const auto what = fmt::format("gradients cannot be summed in {}", in_quotes(name_of(wire)));
    if (check.experiment.costs.all_reduce != AllReduceRule::planned || !check.experiment.topology.hop_matrix_s.empty())
        check.error("/training/gradient_wire", what, "only planned reductions hand on rounded parts and sums",
                    R"(Set costs.all_reduce to "planned", with drawn links, or this to "fp32")");
    else
        check.warning("/training/gradient_wire",
                      fmt::format("gradients are rounded to {} on the network", name_of(wire)),
                      wire == WireType::bf16 ? "half the bytes, but not exact: every part and every sum loses bits"
                                             : "a quarter of the bytes, but not exact: what rounding takes away from "
                                               "parts and sums is added an iteration later",
                      R"(Set it to "fp32" for exact sums)");
}

void check_data(Checker& check) {
    const auto& data = check.experiment.data;
    for (const char* field : {"/data/source", "/data/path", "/data/files", "/data/tokenizer", "/data/text_field"})
        if (!check.sound(field)) return;
    const bool own =
        data.source == DataSource::text || data.source == DataSource::jsonl || data.source == DataSource::tokens;
    const auto name = in_quotes(name_of(data.source));
    if (own && data.path.empty() && data.files.empty())
        check.error("/data/path", "no file is named", fmt::format("the source {} reads your own files", name),
                    "Name a file or a folder of them");
    if (own && !data.path.empty() && !data.files.empty())
        check.error("/data/files", "Path (path) is given as well", "one of them says what is read",
                    "Move the path into Files (files), or leave one of them out");
    if (!own && !data.files.empty())
        check.error("/data/files", fmt::format("the source {} reads no files", name), "it is a text installed by apt",
                    "Set Source (source) to text, jsonl or tokens, or leave the files out");
    for (std::size_t i = 0; i < data.files.size() && !check.full(); ++i)
        if (data.files[i].path.empty())
            check.error(fmt::format("/data/files/{}/path", i), "it is empty", "it says what is read",
                        "Name a file or a folder");
    if (data.source == DataSource::tokens && !data.tokenizer.empty())
        check.error("/data/tokenizer", "the source \"tokens\" has one", "its files hold tokens already",
                    "Leave the tokenizer out, or train on the text itself");
    if (data.source == DataSource::jsonl && data.text_field.empty())
        check.error("/data/text_field", "it is empty", "it names the member that holds the text",
                    "Name it, for example \"text\"");
}

/// The last of the runs has a seed that a document may have, too.
void check_seeds(Checker& check) {
    constexpr std::uint64_t most = 9'007'199'254'740'991;  // what readers of JSON keep to the digit
    const auto seed = check.experiment.seed;
    const auto more = static_cast<std::uint64_t>(check.experiment.seeds - 1);
    if (!check.sound("/seed") || !check.sound("/seeds") || seed <= most - more) return;
    check.error(more > 0 ? "/seeds" : "/seed", fmt::format("the last seed is {}, more than {}", seed + more, most),
                "numbers beyond that are not read back to the digit", "Choose a smaller seed");
}

}  // namespace

void check_run(Checker& check) {
    check_seeds(check);
    check_data(check);
    check_gradient_wire(check);
    const auto& recovery = check.experiment.recovery;
    if (check.sound("/recovery/deadline_s") && recovery.deadline_s <= recovery.heartbeat_s)
        check.error(
            "/recovery/deadline_s", fmt::format("{:g} s is not more than a heartbeat", recovery.deadline_s),
            fmt::format("every node would be taken for lost between two of them ({:g} s apart)", recovery.heartbeat_s),
            "Give at least twice heartbeat_s");
    for (std::size_t i = 0; i < check.experiment.failures.size() && !check.full(); ++i) check_failure(check, i);
    check_execution(check);
    check_checkpoints(check);
    check_moves(check);
}

}  // namespace skippipe
