// SPDX-License-Identifier: GPL-3.0-or-later
// What ranks tell of a training that goes well: every message goes to the record.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/base/format.h"
#include "core/experiment/io.h"
#include "core/planner/timeline/evaluator.h"
#include "core/run/checkpoint_store.h"
#include "core/run/run.h"

namespace skippipe {

void Run::receive(const protocol::Validated& m) {
    metric(m.iterations_done, "validation_loss", m.result.loss_nats, m.network_s, m.machine_s, m.tokens);
    if (m.result.bits_per_byte > 0)
        metric(m.iterations_done, "bits_per_byte", m.result.bits_per_byte, m.network_s, m.machine_s, m.tokens);
    if (!outcome_.info.first_validation_loss) outcome_.info.first_validation_loss = m.result.loss_nats;
    outcome_.info.last_validation_loss = m.result.loss_nats;
    outcome_.bits_per_byte = m.result.bits_per_byte;
    recorder_.flush();
    log_.info(fmt::format("validation after {} iterations: loss {:.4f}", m.iterations_done, m.result.loss_nats));
    if (progress_.validated) progress_.validated(m);
}

void Run::receive(const protocol::Iterated& m) {
    recorder_.spans(outcome_.run, m.iteration, m.offset_s, m.spans);
    keep_devices(m);
    const double end_s = network_s_ = m.offset_s + m.iteration_s;
    const auto note = [&](const char* name, double value) {
        metric(m.iteration, name, value, end_s, m.machine_s, m.tokens);
    };
    auto& info = outcome_.info;
    note("iteration_s", m.iteration_s);
    if (m.result.tokens > 0) {
        const auto tokens = static_cast<double>(m.result.tokens);
        note("loss", m.result.loss_sum_nats / tokens);
        note("gradient_norm", m.result.gradient_norm);
        note("tokens_per_second", tokens / std::max(1e-9, m.machine_s - info.machine_s));
    }
    info.iterations_done = m.iteration + 1;
    info.machine_s = m.machine_s;
    info.iteration_s = (end_s - began_s_) / (info.iterations_done - info.first_iteration);
    count_tokens(m.tokens, m.machine_s);
    recorder_.iteration_done(outcome_.run, info.iterations_done, m.machine_s);
    if (forecast_) {
        note("predicted_iteration_s", forecast_->observe(m));
        offer_better_plan(m);
    }
    idle_.add(m.iteration, m.iteration_s, idle_shares(job_.problem, plan_, m.spans, m.iteration_s));
    look_at_figures(m);
    begin_iteration(m.iteration + 1);
    if (progress_.iterated) progress_.iterated(m);
}

/// Its own: a fork's machine may be another than that of the run it began in.
void Run::count_tokens(std::int64_t tokens, double machine_s) {
    if (tokens > began_tokens_ && machine_s > began_machine_s_)
        outcome_.info.tokens_per_second = static_cast<double>(tokens - began_tokens_) / (machine_s - began_machine_s_);
}

void Run::keep_devices(const protocol::Iterated& m) {
    for (const auto& device : m.devices.devices)
        for (const int node : device.nodes) require_node(node);
    recorder_.devices(outcome_.run, m.iteration, m.devices.devices);
    const auto& trouble = m.devices.trouble;
    if (trouble.empty() || std::exchange(device_trouble_told_, true)) return;
    warn({"device", "how busy GPUs are is not known: " + trouble, "the training goes on, and nothing reads them",
          "Look at `nvidia-smi` on the hosts of the ranks", Fault::Severity::warning});
}

void Run::begin_iteration(int iteration) {
    failures_.begin_iteration(iteration, network_s_,
                              outcome_.info.iteration_s.value_or(evaluate(job_.problem, plan_).iteration_s));
}

void Run::offer_better_plan(const protocol::Iterated& m) {
    auto better = forecast_->better_plan(m);
    if (!better) return;
    const auto plan_json = to_json(better->schedule.plan, job_.problem, nullptr).dump();
    if (ranks_.send(protocol::SwitchPlan{plan_json})) forecast_->told(std::move(*better));
}

void Run::receive(const protocol::PlanSwitched& m) {
    auto why = m.why.empty() && forecast_ ? forecast_->switched() : std::nullopt;
    if (!m.why.empty()) why = m.why;
    if (!why) return;
    plan_ = plan_of(m.plan_json);
    failures_.follow(plan_.stages);
    if (plan_.stages != job_.plan.stages) forecast_.reset();  // it knows one placement
    outcome_.plan_changes.push_back({m.iteration, *why});
    recorder_.plan(outcome_.run, m.iteration, to_json(plan_, job_.problem, nullptr).dump(), *why);
    tell_event({.iteration = m.iteration,
                .kind = RunEvent::Kind::plan,
                .network_s = network_s_,
                .what = "another plan: " + *why});
    if (progress_.plan_switched) progress_.plan_switched(outcome_.plan_changes.back());
}

Plan Run::plan_of(const std::string& json) const {
    Faults faults;
    auto plan = parse_plan(parse_json(json, faults), job_.problem, faults);
    if (has_errors(faults)) throw InputError(faults);
    return plan;
}

void Run::receive(const protocol::Checkpointed& m) {
    written_.push_back(m);
    place_checkpoints();
}

/// A checkpoint counts once the record holds, on the disk, all that was before it: what goes on from it lacks
/// nothing. While the record cannot be written they wait.
void Run::place_checkpoints(bool recorded) {
    if (written_.empty() || !started_) return;
    const auto now = std::chrono::steady_clock::now();
    if (!recorded && (now < place_again_ || !recorder_.commit(outcome_.run))) {
        if (now >= place_again_) place_again_ = now + std::chrono::seconds(2);
        return;
    }
    for (const auto& one : std::exchange(written_, {})) try {
            place_checkpoint(job_.record, outcome_.run, one, job_.experiment.training.keep_checkpoints);
            log_.info(
                fmt::format("checkpoint after {} iterations: {}; the training stood still for {}, written in "
                            "{} beside it",
                            one.iterations_done, format_si(static_cast<double>(one.bytes), "B"),
                            format_seconds(one.held_s), format_seconds(one.seconds)));
            if (progress_.checkpointed) progress_.checkpointed(one);
        } catch (const InputError& error) {
            auto fault = error.faults().front();
            fault.severity = Fault::Severity::warning;
            warn(fault);
        }
}

void Run::receive(const protocol::Paused& m) {
    log_.info(m.paused ? "paused" : "resumed");
    if (progress_.paused) progress_.paused(m.paused);
}

void Run::receive(const protocol::Done& m) {
    if (!job_.origin || job_.origin->fork) begin("{}");  // stopped while the data were read
    // Extended when its last iteration was over already: it can be resumed.
    const bool too_late = !m.stopped && outcome_.info.iterations_done < iterations_;
    if (too_late) log_.info("the extension came when the training was over; `skippipe resume` goes on");
    outcome_.state = m.stopped || too_late ? RunState::stopped : RunState::finished;
    outcome_.peak_memory_bytes = m.peak_memory_bytes;
    outcome_.weights_saved = m.weights_saved;
    ended_ = true;
}

void Run::metric(int iteration, const char* name, double value, double network_s, double machine_s,
                 std::int64_t tokens) {
    recorder_.metric(outcome_.run, {0, iteration, name, value, network_s, machine_s, tokens});
}

}  // namespace skippipe
