// SPDX-License-Identifier: GPL-3.0-or-later
// What is selected in the timeline: set, found again in what came later, left for what it waited for.
#include <algorithm>

#include "views/timeline/follow.h"
#include "views/timeline/timeline_view.h"

namespace skippipe {

void TimelineView::clear_selection() {
    selected_ = {};
    selected_row_ = -1;
    selected_gap_.reset();
    selected_lost_.reset();
    selected_lane_ = -1;
    area_.reset();
    selection_moved();
}

/// In what came now a span stands elsewhere, and a wait may have grown. Spans of a run that went back are counted anew:
/// there what is of the same kind at the same time is the same one.
void TimelineView::find_selection_again(const std::optional<LaneSpan>& before) {
    if (selected_row_ >= 0) selected_ = data_->find(selected_row_);
    if (selected_.span == nullptr && before && selected_lane_ >= 0) {
        const double middle_s = (before->start_s + before->end_s) / 2;
        const auto* there = is_on_line(before->kind) ? data_->transfer_at(selected_lane_, middle_s, before->kind)
                                                     : data_->work_at(selected_lane_, middle_s);
        if (there != nullptr && there->kind == before->kind && there->microbatch == before->microbatch) {
            selected_ = {selected_lane_, there};
            selected_row_ = there->row;
        }
    }
    if (!selected_gap_ || selected_lane_ < 0) return;
    const double middle_s = (selected_gap_->start_s + selected_gap_->end_s) / 2;
    if (selected_gap_->cause == IdleCause::node_down) {
        if (const auto outage = data_->outage_at(selected_lane_, middle_s)) selected_gap_->end_s = outage->end_s;
    } else if (const auto* gap = data_->gap_at(selected_lane_, middle_s); gap != nullptr) {
        selected_gap_ = *gap;
    }
}

/// Who chose something looks at it: it does not go out of sight with what a run records next.
void TimelineView::hold_still() {
    if (selected_.span != nullptr || selected_gap_ || selected_lost_) zoom_.set_follows(false);
}

/// What was selected gives way to it, here and elsewhere.
void TimelineView::begin_area() {
    clear_selection();
    zoom_.set_follows(false);
    Q_EMIT selected_changed();
}

void TimelineView::selection_moved() {
    cause_ = {};
    find_way();
    if (!data_) return;
    if (selected_.span != nullptr) {
        cause_ = waited_for(*data_, selected_);
    } else if (selected_gap_ && selected_lane_ >= 0) {
        cause_ = waited_for(*data_, selected_lane_, *selected_gap_);
    }
}

/// Of the moment that other views show, else the last in sight; null: none has ended.
const IterationTime* TimelineView::shown_iteration() const {
    const auto& all = data_->iterations();
    return all.empty() ? nullptr : iteration_at(all, moment_.value_or(std::min(zoom_.end(), data_->extent_s())));
}

void TimelineView::find_way() {
    way_.clear();
    way_iteration_ = -1;
    if (!data_) return;
    if (selected_.span != nullptr) {
        way_ = way_of(*data_, selected_);
    } else if (const auto* one = marked_spans_.microbatch ? shown_iteration() : nullptr) {
        way_ = way_of(*data_, *marked_spans_.microbatch, *one);
        way_iteration_ = one->iteration;
    }
}

void TimelineView::select_row(std::int64_t row, bool into_sight) {
    if (row >= 0 && row == selected_row_) return;
    clear_selection();
    if (row >= 0 && data_) {
        selected_ = data_->find(row);
        selected_row_ = selected_.span != nullptr ? row : -1;
        selected_lane_ = selected_.lane;
        selection_moved();
        hold_still();
        if (into_sight && selected_.span != nullptr)
            bring_into_sight(selected_.span->start_s, selected_.span->end_s, selected_.lane);
    }
    request_frame();
}

/// Nothing is before the run's start, nor after its end.
void TimelineView::show_around(double time) {
    const double width = zoom_.end() - zoom_.begin();
    const double begin = std::clamp(time - width / 2, 0.0, std::max(0.0, zoom_.extent() - width));
    zoom_.show(begin, begin + width);
}

void TimelineView::bring_into_sight(double start_s, double end_s, int lane) {
    if (end_s < zoom_.begin() || start_s > zoom_.end()) {
        zoom_.set_follows(false);
        show_around((start_s + end_s) / 2);
    }
    scroll_to_row(layout_.row_of(lane));
}

/// Where it is out of sight, into the middle.
void TimelineView::scroll_to_row(int row) {
    const LaneStack lanes = stack();
    if (row < lanes.pinned) return;
    const double top = row * lanes.height;
    if (top < scroll_ + lanes.pinned * lanes.height || top + lanes.height > scroll_ + height() - lanes.top)
        scroll_lanes(top - (height() - lanes.top) / 2);
}

void TimelineView::choose_lane(int lane) {
    clear_selection();
    bring_into_sight(zoom_.begin(), zoom_.end(), lane);
    request_frame();
    Q_EMIT selected_changed();
    Q_EMIT lane_activated(lane);
}

void TimelineView::go(TimelineData::Place place) {
    if (place.span == nullptr) return;
    clear_selection();
    selected_ = place;
    selected_row_ = place.span->row;
    selected_lane_ = place.lane;
    selection_moved();
    hold_still();
    bring_into_sight(place.span->start_s, place.span->end_s, place.lane);
    request_frame();
    Q_EMIT selected_changed();
}

void TimelineView::go(const Found& found) {
    if (!data_) return;
    if (found.row >= 0) return go(data_->find(found.row));
    const LaneGap* gap = data_->gap_at(found.lane, (found.start_s + found.end_s) / 2);
    if (gap == nullptr) return;
    clear_selection();
    selected_gap_ = *gap;
    selected_lane_ = found.lane;
    selection_moved();
    hold_still();
    bring_into_sight(gap->start_s, gap->end_s, found.lane);
    request_frame();
    Q_EMIT selected_changed();
}

void TimelineView::follow_cause() {
    if (cause_.span == nullptr) return;
    const Spot here = spot();
    go(cause_);
    before_.push_back(here);
}

void TimelineView::go_back() {
    if (before_.empty() || !data_) return;
    const Spot last = before_.back();
    before_.pop_back();
    if (last.row >= 0) return go(data_->find(last.row));
    if (last.gap) go(Found{last.lane, last.gap->start_s, last.gap->end_s, -1});
}

}  // namespace skippipe
