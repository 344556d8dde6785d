// SPDX-License-Identifier: GPL-3.0-or-later
// What it costs to have a record: everything between a finished iteration and its rows in SQLite (message out of the
// worker, into the coordinator, idle time by cause, spans, metrics, commit), against the time that an iteration of the
// quick start trains here, in one run.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <string>
#include <vector>

#include <unistd.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/base/statistics.h"
#include "core/analysis/idle_mean.h"
#include "core/run/coordinator.h"
#include "core/run/messages.h"
#include "core/experiment/io.h"
#include "core/planner/timeline/evaluator.h"
#include "core/record/record.h"
#include "plugins/planners/all.h"

using namespace skippipe;

namespace {

constexpr int iterations = 40, trained = 6;
const std::string quick_start = SKIPPIPE_SOURCE_DIR "/resources/experiments/quick-start.json";

double cpu_s() {
    timespec time{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// Mean time of an iteration of `skippipe run`; 0 where it does not run.
double trained_iteration_s(const std::filesystem::path& folder) {
    const auto command = fmt::format("'{}/skippipe' run '{}' --iterations {} --planner skippipe --db '{}' --json",
                                     SKIPPIPE_BIN_DIR, quick_start, trained, (folder / "trained.sqlite").string());
    std::string last;
    if (FILE* pipe = ::popen(command.c_str(), "r")) {
        char line[1 << 16];
        while (std::fgets(line, sizeof line, pipe)) last = line;
        ::pclose(pipe);
    }
    const auto json = nlohmann::json::parse(last, nullptr, false);
    if (!json.is_object() || !json.value("tokens_per_second", nlohmann::json()).is_number()) return 0;
    Faults faults;
    const auto experiment = parse_experiment(read_file(quick_start, faults)).experiment;
    const double tokens = static_cast<double>(experiment.pipeline.microbatches) *
                          experiment.pipeline.microbatch_samples * experiment.model.sequence;
    return tokens / json["tokens_per_second"].get<double>();
}

}  // namespace

int main() {
    char pattern[] = "/tmp/skippipe-bench-XXXXXX";
    if (::mkdtemp(pattern) == nullptr) return 1;
    const std::filesystem::path folder = pattern;
    PlannerRegistry planners;
    register_planners(planners);
    Faults faults;
    const auto experiment = parse_experiment(read_file(quick_start, faults)).experiment;
    const auto problem = make_problem(experiment);
    const auto plan = planners.find("skippipe")->plan(problem, {.seed = 1});
    const auto timeline = evaluate(problem, plan);
    std::vector<double> each_s;
    IdleMean idle;
    {
        Recorder recorder(folder / "record.sqlite");
        const auto run = recorder.begin({"bench", "skippipe", to_text(experiment),
                                         to_json(plan, problem, nlohmann::ordered_json(nullptr)).dump(), "{}", "{}", 1,
                                         iterations, timeline.iteration_s});
        for (int i = 0; i < iterations; ++i) {
            const double start_s = cpu_s();
            const protocol::Message sent =
                protocol::Iterated{i,
                                   i * timeline.iteration_s,
                                   timeline.iteration_s,
                                   1.0 * i,
                                   i,
                                   {.tokens = 1, .stage_tokens = std::vector<std::int64_t>(6, 1)},
                                   timeline.spans};
            const auto received = std::get<protocol::Iterated>(protocol::decode(protocol::encode(sent)));
            recorder.spans(run, i, received.offset_s, received.spans);
            for (const char* name : {"iteration_s", "loss", "gradient_norm", "tokens_per_second"})
                recorder.metric(run, {0, i, name, 1.0, received.offset_s, received.machine_s, received.tokens});
            idle.add(i, received.iteration_s, idle_shares(problem, plan, received.spans, received.iteration_s));
            recorder.iteration_done(run, i + 1, received.machine_s);
            recorder.flush();
            each_s.push_back(cpu_s() - start_s);
        }
        recorder.finish(run, RunState::finished, {}, "{}");
    }
    const double trains_s = trained_iteration_s(folder), records_s = median(each_s);
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);
    const nlohmann::ordered_json line{
        {"name", fmt::format("recording an iteration of {} spans", timeline.spans.size())},
        {"value", 1e3 * records_s},
        {"unit", "ms of one core"},
        {"baseline", trains_s > 0 ? "training it on all cores, ms" : "skippipe run does not work here"},
        {"baseline_value", 1e3 * trains_s},
        {"ratio", trains_s > 0 ? records_s / trains_s : 0},
        {"threads", 1},
        {"ceiling", "goal 0.01; a commit each iteration, the run commits four times a second"},
        {"repeat", iterations}};
    std::puts(line.dump().c_str());
}
