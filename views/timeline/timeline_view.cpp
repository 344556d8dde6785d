// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/timeline/timeline_view.h"

#include <algorithm>
#include <cmath>

#include "views/theme/numbers.h"
#include "views/timeline/painter.h"

namespace skippipe {

TimelineView::TimelineView(TimeZoom& zoom, bool compact, QWidget* parent)
    : ImGuiHost(parent), zoom_(zoom), compact_(compact) {
    setAccessibleName(tr("Timeline"));
    setMinimumHeight(compact ? 60 : 120);
    connect(&zoom, &TimeZoom::changed, this, [this] { request_frame(); });
}

void TimelineView::set_data(std::shared_ptr<const TimelineData> data) {
    if (data == data_) return;
    const bool same = data && data_ && data->key() != 0 && data->key() == data_->key();
    data_ = std::move(data);
    if (!same) {
        clear_selection();
        scroll_ = 0;
    } else if (selected_row_ >= 0) {
        selected_ = data_->find(selected_row_);  // it stands elsewhere in what came now
    }
    scroll_ = stack().clamp_scroll(scroll_, height());
    request_frame();
}

void TimelineView::set_empty_text(const QString& text) {
    empty_text_ = text;
    request_frame();
}

void TimelineView::set_colour_by(ColourBy by) {
    colour_by_ = by;
    request_frame();
}

void TimelineView::set_marked(const std::set<std::string>& nodes, std::optional<int> microbatch) {
    if (nodes == marked_nodes_ && microbatch == marked_microbatch_) return;
    marked_nodes_ = nodes;
    marked_microbatch_ = microbatch;
    request_frame();
}

TimeScale TimelineView::scale() const {
    return {zoom_.begin(), zoom_.end(),
            !compact_                            ? names_width
            : stack().height >= least_named_lane ? compact_names_width
                                                 : 0.0,
            std::max(static_cast<double>(width()), names_width + 1)};
}

LaneStack TimelineView::stack() const {
    const int count = data_ ? static_cast<int>(data_->lanes().size()) : 0;
    double tall = lane_height;
    if (compact_ && count > 0) tall = std::clamp((height() - axis_height) / count, 4.0, compact_lane_height);
    return {axis_height, tall, scroll_, count};
}

QPointF TimelineView::place_of(double seconds, int lane) const {
    return {scale().x(seconds), stack().lane_top(lane) + stack().height * 0.6};
}

int TimelineView::height_for_all_lanes() const { return static_cast<int>(axis_height + stack().content_height()); }

int TimelineView::height_for_named_lanes() const {
    return static_cast<int>(std::ceil(axis_height + stack().count * least_named_lane));
}

void TimelineView::draw(ImDrawList& list) {
    if (!data_ || data_->lanes().empty()) {
        const std::string words = empty_text_.toStdString();
        const float size = atlas().body->FontSize / static_cast<float>(atlas().scale);
        const ImVec2 extent = atlas().body->CalcTextSizeA(size, 1e9f, 0, words.c_str());
        list.AddText(atlas().body, size,
                     {std::floor((static_cast<float>(width()) - extent.x) / 2),
                      std::floor((static_cast<float>(height()) - extent.y) / 2)},
                     packed(theme().text_2), words.c_str());
        return;
    }
    handle_mouse();
    TimelinePainter(*this, atlas(), list).draw();
    const auto& io = ImGui::GetIO();
    if (ImGui::IsWindowHovered() && !dragging_area_ && !panning_) hover(io.MousePos.x, io.MousePos.y);
}

void TimelineView::handle_mouse() {
    const auto& io = ImGui::GetIO();
    const double x = io.MousePos.x, y = io.MousePos.y;
    const TimeScale s = scale();
    if (io.MouseWheel != 0 || io.MouseWheelH != 0) {
        const double sideways = (io.KeyShift ? io.MouseWheel : 0) + io.MouseWheelH;
        if (io.KeyCtrl) {
            zoom_.set_follows(false);
            zoom_.zoom_at(s.time(x), std::pow(0.8, io.MouseWheel));
        } else if (sideways != 0) {
            zoom_.set_follows(false);
            zoom_.pan(-sideways * (s.end - s.begin) * 0.1);
        } else {
            scroll_ = stack().clamp_scroll(scroll_ - io.MouseWheel * 2 * stack().height, height());
        }
    }
    if (ImGui::IsMouseClicked(ImGuiMouseButton_Left)) press_ = QPointF(x, y);
    if (press_ && ImGui::IsMouseDown(ImGuiMouseButton_Left) && std::abs(x - press_->x()) > 4 && press_->x() >= s.left) {
        dragging_area_ = true;
        TimelineArea area;
        area.begin = s.time(std::clamp(std::min(x, press_->x()), s.left, s.right));
        area.end = s.time(std::clamp(std::max(x, press_->x()), s.left, s.right));
        const LaneStack lanes = stack();
        const auto lane = [&](double at) {
            return std::clamp(static_cast<int>((at - lanes.top + lanes.scroll) / lanes.height), 0, lanes.count - 1);
        };
        area.first_lane = lane(std::min(y, press_->y()));
        area.last_lane = lane(std::max(y, press_->y()));
        area_ = area;
    }
    if (press_ && ImGui::IsMouseReleased(ImGuiMouseButton_Left)) {
        if (dragging_area_)
            area_->statistics = data_->statistics(area_->first_lane, area_->last_lane, area_->begin, area_->end);
        else
            click(x, y);
        dragging_area_ = false;
        press_.reset();
        Q_EMIT selected_changed();
    }
    if (ImGui::IsMouseClicked(ImGuiMouseButton_Middle)) panning_ = true, pan_x_ = x;
    if (panning_ && x != pan_x_) {
        zoom_.set_follows(false);
        zoom_.pan((pan_x_ - x) / s.pixels_per_second());
        pan_x_ = x;
    }
    if (!ImGui::IsMouseDown(ImGuiMouseButton_Middle)) panning_ = false;
}

void TimelineView::click(double x, double y) {
    const LaneStack lanes = stack();
    const int lane = lanes.lane_at(y);
    clear_selection();
    if (lane < 0) return;
    if (x < scale().left) {
        const int stage = data_->lanes()[static_cast<std::size_t>(lane)].stage;
        if (!compact_ && x < stage_chip_end && stage >= 0)
            Q_EMIT stage_activated(stage);
        else
            Q_EMIT lane_activated(lane);
        return;
    }
    const double time = scale().time(x);
    selected_lane_ = lane;
    const double below_top = y - lanes.lane_top(lane);
    const bool above = !compact_ && below_top < work_row;
    if (above) selected_ = {lane, data_->transfer_at(lane, time, transfer_kind_at(below_top))};
    if (selected_.span == nullptr) selected_ = {lane, data_->work_at(lane, time)};
    if (selected_.span != nullptr)
        selected_row_ = selected_.span->row;
    else if (const auto outage = data_->outage_at(lane, time))
        selected_gap_ = LaneGap{outage->start_s, outage->end_s, -1, -1, IdleCause::node_down};
    else if (const auto* gap = data_->gap_at(lane, time))
        selected_gap_ = *gap;
}

QStringList TimelineView::words_at(QPointF place) const {
    const double x = place.x(), y = place.y();
    const LaneStack lanes = stack();
    if (x < scale().left) return {};
    if (y < lanes.top) {
        QStringList lines;
        for (const auto& loss : data_->losses()) {
            const double x0 = scale().x(loss.begin_s), x1 = std::max(scale().x(loss.end_s), x0 + least_loss_pixels);
            if (x < x0 - least_loss_pixels || x > x1 + least_loss_pixels) continue;
            if (!lines.isEmpty()) lines << QString{};
            lines << describe_loss(loss);
        }
        return lines;
    }
    const int lane = lanes.lane_at(y);
    if (lane < 0) return {};
    const double time = scale().time(x);
    const double below_top = y - lanes.lane_top(lane);
    const bool above = !compact_ && below_top < work_row;
    if (const auto* span =
            above ? data_->transfer_at(lane, time, transfer_kind_at(below_top)) : data_->work_at(lane, time))
        return describe_span(*span, lane, *data_);
    if (above) return {};
    if (const auto outage = data_->outage_at(lane, time)) return describe_outage(*outage, lane, *data_);
    if (const auto* gap = data_->gap_at(lane, time))
        return describe_gap(*gap, data_->lanes()[static_cast<std::size_t>(lane)].name, *data_);
    if (const auto* lost = data_->lost_at(time)) return describe_lost_time(*lost);
    return {};
}

void TimelineView::hover(double x, double y) {
    const QStringList lines = words_at({x, y});
    if (lines.isEmpty()) return;
    ImGui::BeginTooltip();
    for (const auto& line : lines) ImGui::TextUnformatted(line.toUtf8().constData());
    ImGui::EndTooltip();
}

void TimelineView::clear_selection() {
    selected_ = {};
    selected_row_ = -1;
    selected_gap_.reset();
    selected_lane_ = -1;
    area_.reset();
}

void TimelineView::select_row(std::int64_t row, bool into_sight) {
    if (row == selected_row_) return;
    clear_selection();
    if (row >= 0 && data_) {
        selected_ = data_->find(row);
        selected_row_ = selected_.span != nullptr ? row : -1;
        selected_lane_ = selected_.lane;
        if (into_sight && selected_.span != nullptr) bring_into_sight(selected_);
    }
    request_frame();
}

}  // namespace skippipe
