// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/analysis/sweep_results.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "core/analysis/frozen_run.h"
#include "core/analysis/pareto.h"
#include "core/analysis/price.h"
#include "core/base/statistics.h"
#include "core/experiment/counts.h"
#include "core/experiment/io.h"
#include "core/planner/timeline/evaluator.h"

namespace skippipe {
namespace {

/// Which points train as an experiment does, without comparing it with each of them.
class PointIndex {
public:
    explicit PointIndex(const std::vector<SweepPoint>& points) : points_(points) {
        for (const auto& point : points) begun_.insert({point.experiment.seed, point.experiment.training.iterations});
    }
    /// A run that was begun so might be a point's: what is cheap to compare.
    bool may_have(const RunInfo& run) const { return begun_.contains({run.seed, run.iterations}); }
    /// `skipped_nothing`: as its plan visits all stages, it is what no skip ratio trains, too.
    std::vector<std::size_t> alike(Experiment experiment, bool skipped_nothing) {
        if (by_hash_.empty())
            for (std::size_t i = 0; i < points_.size(); ++i) by_hash_.emplace(training_hash(points_[i].experiment), i);
        std::vector<std::size_t> found;
        const auto& pipeline = experiment.pipeline;
        if (!skipped_nothing || path_length(pipeline.stages, pipeline.skip_ratio) == pipeline.stages)
            add_alike(experiment, found);
        if (skipped_nothing && std::exchange(experiment.pipeline.skip_ratio, 0) != 0) add_alike(experiment, found);
        return found;
    }

private:
    void add_alike(const Experiment& experiment, std::vector<std::size_t>& found) const {
        const auto [begin, end] = by_hash_.equal_range(training_hash(experiment));
        for (auto it = begin; it != end; ++it)
            if (trains_alike(experiment, points_[it->second].experiment)) found.push_back(it->second);
    }
    const std::vector<SweepPoint>& points_;
    std::set<std::pair<std::uint64_t, int>> begun_;
    std::multimap<std::size_t, std::size_t> by_hash_;
};

double share_of(const RunInfo& run) {
    return run.iterations > 0 ? static_cast<double>(run.iterations_done) / run.iterations : 0;
}

/// Of the run's own iterations, as its first plan says.
std::optional<double> money_of(Reader& reader, const RunInfo& run, const Experiment& experiment) {
    if (!has_prices(experiment)) return std::nullopt;
    try {
        const auto frozen = read_frozen(reader, run.id);
        const auto timeline = evaluate(frozen.problem, frozen.plan);
        if (!timeline.complete) return std::nullopt;
        return (run.iterations_done - run.first_iteration) *
               price_of(frozen.experiment, frozen.problem, frozen.plan, timeline).total();
    } catch (const InputError&) {
        return std::nullopt;  // a plan of another version
    }
}

/// Another network than the document's: what fell out by hand or by itself made it slower.
bool has_lost_others(Reader& reader, const RunInfo& run, const Experiment& experiment) {
    if (!experiment.failures.empty()) return false;
    const auto events = reader.events(run.id);
    return std::any_of(events.begin(), events.end(),
                       [](const RunEvent& event) { return event.kind == RunEvent::Kind::lost; });
}

}  // namespace

std::set<std::string> full_pipelines(const PlannerRegistry& planners) {
    std::set<std::string> names;
    for (const auto& planner : planners.all())
        if (planner->full_pipeline()) names.insert(planner->name());
    return names;
}

std::vector<SweepState> find_points(Reader& reader, const std::vector<SweepPoint>& points) {
    std::vector<SweepState> states(points.size());
    PointIndex index(points);
    for (const auto& run : reader.runs()) {  // newest first
        // A fork has trained otherwise until it began.
        if (run.first_iteration > 0 || !index.may_have(run)) continue;
        const auto frozen = parse_experiment(reader.experiment_json(run.id));
        if (has_errors(frozen.faults)) continue;
        const auto alike = index.alike(frozen.experiment, run.skip_ratio == 0);
        if (alike.empty() || has_lost_others(reader, run, frozen.experiment)) continue;
        for (const std::size_t i : alike) {
            // By another plan: `run --plan`.
            if (states[i].done || run.planner != points[i].experiment.pipeline.planner) continue;
            if (run.state == RunState::finished) states[i] = {.run = run.id, .done = true, .share = 1};
            if (states[i].run != 0) continue;  // a newer one was interrupted, and goes on
            states[i] = {.run = run.id,
                         .taken = run.state == RunState::running,
                         .resumes = run.checkpoint > 0,
                         .share = share_of(run)};
        }
    }
    return states;
}

std::vector<std::string> sweep_fields(const std::vector<SweepPoint>& points) {
    std::vector<std::string> fields;
    if (points.empty()) return fields;
    for (const auto& [field, value] : points.front().settings)
        if (field != "seed") fields.push_back(field);
    return fields;
}

std::string setting_text(const nlohmann::ordered_json& value) {
    return value.is_string() ? value.get<std::string>() : value.dump();
}

namespace {

/// `add` is told each point's place and row.
template <class Add>
std::vector<SweepRow> rows_of(const std::vector<SweepPoint>& points, const Add& add) {
    std::vector<SweepRow> rows;
    std::map<std::string, std::size_t> place;
    for (std::size_t i = 0; i < points.size(); ++i) {
        auto settings = nlohmann::ordered_json::array();
        for (const auto& [field, value] : points[i].settings)
            if (field != "seed") settings.push_back(value);
        const auto [found, is_new] = place.try_emplace(settings.dump(), rows.size());
        if (is_new)
            rows.push_back(
                {.settings = {settings.begin(), settings.end()}, .is_full_pipeline = points[i].is_full_pipeline});
        ++rows[found->second].points;
        add(i, rows[found->second]);
    }
    return rows;
}

}  // namespace

std::vector<SweepRow> rows_to_come(const std::vector<SweepPoint>& points) {
    return rows_of(points, [](std::size_t, SweepRow&) {});
}

std::vector<SweepRow> sweep_rows(Reader& reader, const std::vector<SweepPoint>& points,
                                 const std::vector<SweepState>& states) {
    return rows_of(points, [&](std::size_t i, SweepRow& row) {
        if (states[i].taken) row.taken.push_back(states[i].run);
        const auto run = states[i].done ? reader.run(states[i].run) : std::nullopt;
        if (!run) return;
        ++row.done;
        row.runs.push_back(run->id);
        row.machine_s.push_back(run->machine_s);
        if (run->iteration_s) row.iteration_s.push_back(*run->iteration_s);
        if (run->last_validation_loss) row.losses.push_back(*run->last_validation_loss);
        if (const auto money = money_of(reader, *run, points[i].experiment)) row.money.push_back(*money);
    });
}

std::optional<double> mean_or_none(const std::vector<double>& values) {
    return values.empty() ? std::nullopt : std::optional{mean(values)};
}

std::vector<bool> sweep_front(const std::vector<SweepRow>& rows) {
    const bool has_money = std::any_of(rows.begin(), rows.end(), [](const auto& row) { return !row.money.empty(); });
    std::vector<std::vector<std::optional<double>>> figures;
    for (const auto& row : rows) {
        figures.push_back({mean_or_none(row.iteration_s), mean_or_none(row.losses)});
        if (has_money) figures.back().push_back(mean_or_none(row.money));
    }
    return pareto_front(figures);
}

}  // namespace skippipe
