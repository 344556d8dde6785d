// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/engine/wall_trainer.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <stdexcept>

#include <fmt/format.h>

#include "core/experiment/io.h"

namespace skippipe {

namespace {

std::size_t at(int index) { return static_cast<std::size_t>(index); }

/// Lines that nodes of several ranks send over.
std::vector<bool> lines_across_ranks(const Problem& problem, const RankSchedule& schedule) {
    std::vector<int> sender(problem.line_names.size(), -1);
    std::vector<bool> across(problem.line_names.size(), false);
    for (const auto& path : schedule.plan.paths)
        for (std::size_t i = 0; i < path.nodes.size(); ++i)
            for (const int to : {path.nodes[(i + 1) % path.nodes.size()],
                                 path.nodes[(i + path.nodes.size() - 1) % path.nodes.size()]}) {
                const int from = path.nodes[i], line = problem.hop(from, to).line, rank = schedule.rank_of[at(from)];
                if (line == no_line) continue;
                if (sender[at(line)] >= 0 && sender[at(line)] != rank) across[at(line)] = true;
                sender[at(line)] = rank;
            }
    return across;
}

std::string pack(const std::vector<Span>& spans) {
    return {reinterpret_cast<const char*>(spans.data()), spans.size() * sizeof(Span)};
}

void unpack(const std::string& text, std::vector<Span>& spans) {
    if (text.size() % sizeof(Span) != 0)
        throw std::runtime_error("a rank sent spans of another build: start the same program everywhere");
    const auto before = spans.size();
    spans.resize(before + text.size() / sizeof(Span));
    if (!text.empty()) std::memcpy(spans.data() + before, text.data(), text.size());
}

class WallTrainer {
public:
    WallTrainer(const Experiment& experiment, const Problem& problem, const RankSchedule& schedule,
                RankCompute& compute, RankTransport& transport, int workers, TrainingListener* listener)
        : experiment_(experiment),
          problem_(problem),
          schedule_(schedule),
          compute_(compute),
          transport_(transport),
          workers_(workers),
          listener_(listener) {
        prepare();
    }

    void run() {
        validate();
        while (done_ < experiment_.training.iterations && go_on()) {
            iterate();
            const int every = experiment_.training.validate_every;
            if (every > 0 && done_ % every == 0) validate();
        }
        validate();
    }

private:
    std::unique_ptr<LinkShaper> make_shaper() const {
        if (!experiment_.execution.shape_links) return nullptr;
        return std::make_unique<LinkShaper>(problem_, experiment_.execution.link_jitter, experiment_.seed,
                                            lines_across_ranks(problem_, schedule_),
                                            transport_.line_book(problem_.line_names.size()));
    }

    void prepare() {
        shaper_ = make_shaper();
        driver_.emplace(problem_, schedule_, compute_, transport_, shaper_.get(), workers_);
    }

    /// Rank 0 tells the others: to stop, to go over to a plan, or nothing.
    bool go_on() {
        static const std::string stop = "stop";
        const auto told = transport_.broadcast(!listener_ ? "" : listener_->stop() ? stop : listener_->next_plan());
        if (told == stop) return false;
        if (!told.empty()) go_over(told);
        return true;
    }

    void go_over(const std::string& plan_json) {
        Faults faults;
        auto plan = parse_plan(parse_json(plan_json, faults), problem_, faults);
        if (has_errors(faults)) throw InputError(faults);
        if (plan.stages != schedule_.plan.stages || plan.blocks != schedule_.plan.blocks)
            throw InputError("PLAN", "places nodes or blocks anew", "weights stay where they are while a run goes on",
                             "Start a new run with it");
        auto schedule = make_schedule(problem_, plan, schedule_.rank_of, schedule_.ranks);
        if (const auto why = find_deadlock(problem_, schedule))
            throw InputError("PLAN", "comes to a deadlock: " + *why, "every rank posts transfers in one order",
                             "Plan again");
        driver_.reset();
        schedule_ = std::move(schedule);
        compute_.follow(schedule_);
        transport_.follow(schedule_);
        prepare();
        if (listener_) listener_->went_over(done_);
    }

    void validate() {
        if (experiment_.execution.compute != Compute::torch || validated_at_ == done_) return;
        validated_at_ = done_;
        const auto result = compute_.validate(transport_);
        if (listener_) listener_->validated(done_, network_s_, network_s_, tokens_, result);
    }

