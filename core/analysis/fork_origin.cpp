// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/analysis/fork_origin.h"

#include <algorithm>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "core/base/fault.h"
#include "core/record/fork_origin.h"

namespace skippipe {
namespace {

using Json = nlohmann::ordered_json;

/// The number holds in the record that the fork was trained into; where runs were imported, when it was begun tells it.
std::optional<RunInfo> find_parent(Reader& reader, RunId fork, const Json& origin) {
    const RunId id = origin.value("run", RunId{0});
    const auto began = origin.value("started_utc", std::string{});
    if (const auto run = id != fork ? reader.run(id) : std::nullopt;
        run && (began.empty() ? id < fork : run->started_utc == began))
        return run;
    if (began.empty()) return std::nullopt;
    auto runs = reader.runs();
    const auto found =
        std::find_if(runs.begin(), runs.end(), [&](const RunInfo& run) { return run.started_utc == began; });
    return found == runs.end() ? std::nullopt : std::optional{std::move(*found)};
}

/// Of each of a chain of forks; a record that says that a run began in itself is not followed for ever.
std::optional<WorkBefore> work_before(Reader& reader, RunId run, int most_forks) {
    const auto origin = fork_origin(reader, run);
    if (!origin) return std::nullopt;
    WorkBefore before{.iterations = origin->iterations, .machine_s = origin->machine_s};
    if (!origin->parent || most_forks == 0) return before;
    try {
        const auto frozen = read_frozen(reader, origin->parent->id);
        const auto one = account_plan(frozen.experiment, frozen.problem, frozen.plan);
        const auto earlier = work_before(reader, origin->parent->id, most_forks - 1);
        if (!one || (earlier && !earlier->is_known)) return before;
        const double times = origin->iterations - (earlier ? earlier->iterations : 0);
        before.is_known = true;
        before.microbatches = times * static_cast<double>(one->microbatches) + (earlier ? earlier->microbatches : 0);
        before.bytes = times * one->bytes() + (earlier ? earlier->bytes : 0);
        before.block_flops = times * one->block_flops() + (earlier ? earlier->block_flops : 0);
        if (one->money && (!earlier || earlier->money))
            before.money = times * *one->money + (earlier ? *earlier->money : 0);
    } catch (const InputError&) {
        // of a version that this program cannot turn into numbers
    }
    return before;
}

}  // namespace

std::optional<ForkOrigin> fork_origin(Reader& reader, RunId run) {
    const auto versions = Json::parse(reader.versions_json(run), nullptr, false);
    const auto origin = versions.is_object() ? versions.value(fork_origin_key, Json{}) : Json{};
    const auto info = reader.run(run);
    if (!origin.is_object()) {
        if (!info || info->first_iteration == 0) return std::nullopt;
        return ForkOrigin{.iterations = info->first_iteration};  // from before forks said where they began
    }
    const int first = info ? info->first_iteration : 0;
    return ForkOrigin{origin.value("iterations", first), origin.value("machine_s", 0.0),
                      find_parent(reader, run, origin)};
}

std::optional<Accounting> account_recorded(Reader& reader, RunId run, const Experiment& experiment,
                                           const Problem& problem, const Plan& plan) {
    constexpr int most_forks = 100;
    auto one = account_plan(experiment, problem, plan);
    if (one) one->before = work_before(reader, run, most_forks);
    return one;
}

}  // namespace skippipe
