// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/run/messages.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/base/format.h"
#include "core/run/span_text.h"

namespace skippipe::protocol {

using nlohmann::json;

namespace {

json write(const Fault& f) { return {{"pointer", f.pointer}, {"what", f.what}, {"why", f.why}, {"remedy", f.remedy}}; }

Fault read_fault(const json& f) { return {f.at("pointer"), f.at("what"), f.at("why"), f.at("remedy")}; }

json write(const Faults& faults) {
    json list = json::array();
    for (const auto& f : faults) list.push_back(write(f));
    return list;
}

Faults read_faults(const json& v) {
    Faults faults;
    for (const auto& f : v) faults.push_back(read_fault(f));
    return faults;
}

struct Writer {
    json operator()(const Listening& m) const { return {{"type", "listening"}, {"port", m.port}}; }
    json operator()(const Preparing& m) const { return {{"type", "preparing"}, {"what", m.what}, {"share", m.share}}; }
    json operator()(const Hello& m) const {
        json machines = json::array();
        for (const auto& machine : m.machines)
            machines.push_back({machine.host, machine.cores, machine.workers, machine.gpus});
        return {{"type", "hello"},
                {"build", m.build},
                {"versions", m.versions_json},
                {"blas_gflops", m.blas_gflops},
                {"data", m.data},
                {"machines", std::move(machines)}};
    }
    json operator()(const Validated& m) const {
        return {{"type", "validated"},
                {"iterations_done", m.iterations_done},
                {"network_s", m.network_s},
                {"machine_s", m.machine_s},
                {"tokens", m.tokens},
                {"loss", m.result.loss_nats},
                {"bits_per_byte", m.result.bits_per_byte}};
    }
    json operator()(const Iterated& m) const {
        return {{"type", "iterated"},
                {"iteration", m.iteration},
                {"offset_s", m.offset_s},
                {"iteration_s", m.iteration_s},
                {"machine_s", m.machine_s},
                {"tokens", m.tokens},
                {"loss_sum", m.result.loss_sum_nats},
                {"loss_tokens", m.result.tokens},
                {"gradient_norm", m.result.gradient_norm},
                {"stage_tokens", m.result.stage_tokens},
                {"devices", to_json_text(m.devices)}};
    }
    json operator()(const Recovered& m) const {
        const auto& r = m.report;
        return {{"type", "recovered"},
                {"iteration", m.iteration},
                {"offset_s", m.offset_s},
                {"nodes", r.nodes},
                {"lost_s", r.lost_s},
                {"detected_s", r.detected_s},
                {"redone_forwards", r.redone_forwards},
                {"redone_backwards", r.redone_backwards},
                {"lost_gradients", r.lost_gradients},
                {"dropped", r.dropped},
                {"lost_work_s", r.lost_work_s},
                {"replanning_s", r.replanning_s},
                {"changes", r.changes},
                {"abandoned", write(r.abandoned)},
                {"links", r.links}};
    }
    json operator()(const Rejoined& m) const {
        return {{"type", "rejoined"},
                {"iteration", m.iteration},
                {"at_s", m.at_s},
                {"nodes", m.report.nodes},
                {"refetching_s", m.report.refetching_s}};
    }
    json operator()(const Regrouped& m) const {
        const auto& r = m.report;
        return {{"type", "regrouped"},
                {"iterations_done", r.iterations_done},
                {"lost", r.lost},
                {"joined", r.joined},
                {"nodes_lost", r.nodes_lost},
                {"nodes_joined", r.nodes_joined},
                {"how", r.how},
                {"lost_work_s", r.lost_work_s},
                {"detection_s", r.detection_s},
                {"quiet_s", r.quiet_s},
                {"meeting_s", r.meeting_s},
                {"planning_s", r.planning_s},
                {"connecting_s", r.connecting_s},
                {"fetching_s", r.fetching_s},
                {"goes_on", r.goes_on},
                {"redone_forwards", r.redone_forwards},
                {"redone_backwards", r.redone_backwards},
                {"lost_gradients", r.lost_gradients},
                {"dropped", r.dropped},
                {"plan", r.plan_json},
                {"waits_for", r.waits_for},
                {"waits_s", r.waits_s},
                {"rebuilt", r.rebuilt},
                {"from_neighbours", r.from_neighbours},
                {"passed_over", r.passed_over}};
    }
    json operator()(const WentBack& m) const {
        const auto& at = m.position;
        return {{"type", "went back"},       {"done", at.iterations_done}, {"validated", at.validated},
                {"network_s", at.network_s}, {"machine_s", at.machine_s},  {"tokens", at.tokens},
                {"lost", m.lost_iterations}, {"lost_s", m.lost_s},         {"why", m.why}};
    }
    json operator()(const PlanSwitched& m) const {
        return {{"type", "plan switched"}, {"iteration", m.iteration}, {"plan", m.plan_json}, {"why", m.why}};
    }
    json operator()(const SpeedsChanged& m) const {
        return {{"type", "speeds changed"}, {"iteration", m.iteration}, {"at_s", m.at_s}, {"what", m.what}};
    }
    json operator()(const Paused& m) const { return {{"type", "paused"}, {"paused", m.paused}}; }
    json operator()(const Checkpointed& m) const {
        return {{"type", "checkpointed"}, {"iterations_done", m.iterations_done},
                {"folder", m.folder},     {"bytes", m.bytes},
                {"held_s", m.held_s},     {"seconds", m.seconds}};
    }
    json operator()(const Warned& m) const { return {{"type", "warned"}, {"fault", write(m.fault)}}; }
    json operator()(const Heartbeat&) const { return {{"type", "heartbeat"}}; }
    json operator()(const Probed& m) const { return {{"type", "probed"}, {"ranks", m.ranks}}; }
    json operator()(const Evaluated& m) const {
        return {{"type", "evaluated"},
                {"losses", m.loss_nats},
                {"tokens", m.tokens},
                {"bytes_per_token", m.bytes_per_token},
                {"data", m.data}};
    }
    json operator()(const Done& m) const {
        return {{"type", "done"},
                {"stopped", m.stopped},
                {"peak_memory_bytes", m.peak_memory_bytes},
                {"weights_saved", m.weights_saved}};
    }
    json operator()(const Failed& m) const { return {{"type", "failed"}, {"faults", write(m.faults)}}; }
};

/// A number of things, or which of them: whatever is added to it stays a number.
int count(const json& v) {
    constexpr std::int64_t most = 1'000'000'000;
    if (const auto value = v.get<std::int64_t>(); v.is_number_integer() && value >= 0 && value <= most)
        return static_cast<int>(value);
    throw std::out_of_range("counts " + v.dump());
}

/// JSON has no NaN: it is written as null.
double number_or_none(const json& v) {
    return v.is_null() ? std::numeric_limits<double>::quiet_NaN() : v.get<double>();
}

Message read(const json& v) {
    const auto type = v.at("type").get<std::string>();
    if (type == "listening") return Listening{v.at("port")};
    if (type == "preparing") return Preparing{v.at("what"), v.at("share")};
    if (type == "hello") {
        Hello m{v.at("build"), v.at("versions"), v.at("blas_gflops"), v.at("data"), {}};
        for (const auto& machine : v.at("machines"))
            m.machines.push_back({machine.at(0), machine.at(1), machine.at(2), machine.at(3)});
        return m;
    }
    if (type == "validated")
        return Validated{count(v.at("iterations_done")),
                         v.at("network_s"),
                         v.at("machine_s"),
                         v.at("tokens"),
                         {number_or_none(v.at("loss")), number_or_none(v.at("bits_per_byte"))}};
    if (type == "iterated") {
        Iterated m{count(v.at("iteration")),
                   v.at("offset_s"),
                   v.at("iteration_s"),
                   v.at("machine_s"),
                   v.at("tokens"),
                   {v.at("loss_sum"), v.at("loss_tokens"), v.at("gradient_norm"),
                    v.at("stage_tokens").get<std::vector<std::int64_t>>()},
                   {},
                   {}};
        m.devices = read_device_report(v.at("devices").get_ref<const std::string&>());
        return m;
    }
    if (type == "recovered")
        return Recovered{
            count(v.at("iteration")),
            v.at("offset_s"),
            {v.at("nodes").get<std::vector<int>>(), v.at("lost_s"), v.at("detected_s"), count(v.at("redone_forwards")),
             count(v.at("redone_backwards")), count(v.at("lost_gradients")), count(v.at("dropped")),
             v.at("lost_work_s"), v.at("replanning_s"), v.at("changes").get<std::vector<std::string>>(),
             read_faults(v.at("abandoned")), v.at("links").get<std::vector<std::string>>()}};
    if (type == "rejoined")
        return Rejoined{
            count(v.at("iteration")), v.at("at_s"), {v.at("nodes").get<std::vector<int>>(), v.at("refetching_s")}};
    if (type == "went back")
        return WentBack{
            {count(v.at("done")), v.at("validated"), v.at("network_s"), v.at("machine_s"), v.at("tokens"), {}},
            count(v.at("lost")),
            v.at("lost_s"),
            v.at("why")};
    if (type == "plan switched") return PlanSwitched{count(v.at("iteration")), v.at("plan"), v.at("why")};
    if (type == "speeds changed") return SpeedsChanged{count(v.at("iteration")), v.at("at_s"), v.at("what")};
    if (type == "regrouped")
        return Regrouped{{count(v.at("iterations_done")),
                          v.at("lost"),
                          v.at("joined"),
                          v.at("nodes_lost"),
                          v.at("nodes_joined"),
                          v.at("how"),
                          v.at("lost_work_s"),
                          v.at("detection_s"),
                          v.at("quiet_s"),
                          v.at("meeting_s"),
                          v.at("planning_s"),
                          v.at("connecting_s"),
                          v.at("fetching_s"),
                          v.at("goes_on"),
                          count(v.at("redone_forwards")),
                          count(v.at("redone_backwards")),
                          v.at("lost_gradients"),
                          count(v.at("dropped")),
                          v.at("plan"),
                          v.at("waits_for"),
                          v.at("waits_s"),
                          v.at("rebuilt"),
                          v.at("from_neighbours"),
                          v.at("passed_over")}};
    if (type == "paused") return Paused{v.at("paused")};
    if (type == "checkpointed")
        return Checkpointed{count(v.at("iterations_done")), v.at("folder"), v.at("bytes"), v.at("held_s"),
                            v.at("seconds")};
    if (type == "warned") {
        Warned m{read_fault(v.at("fault"))};
        m.fault.severity = Fault::Severity::warning;
        return m;
    }
    if (type == "heartbeat") return Heartbeat{};
    if (type == "probed") return Probed{v.at("ranks").get<std::vector<std::string>>()};
    if (type == "evaluated") {
        Evaluated m{{}, v.at("tokens"), v.at("bytes_per_token"), v.at("data")};
        for (const auto& loss : v.at("losses")) m.loss_nats.push_back(number_or_none(loss));
        return m;
    }
    if (type == "done") return Done{v.at("stopped"), v.at("peak_memory_bytes"), v.at("weights_saved")};
    if (type == "failed") return Failed{read_faults(v.at("faults"))};
    throw std::out_of_range("unknown type " + type);
}

template <class Read>
auto guarded(const std::string& line, Read read) {
    try {
        return read();
    } catch (const std::exception& error) {
        throw InputError("worker", std::string("unreadable message: ") + error.what(),
                         "coordinator and worker must be of one build",
                         "Rebuild both, or report what was printed: " + line.substr(0, 120));
    }
}

constexpr char before_spans = '\t';  ///< never within JSON, where it is written as an escape

}  // namespace

namespace {
struct CommandWriter {
    json operator()(const Stop&) const { return {{"command", "stop"}}; }
    json operator()(const Pause&) const { return {{"command", "pause"}}; }
    json operator()(const Resume&) const { return {{"command", "resume"}}; }
    json operator()(const SwitchPlan& c) const { return {{"command", "switch plan"}, {"plan", c.plan_json}}; }
    json operator()(const FailNode& c) const {
        return {{"command", "fail node"},
                {"node", c.node},
                {"back_after_s", std::isfinite(c.back_after_s) ? json(c.back_after_s) : json(nullptr)}};
    }
    json operator()(const Extend& c) const { return {{"command", "extend"}, {"iterations", c.iterations}}; }
    json operator()(const EndRank& c) const { return {{"command", "end rank"}, {"rank", c.rank}}; }
};

Command read_command(const json& v) {
    const auto kind = v.at("command").get<std::string>();
    if (kind == "stop") return Stop{};
    if (kind == "pause") return Pause{};
    if (kind == "resume") return Resume{};
    if (kind == "switch plan") return SwitchPlan{v.at("plan")};
    if (kind == "fail node") {
        FailNode command{v.at("node")};
        if (!v.at("back_after_s").is_null()) command.back_after_s = v.at("back_after_s");
        return command;
    }
    if (kind == "extend") return Extend{count(v.at("iterations"))};
    if (kind == "end rank") return EndRank{v.at("rank")};
    throw std::out_of_range("unknown command " + kind);
}
}  // namespace

std::string encode(const Command& command) { return std::visit(CommandWriter{}, command).dump(); }
Command decode_command(const std::string& line) {
    return guarded(line, [&] { return read_command(json::parse(line)); });
}

std::string encode(const Job& job) {
    return json{{"experiment", job.experiment_json},
                {"plan", job.plan_json},
                {"base_dir", job.base_dir},
                {"threads", job.threads},
                {"probe", job.probe},
                {"save_weights", job.save_weights},
                {"checkpoints", job.checkpoints},
                {"start_from", job.start_from},
                {"new_run", job.new_run},
                {"residuals", job.residuals},
                {"calibrate", job.calibrate},
                {"ignore_memory", job.ignore_memory},
                {"omitted", job.omitted}}
        .dump();
}

Job decode_job(const std::string& line) {
    return guarded(line, [&] {
        const json v = json::parse(line);
        return Job{v.at("experiment"),
                   v.at("plan"),
                   v.at("base_dir"),
                   v.at("threads"),
                   v.at("probe"),
                   v.at("save_weights"),
                   v.at("checkpoints"),
                   v.at("start_from"),
                   v.at("new_run"),
                   v.at("residuals"),
                   v.at("calibrate"),
                   v.at("ignore_memory"),
                   v.at("omitted").get<std::vector<std::vector<int>>>()};
    });
}

// Text from outside (paths, messages of the system) may not be UTF-8: it is shown with replacement characters.
std::string describe(const WentBack& m) {
    return fmt::format(
        "{}: back to the checkpoint after {} iterations; {} iterations are done again, {} of network time lost", m.why,
        m.position.iterations_done, m.lost_iterations, format_seconds(m.lost_s));
}

std::string encode(const Message& message) {
    auto line = std::visit(Writer{}, message).dump(-1, ' ', false, json::error_handler_t::replace);
    if (const auto* iterated = std::get_if<Iterated>(&message)) line += before_spans + to_text(iterated->spans);
    return line;
}

Message decode(const std::string& line) {
    return guarded(line, [&] {
        const auto json_end = std::min(line.find(before_spans), line.size());
        Message message = read(json::parse(std::string_view(line).substr(0, json_end)));
        if (json_end < line.size())
            std::get<Iterated>(message).spans = read_spans(std::string_view(line).substr(json_end + 1));
        return message;
    });
}

}  // namespace skippipe::protocol
