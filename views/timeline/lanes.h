// SPDX-License-Identifier: GPL-3.0-or-later
// The timeline's data: spans sorted a lane, found by binary search, folded where they are narrower than pixels. Drawing
// costs what is in sight, not what was recorded.
#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/analysis/idle.h"
#include "core/analysis/iterations.h"
#include "core/analysis/losses.h"
#include "core/analysis/reductions.h"
#include "core/planner/plan/timeline.h"
#include "core/record/record.h"

namespace skippipe {

/// 40 bytes. Times are network seconds from the run's start. A row counts the record's spans of one run (so many that
/// 40 bits last for 120 days of 50,000 a second), an experiment has at most 1,024 stages.
struct LaneSpan {
    double start_s = 0, end_s = 0;
    std::int64_t row : 40 = 0;
    int microbatch : 24 = -1;
    int iteration = 0;
    float bytes = 0;    ///< of what goes over a line
    float queue_s = 0;  ///< from being ready (its input there, handed over) until it began
    std::int16_t to_node = -1;
    std::int16_t stage : 12 = -1;
    SpanKind kind : 4 = SpanKind::forward;
};
static_assert(sizeof(LaneSpan) == 40);
static_assert(static_cast<int>(last_span_kind) < 16);

struct LaneGap {
    double start_s = 0, end_s = 0;
    int microbatch = -1, other = -1;
    IdleCause cause = IdleCause::fill_drain;
    int line = no_line;  ///< as of the IdleGap
};

/// A node that was not there for a part of an iteration, or for all of it.
struct LaneDown {
    double start_s = 0, end_s = 0;
    int iteration = 0;
    bool from_start = false;  ///< of the iteration
};

/// A node that was not there, over as many iterations as it was. Network seconds from the run's start.
struct Outage {
    double start_s = 0, end_s = 0;
    int first_iteration = 0, last_iteration = 0;
    bool from_start = false;  ///< of its first iteration
    bool operator==(const Outage&) const = default;
};

/// What a few pixels hold together.
struct Fold {
    double start_s = 0, end_s = 0;
    std::size_t count = 0;
    double busy = 0;    ///< share of start..end that is worked
    LaneSpan dominant;  ///< one of the kind that takes most of it
};

/// Running sums are kept once for so many spans: a span has 40 bytes, and its share of them is one.
inline constexpr std::size_t sum_step = 16;

struct Lane {
    std::string name;
    int stage = -1;
    std::vector<LaneSpan> work;       ///< by start; never overlap
    std::vector<double> worked;       ///< [k]: seconds of work before span k x sum_step
    std::vector<double> forward;      ///< the same of forward work alone
    std::vector<LaneSpan> transfers;  ///< sent from here, by start; may overlap
    std::vector<double> reach;        ///< [k]: latest end among transfers before (k + 1) x sum_step
    std::vector<LaneGap> gaps;        ///< by start
    std::vector<LaneDown> down;       ///< by start

