// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/timeline/painter.h"

#include <algorithm>
#include <cmath>

namespace skippipe {
namespace {
constexpr double fold_pixels = 3;
constexpr double hatch_pixels = 5, low_mark_pixels = 10;
constexpr double planned_row = 5;  ///< of a lane's lower edge
constexpr double least_planned_iteration_pixels = 60;
constexpr double label_pixels = 16, least_labelled = 11;  ///< pixels of a bar, across and up
constexpr double least_numbered = 7;                      ///< up, in which tiny digits are whole
constexpr double area_tint = 0.2, area_line = 2;          ///< pixels
const std::string lost_word = "lost", ellipsis = "\u2026";

ImU32 faded(ImU32 colour, double strength) {
    const auto alpha = static_cast<ImU32>(std::lround(strength * (colour >> IM_COL32_A_SHIFT)));
    return (colour & ~IM_COL32_A_MASK) | (alpha << IM_COL32_A_SHIFT);
}

}  // namespace

TimelinePainter::TimelinePainter(const TimelineView& view, const Atlas& atlas, ImDrawList& list)
    : view_(view), atlas_(atlas), list_(list), theme_(theme()), scale_(view.scale()), stack_(view.stack()) {
    looks_for_ = view.found_ != nullptr && !view.found_->spans.empty();
    SpanQuery query = looks_for_ ? view.found_->query : view.marked_spans_;
    if (const auto marked = view.marked_lanes(); query == SpanQuery{} && !marked.empty()) {
        const auto [begin_s, end_s] = view.told_stretch();
        query.lanes = with_awaited(*view.data_, marked, begin_s, end_s, least_told_wait * (end_s - begin_s));
    }
    names_lanes_ = !query.lanes.empty();
    if (view.data_ != nullptr && query != SpanQuery{}) bright_.emplace(*view.data_, query);
    names_microbatch_ = query.microbatch.has_value();
    names_are_short_ = view.compact_ && has_short_names();
    names_bands_ = view.compact_ && has_bands();
    for (std::size_t c = 0; c < idle_causes; ++c) {
        const auto cause = static_cast<IdleCause>(c);
        waits_[c] = {packed(cause_fill(theme_, cause, view.colour_by_)),
                     packed(cause_ink(theme_, cause, view.colour_by_)), packed(low_cause_fill(theme_, cause)),
                     packed(low_cause_ink(theme_, cause))};
    }
}

void TimelinePainter::box(double x0, double y0, double x1, double y1, ImU32 colour) {
    list_.AddRectFilled({static_cast<float>(x0), static_cast<float>(y0)},
                        {static_cast<float>(x1), static_cast<float>(y1)}, colour);
}

const ImFont* TimelinePainter::font(Letters letters) const {
    return letters == Letters::body ? atlas_.body : letters == Letters::small ? atlas_.small : atlas_.tiny;
}

float TimelinePainter::text_width(const std::string& words, Letters letters) const {
    const ImFont* font = this->font(letters);
    const float height = font->FontSize / static_cast<float>(atlas_.scale);
    return font->CalcTextSizeA(height, 1e9f, 0, words.data(), words.data() + words.size()).x;
}

void TimelinePainter::text(double x, double y, const QColor& colour, const std::string& words, Letters letters) {
    const ImFont* font = this->font(letters);
    list_.AddText(font, font->FontSize / static_cast<float>(atlas_.scale),
                  {std::floor(static_cast<float>(x)), std::floor(static_cast<float>(y))}, packed(colour), words.data(),
                  words.data() + words.size());
}

std::string TimelinePainter::elided(std::string words, double room, Letters letters) const {
    if (text_width(words, letters) <= room) return words;
    QString shorter = QString::fromStdString(words);
    while (!shorter.isEmpty() && text_width(shorter.toStdString() + ellipsis, letters) > room) shorter.chop(1);
    return shorter.toStdString() + ellipsis;
}

void TimelinePainter::draw() {
    const float right = static_cast<float>(view_.width()), bottom = static_cast<float>(view_.height());
    list_.PushClipRect({0, static_cast<float>(stack_.top)}, {right, bottom}, true);
    const int first = std::max(stack_.pinned, static_cast<int>(stack_.scroll / stack_.height));
    const int last = std::min(stack_.count - 1, static_cast<int>((stack_.scroll + bottom) / stack_.height));
    lost_times(first, last);
    for (int i = first; i <= last; ++i) row(i);
    if (names_bands_) bands();
    if (view_.compact_) iteration_bounds();
    pinned_rows();
    area();
    way();
    cause();
    selection();
    list_.PopClipRect();
    axis();
    ruler();
    counters();
    moment();
    overview();
}

/// Where one iteration ends and the next begins; the ruler has them elsewhere.
void TimelinePainter::iteration_bounds() {
    const auto& all = view_.data_->iterations();
    if (all.empty()) return;
    double drawn_to = scale_.left;
    for (const auto* one = iteration_at(all, scale_.begin); one != all.data() + all.size() && one->end_s <= scale_.end;
         ++one) {
        const double x = std::floor(scale_.x(one->end_s));
        if (x < drawn_to + least_iteration_pixels) continue;
        box(x, stack_.top, x + 1, stack_.top + std::min(stack_.content_height(), view_.height() - stack_.top),
            packed(theme_.text, 0.6));
        drawn_to = x;
    }
}

/// They stay above the others, which scroll under them.
void TimelinePainter::pinned_rows() {
    if (stack_.pinned == 0) return;
    box(0, stack_.top, view_.width(), stack_.pinned_bottom(), packed(theme_.surface));
    for (int i = 0; i < stack_.pinned; ++i) row(i);
    box(0, stack_.pinned_bottom() - 1, view_.width(), stack_.pinned_bottom(), packed(theme_.text_2));
}

void TimelinePainter::row(int index) {
    const LaneRow& what = view_.layout_.rows()[static_cast<std::size_t>(index)];
    if (what.line >= 0) return line(index, what.line);
    what.is_head() ? group_head(index, what.group) : lane(what.lane);
}

/// A triangle that says whether it is open, the name, and of a collapsed group how busy its lanes are together.
void TimelinePainter::group_head(int index, int group) {
    const LaneGroup& what = view_.layout_.groups()[static_cast<std::size_t>(group)];
    const bool collapsed = view_.layout_.is_collapsed(group);
    const double top = stack_.lane_top(index), middle = top + stack_.height / 2;
    box(0, top, scale_.right, top + stack_.height - 1, packed(theme_.surface_2));
    const auto point = [](double x, double y) { return ImVec2(static_cast<float>(x), static_cast<float>(y)); };
    if (collapsed)
        list_.AddTriangleFilled(point(10, middle - 5), point(16, middle), point(10, middle + 5), packed(theme_.text_2));
    else
        list_.AddTriangleFilled(point(8, middle - 3), point(18, middle - 3), point(13, middle + 3),
                                packed(theme_.text_2));
    list_.PushClipRect(point(0, top), point(collapsed ? scale_.left - 6 : scale_.right, top + stack_.height), true);
    text(24, middle - 7, theme_.text, what.name);
    const double name_end = 24 + text_width(what.name) + 8;
    text(name_end, middle - 7, theme_.text_2, std::to_string(what.lanes.size()));
    list_.PopClipRect();
    if (!collapsed) return;
    constexpr double step = 3;
    const auto stretches = static_cast<std::size_t>(std::max(1.0, (scale_.right - scale_.left) / step));
    const auto busy = view_.data_->busy_profile(what.lanes, scale_.begin, scale_.end, stretches);
    const QColor fill = what.stage >= 0 ? theme_.stage(what.stage) : theme_.text_2;
    const double bottom = top + stack_.height - 3, tall = stack_.height - 6;
    for (std::size_t k = 0; k < busy.size(); ++k) {
        if (busy[k] <= 0) continue;
        const double x = scale_.left + static_cast<double>(k) * step;
        box(x, bottom - busy[k] * tall, x + step, bottom, packed(fill));
    }
}

void TimelinePainter::lane(int index) {
    const double top = view_.lane_top(index);
    lane_name(index, top);
    list_.PushClipRect({static_cast<float>(scale_.left), static_cast<float>(std::max(top, stack_.top))},
                       {static_cast<float>(scale_.right), static_cast<float>(top + stack_.height)}, true);
    const double bar_top = top + above_bar(), bar_bottom = top + stack_.height - below_bar();
    gaps(index, bar_top, bar_bottom);
    outages(index, bar_top, bar_bottom);
    const bool has_plan = !view_.planned_.empty() && !view_.compact_;
    work(index, bar_top, has_plan ? bar_bottom - planned_row : bar_bottom);
    if (has_plan) planned(index, bar_bottom - planned_row + 1, bar_bottom);
    if (!view_.compact_) transfers(index, top);
    list_.PopClipRect();
    if (!view_.compact_)
        box(0, top + stack_.height - 1, scale_.right, top + stack_.height,
            packed(mix(theme_.surface, theme_.line, 0.6)));
}

/// Ground and hatch of a cause.
void TimelinePainter::wait(IdleCause cause, double x0, double top, double x1, double bottom, double strength) {
    const auto& colours = waits_[static_cast<std::size_t>(cause)];
    const bool is_low = stack_.height < least_hatched_lane || view_.frame_.has_low_waits;
    const ImU32 fill = faded(is_low ? colours.low_fill : colours.fill, strength), ink = faded(colours.ink, strength);
    box(x0, top, x1, bottom, fill);
    if (is_low) return low_wait(cause, x0, top, x1, bottom, faded(colours.low_ink, strength));
    if (x1 - x0 < hatch_pixels) return;
    if (const int pattern = cause_hatch(cause); pattern >= 0) {
        add_hatch(list_, atlas_, pattern, {static_cast<float>(std::round(x0)), static_cast<float>(top)},
                  {static_cast<float>(std::round(x1)), static_cast<float>(bottom)}, ink);
    } else {
        const double middle = std::floor((top + bottom) / 2);
        box(x0, middle, x1, middle + 1, ink);
    }
}

/// Where a hatch would be texture: dashes, dots or ticks along the bar, if it is long enough to show them.
void TimelinePainter::low_wait(IdleCause cause, double x0, double top, double x1, double bottom, ImU32 ink) {
    const LowMark mark = low_cause_mark(cause);
    if (x1 - x0 < low_mark_pixels || bottom - top < 3) return;
    const double thick = mark.pattern < first_along && mark.has_line ? 1 : low_line_px(bottom - top),
                 line_top = std::round((top + bottom - thick) / 2);
    if (mark.has_line) box(x0, line_top, x1, line_top + thick, ink);
    if (mark.pattern < 0) return;
    add_hatch(list_, atlas_, mark.pattern,
              {static_cast<float>(std::round(x0)), static_cast<float>(mark.is_tall ? top : line_top)},
              {static_cast<float>(std::round(x1)), static_cast<float>(mark.is_tall ? bottom : line_top + thick)}, ink);
}

void TimelinePainter::gaps(int index, double top, double bottom) {
    const double pps = scale_.pixels_per_second();
    view_.data_->visit_gaps(index, scale_.begin, scale_.end, fold_pixels / pps, [&](const LaneGap& gap) {
        const double x0 = std::max(scale_.x(gap.start_s), scale_.left),
                     x1 = std::min(scale_.x(gap.end_s), scale_.right);
        wait(gap.cause, x0, top, x1, bottom, is_faint(index, gap) ? faint : 1);
    });
}

/// What was planned for each iteration that is wide enough in sight, under what was done.
void TimelinePainter::planned(int index, double top, double bottom) {
    const auto& iterations = view_.data_->iterations();
    if (iterations.empty()) return;
    const double pps = scale_.pixels_per_second();
    box(scale_.left, top - 1, scale_.right, bottom, packed(theme_.surface));
    const auto* end = iterations.data() + iterations.size();
    for (const auto* one = iteration_at(iterations, scale_.begin); one != end && one->begin_s() < scale_.end; ++one) {
        const TimelineData* should = planned_at(view_.planned_, one->iteration);
        if (should == nullptr || one->length_s * pps < least_planned_iteration_pixels) continue;
        const auto strip = [&](const LaneSpan& span, double start_s, double end_s) {
            const double x0 = std::max(scale_.x(one->begin_s() + start_s), scale_.left),
                         x1 = std::min(scale_.x(one->begin_s() + end_s), scale_.right);
            if (x1 <= x0) return;
            const QColor fill = span_colour(theme_, span, span.stage, view_.colour_by_);
            box(x0, top, x1 - x0 > 3 ? x1 - 1 : x1, bottom, packed(mix(theme_.surface, fill, 0.6)));
        };
        should->visit_work(
            index, scale_.begin - one->begin_s(), scale_.end - one->begin_s(), fold_pixels / pps,
            [&](const LaneSpan& span) { strip(span, span.start_s, span.end_s); },
            [&](const Fold& fold) { strip(fold.dominant, fold.start_s, fold.end_s); });
    }
}

/// The only red: pale for as long as the node was not there, full until that was known.
void TimelinePainter::outages(int index, double top, double bottom) {
    view_.data_->visit_outages(index, scale_.begin, scale_.end, [&](const Outage& outage) {
        const double x0 = std::max(scale_.x(outage.start_s), scale_.left),
                     x1 = std::min(std::max(scale_.x(outage.end_s), x0 + 1), scale_.right);
        box(x0, top, x1, bottom, packed(outage_fill(theme_)));
        const auto hatch = [&](double from, double to, const QColor& ink) {
            add_hatch(list_, atlas_, cause_hatch(IdleCause::node_down),
                      {static_cast<float>(std::round(from)), static_cast<float>(top)},
                      {static_cast<float>(std::round(to)), static_cast<float>(bottom)}, packed(ink));
        };
        if (x1 - x0 >= hatch_pixels) hatch(x0, x1, outage_ink(theme_));
        const Loss* loss = view_.data_->loss_of(outage);
        double known = x0;
        if (loss != nullptr && loss->end_s > std::max(outage.start_s, scale_.begin)) {
            known = std::clamp(scale_.x(loss->end_s), std::min(x0 + least_loss_pixels, x1), x1);
            box(x0, top, known, bottom, packed(theme_.bad));
            // A solid block would pass for work of a stage that has nearly that colour.
            if (known - x0 >= hatch_pixels) hatch(x0, known, theme_.surface);
        }
        if (view_.compact_) return;
        const double width = text_width(lost_word) + 8, left = known + 6;
        if (left + width + 6 > x1) return;
        // On a ground of its own: the hatch would run through the letters.
        const double inset = bottom - top > 16 ? 2 : 0;
        box(left, top + inset, left + width, bottom - inset, packed(theme_.surface));
        text(left + 4, (top + bottom - 13) / 2, theme_.bad, lost_word);
    });
}

/// Under the lanes, over all of them: nothing ran that counts.
void TimelinePainter::lost_times(int first, int last) {
    if (last < first) return;
    const double top = std::max(stack_.lane_top(first), stack_.top), bottom = stack_.lane_top(last + 1);
    list_.PushClipRect({static_cast<float>(scale_.left), static_cast<float>(stack_.top)},
                       {static_cast<float>(scale_.right), static_cast<float>(bottom)}, true);
    for (const auto& lost : view_.data_->lost_times()) {
        if (lost.begin_s > scale_.end || lost.end_s < scale_.begin) continue;
        const double x0 = std::max(scale_.x(lost.begin_s), scale_.left),
                     x1 = std::min(std::max(scale_.x(lost.end_s), x0 + 1), scale_.right);
        box(x0, top, x1, bottom, packed(outage_fill(theme_)));
        if (x1 - x0 >= hatch_pixels)
            add_hatch(list_, atlas_, cause_hatch(IdleCause::node_down),
                      {static_cast<float>(std::round(x0)), static_cast<float>(top)},
                      {static_cast<float>(std::round(x1)), static_cast<float>(bottom)}, packed(outage_ink(theme_)));
        std::string words = (lost_time_words(lost) + ", " + duration(lost.end_s - lost.begin_s)).toStdString();
        if (text_width(words) + 16 > x1 - x0) words = lost_time_words(lost).toStdString();
        const double width = text_width(words) + 8, left = (x0 + x1 - width) / 2;
        if (view_.compact_ || left < x0 + 4) continue;
        box(left, top + 9, left + width, top + 25, packed(theme_.surface));
        text(left + 4, top + 10, theme_.bad, words);
    }
    list_.PopClipRect();
}

void TimelinePainter::span_label(const LaneSpan& span, const QColor& ink, double x0, double x1, double top,
                                 double bottom) {
    if (view_.compact_ || span.microbatch < 0 || x1 - x0 < label_pixels || bottom - top < least_numbered) return;
    const bool is_low = bottom - top < least_labelled;
    const Letters letters = is_low ? Letters::tiny : Letters::small;
    const std::string number = std::to_string(span.microbatch);
    const float width = text_width(number, letters);
    if (width + 4 > x1 - x0) return;
    text((x0 + x1 - width) / 2, (top + bottom - (is_low ? 11 : 13)) / 2, ink, number, letters);
}

void TimelinePainter::work(int index, double top, double bottom) {
    const Lane& lane = view_.data_->lanes()[static_cast<std::size_t>(index)];
    const double pps = scale_.pixels_per_second();
    view_.data_->visit_work(
        index, scale_.begin, scale_.end, fold_pixels / pps,
        [&](const LaneSpan& span) {
            const double x0 = std::max(scale_.x(span.start_s), scale_.left),
                         x1 = std::min(scale_.x(span.end_s), scale_.right);
            QColor fill = span_colour(theme_, span, lane.stage, view_.colour_by_);
            const bool steps_back = is_faint(index, span);
            if (steps_back) fill = mix(theme_.surface, fill, faint);
            // A hairline of the surface keeps neighbours of one colour apart.
            box(x0, top, x1 - x0 > 3 ? x1 - 1 : x1, bottom, packed(fill));
            if (span.kind == SpanKind::loss && x1 - x0 > 4)
                box(x0, bottom - 3, x1 - 1, bottom,
                    packed(steps_back ? mix(theme_.surface, theme_.text, faint) : theme_.text));
            if (!steps_back) span_label(span, theme_.text_on(fill), x0, x1, top, bottom);
        },
        [&](const Fold& fold) {
            const QColor fill = view_.colour_by_ == ColourBy::microbatch
                                    ? theme_.text_2
                                    : span_colour(theme_, fold.dominant, lane.stage, view_.colour_by_);
            const double x0 = std::max(scale_.x(fold.start_s), scale_.left);
            const double x1 = std::min(std::max(scale_.x(fold.end_s), x0 + 1), scale_.right);
            box(x0, top, x1, bottom,
                packed(fill, std::clamp(0.25 + 0.75 * fold.busy, 0.0, 1.0) * (is_faint(index, fold) ? faint : 1)));
        });
}

void TimelinePainter::transfers(int index, double top) {
    const Lane& lane = view_.data_->lanes()[static_cast<std::size_t>(index)];
    const double pps = scale_.pixels_per_second();
    const auto line = [&](const LaneSpan& span, double begin, double end) {
        const double x0 = std::max(scale_.x(begin), scale_.left),
                     x1 = std::min(std::max(scale_.x(end), x0 + 1), scale_.right);
        const double row = top + transfer_row(span.kind, stack_.height);
        if (span.kind == SpanKind::transfer_reduction) {
            const QColor own = span_colour(theme_, span, lane.stage, view_.colour_by_);
            return box(x0, row, x1, row + 2, packed(is_faint(index, span) ? mix(theme_.surface, own, faint) : own));
        }
        const bool stands_out = bright_ && bright_->fits(index, span), strong = stands_out && !names_lanes_;
        const QColor calm = view_.colour_by_ == ColourBy::microbatch
                                ? span_colour(theme_, span, lane.stage, view_.colour_by_)
                                : theme_.text_2;
        const QColor colour = strong ? theme_.accent : mix(theme_.surface, calm, bright_ && !stands_out ? faint : 0.8);
        box(x0, row, x1, row + (strong ? 2 : 1), packed(colour));
    };
    view_.data_->visit_transfers(
        index, scale_.begin, scale_.end, fold_pixels / pps,
        [&](const LaneSpan& span) { line(span, span.start_s, span.end_s); },
        [&](const Fold& fold) { line(fold.dominant, fold.start_s, fold.end_s); });
}

void TimelinePainter::selection() {
    const auto frame = [&](double begin, double end, double top, double bottom) {
        const double x0 = std::max(scale_.x(begin), scale_.left),
                     x1 = std::min(std::max(scale_.x(end), scale_.x(begin) + 2), scale_.right);
        if (x1 < scale_.left || x0 > scale_.right) return;
        for (double inset : {0.0, 1.0}) {
            const ImU32 colour = packed(inset > 0 ? theme_.surface : theme_.text);
            box(x0 - 1 + inset, top - 1 + inset, x1 + 1 - inset, top + inset, colour);
            box(x0 - 1 + inset, bottom - inset, x1 + 1 - inset, bottom + 1 - inset, colour);
            box(x0 - 1 + inset, top - 1 + inset, x0 + inset, bottom + 1 - inset, colour);
            box(x1 - inset, top - 1 + inset, x1 + 1 - inset, bottom + 1 - inset, colour);
        }
    };
    if (const auto* span = view_.selected_.span) {
        const double top = view_.lane_top(view_.selected_.lane);
        const double row = top + transfer_row(span->kind, stack_.height);
        if (is_on_line(span->kind))
            frame(span->start_s, span->end_s, row - 1, row + 3);
        else
            frame(span->start_s, span->end_s, top + above_bar(), top + stack_.height - below_bar());
    } else if (view_.selected_gap_ && view_.selected_lane_ >= 0) {
        const double top = view_.lane_top(view_.selected_lane_);
        frame(view_.selected_gap_->start_s, view_.selected_gap_->end_s, top + above_bar(),
              top + stack_.height - below_bar());
    } else if (view_.selected_lost_) {
        frame(view_.selected_lost_->begin_s, view_.selected_lost_->end_s, stack_.top + 1,
              stack_.lane_top(stack_.count) - 1);
    }
}

/// Tinted and framed, with its stretch of time on the axis: waits are hatched as it is, so that a hatch would hide
/// them.
void TimelinePainter::area() {
    if (!view_.area_) return;
    const double begin = scale_.x(view_.area_->begin), end = scale_.x(view_.area_->end);
    const double x0 = std::max(begin, scale_.left), x1 = std::min(end, scale_.right);
    if (x1 <= x0) return;  // out of sight
    const double top = stack_.lane_top(view_.area_->first_row), bottom = stack_.lane_top(view_.area_->last_row + 1);
    const ImU32 line = packed(theme_.accent);
    box(x0, top, x1, bottom, packed(theme_.accent, area_tint));
    box(x0, top, x1, top + area_line, line);
    box(x0, bottom - area_line, x1, bottom, line);
    if (begin >= scale_.left) box(x0, top, x0 + area_line, bottom, line);
    if (end <= scale_.right) box(x1 - area_line, top, x1, bottom, line);
}

}  // namespace skippipe
