// SPDX-License-Identifier: GPL-3.0-or-later
// What stands above the lanes: the whole time, its axis, and the iterations.
#include <algorithm>
#include <cmath>

#include "views/timeline/painter.h"
#include "views/theme/ticks.h"

namespace skippipe {
namespace {

constexpr double overview_step = 3, area_mark_height = 3;

}  // namespace

void TimelinePainter::axis() {
    const TimelineBands bands = view_.bands();
    if (bands.ruler_top() <= bands.axis_top()) return;
    const double top = bands.axis_top(), bottom = bands.ruler_top(),
                 step = scale_.tick_step(scale_.end < 60 ? 90 : 120);
    box(0, top, view_.width(), bottom - 1, packed(theme_.surface_2));
    box(0, bottom - 1, view_.width(), bottom, packed(theme_.line));
    list_.PushClipRect({static_cast<float>(scale_.left), static_cast<float>(top)},
                       {static_cast<float>(view_.width()), static_cast<float>(view_.height())}, true);
    for (const double t : ticks_between(scale_.begin, scale_.end, step)) {
        const double x = std::floor(scale_.x(t));
        box(x, bottom - 5, x + 1, bottom, packed(theme_.text_2));
        const std::string words = tick(std::abs(t) < step / 2 ? 0 : t, step).toStdString();
        const double end = x + 4 + text_width(words);
        if (end <= scale_.right && !is_under_moment(x + 4, end)) text(x + 4, top + 4, theme_.text_2, words);
    }
    area_on_axis();
    events();
    marks();
    list_.PopClipRect();
    const std::string whose = view_.data_->time_name();
    if (scale_.left > 16 + text_width(whose)) text(8, top + 4, theme_.text_2, whose);
}

/// Whether the handle of the moment that is shown would cover some of these pixels of the axis.
bool TimelinePainter::is_under_moment(double from, double to) const {
    if (!view_.moment_) return false;
    const double x = scale_.x(*view_.moment_);
    return x + moment_handle > from && x - moment_handle < to;
}

/// When the area that is summed up begins and ends.
void TimelinePainter::area_on_axis() {
    if (!view_.area_) return;
    const double bottom = view_.bands().ruler_top();
    box(scale_.x(view_.area_->begin), bottom - area_mark_height, scale_.x(view_.area_->end), bottom,
        packed(theme_.accent));
}

/// On the axis: from each loss to when it was known, and what else happened.
void TimelinePainter::events() {
    const double bottom = view_.bands().ruler_top();
    double drawn_to = -1;
    for (const auto& event : view_.data_->events()) {
        if (event.kind == RunEvent::Kind::lost || event.network_s < scale_.begin || event.network_s > scale_.end)
            continue;
        const double x = std::floor(scale_.x(event.network_s));
        if (x <= drawn_to) continue;
        box(x, bottom - loss_mark_height, x + 2, bottom,
            packed(event.kind == RunEvent::Kind::back ? theme_.good : theme_.text));
        drawn_to = x + 2;
    }
    for (const auto& loss : view_.data_->losses()) {
        if (loss.begin_s > scale_.end || loss.end_s < scale_.begin) continue;
        const double x0 = scale_.x(loss.begin_s), x1 = std::max(scale_.x(loss.end_s), x0 + least_loss_pixels);
        box(x0, bottom - loss_mark_height, x1, bottom, packed(theme_.bad));
    }
}

/// Bookmarks: a flag on the axis and a line down the lanes.
void TimelinePainter::marks() {
    const TimelineBands bands = view_.bands();
    for (const double mark : view_.bookmarks_) {
        if (mark < scale_.begin || mark > scale_.end) continue;
        const auto x = static_cast<float>(std::floor(scale_.x(mark)));
        const auto top = static_cast<float>(bands.axis_top() + 2);
        box(x, bands.axis_top() + 2, x + 1, bands.ruler_top(), packed(theme_.accent));
        box(x, bands.top(), x + 1, view_.height(), packed(theme_.accent, 0.5));
        list_.AddTriangleFilled({x, top}, {x + 8, top + 4}, {x, top + 8}, packed(theme_.accent));
    }
}

/// Whether another plan than before is in force from there on.
bool TimelinePainter::begins_plan(const IterationTime& one) const {
    const auto& plans = view_.data_->later_plans();
    const double tolerance_s = 1e-9 * std::max(1.0, one.end_s);
    return std::any_of(plans.begin(), plans.end(),
                       [&](const auto& plan) { return std::abs(plan.from_s - one.begin_s()) <= tolerance_s; });
}

/// A box an iteration, with its number; of narrow ones each 2nd, 5th, 10th has one.
void TimelinePainter::ruler() {
    const TimelineBands bands = view_.bands();
    if (bands.ruler <= 0) return;
    const double top = bands.ruler_top(), bottom = bands.counters_top() - 1;
    box(0, top, view_.width(), bottom + 1, packed(theme_.surface_2));
    box(0, bottom, view_.width(), bottom + 1, packed(theme_.line));
    text(8, top + 1, theme_.text_2, "Iteration");
    list_.PushClipRect({static_cast<float>(scale_.left), static_cast<float>(top)},
                       {static_cast<float>(scale_.right), static_cast<float>(bottom)}, true);
    const auto& all = view_.data_->iterations();
    const auto* first = iteration_at(all, scale_.begin);
    double drawn_to = scale_.left, numbered_to = scale_.left;
    int every = 0;  // iterations between two numbers, by the width of the first box
    struct Label {
        double left = 0, wide = 0;
        std::string number, words;
    };
    std::vector<Label> labels;
    for (const auto* one = first; one != all.data() + all.size() && one->begin_s() <= scale_.end; ++one) {
        const double x0 = std::max(scale_.x(one->begin_s()), scale_.left),
                     x1 = std::min(scale_.x(one->end_s), scale_.right);
        if (x1 < drawn_to + least_iteration_pixels) continue;  // of many narrow ones as many as can be told apart
        drawn_to = x1;
        const bool even = one->iteration % 2 == 0;
        box(x0, top, x1, bottom, packed(mix(theme_.surface_2, theme_.text_2, even ? 0.22 : 0.1)));
        box(x1 - 1, top, x1, bottom, packed(theme_.surface));
        Label label{.number = std::to_string(one->iteration + 1)};
        const double wide = label.wide = text_width(label.number),
                     whole = scale_.x(one->end_s) - scale_.x(one->begin_s());
        if (every == 0) every = static_cast<int>(std::max(1.0, nice_step((text_width("000") + 12) / whole)));
        if (every == 1 && begins_plan(*one)) label.words = QObject::tr(", new plan").toStdString();
        double all = wide + text_width(label.words);
        if (all + 6 > x1 - x0) label.words.clear(), all = wide;
        const double left = label.left = (x0 + x1 - all) / 2;
        const bool fits = wide + 6 <= x1 - x0 || every > 1;
        if ((one->iteration + 1) % every != 0 || !fits || left < numbered_to || left + wide > scale_.right) continue;
        numbered_to = left + all + 6;
        labels.push_back(std::move(label));
    }
    for (const auto& label : labels) {  // over the boxes beside them
        text(label.left, top + 1, theme_.text, label.number);
        text(label.left + label.wide, top + 1, theme_.text_2, label.words);
    }
    for (const auto& plan : view_.data_->later_plans()) {
        if (plan.from_s < scale_.begin || plan.from_s > scale_.end) continue;
        const double x = std::floor(scale_.x(plan.from_s));
        box(x - 1, top, x + 1, bottom, packed(theme_.text));
    }
    list_.PopClipRect();
}

/// How busy all lanes were over the whole time, beside when they were busiest; red where something was lost; what is in
/// sight in a frame.
void TimelinePainter::overview() {
    const TimelineBands bands = view_.bands();
    if (bands.overview <= 0) return;
    const TimeScale all = view_.overview_scale();
    const double bottom = bands.overview - 1, tall = bottom - 4;
    box(0, 0, view_.width(), bottom, packed(theme_.surface));
    box(0, bottom, view_.width(), bottom + 1, packed(theme_.line));
    text(8, 6, theme_.text_2, "Whole run");
    const auto stretches = static_cast<std::size_t>(std::max(1.0, (all.right - all.left) / overview_step));
    if (view_.profile_of_ != std::pair{view_.data_.get(), static_cast<int>(stretches)}) {
        std::vector<int> lanes(view_.data_->lanes().size());
        for (std::size_t lane = 0; lane < lanes.size(); ++lane) lanes[lane] = static_cast<int>(lane);
        view_.profile_ = view_.data_->busy_profile(lanes, 0, all.end, stretches);
        view_.profile_of_ = {view_.data_.get(), static_cast<int>(stretches)};
    }
    const ImU32 fill = packed(mix(theme_.surface, theme_.text_2, 0.55));
    // Where nodes idle most of the time, the busiest moment is as high as there is room: when they work is what counts.
    const auto busiest = std::max_element(view_.profile_.begin(), view_.profile_.end());
    const double most = busiest != view_.profile_.end() && *busiest > 0 ? static_cast<double>(*busiest) : 1;
    for (std::size_t k = 0; k < view_.profile_.size(); ++k) {
        const double x = all.left + static_cast<double>(k) * overview_step;
        if (view_.profile_[k] > 0) box(x, bottom - view_.profile_[k] / most * tall, x + overview_step, bottom, fill);
    }
    const auto red = [&](double begin_s, double end_s) {
        box(all.x(begin_s), bottom - 4, std::max(all.x(end_s), all.x(begin_s) + 2), bottom, packed(theme_.bad));
    };
    for (const auto& loss : view_.data_->losses()) red(loss.begin_s, loss.end_s);
    for (const auto& lost : view_.data_->lost_times()) red(lost.begin_s, lost.end_s);
    if (view_.found_) {
        double drawn = -1;
        for (const auto& one : view_.found_->spans) {
            const double x = std::floor(all.x(one.start_s));
            if (x > drawn) box(x, 0, x + 1, 6, packed(theme_.accent)), drawn = x;
        }
    }
    for (const double mark : view_.bookmarks_) box(all.x(mark), 0, all.x(mark) + 2, bottom, packed(theme_.accent));
    const double x0 = std::clamp(all.x(scale_.begin), all.left, all.right),
                 x1 = std::clamp(all.x(scale_.end), x0 + 2, all.right + 2);
    box(all.left, 0, x0, bottom, packed(theme_.surface_2, 0.65));
    box(x1, 0, all.right, bottom, packed(theme_.surface_2, 0.65));
    for (const double x : {x0, x1 - 2}) box(x, 0, x + 2, bottom, packed(theme_.accent));
    box(x0, 0, x1, 1, packed(theme_.accent));
    box(x0, bottom - 1, x1, bottom, packed(theme_.accent));
}

}  // namespace skippipe