    /// Seconds of work before span `count`, all of it and forward work alone.
    std::pair<double, double> worked_before(std::size_t count) const;
    /// The first transfer that ends after that time.
    std::size_t first_reaching(double time) const;
    /// The latest end among transfers 0..index.
    double reach_of(std::size_t index) const;
};

/// What an area of the timeline holds.
struct AreaStatistics {
    double seconds = 0;  ///< lanes x time
    double busy_s = 0;
    std::array<double, idle_causes> idle_s{};
    std::size_t spans = 0, transfers = 0;
    double bytes = 0;  ///< of those transfers, whole
};

/// What the GPUs said of themselves over one iteration.
struct GpuUse {
    double begin_s = 0, end_s = 0;
    std::vector<std::pair<std::vector<int>, float>> busy;  ///< of each GPU its lanes, and the share of time
};

/// The stages that nodes serve from a time on.
struct PlanInForce {
    double from_s = 0;
    std::vector<int> stages;  ///< [lane]; -1: none
};

/// How a plan sums gradients, where that is planned.
struct PlannedReductions {
    PerStage<std::vector<NodeIndex>> stages;
    PerStage<Pieces> pieces;
    PerStage<double> gradient_bytes;
    std::vector<std::string> line_names = {};  ///< by Problem::line_names
};
/// Null where reductions are not planned.
std::shared_ptr<const PlannedReductions> planned_reductions(const Problem& problem, const Plan& plan);

/// Spans and gaps of a stretch of time, one lane a node. It is filled, finished, and then only read: whoever shows it
/// holds a pointer to const. A run that grows is a row of such stretches, `parts`, that follow each other in time and
/// are shared by everyone who shows it, and its own lanes, which come after them.
class TimelineData {
public:
    void set_lanes(std::vector<std::string> names);
    /// What came before, in the order of time; of the same lanes. They stay as they are.
    void set_parts(std::vector<std::shared_ptr<const TimelineData>> parts);
    /// Timelines of one run have the same key, whatever was added between: 0: none.
    void set_key(std::int64_t key) { key_ = key; }
    std::int64_t key() const { return key_; }
    /// Whose seconds the axis shows: "Network time", or "Time here" under the wall clock.
    void name_time(std::string name) { time_name_ = std::move(name); }
    const std::string& time_name() const { return time_name_; }
    /// When nodes were lost in the run, and what was done about it.
    void set_losses(std::vector<Loss> losses) { losses_ = std::move(losses); }
    const std::vector<Loss>& losses() const { return losses_; }
    /// What nodes that came back fetched, by time.
    void set_refetches(std::vector<Refetch> refetches) { refetches_ = std::move(refetches); }
    /// Iterations that came to their end, by time.
    void set_iterations(std::vector<IterationTime> iterations) { iterations_ = std::move(iterations); }
    const std::vector<IterationTime>& iterations() const { return iterations_; }
    /// When nothing ran that counts, by time.
    void set_lost_times(std::vector<LostTime> times) { lost_times_ = std::move(times); }
    const std::vector<LostTime>& lost_times() const { return lost_times_; }
    /// Null: they are not planned, and no transfer is one of a reduction.
    void set_reductions(std::shared_ptr<const PlannedReductions> reductions) { reductions_ = std::move(reductions); }
    const PlannedReductions* reductions() const { return reductions_.get(); }
    /// How each stage sums its gradient; null: not known.
    void set_rings(std::shared_ptr<const std::vector<StageReduction>> rings) { rings_ = std::move(rings); }
    /// The stage's ring where it is charged as one; null: there is none.
    const StageReduction* ring_of(int stage) const;
    /// How busy GPUs were over iterations; in the order of time.
    void set_gpu_use(std::vector<GpuUse> use) { gpu_use_ = std::move(use); }
    const std::vector<GpuUse>& gpu_use() const { return gpu_use_; }
    /// Plans that a run went over to, by time; `stage` of lanes is the first plan's.
    void set_events(std::vector<RunEvent> events) { events_ = std::move(events); }
    const std::vector<RunEvent>& events() const { return events_; }
    void set_later_plans(std::vector<PlanInForce> plans) { later_plans_ = std::move(plans); }
    const std::vector<PlanInForce>& later_plans() const { return later_plans_; }
    /// Of the plan in force at that time; -1: the node serves none.
    int stage_at(int lane, double time) const;
    /// The same, or where it serves none then, the last stage that it has served until then; -1: none.
    int last_stage_at(int lane, double time) const;
    void set_stage(int lane, int stage) { lanes_[static_cast<std::size_t>(lane)].stage = stage; }
    /// Adds spans whose times count from `offset_s`. Spans of nodes that are no lane are left out.
    void add(const Span& span, int iteration, double offset_s, std::int64_t row);
    void add(const IdleGap& gap, double offset_s);
    /// Sorts what was added; call before reading.
    void finish();

    /// Names and stages are those of all parts; work, transfers and gaps those of this part alone.
    const std::vector<Lane>& lanes() const { return lanes_; }
    double extent_s() const { return extent_s_; }
    std::size_t span_count() const { return count_; }
    /// Work of a lane over all parts: how much, and which comes at that place in the order of time.
    std::size_t work_count(int lane) const;
    const LaneSpan& work(int lane, std::size_t index) const;

    /// Spans of a lane in begin..end: exactly where at least `least_s` long, folded otherwise.
    void visit_work(int lane, double begin, double end, double least_s,
                    const std::function<void(const LaneSpan&)>& exact,
                    const std::function<void(const Fold&)>& folded) const;
    void visit_transfers(int lane, double begin, double end, double least_s,
                         const std::function<void(const LaneSpan&)>& exact,
                         const std::function<void(const Fold&)>& folded) const;
    /// Gaps at least `least_s` long; shorter ones cannot be seen.
    void visit_gaps(int lane, double begin, double end, double least_s,
                    const std::function<void(const LaneGap&)>& exact) const;

