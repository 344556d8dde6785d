// SPDX-License-Identifier: GPL-3.0-or-later
// What people ask of a run that goes on, and what the document makes fail: passed on to the ranks.
#include <cmath>

#include <fmt/format.h>

#include "core/experiment/io.h"
#include "core/run/run.h"

namespace skippipe {

namespace {

/// A command of a window or a verb, as the worker reads it; nothing where this program knows none of that name.
std::optional<protocol::Command> worker_command(const std::string& kind) {
    if (kind == "stop") return protocol::Stop{};
    if (kind == "pause") return protocol::Pause{};
    if (kind == "resume") return protocol::Resume{};
    return std::nullopt;
}

}  // namespace

void Run::poll_commands() {
    if (started_) {
        recorder_.heartbeat(outcome_.run);
        for (const auto& command : recorder_.take_commands(outcome_.run)) obey(command);
        for (const auto& loss : failures_.take_due()) {
            if (ended_) break;
            loss.node < 0 ? lose_coordinator() : kill_rank_of(loss);
        }
    }
    if (progress_.interrupted && progress_.interrupted() && !stop_sent_) {
        log_.info("interrupted");
        stop_sent_ = ranks_.send(protocol::Stop{});
    }
}

void Run::obey(const Command& taken) {
    log_.info("command: " + taken.kind);
    if (taken.kind == "fail")
        fail_node(taken.payload_json);
    else if (taken.kind == "extend")
        extend(taken.payload_json);
    else if (const auto command = worker_command(taken.kind))
        ranks_.send(*command);
    else
        warn({"command", taken.kind + " is not known", "another program sent it", "", Fault::Severity::warning});
}

void Run::fail_node(const std::string& payload) {
    try {
        const auto loss = loss_of_command(payload, job_.problem, failures_.rank_of());
        if (job_.experiment.execution.clock == Clock::virtual_time)
            ranks_.send(protocol::FailNode{loss.node, loss.back_after_s});
        else
            kill_rank_of(loss);
    } catch (const InputError& error) {
        auto fault = error.faults().front();
        fault.severity = Fault::Severity::warning;
        warn(fault);
    }
}

/// Wall clock: rank 0 decides for all, and nobody takes its place.
void Run::lose_coordinator() {
    log_.info("the coordinator is made to fail: rank 0 is killed");
    ranks_.kill_first();
    fail({{"rank 0", "the coordinator is lost: rank 0 was killed",
           "the document's failures say so, and nobody takes its place",
           "`skippipe resume` goes on from the run's newest checkpoint"}});
}

/// It is told to the ranks, frozen in the record, and counts from the iteration at hand on.
void Run::extend(const std::string& payload) {
    const auto json = nlohmann::json::parse(payload, nullptr, false);
    const auto refuse = [&](const std::string& why) {
        warn({"extend", "the run is not extended: " + payload, why, "Ask for more than it has",
              Fault::Severity::warning});
    };
    constexpr std::int64_t most = 1'000'000'000;
    if (!json.is_object() || !json.contains("iterations") || !json["iterations"].is_number_integer())
        return refuse("it is no number of iterations");
    const auto wanted = json["iterations"].get<std::int64_t>();
    if (wanted <= iterations_ || wanted > most)
        return refuse(fmt::format("it has {} iterations already, and {} is the most", iterations_, most));
    if (stop_sent_) return refuse("it is about to stop");
    if (!ranks_.send(protocol::Extend{static_cast<int>(wanted)})) return refuse("its workers have ended");
    iterations_ = static_cast<int>(wanted);
    auto longer = job_.experiment;
    longer.training.iterations = iterations_;
    recorder_.extend(outcome_.run, {iterations_, to_text(longer)});
    log_.info(fmt::format("extended to {} iterations", iterations_));
    if (progress_.extended) progress_.extended(iterations_);
}

/// Wall clock: a node is lost with its rank.
void Run::kill_rank_of(const NodeLoss& loss) {
    const auto& id = job_.problem.node_ids[static_cast<std::size_t>(loss.node)];
    const auto refuse = [&](const char* why, const char* remedy) {
        warn({"failure", fmt::format("{} is not made to fail: it is on rank {}", id, loss.rank), why, remedy,
              Fault::Severity::warning});
    };
    if (loss.rank <= 0) return refuse("rank 0 decides for all; the run would end", "Choose a node of another rank");
    if (!ranks_.can_kill(loss.rank))
        return refuse("a launcher has started that rank, on a host of its own", "Kill it there");
    log_.info(fmt::format("{} is made to fail: rank {} is killed", id, loss.rank));
    if (!std::isfinite(loss.back_after_s)) ranks_.send(protocol::EndRank{loss.rank});  // before they find out
    ranks_.kill(loss.rank, loss.back_after_s);
}

}  // namespace skippipe