    void iterate() {
        compute_.begin_iteration(done_);
        // The last rank to be ready is the start of all.
        double origin_s = 0;
        for (const auto& ready : transport_.all_gather({transport_.now_s()}))
            origin_s = std::max(origin_s, ready.front());
        auto spans = driver_->run_iteration(done_, origin_s);
        const auto result = step(spans, origin_s);
        report(std::move(spans), result);
        ++done_;
    }

    /// Everybody's sums, then AdamW with the same numbers everywhere.
    IterationResult step(std::vector<Span>& spans, double origin_s) {
        const auto stages = schedule_.plan.stages.size();
        const auto sums = compute_.sums();
        std::vector<double> mine{sums.loss_sum_nats, static_cast<double>(sums.loss_tokens)};
        for (std::size_t s = 0; s < stages; ++s) {
            const bool first_host = schedule_.ranks_of_stage(static_cast<int>(s)).front() == transport_.rank();
            mine.push_back(static_cast<double>(sums.stage_tokens[s]));
            mine.push_back(first_host ? compute_.squared_norm(static_cast<int>(s)) : 0);
        }
        IterationResult result{.stage_tokens = std::vector<std::int64_t>(stages, 0)};
        std::vector<double> squared(stages, 0);
        for (const auto& of_rank : transport_.all_gather(mine)) {
            result.loss_sum_nats += of_rank[0];
            result.tokens += static_cast<std::int64_t>(of_rank[1]);
            for (std::size_t s = 0; s < stages; ++s) {
                result.stage_tokens[s] += static_cast<std::int64_t>(of_rank[2 + 2 * s]);
                squared[s] += of_rank[3 + 2 * s];
            }
        }
        double total = 0;
        for (std::size_t s = 0; s < stages; ++s) {
            const auto tokens = static_cast<double>(result.stage_tokens[s]);
            squared[s] = tokens > 0 ? squared[s] / (tokens * tokens) : -1;
            total += std::max(0.0, squared[s]);
        }
        result.gradient_norm = std::sqrt(total);
        if (!std::isfinite(result.gradient_norm) || !std::isfinite(result.loss_sum_nats))
            throw std::runtime_error(
                fmt::format("iteration {}: the loss or its gradient is no longer a finite number; training diverged. "
                            "Lower training.learning_rate or add training.warmup_iterations",
                            done_));
        const double start_s = transport_.now_s() - origin_s;
        compute_.step(done_, result.stage_tokens, squared);
        const double end_s = transport_.now_s() - origin_s;
        for (const int stage : schedule_.stages_of(transport_.rank()))
            for (const int node : schedule_.plan.stages[at(stage)])
                if (squared[at(stage)] >= 0 && schedule_.rank_of[at(node)] == transport_.rank())
                    spans.push_back({SpanKind::step, node, -1, stage, -1, start_s, start_s, end_s, 0});
        return result;
    }

    void report(std::vector<Span> spans, const IterationResult& result) {
        Timeline timeline;
        timeline.used_nodes = 0;
        for (const auto& stage : schedule_.plan.stages) timeline.used_nodes += static_cast<int>(stage.size());
        for (const auto& packed : transport_.gather(pack(spans))) unpack(packed, timeline.spans);
        for (const auto& span : timeline.spans) {
            timeline.iteration_s = std::max(timeline.iteration_s, span.end_s);
            if (!is_compute(span.kind)) continue;
            timeline.makespan_s = std::max(timeline.makespan_s, span.end_s);
            timeline.busy_s += span.end_s - span.start_s;
        }
        tokens_ += result.tokens;
        const double offset_s = network_s_;
        network_s_ += timeline.iteration_s;
        if (listener_) listener_->iterated({done_, offset_s, &timeline, result, network_s_, tokens_});
    }

    const Experiment& experiment_;
    const Problem& problem_;
    RankSchedule schedule_;
    RankCompute& compute_;
    RankTransport& transport_;
    int workers_;
    TrainingListener* listener_;
    std::unique_ptr<LinkShaper> shaper_;
    std::optional<WallDriver> driver_;
    double network_s_ = 0;
    std::int64_t tokens_ = 0;
    int done_ = 0, validated_at_ = -1;
};

}  // namespace

void train_wall(const Experiment& experiment, const Problem& problem, const RankSchedule& schedule,
                RankCompute& compute, RankTransport& transport, int workers, TrainingListener* listener) {
    WallTrainer(experiment, problem, schedule, compute, transport, workers, listener).run();
}

}  // namespace skippipe