    /// Outages of a lane that reach into begin..end, as far as they are recorded there.
    void visit_outages(int lane, double begin, double end, const std::function<void(const Outage&)>& visit) const;

    /// The whole outage that the lane's node has at that time.
    std::optional<Outage> outage_at(int lane, double time) const;
    /// The loss that began an outage; null: none is recorded.
    const Loss* loss_of(const Outage& outage) const;
    /// What was fetched at its end; null: none is recorded.
    const Refetch* refetch_of(const Outage& outage) const;
    /// The stretch that holds this time in which nothing ran that counts; null: there is none.
    const LostTime* lost_at(double time) const;
    const LaneSpan* work_at(int lane, double time) const;
    const LaneGap* gap_at(int lane, double time) const;
    /// The latest transfer under way at that time, of that kind if there is one.
    const LaneSpan* transfer_at(int lane, double time, SpanKind preferred = SpanKind::transfer_forward) const;
    AreaStatistics statistics(const std::vector<int>& lanes, double begin, double end) const;
    AreaStatistics statistics(int first_lane, int last_lane, double begin, double end) const;
    /// How busy these lanes were in so many equal stretches of begin..end: 0 to 1 each.
    std::vector<float> busy_profile(const std::vector<int>& lanes, double begin, double end,
                                    std::size_t stretches) const;
    /// These lanes of each part that reaches into begin..end, part by part in the order of time.
    void visit_lanes(double begin, double end, const std::vector<int>& lanes,
                     const std::function<void(const Lane&)>& visit) const;
    /// All work and transfers of the parts that reach into begin..end, lane by lane in each.
    void visit_spans(double begin, double end, const std::function<void(int lane, const LaneSpan&)>& visit) const;

    struct Place {
        int lane = -1;
        const LaneSpan* span = nullptr;
    };
    /// The span of that row; of a run there is one. Quick: only the part that holds the row is searched.
    Place find(std::int64_t row) const;
    /// Neighbour in the lane, or along the microbatch's way (transfers are its hops too); `step` is -1 or +1.
    Place neighbour_in_lane(const Place& from, int step) const;
    Place neighbour_hop(const Place& from, int step) const;
    /// What a transfer of a planned reduction carries; nothing where the plan has no such transfer.
    std::optional<ReductionCargo> cargo(const Place& place) const;
    /// The longest transfer of a reduction that begins in begin..end, from being handed over to its arrival.
    Place longest_reduction(double begin, double end) const;

private:
    /// Parts that reach into begin..end, this one last.
    template <class Visit>
    void each_part(double begin, double end, const Visit& visit) const {
        for (const auto& part : parts_)
            if (part->extent_s_ >= begin && part->start_s_ <= end) visit(*part);
        visit(*this);
    }
    Place find_here(std::int64_t row) const;

    std::string time_name_ = "Network time";
    std::int64_t key_ = 0;
    std::vector<std::shared_ptr<const TimelineData>> parts_;
    std::vector<Lane> lanes_;
    double start_s_ = std::numeric_limits<double>::infinity(), extent_s_ = 0;
    std::size_t count_ = 0;
    std::vector<Loss> losses_;
    std::vector<PlanInForce> later_plans_;
    std::vector<LostTime> lost_times_;
    std::vector<RunEvent> events_;
    std::vector<Refetch> refetches_;
    std::vector<IterationTime> iterations_;
    std::shared_ptr<const PlannedReductions> reductions_;
    std::shared_ptr<const std::vector<StageReduction>> rings_;
    std::vector<GpuUse> gpu_use_;
    std::int64_t least_row_ = std::numeric_limits<std::int64_t>::max(), most_row_ = -1;
    std::vector<double> dirty_work_, dirty_transfers_, dirty_gaps_,
        dirty_down_;  ///< [lane]: earliest start added since `finish`
};

/// An iteration of each plan of a run as evaluated, by the first iteration that it was in force; null: it does not come
/// to its end.
using PlannedIterations = std::map<int, std::shared_ptr<const TimelineData>>;
/// What was planned for that iteration; null: nothing is known.
const TimelineData* planned_at(const PlannedIterations& planned, int iteration);

}  // namespace skippipe
