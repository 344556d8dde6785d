// SPDX-License-Identifier: GPL-3.0-or-later
// Arrows: along the way of the selected microbatch, and from the selection to what it waited for.
#include <cmath>

#include "views/timeline/painter.h"

namespace skippipe {
namespace {

constexpr float line_width = 1.5f;
constexpr double head = 7;

}  // namespace

void TimelinePainter::arrow(double x0, double y0, double x1, double y1, const QColor& colour) {
    const double angle = std::atan2(y1 - y0, x1 - x0);
    const auto point = [](double x, double y) { return ImVec2(static_cast<float>(x), static_cast<float>(y)); };
    const auto corner = [&](double turn) {
        return point(x1 - head * std::cos(angle + turn), y1 - head * std::sin(angle + turn));
    };
    list_.AddLine(point(x0, y0), point(x1 - head / 2 * std::cos(angle), y1 - head / 2 * std::sin(angle)),
                  packed(colour), line_width);
    list_.AddTriangleFilled(point(x1, y1), corner(0.45), corner(-0.45), packed(colour));
}

/// From where each transfer was handed over to where it arrived. Under the lanes' names nothing is drawn.
void TimelinePainter::way() {
    if (view_.compact_) return;
    list_.PushClipRect({static_cast<float>(scale_.left), static_cast<float>(stack_.top)},
                       {static_cast<float>(scale_.right), static_cast<float>(view_.height())}, true);
    const auto middle = [&](int lane) { return view_.work_middle(lane); };
    const auto line = [&](const TimelineData::Place& place, const QColor& colour) {
        const LaneSpan& span = *place.span;
        if (!is_on_line(span.kind) || span.to_node < 0 || view_.layout_.row_of(span.to_node) < 0) return;
        if (span.end_s < scale_.begin || span.start_s - span.queue_s > scale_.end) return;
        arrow(scale_.x(span.start_s - span.queue_s), middle(place.lane), scale_.x(span.end_s), middle(span.to_node),
              colour);
    };
    for (const auto& place : view_.way_) line(place, theme_.accent);
    if (const auto* span = view_.selected_.span; span != nullptr && span->kind == SpanKind::transfer_reduction)
        line(view_.selected_, theme_.reduction);
    list_.PopClipRect();
}

/// From the begin of what is selected (of a gap: its end) back to what it waited for.
void TimelinePainter::cause() {
    const auto& cause = view_.cause_;
    if (view_.compact_ || cause.span == nullptr || !view_.selected_gap_) return;
    list_.PushClipRect({static_cast<float>(scale_.left), static_cast<float>(stack_.top)},
                       {static_cast<float>(scale_.right), static_cast<float>(view_.height())}, true);
    const bool is_line = is_on_line(cause.span->kind);
    const double row = view_.lane_top(cause.lane), top = is_line
                                                             ? row + transfer_row(cause.span->kind, stack_.height) - 1
                                                             : row + work_row(stack_.height);
    const double bottom = is_line ? top + 4 : row + stack_.height - 3;
    const double x0 = scale_.x(cause.span->start_s), x1 = std::max(scale_.x(cause.span->end_s), x0 + 2);
    for (const double y : {top - 1, bottom}) box(x0 - 1, y, x1 + 1, y + 1, packed(theme_.accent));
    for (const double x : {x0 - 1, x1}) box(x, top, x + 1, bottom, packed(theme_.accent));
    const auto& gap = *view_.selected_gap_;
    const double from_y = view_.work_middle(view_.selected_lane_);
    arrow((scale_.x(gap.start_s) + scale_.x(gap.end_s)) / 2, from_y, x1, (top + bottom) / 2, theme_.accent);
    list_.PopClipRect();
}

}  // namespace skippipe
