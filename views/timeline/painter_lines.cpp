// SPDX-License-Identifier: GPL-3.0-or-later
// Rows of lines: a transfer waits in the queue, is on the wire, and is on its way; the next is sent meanwhile.
#include <algorithm>
#include <cmath>

#include "views/timeline/painter.h"

namespace skippipe {
namespace {

constexpr double least_transfer_pixels = 3, queue_share = 0.3, latency_share = 0.3;  ///< of a row's height

}  // namespace

void TimelinePainter::line(int row, int line) {
    constexpr double left = 8, right = 6;
    const double top = stack_.lane_top(row);
    const bool marked = view_.is_marked_line(line);
    if (marked) mark_row(top);
    list_.PushClipRect({0, static_cast<float>(std::max(top, stack_.top))},
                       {static_cast<float>(scale_.left - right), static_cast<float>(top + stack_.height)}, true);
    text(left, top + (stack_.height - 14) / 2, marked ? theme_.text : theme_.text_2,
         elided(view_.lines_->names[static_cast<std::size_t>(line)], scale_.left - right - left, Letters::small));
    list_.PopClipRect();
    list_.PushClipRect({static_cast<float>(scale_.left), static_cast<float>(std::max(top, stack_.top))},
                       {static_cast<float>(scale_.right), static_cast<float>(top + stack_.height)}, true);
    const double least_s = least_transfer_pixels / scale_.pixels_per_second();
    for (const auto& [ends, way] : view_.lines_->ways) {
        if (way.row != line) continue;
        view_.data_->visit_transfers(
            ends.first, scale_.begin, scale_.end, least_s,
            [&, from = ends.first, to = ends.second, latency_s = way.latency_s](const LaneSpan& span) {
                if (span.to_node == to) line_transfer(from, span, latency_s, top);
            },
            [&, from = ends.first, to = ends.second, latency_s = way.latency_s](const Fold& fold) {
                if (fold.dominant.to_node == to) line_transfer(from, fold.dominant, latency_s, top);
            });
    }
    list_.PopClipRect();
    box(0, top + stack_.height - 1, scale_.right, top + stack_.height, packed(mix(theme_.surface, theme_.line, 0.6)));
}

void TimelinePainter::line_transfer(int lane, const LaneSpan& span, double latency_s, double top) {
    const auto parts = line_parts(span, latency_s);
    const auto x = [&](double seconds) { return std::clamp(scale_.x(seconds), scale_.left, scale_.right); };
    const double tall = stack_.height - 3, wire_top = top + queue_share * tall,
                 wire_bottom = top + (1 - latency_share) * tall;
    QColor fill = span.kind == SpanKind::transfer_reduction ? theme_.reduction : theme_.accent;
    if (view_.colour_by_ == ColourBy::microbatch && span.microbatch >= 0)
        fill = span_colour(theme_, span, span.stage, view_.colour_by_);
    if (is_faint(lane, span)) fill = mix(theme_.surface, fill, faint);
    if (const double x0 = x(parts.queue_s), x1 = x(parts.wire_s); x1 - x0 >= 1) {
        wait(IdleCause::link, x0, top + 1, x1, wire_top, is_faint(lane, span) ? faint : 1);
    }
    const double x0 = x(parts.wire_s), x1 = std::max(x(parts.latency_s), x0 + 1), x2 = x(parts.arrival_s);
    box(x0, wire_top, x1 - x0 > 3 ? x1 - 1 : x1, wire_bottom, packed(fill));
    if (x2 > x1) box(x1, wire_bottom, x2, top + tall, packed(mix(theme_.surface, fill, 0.35)));
    if (!is_faint(lane, span)) span_label(span, theme_.text_on(fill), x0, x1, wire_top, wire_bottom);
}

}  // namespace skippipe
