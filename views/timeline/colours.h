// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <QBrush>
#include <QColor>

#include "views/theme/theme.h"
#include "views/timeline/lanes.h"

class QPainter;

namespace skippipe {

enum class ColourBy { operation, stage, microbatch, cause };

/// Colour of work or of a transfer. Forward and backward of a stage share its hue, backward a step darker, weight
/// gradient lighter.
QColor span_colour(const Theme& theme, const LaneSpan& span, int lane_stage, ColourBy by);
/// Of what tells a wait from its ground (WCAG 2.2, 1.4.11).
inline constexpr double least_mark_contrast = 3;
/// Pale fill and hatch of a wait; the hatch is seen on the fill.
QColor cause_fill(const Theme& theme, IdleCause cause, ColourBy by);
QColor cause_ink(const Theme& theme, IdleCause cause, ColourBy by);
/// The hatch that tells a cause from the others (views/imgui/atlas.h); -1: a line through the middle.
int cause_hatch(IdleCause cause);
/// Of lanes that are too low for hatches: a stronger ground, and the ink of the mark on it.
QColor low_cause_fill(const Theme& theme, IdleCause cause);
QColor low_cause_ink(const Theme& theme, IdleCause cause);
/// What tells a wait from others there. Neither: its ground alone.
struct LowMark {
    int pattern = -1;       ///< along the lane (views/imgui/atlas.h)
    bool is_tall = false;   ///< the pattern is as high as the bar, not a line in its middle
    bool has_line = false;  ///< a line through the middle
};
LowMark low_cause_mark(IdleCause cause);
/// Height of the line in the middle of a bar so high.
inline double low_line_px(double bar_px) { return bar_px < 5 ? 1 : 2; }
/// A cause's hatch for what Qt paints, as lanes that are coloured so have it.
QBrush cause_brush(const Theme& theme, IdleCause cause, double device_pixel_ratio, ColourBy by = ColourBy::cause);
/// A cause's bar: ground, hatch and edge, as lanes that are coloured by cause have it.
void paint_cause_bar(QPainter& painter, const QRectF& box, IdleCause cause);
/// Ground and hatch of a node that is lost, whatever the rest is coloured by.
QColor outage_fill(const Theme& theme);
QColor outage_ink(const Theme& theme);
/// A cause's colour in bars and legends.
QColor cause_colour(const Theme& theme, IdleCause cause);
/// What stands beside it: "Waiting for a gradient".
QString cause_words(IdleCause cause);
/// The same within a sentence: "waiting for a gradient".
QString cause_in_sentence(IdleCause cause);

}  // namespace skippipe
