// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/runs/run_loader.h"

#include <algorithm>
#include <iterator>
#include <limits>

#include "core/analysis/fork_origin.h"
#include "core/experiment/io.h"
#include "core/planner/plan/validator.h"
#include "core/planner/timeline/evaluator.h"

namespace skippipe {
namespace {

constexpr std::int64_t rows_a_poll = 60'000;  ///< more than a chunk, so that a first look shows the end
constexpr std::int64_t chunk_rows = 40'000;
constexpr std::int64_t whole_run_rows = 160'000;  ///< up to this a run is read as a whole

/// The spans of one iteration as planned; null where the plan does not come to its end.
std::shared_ptr<const TimelineData> planned_lanes(const Problem& problem, const Plan& plan) {
    if (plan.stages.empty() || !check_structure(problem, plan).empty()) return nullptr;
    const Timeline timeline = evaluate(problem, plan);
    if (!timeline.complete) return nullptr;
    auto lanes = std::make_shared<TimelineData>();
    lanes->set_lanes(problem.node_ids);
    for (std::size_t i = 0; i < timeline.spans.size(); ++i)
        lanes->add(timeline.spans[i], 0, 0, static_cast<std::int64_t>(i));
    lanes->finish();
    return lanes;
}

/// Of iterations that came to their end.
std::vector<GpuUse> gpu_use_of(const std::vector<RecordedDevices>& readings,
                               const std::vector<IterationTime>& iterations) {
    std::vector<GpuUse> all;
    auto time = iterations.begin();
    for (const auto& reading : readings) {
        while (time != iterations.end() && time->iteration < reading.iteration) ++time;
        if (time == iterations.end()) break;
        if (time->iteration != reading.iteration) continue;
        GpuUse use{time->begin_s(), time->end_s, {}};
        for (const auto& device : reading.devices)
            if (device.gpu.busy >= 0) use.busy.emplace_back(device.nodes, static_cast<float>(device.gpu.busy));
        if (!use.busy.empty()) all.push_back(std::move(use));
    }
    return all;
}

}  // namespace

RunLoader::RunLoader(Reader& reader, RunId id) {
    if (const auto info = reader.run(id)) data_.info = *info;
    data_.info.id = id;
    Faults faults;
    data_.experiment = parse_experiment(parse_json(reader.experiment_json(id), faults)).experiment;
    try {
        data_.problem = make_problem(data_.experiment);
        data_.plan = parse_plan(parse_json(reader.plan_json(id), faults), *data_.problem, faults);
        if (check_structure(*data_.problem, data_.plan).empty())
            data_.rings =
                std::make_shared<const std::vector<StageReduction>>(reductions_of(*data_.problem, data_.plan));
        data_.planned[0] = planned_lanes(*data_.problem, data_.plan);
        data_.iteration = account_recorded(reader, id, data_.experiment, *data_.problem, data_.plan);
    } catch (const InputError&) {
        // An experiment that this program cannot turn into numbers still has metrics to show.
        data_.problem.reset();
    }
}

bool RunLoader::poll(Reader& reader, const RunInfo& info, bool& more) {
    const auto metrics = data_.metrics.size(), devices = data_.devices.size(), events = data_.events.size();
    const bool looked_before = found_ || metrics > 0;
    data_.info = info;
    take_plan_changes(reader);
    if (take_metrics(reader) && looked_before) {
        *this = RunLoader(reader, info.id);
        poll(reader, info, more);
        return true;
    }
    take_devices(reader);
    auto more_events = reader.events(data_.info.id, data_.events.empty() ? 0 : data_.events.back().row);
    std::move(more_events.begin(), more_events.end(), std::back_inserter(data_.events));
    find_chunks(reader);
    data_.kept_iterations = data_.experiment.execution.keep_spans == KeepSpans::all ? info.iterations_done
                                                                                    : reader.kept_iterations(info.id);
    auto evaluation = reader.evaluation(data_.info.id);
    bool added = data_.metrics.size() != metrics || data_.devices.size() != devices || data_.events.size() != events ||
                 evaluation != data_.evaluation;
    data_.evaluation = std::move(evaluation);
    more = false;
    // The newest first: what is in sight comes at once. Older ones one a call.
    for (std::size_t i = chunks_.size(); i-- > 0 && !more;) {
        if (chunks_[i].part || !(chunks_[i].wanted || is_last(i))) continue;
        added = read(reader, i, more) || added;
        more = more || !is_last(i);
    }
    return added;
}

/// Whether the training went back to a checkpoint since the last look: what was read of iterations that are done anew
/// has left the record.
bool RunLoader::take_metrics(Reader& reader) {
    bool went_back = false;
    for (auto& metric : reader.metrics(data_.info.id, last_metric_)) {
        last_metric_ = std::max(last_metric_, metric.row);
        data_.network_s = std::max(data_.network_s, metric.network_s);
        if (metric.name == "iteration_s") ends_s_[metric.iteration] = metric.network_s;
        went_back = went_back || metric.name == "lost_iterations";
        data_.metrics.push_back(std::move(metric));
    }
    return went_back;
}

void RunLoader::take_devices(Reader& reader) {
    auto& devices = data_.devices;
    auto more = reader.devices(data_.info.id, devices.empty() ? 0 : devices.back().iteration + 1);
    std::move(more.begin(), more.end(), std::back_inserter(devices));
}

/// Cuts what was recorded since the last call into chunks of whole iterations.
void RunLoader::find_chunks(Reader& reader) {
    const auto found = reader.iteration_rows(data_.info.id, last_.empty() ? 0 : last_.front().iteration);
    for (const auto& rows : found) {
        const bool grown = !last_.empty() && rows.iteration == last_.front().iteration;
        if (!grown && (chunks_.empty() || chunks_.back().rows >= chunk_rows)) {
            chunks_.emplace_back();
            chunks_.back().first_iteration = rows.iteration;
            chunks_.back().first_row = chunks_.back().next_row = rows.first_row;
            chunks_.back().wanted = found_;  // it comes while somebody watches
        }
        chunks_.back().rows += rows.last_row - (grown ? last_.front().last_row : rows.first_row - 1);
        last_ = {rows};
    }
    if (found_ || chunks_.empty()) return;
    found_ = true;
    std::int64_t all = 0;
    for (const auto& chunk : chunks_) all += chunk.rows;
    for (std::size_t i = 0; i < chunks_.size(); ++i)
        chunks_[i].wanted = all <= whole_run_rows || i + 2 >= chunks_.size();
}

std::pair<double, double> RunLoader::time_of(std::size_t index) const {
    const auto end_of = [&](int iteration, double otherwise) {
        const auto found = ends_s_.find(iteration);
        return found == ends_s_.end() ? otherwise : found->second;
    };
    constexpr double ever = std::numeric_limits<double>::infinity();
    return {end_of(chunks_[index].first_iteration - 1, 0),
            is_last(index) ? ever : end_of(chunks_[index + 1].first_iteration - 1, ever)};
}

bool RunLoader::want(double begin_s, double end_s) {
    bool any = false;
    for (std::size_t i = 0; i < chunks_.size(); ++i) {
        const auto [begin, end] = time_of(i);
        if (chunks_[i].wanted || chunks_[i].part || begin >= end_s || end <= begin_s) continue;
        chunks_[i].wanted = any = true;
    }
    return any;
}

bool RunLoader::read(Reader& reader, std::size_t index, bool& more) {
    Chunk& chunk = chunks_[index];
    const bool closed = !is_last(index);
    const std::int64_t end = closed ? chunks_[index + 1].first_row : std::numeric_limits<std::int64_t>::max();
    if (!chunk.growing) chunk.growing.emplace(data_);
    const auto rows = reader.spans(data_.info.id, -1, chunk.next_row - 1, std::min(rows_a_poll, end - chunk.next_row));
    for (const auto& row : rows) {
        if (row.row >= end) break;
        chunk.next_row = row.row + 1;
        chunk.growing->add(row);
    }
    more = static_cast<std::int64_t>(rows.size()) == rows_a_poll && chunk.next_row < end;
    const bool read_all = !more;
    if (data_.problem && read_all) {
        const bool over = data_.info.state != RunState::running;
        // An iteration is explained once it is whole: a later one has begun, or it was told as done.
        const int whole = closed || over ? std::numeric_limits<int>::max()
                                         : std::max(last_.front().iteration, data_.info.iterations_done);
        chunk.growing->explain(*data_.problem, whole,
                               [this](int iteration) -> const Plan& { return plan_at(iteration); });
    }
    data_.network_s = std::max(data_.network_s, chunk.growing->end_s());
    chunk.growing->finish();
    if (closed && read_all) {
        chunk.idle = chunk.growing->idle();
        chunk.part = std::make_shared<const TimelineData>(chunk.growing->lanes());
        chunk.growing.reset();
    }
    return !rows.empty() || closed;
}

std::shared_ptr<const RunData> RunLoader::snapshot() const {
    auto data = std::make_shared<RunData>(data_);
    IdleSums idle;
    if (data_.problem) idle.node_idle_s.resize(data_.problem->node_ids.size());
    if (data_.problem) idle.node_busy_s.resize(data_.problem->node_ids.size());
    std::vector<std::shared_ptr<const TimelineData>> parts;
    auto lanes = std::make_shared<TimelineData>(
        !chunks_.empty() && chunks_.back().growing ? chunks_.back().growing->lanes() : RunStretch(data_).lanes());
    for (std::size_t i = 0; i < chunks_.size(); ++i) {
        idle.add(chunks_[i].growing ? chunks_[i].growing->idle() : chunks_[i].idle);
        if (chunks_[i].part)
            parts.push_back(chunks_[i].part);
        else if (!is_last(i) && !chunks_[i].wanted)
            data->unread.push_back(time_of(i));
    }
    lanes->set_parts(std::move(parts));
    lanes->set_losses(losses_of(data_.metrics));
    lanes->set_lost_times(lost_times_of(data_.metrics));
    lanes->set_refetches(refetches_of(data_.metrics));
    std::vector<IterationTime> iterations;
    for (const auto& [_, time] : iteration_times(data_.metrics)) iterations.push_back(time);
    lanes->set_events(data_.events);
    lanes->set_later_plans(later_plans(iterations));
    lanes->set_gpu_use(gpu_use_of(data_.devices, iterations));
    lanes->set_iterations(std::move(iterations));
    data->lanes = std::move(lanes);
    data->explained_iterations = idle.iterations;
    data->idle_share = idle.shares();
    data->idle_of_iteration = std::move(idle.of_iteration);
    data->node_idle_s = std::move(idle.node_idle_s);
    data->node_busy_s = std::move(idle.node_busy_s);
    return data;
}

void RunLoader::take_plan_changes(Reader& reader) {
    auto changes = reader.plan_changes(data_.info.id);
    for (std::size_t i = data_.plan_changes.size(); i < changes.size() && data_.problem; ++i) {
        Faults faults;
        auto plan = parse_plan(parse_json(reader.plan_json(data_.info.id, changes[i].iteration), faults),
                               *data_.problem, faults);
        if (has_errors(faults)) continue;
        data_.planned[changes[i].iteration] = planned_lanes(*data_.problem, plan);
        data_.later_plans[changes[i].iteration] = std::move(plan);
    }
    data_.plan_changes = std::move(changes);
}

std::vector<PlanInForce> RunLoader::later_plans(const std::vector<IterationTime>& iterations) const {
    std::vector<PlanInForce> plans;
    for (const auto& [iteration, plan] : data_.later_plans) {
        // Its first iteration may be under way still: then it began at the end of those before.
        const auto after =
            std::upper_bound(iterations.begin(), iterations.end(), iteration,
                             [](int number, const IterationTime& one) { return number < one.iteration; });
        if (after == iterations.begin()) continue;  // none ended yet
        const auto& last = *std::prev(after);
        const auto stages = stage_of_nodes(plan, data_.problem->nodes());
        plans.push_back({last.iteration == iteration ? last.begin_s() : last.end_s, {stages.begin(), stages.end()}});
    }
    return plans;
}

const Plan& RunLoader::plan_at(int iteration) const {
    const auto after = data_.later_plans.upper_bound(iteration);
    return after == data_.later_plans.begin() ? data_.plan : std::prev(after)->second;
}

}  // namespace skippipe
