// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/timeline/colours.h"

#include <cmath>
#include <map>
#include <tuple>

#include <QImage>
#include <QPainter>

#include "views/imgui/atlas.h"
#include "views/theme/words.h"

namespace skippipe {

QColor cause_colour(const Theme& t, IdleCause cause) {
    switch (cause) {
        case IdleCause::fill_drain: return t.text_2;
        case IdleCause::activation: return t.waits[0];
        case IdleCause::gradient: return t.waits[1];
        case IdleCause::link: return t.waits[2];
        case IdleCause::memory: return t.waits[3];
        case IdleCause::collision: return t.waits[4];
        case IdleCause::order: return t.waits[5];
        case IdleCause::optimizer: return t.waits[6];
        case IdleCause::replica: return t.waits[7];
        case IdleCause::all_reduce: return t.reduction;
        case IdleCause::node_down: return t.bad;
        case IdleCause::unused: return mix(t.surface, t.text_2, 0.6);
    }
    return t.text_2;
}

int cause_hatch(IdleCause cause) {
    switch (cause) {
        case IdleCause::activation: return 0;
        case IdleCause::gradient: return 1;
        case IdleCause::link: return 3;
        case IdleCause::memory: return 2;
        case IdleCause::collision: return 7;
        case IdleCause::order: return 4;
        case IdleCause::replica: return 8;
        case IdleCause::all_reduce: return 5;
        case IdleCause::optimizer: return 5;
        case IdleCause::node_down: return 6;
        default: return -1;
    }
}

QColor span_colour(const Theme& t, const LaneSpan& span, int lane_stage, ColourBy by) {
    if (span.kind == SpanKind::transfer_reduction) return t.reduction;
    if (by == ColourBy::cause) return mix(t.surface, t.text_2, 0.75);
    if (by == ColourBy::microbatch) return span.microbatch < 0 ? t.text_2 : t.stage(span.microbatch % stage_colours);
    const QColor base = t.stage(span.stage >= 0 ? span.stage : lane_stage);
    if (by == ColourBy::stage) return base;
    switch (span.kind) {
        case SpanKind::backward:
        case SpanKind::input_gradient:
        case SpanKind::transfer_backward: return mix(base, QColor(Qt::black), t.dark ? 0.32 : 0.25);
        case SpanKind::weight_gradient: return mix(base, QColor(Qt::white), 0.35);
        default: return base;
    }
}

QColor cause_fill(const Theme& t, IdleCause cause, ColourBy by) {
    return mix(t.surface, cause_colour(t, cause),
               by == ColourBy::cause            ? (t.dark ? 0.4 : 0.32)
               : cause == IdleCause::fill_drain ? 0.14
                                                : 0.1);
}

namespace {

/// The palest of that colour, from `share` of it on, that is seen on the ground.
QColor ink_on(const Theme& t, const QColor& fill, const QColor& whole, double share) {
    constexpr double step = 0.05;
    for (; share < 1; share += step)
        if (const QColor ink = mix(t.surface, whole, share); contrast(ink, fill) >= least_mark_contrast) return ink;
    for (share = 0; share < 1; share += step)
        if (const QColor ink = mix(whole, t.text, share); contrast(ink, fill) >= least_mark_contrast) return ink;
    return t.text;
}

}  // namespace

QColor cause_ink(const Theme& t, IdleCause cause, ColourBy by) {
    return ink_on(t, cause_fill(t, cause, by), cause_colour(t, cause),
                  by == ColourBy::cause ? 0.9
                  : cause == IdleCause::link || cause == IdleCause::collision
                      ? (t.dark ? 0.85 : 0.6)  // thin upright lines
                  : t.dark ? 0.65
                           : 0.5);
}

QColor low_cause_fill(const Theme& t, IdleCause cause) {
    return mix(t.surface, cause_colour(t, cause), t.dark ? 0.24 : 0.22);
}

QColor low_cause_ink(const Theme& t, IdleCause cause) {
    return ink_on(t, low_cause_fill(t, cause), cause_colour(t, cause), 0.6);
}

LowMark low_cause_mark(IdleCause cause) {
    switch (cause) {
        case IdleCause::gradient: return {.pattern = 9};
        case IdleCause::activation: return {.pattern = 10};
        case IdleCause::replica: return {.pattern = 11};
        case IdleCause::all_reduce:
        case IdleCause::optimizer: return {.pattern = 12};
        case IdleCause::memory: return {.pattern = 13, .is_tall = true};
        case IdleCause::link: return {.pattern = 3, .is_tall = true};
        case IdleCause::collision: return {.pattern = 3, .is_tall = true, .has_line = true};
        case IdleCause::order: return {.has_line = true};
        default: return {};
    }
}

QBrush cause_brush(const Theme& t, IdleCause cause, double device_pixel_ratio, ColourBy by) {
    const int pattern = cause_hatch(cause);
    if (pattern < 0) return Qt::NoBrush;
    const int side = static_cast<int>(std::lround(hatch_tile * device_pixel_ratio));
    const QColor ink = cause_ink(t, cause, by);
    static std::map<std::tuple<int, QRgb, int>, QBrush> made;  // bars are painted often
    QBrush& brush = made[{pattern, ink.rgba(), side}];
    if (brush.style() != Qt::NoBrush) return brush;
    QImage tile(side, side, QImage::Format_ARGB32);
    for (int y = 0; y < side; ++y)
        for (int x = 0; x < side; ++x) {
            const double alpha = hatch_alpha(pattern, (x + 0.5) / device_pixel_ratio, (y + 0.5) / device_pixel_ratio);
            tile.setPixelColor(x, y, QColor::fromRgbF(ink.redF(), ink.greenF(), ink.blueF(), alpha));
        }
    tile.setDevicePixelRatio(device_pixel_ratio);
    return brush = QBrush(tile);
}

void paint_cause_bar(QPainter& painter, const QRectF& box, IdleCause cause) {
    painter.setBrushOrigin(box.topLeft());
    painter.fillRect(box, cause_fill(theme(), cause, ColourBy::cause));
    painter.fillRect(box, cause_brush(theme(), cause, painter.device()->devicePixelRatioF()));
    painter.setPen(cause_ink(theme(), cause, ColourBy::cause));
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(box.adjusted(0.5, 0.5, -0.5, -0.5));
}

QColor outage_fill(const Theme& t) { return mix(t.surface, t.bad, t.dark ? 0.3 : 0.2); }

QColor outage_ink(const Theme& t) { return mix(t.surface, t.bad, t.dark ? 0.75 : 0.65); }

QString cause_in_sentence(IdleCause cause) {
    const auto words = describe(cause);
    return QString::fromUtf8(words.data(), static_cast<qsizetype>(words.size()));
}

QString cause_words(IdleCause cause) { return capitalised(cause_in_sentence(cause)); }

}  // namespace skippipe
