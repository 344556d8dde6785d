// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "views/timeline/timeline_view.h"

namespace skippipe {

inline constexpr double usual_lane_height = 28, low_lane_height = 20, tall_lane_height = 44, compact_lane_height = 28;
inline constexpr double lane_height = usual_lane_height;
inline constexpr double fit_lane_height = 0;  ///< as many lanes in sight as there are, neither low nor very tall
inline constexpr double least_fit_lane_height = 13, most_fit_lane_height = 56;
inline constexpr double least_planned_lane_height = 28;  ///< with what was planned under what was done
inline constexpr double overview_height = 26, axis_height = 22, ruler_height = 16;
inline constexpr double counter_height = 28, counter_step = 2;
inline constexpr double names_width = 132, compact_names_width = 52, most_compact_names_width = 120,
                        least_named_lane = 9, least_body_lane = 16;
inline constexpr double least_hatched_lane =
    8;  ///< in lower ones a hatch is texture: grounds have dashes, dots or ticks
inline constexpr double stacked_names = 96, least_stacked_lane = 5;  ///< of several timelines beneath each other
inline constexpr double stage_chip_end = 27;
inline constexpr double compact_chip_width = 14, low_chip_width = 10, most_chip_height = 16;
inline constexpr double faint = 0.25;  ///< share of its colour that stays to what does not stand out
inline constexpr double least_iteration_pixels = 4;
inline constexpr double moment_handle = 5;  ///< pixels to each side
inline constexpr double least_loss_pixels = 3, loss_mark_height = 6;

/// Draws a timeline's data into ImGui's list; knows nothing of events.
class TimelinePainter {
public:
    TimelinePainter(const TimelineView& view, const Atlas& atlas, ImDrawList& list);
    void draw();

private:
    void row(int index);
    void pinned_rows();
    void group_head(int index, int group);
    void axis();
    // painter_top.cpp
    void ruler();
    bool begins_plan(const IterationTime& one) const;
    void overview();
    void marks();
    void events();
    void area_on_axis();
    bool is_under_moment(double from, double to) const;
    // painter_counters.cpp
    void counters();
    void moment();
    // painter_links.cpp
    void way();
    void cause();
    void arrow(double x0, double y0, double x1, double y1, const QColor& colour);
    void lane(int index);
    // painter_lines.cpp
    void line(int row, int line);
    void line_transfer(int lane, const LaneSpan& span, double latency_s, double top);
    // painter_names.cpp
    void mark_row(double top);
    void lane_name(int index, double top);
    void compact_name(const std::string& name, int stage, int index, double top, bool marked);
    bool has_short_names() const;
    bool has_bands() const;
    void bands();
    void band(const LaneGroup& group, double top, double bottom);
    std::vector<std::string> band_names(const LaneGroup& group, double room, int most_lines) const;
    std::vector<std::string> names_in_lines(const std::vector<std::string>& names, double room, int most_lines) const;
    void mark_names(const std::string& line, double left, double y);
    // painter.cpp
    void work(int index, double top, double bottom);
    void wait(IdleCause cause, double x0, double top, double x1, double bottom, double strength = 1);
    void low_wait(IdleCause cause, double x0, double top, double x1, double bottom, ImU32 ink);
    void gaps(int index, double top, double bottom);
    void planned(int index, double top, double bottom);
    void outages(int index, double top, double bottom);
    void lost_times(int first, int last);
    void transfers(int index, double top);
    void selection();
    void area();
    /// Pixels of a lane above and below what its node does.
    double above_bar() const { return view_.compact_ ? 1 : work_row(stack_.height); }
    double below_bar() const { return view_.compact_ ? 1 : below_work(stack_.height); }
    enum class Letters { body, small, tiny };
    const ImFont* font(Letters letters) const;
    void text(double x, double y, const QColor& colour, const std::string& words, Letters letters = Letters::small);
    float text_width(const std::string& words, Letters letters = Letters::small) const;
    /// Cut at its end where it is wider than `room`.
    std::string elided(std::string words, double room, Letters letters) const;
    void iteration_bounds();
    void box(double x0, double y0, double x1, double y1, ImU32 colour);
    /// Whether it steps back behind what stands out.
    bool is_faint(int lane, const LaneSpan& span) const { return bright_ && !bright_->fits(lane, span); }
    /// Of many microbatches none stands out.
    bool is_faint(int lane, const Fold& fold) const {
        return bright_ && (names_microbatch_ || !bright_->fits(lane, fold.dominant));
    }
    /// Of what was found, waits of those causes; of a selection, those of its lanes or that its microbatch ends.
    bool is_faint(int lane, const LaneGap& gap) const {
        return bright_ && !(looks_for_ ? bright_->fits(lane, gap) : bright_->concerns(lane, gap));
    }
    void span_label(const LaneSpan& span, const QColor& ink, double x0, double x1, double top, double bottom);

    const TimelineView& view_;
    const Atlas& atlas_;
    ImDrawList& list_;
    const Theme& theme_;
    TimeScale scale_;
    LaneStack stack_;
    struct Wait {
        ImU32 fill = 0, ink = 0;
        ImU32 low_fill = 0, low_ink = 0;  ///< where lanes are too low for hatches
    };
    std::array<Wait, idle_causes> waits_{};  ///< by cause
    /// What stands out: what was found, else what is selected. None: all is alike.
    std::optional<SpanFilter> bright_;
    bool looks_for_ = false;         ///< what was found stands out
    bool names_microbatch_ = false;  ///< one microbatch stands out
    bool names_are_short_ = false;   ///< two have room beside each other
    bool names_bands_ = false;       ///< low lanes are named stage by stage
    bool names_lanes_ = false;       ///< some lanes stand out, whatever they do
};

}  // namespace skippipe
