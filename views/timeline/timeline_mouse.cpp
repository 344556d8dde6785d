// SPDX-License-Identifier: GPL-3.0-or-later
// The timeline's mouse: wheel, drags, clicks, and the card under it.
#include <algorithm>
#include <cmath>
#include <utility>

#include <QTextDocument>
#include <QToolTip>

#include "views/timeline/follow.h"
#include "views/timeline/painter.h"

namespace skippipe {
namespace {

constexpr double drag_pixels = 4, edge_pixels = 5, mark_pixels = 4, handle_reach = 12;
constexpr int tip_below = 14, tip_ms = 3'600'000;  ///< how far below what it is asked for Qt shows a tip

}  // namespace

void TimelineView::handle_mouse() {
    const auto& io = ImGui::GetIO();
    const double x = io.MousePos.x, y = io.MousePos.y;
    if (mouse_ != QPointF(x, y)) card_hidden_ = false;
    mouse_ = QPointF(x, y);
    // Qt takes a tip away by then, and it would come again in each frame.
    if (compact_ && (io.MouseWheel != 0 || ImGui::IsAnyMouseDown())) card_hidden_ = true;
    if (io.MouseWheel != 0 || io.MouseWheelH != 0) handle_wheel(x);
    if (ImGui::IsMouseClicked(ImGuiMouseButton_Left)) press(x, y);
    if (press_ && ImGui::IsMouseDown(ImGuiMouseButton_Left)) drag(x, y);
    if (press_ && ImGui::IsMouseReleased(ImGuiMouseButton_Left)) release(x, y);
    if (ImGui::IsMouseClicked(ImGuiMouseButton_Middle)) panning_ = true, pan_x_ = x;
    if (panning_ && x != pan_x_) {
        zoom_.set_follows(false);
        zoom_.pan((pan_x_ - x) / scale().pixels_per_second());
        pan_x_ = x;
    }
    if (!ImGui::IsMouseDown(ImGuiMouseButton_Middle)) panning_ = false;
}

void TimelineView::handle_wheel(double x) {
    const auto& io = ImGui::GetIO();
    const TimeScale s = scale();
    const double sideways = (io.KeyShift ? io.MouseWheel : 0) + io.MouseWheelH;
    if (io.KeyCtrl) {
        zoom_.set_follows(false);
        zoom_.zoom_at(s.time(x), std::pow(0.8, io.MouseWheel));
    } else if (sideways != 0) {
        zoom_.set_follows(false);
        zoom_.pan(-sideways * (s.end - s.begin) * 0.1);
    } else {
        scroll_by_hand(scroll_ - io.MouseWheel * 2 * stack().height);
    }
}

void TimelineView::press(double x, double y) {
    press_ = QPointF(x, y);
    drag_ = Drag::none;
    if (x < scale().left) return;
    if (const auto handle = stack().handle(height());
        handle.height > 0 && y >= stack().top && x >= width() - handle_reach) {
        drag_ = Drag::lanes;
        pan_y_ = y;
        // Beside the handle a press brings it there at once.
        if (y < handle.top || y > handle.top + handle.height)
            scroll_by_hand(stack().scroll_after(y - handle.top - handle.height / 2, height()));
        return;
    }
    if (moment_ && y >= bands().axis_top() && y < bands().ruler_top()) {
        drag_ = Drag::moment;
        return move_moment(x);
    }
    if (y >= bands().overview) return;
    const TimeScale all = overview_scale();
    const double begin = all.x(zoom_.begin()), end = all.x(zoom_.end());
    drag_ = std::abs(x - begin) <= edge_pixels ? Drag::sight_begin
            : std::abs(x - end) <= edge_pixels ? Drag::sight_end
                                               : Drag::sight;
    zoom_.set_follows(false);
    // Outside the frame a press brings it there at once.
    if (drag_ == Drag::sight && (x < begin || x > end)) {
        const double half = (zoom_.end() - zoom_.begin()) / 2;
        zoom_.show(all.time(x) - half, all.time(x) + half);
    }
    pan_x_ = x;
}

void TimelineView::drag(double x, double y) {
    if (drag_ == Drag::moment) return move_moment(x);
    if (drag_ == Drag::lanes) {
        scroll_by_hand(stack().scroll_after(y - std::exchange(pan_y_, y), height()));
        return;
    }
    const TimeScale s = scale(), all = overview_scale();
    const double time = std::clamp(all.time(x), 0.0, all.end);
    if (drag_ == Drag::sight && x != pan_x_) zoom_.pan((x - pan_x_) / all.pixels_per_second());
    if (drag_ == Drag::sight_begin && time < zoom_.end()) zoom_.show(time, zoom_.end());
    if (drag_ == Drag::sight_end && time > zoom_.begin()) zoom_.show(zoom_.begin(), time);
    if (drag_ == Drag::sight) pan_x_ = x;
    const bool begins =
        drag_ == Drag::none && std::abs(x - press_->x()) > drag_pixels && press_->x() >= s.left && layout_.count() > 0;
    if (!begins && drag_ != Drag::area) return;
    const bool is_first = std::exchange(drag_, Drag::area) != Drag::area;
    if (is_first) begin_area();
    TimelineArea area;
    area.begin = s.time(std::clamp(std::min(x, press_->x()), s.left, s.right));
    area.end = s.time(std::clamp(std::max(x, press_->x()), s.left, s.right));
    const LaneStack rows = stack();
    const auto row = [&](double at) {
        const double inside = std::clamp(at, rows.top, std::max(rows.top, static_cast<double>(height()) - 1));
        const int there = rows.lane_at(inside);
        return there >= 0 ? there : rows.count - 1;
    };
    area.first_row = row(std::min(y, press_->y()));
    area.last_row = row(std::max(y, press_->y()));
    if (!is_first && area_ && area_->is_same_place(area)) return;
    area.lanes = layout_.lanes_between(area.first_row, area.last_row);
    if (!is_first && area_) area.statistics = area_->statistics;
    area_ = std::move(area);
    if (is_first)
        sum_area();
    else if (!sum_later_.isActive())
        sum_later_.start();
}

void TimelineView::release(double x, double y) {
    const Drag was = std::exchange(drag_, Drag::none);
    press_.reset();
    sum_later_.stop();
    card_hidden_ = true;  // the panel says it now
    if (was != Drag::none && was != Drag::area) return;
    before_.clear();
    if (was == Drag::area && !area_) return;  // what was dragged over is gone meanwhile
    const int row = was == Drag::none && x < scale().left ? stack().lane_at(y) : -1;
    const LaneRow what = row < 0 ? LaneRow{} : layout_.rows()[static_cast<std::size_t>(row)];
    const int named = what.lane;
    if (was == Drag::area)
        area_->statistics = data_->statistics(area_->lanes, area_->begin, area_->end);
    else if (named < 0 && what.line < 0)
        click(x, y);
    else
        clear_selection();
    Q_EMIT selected_changed();
    if (what.line >= 0) Q_EMIT line_activated(what.line);
    if (named < 0) return;
    // A name or its stage is chosen after that: who hears that nothing is selected here clears what is elsewhere.
    const int stage = data_->lanes()[static_cast<std::size_t>(named)].stage;
    if (!compact_ && x < stage_chip_end && stage >= 0)
        Q_EMIT stage_activated(stage);
    else
        Q_EMIT lane_activated(named);
}

void TimelineView::show_iteration(const IterationTime& one) {
    zoom_.set_follows(false);
    zoom_.show(one.begin_s() - 0.01 * one.length_s, one.end_s + 0.01 * one.length_s);
}

void TimelineView::click(double x, double y) {
    const TimelineBands above = bands();
    if (above.ruler > 0 && y >= above.ruler_top() && y < above.counters_top() && x >= scale().left) {
        if (const auto* one = iteration_at(data_->iterations(), scale().time(x))) show_iteration(*one);
        return;
    }
    clear_selection();
    const int row = stack().lane_at(y);
    if (row < 0) return;
    const LaneRow& what = layout_.rows()[static_cast<std::size_t>(row)];
    if (what.line >= 0) return click_line(what.line, x);
    if (!what.is_head()) return click_lane(what.lane, x, y);
    const std::string& name = layout_.groups()[static_cast<std::size_t>(what.group)].name;
    if (collapsed_.erase(name) == 0) collapsed_.insert(name);
    lay_out();
    Q_EMIT layout_changed();
}

void TimelineView::click_lane(int lane, double x, double y) {
    const double time = scale().time(x), below_top = y - lane_top(lane);
    selected_lane_ = lane;
    if (!compact_ && below_top < work_row(stack().height))
        selected_ = {lane, data_->transfer_at(lane, time, transfer_kind_at(below_top, stack().height))};
    if (selected_.span == nullptr) selected_ = {lane, data_->work_at(lane, time)};
    if (selected_.span != nullptr) {
        selected_row_ = selected_.span->row;
    } else if (const auto outage = data_->outage_at(lane, time)) {
        selected_gap_ = LaneGap{outage->start_s, outage->end_s, -1, -1, IdleCause::node_down};
    } else if (const auto* gap = data_->gap_at(lane, time)) {
        selected_gap_ = *gap;
    } else if (const auto* lost = data_->lost_at(time)) {
        selected_lost_ = *lost;
        selected_lane_ = -1;  // of all nodes
    }
    selection_moved();
    hold_still();
}

/// Selects the transfer, which is the sender's.
void TimelineView::click_line(int line, double x) {
    const auto place = transfer_on_line(*data_, *lines_, line, scale().time(x), zoom_.end());
    if (place.span == nullptr) return;
    selected_ = place;
    selected_lane_ = place.lane;
    selected_row_ = place.span->row;
    selection_moved();
    hold_still();
}

TimelineView::Card TimelineView::line_card(int line, QPointF place) const {
    const auto found = transfer_on_line(*data_, *lines_, line, scale().time(place.x()), zoom_.end());
    if (found.span == nullptr) return {};
    const double latency_s = lines_->ways.at({found.lane, found.span->to_node}).latency_s;
    const auto parts = line_parts(*found.span, latency_s);
    const TimeScale s = scale();
    const int row = stack().lane_at(place.y());
    const double top = stack().lane_top(row);
    return {describe_on_line(*found.span, found.lane, *data_, latency_s),
            {std::max(s.x(parts.queue_s), s.left), top, std::min(s.x(parts.arrival_s), s.right), top + stack().height}};
}

QStringList TimelineView::words_at(QPointF place) const { return card_at(place).lines; }

TimelineView::Card TimelineView::card_at(QPointF place) const {
    const TimeScale s = scale();
    const TimelineBands above = bands();
    const LaneStack rows = stack();
    const double x = place.x(), y = place.y();
    if (x < s.left || y < above.axis_top()) return {};
    if (y < above.ruler_top()) {
        Card card{{}, {x, above.axis_top(), x, above.ruler_top()}};
        for (const double mark : bookmarks_)
            if (std::abs(s.x(mark) - x) <= mark_pixels)
                card.lines << tr("Bookmark at %1").arg(tick(mark, 0.01))
                           << tr("B takes it away, PgUp and PgDn go there");
        for (const auto& loss : data_->losses()) {
            const double x0 = s.x(loss.begin_s), x1 = std::max(s.x(loss.end_s), x0 + least_loss_pixels);
            if (x < x0 - least_loss_pixels || x > x1 + least_loss_pixels) continue;
            if (!card.lines.isEmpty()) card.lines << QString{};
            card.lines << describe_loss(loss);
        }
        for (const auto& event : data_->events()) {
            if (event.kind == RunEvent::Kind::lost || std::abs(s.x(event.network_s) - x) > mark_pixels) continue;
            if (!card.lines.isEmpty()) card.lines << QString{};
            card.lines << describe_event(event);
        }
        return card;
    }
    if (y >= above.counters_top() && y < above.top()) return counter_card(place);
    if (y < above.counters_top()) {
        const auto* one = iteration_at(data_->iterations(), s.time(x));
        if (one == nullptr || s.time(x) < one->begin_s() || s.time(x) >= one->end_s) return {};
        return {describe_iteration(*one, *data_),
                {s.x(one->begin_s()), above.ruler_top(), s.x(one->end_s), above.counters_top()}};
    }
    const int row = rows.lane_at(y);
    if (row < 0) return {};
    const LaneRow& what = layout_.rows()[static_cast<std::size_t>(row)];
    if (what.line >= 0) return line_card(what.line, place);
    return what.is_head() ? Card{} : lane_card(what.lane, place);
}

TimelineView::Card TimelineView::counter_card(QPointF place) const {
    const TimelineBands above = bands();
    const auto index = static_cast<std::size_t>((place.y() - above.counters_top()) / counter_height);
    const auto& profile = counters_in_sight();
    const auto k = static_cast<std::size_t>((place.x() - scale().left) / counter_step);
    if (index >= counter_count() || k >= profile[index].size()) return {};
    const auto counter = static_cast<Counter>(index);
    const auto lanes = counted_lanes();
    const QString of = lanes.size() == 1
                           ? QString::fromStdString(data_->lanes()[static_cast<std::size_t>(lanes.front())].name)
                           : tr("%1 nodes together").arg(lanes.size());
    const double top = above.counters_top() + static_cast<double>(index) * counter_height;
    return {{counter_words(counter, profile[index][k]) + counter_suffix(counter), of},
            {place.x() - 1, top, place.x() + 1, top + counter_height}};
}

void TimelineView::move_moment(double x) {
    const TimeScale s = scale();
    const double time = std::clamp(s.time(std::clamp(x, s.left, s.right)), 0.0, data_->extent_s());
    if (moment_ == time) return;
    set_moment(time);
    Q_EMIT moment_moved(time);
}

TimelineView::Card TimelineView::lane_card(int lane, QPointF place) const {
    const TimeScale s = scale();
    const double time = s.time(place.x()), top = lane_top(lane), below_top = place.y() - top;
    const auto about = [&](double start_s, double end_s) {
        return Box{std::max(s.x(start_s), s.left), top, std::min(s.x(end_s), s.right), top + stack().height};
    };
    const bool above = !compact_ && below_top < work_row(stack().height);
    if (const auto* span = above ? data_->transfer_at(lane, time, transfer_kind_at(below_top, stack().height))
                                 : data_->work_at(lane, time))
        return {describe_span(*span, lane, *data_), about(span->start_s, span->end_s),
                waited_for(*data_, {lane, span})};
    if (above) return {};
    if (const auto outage = data_->outage_at(lane, time))
        return {describe_outage(*outage, lane, *data_), about(outage->start_s, outage->end_s)};
    if (const auto* gap = data_->gap_at(lane, time))
        return {describe_gap(*gap, data_->lanes()[static_cast<std::size_t>(lane)].name, *data_),
                about(gap->start_s, gap->end_s), waited_for(*data_, lane, *gap)};
    if (const auto* lost = data_->lost_at(time))
        return {describe_lost_time(*lost, *data_), about(lost->begin_s, lost->end_s)};
    return {};
}

/// A span in sight; nothing: it is not.
std::optional<Box> TimelineView::box_of(const TimelineData::Place& place) const {
    if (place.span == nullptr) return {};
    const TimeScale s = scale();
    const double top = lane_top(place.lane);
    const Box box{std::max(s.x(place.span->start_s), s.left), top, std::min(s.x(place.span->end_s), s.right),
                  top + stack().height};
    return box.x1 > box.x0 ? std::optional(box) : std::nullopt;
}

/// Free stay what it explains, what that waited for, with its lane where there is room for that, and where the arrow
/// from the selection ends.
Box TimelineView::place_of_card(const Card& card, double width, double height, double x) const {
    const double right = this->width() - 4.0, bottom = this->height() - 4.0;
    std::vector<Box> spans, lanes;
    for (const auto& place : {card.cause, cause_})
        if (const auto box = box_of(place)) {
            spans.push_back(*box);
            lanes.push_back({0, box->y0, right, box->y1});
        }
    const auto put = [&](const std::vector<Box>& free) {
        return place_card(card.about, width, height, x + 12, {4, 4, right, bottom}, free);
    };
    const Box beside_lanes = put(lanes);
    return beside_lanes.meets_any(lanes) ? put(spans) : beside_lanes;
}

/// Low timelines have no room for a card that covers nothing: it goes beyond their edges, below what it explains.
void TimelineView::show_tip(const Card& card, double x) {
    if (card.lines.isEmpty()) {
        if (std::exchange(has_tip_, false)) QToolTip::hideText();
        return;
    }
    const QPoint there(static_cast<int>(x), static_cast<int>(std::ceil(card.about.y1)) - tip_below);
    const QString words = card.lines.join('\n');  // a name may look like a tag
    QToolTip::showText(mapToGlobal(there), Qt::mightBeRichText(words) ? Qt::convertFromPlainText(words) : words, this,
                       {}, tip_ms);
    has_tip_ = true;
}

void TimelineView::hover(double x, double y) {
    const Card card = card_hidden_ ? Card{} : card_at({x, y});
    if (compact_) return show_tip(card, x);
    if (card.lines.isEmpty()) return;
    const auto& style = ImGui::GetStyle();
    double wide = 0;
    for (const auto& line : card.lines) wide = std::max<double>(wide, ImGui::CalcTextSize(line.toUtf8().constData()).x);
    const double tall =
        static_cast<double>(card.lines.size()) * ImGui::GetTextLineHeightWithSpacing() - style.ItemSpacing.y;
    wide += 2 * style.WindowPadding.x;
    const double high = tall + 2 * style.WindowPadding.y;
    const Box there = place_of_card(card, wide, high, x);
    ImGui::SetNextWindowPos({static_cast<float>(there.x0), static_cast<float>(there.y0)});
    // Left to itself, a tooltip has the size that the one before it needed.
    ImGui::SetNextWindowSize({static_cast<float>(std::ceil(wide)), static_cast<float>(std::ceil(high))});
    ImGui::BeginTooltip();
    for (const auto& line : card.lines) ImGui::TextUnformatted(line.toUtf8().constData());
    ImGui::EndTooltip();
}

}  // namespace skippipe
